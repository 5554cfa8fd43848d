"""Some bytes of a remote file, without fetching the rest.

Must be called within `session.asking`, whose bounds hold here too. A server that ignores Range sends the file
from its start: what comes first is passed over, and the connection is closed as soon as there is enough.
"""

from __future__ import annotations

import re

from huggingface_hub import get_session

from engine.hub.connection import Question
from engine.hub.connection_failures import unreadable
from engine.hub.file_address import FileAddress

_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d{1,19})-\d{1,19}/(?:\d{1,19}|\*)", re.ASCII)


def fetch_range(question: Question, address: FileAddress, start: int, n_bytes: int) -> bytes:
    """The `n_bytes` at `address` from `start` on, or fewer where the file ends. Raises HubFailure."""
    headers = address.headers_for(address.url) | {"Range": f"bytes={start}-{start + n_bytes - 1}"}
    data = bytearray()
    with get_session().stream("GET", address.url, headers=headers) as response:
        skip = start
        if response.status_code == 206:
            answered = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if answered is None or int(answered["first"]) != start:
                raise unreadable(question.asked)
            skip = 0
        for piece in response.iter_raw():
            data += piece[skip:]
            skip = max(0, skip - len(piece))
            # A partial answer is read to its end, so that its connection serves the next request too.
            if len(data) >= n_bytes and response.status_code != 206:
                break
    return bytes(data[:n_bytes])
