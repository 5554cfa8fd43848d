"""What the model gets of a message with attachments: one text.

A message's own text and its attachments go in; what is counted and what is sent is the same. Promises:
nothing inside a file can end its block. Knows nothing about files, tokens or widgets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from app.data.stored_message import Attachment

NAME_LENGTH = 120
"""Characters of a file's name that are shown and sent."""

_SHORTEST_FENCE = 3
_NOT_IN_NAMES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # controls, bidi marks, half characters, line ends


def with_attachments(content: str, attachments: Iterable[Attachment]) -> str:
    """Each attachment as a block with its name above it, then the message's own text."""
    return "".join(map(attachment_block, attachments)) + content


def attachment_block(attachment: Attachment) -> str:
    """What stands before the message's own text for one attachment, the empty line after it included."""
    runs = re.findall(r"`{3,}", attachment.text)
    # CommonMark: only a fence of at least the same length ends a block.
    fence = "`" * max([_SHORTEST_FENCE, *(len(run) + 1 for run in runs)])
    text = attachment.text.removesuffix("\n")
    return f"File: {clean_name(attachment.name)}\n{fence}\n{text}\n{fence}\n\n"


def clean_name(name: str) -> str:
    """A file's name as it may be shown: without folders, control and direction characters, and not endless.

    A mark that turns the direction could make `cod.exe` look like `exe.doc`.
    """
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(c for c in last if unicodedata.category(c) not in _NOT_IN_NAMES or c in "\u200c\u200d")
    shown = " ".join(shown.split()) or "file"
    if len(shown) > NAME_LENGTH:
        half = NAME_LENGTH // 2
        shown = f"{shown[:half]}…{shown[1 - half :]}"
    return shown
