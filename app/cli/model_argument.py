"""The model file that somebody named, and what is said where it is none.

The word of the command line goes in, facts come out, or one sentence. Knows nothing about what the facts are
wanted for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from app.data.message_text import clean_text
from engine.errors import ModelFileError
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts, read_facts


def read_model(name: str) -> ModelFacts:
    """The facts of the file. Raises ModelFileError for what is no model file, with one sentence."""
    if not name.strip():
        raise ModelFileError("The name of the model file is empty: name a GGUF file.")
    path = Path(name)
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:  # longer than any name may be
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelFileError(f"{_short(name)} is no name of a file ({why}).") from error
    if is_folder:
        raise ModelFileError(f"{_short(name)} is a folder. Name one of the model files in it.")
    return read_facts(path)


def failed(sentence: str, as_json: bool) -> int:
    """Tell why there is no answer, to programs too; returns the exit status."""
    if as_json:
        print(json.dumps({"error": sentence}))
    print(f"weir: {sentence}", file=sys.stderr)
    return 1


def _short(name: str) -> str:
    return shown(clean_text(name))
