"""The Hub's lists of repositories, page by page, each fetched when it is reached.

The library's own paging retries for half a minute, has pages of 1,000 or ends with the first, and sends its
headers, the token among them, to any host that a page names as the next one's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from engine.hub.connection import Connection
from engine.hub.hub_values import RepoSummary
from engine.hub.repo_reading import summary_of

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

_PAGE = 100
_EXPAND = ["downloads", "likes", "lastModified", "tags", "gated"]


def pages(
    connection: Connection,
    params: Mapping[str, object],
    limit: int | None,
    cancel: threading.Event | None,
) -> Iterator[RepoSummary]:
    """All repositories that `params` find, at most `limit`. Raises HubFailure when a page is reached."""
    size = _PAGE if limit is None else max(1, min(limit, _PAGE))
    cursors: set[str] = set()
    cursor: str | None = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        found, cursor = _page(connection, {**params, "limit": size, "expand": _EXPAND, **more}, cancel)
        yield from found
        if cursor is None or cursor in cursors:
            return
        cursors.add(cursor)


def _page(
    connection: Connection, params: Mapping[str, object], cancel: threading.Event | None
) -> tuple[list[RepoSummary], str | None]:
    """One page, and the cursor of the next one."""
    from huggingface_hub import ModelInfo, get_session

    with connection.question(None, cancel) as question:
        url = f"{connection.endpoint}/api/models"
        response = get_session().get(url, params=dict(params), headers=question.headers)  # type: ignore[arg-type]
        found = question.understood(lambda: _summaries(response.json(), ModelInfo))
        # A mirror may name the Hub that it mirrors: the cursor is taken, the address stays ours.
        following = urlsplit(response.links.get("next", {}).get("url", ""))
        return found, parse_qs(following.query).get("cursor", [None])[0]


def _summaries(answer: object, model_info: type[ModelInfo]) -> list[RepoSummary]:
    if not isinstance(answer, list):
        raise TypeError("a page is a list")
    return [summary_of(model_info(**{"siblings": None, **item})) for item in answer]
