"""The text that an endurance run reads: a file's, or the reference documentation that comes with Python.

In: a path or None. Out: text, no more than the run can use. Knows nothing about tokens beyond how
many characters one may have.
"""

from __future__ import annotations

from pathlib import Path

from engine.errors import BadRequest

# Ordinary text has 3 to 5 characters a token; code with deep indentation up to 8.
_MAX_CHARACTERS_A_TOKEN = 16


def source_text(path: str | None, n_tokens: int) -> str:
    """As much of the text as `n_tokens` tokens may need.

    Raises BadRequest if the file cannot be read, is no ordinary file, or is not text in UTF-8.
    """
    n_characters = n_tokens * _MAX_CHARACTERS_A_TOKEN
    if path is None:
        return _python_reference()[:n_characters]
    try:
        text = _read(path, n_characters)
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise BadRequest(f"The text file {path} cannot be read ({reason}). Name another one.") from error
    if "\0" in text:
        raise _not_text(path)
    return text


def _read(path: str, n_characters: int) -> str:
    # To open a pipe, or to read a terminal, may take for ever.
    if Path(path).exists() and not Path(path).is_file():
        raise BadRequest(f"{path} is no ordinary file: name a text file in UTF-8.")
    with Path(path).open(encoding="utf-8-sig") as file:
        return file.read(n_characters)


def _not_text(path: str) -> BadRequest:
    return BadRequest(f"The file {path} is not text in UTF-8, so nothing was measured: name a text file.")


def _python_reference() -> str:
    """The language reference as `help()` shows it: 0.7 MB of English and code in every Python."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))
