"""The package's tables, without what the package would bring along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gguf.constants

from engine.models.gguf_constants import gguf_constants


def test_tables_are_those_of_the_package() -> None:
    tables = gguf_constants()
    sizes = {kind.name: size for kind, size in tables.GGML_QUANT_SIZES.items()}
    assert sizes == {kind.name: size for kind, size in gguf.constants.GGML_QUANT_SIZES.items()}
    assert [*tables.LlamaFileType.__members__] == [*gguf.constants.LlamaFileType.__members__]


def test_reading_a_model_brings_neither_numpy_nor_yaml(starter_model: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from engine.models.model_facts import read_facts\n"
        "print(read_facts(Path(sys.argv[1])).quantization, *sys.modules)"
    )
    command = [sys.executable, "-c", code, str(starter_model)]
    quantization, *modules = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    assert quantization == "Q4_1"
    assert not {"gguf", "numpy", "yaml"} & set(modules)
