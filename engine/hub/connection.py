"""One question to the Hub after the other: who asks, where, for how long, and what an unusable answer means.

`question` gives the headers and a session of the library within which every failure becomes a HubFailure.
It knows where the Hub is and how to get the token, but not what is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from engine.hub.endpoint import host_of, may_have_token
from engine.hub.file_address import USER_AGENT
from engine.hub.hub_errors import NotOnHub, TokenRejected
from engine.hub.refusals import Asked
from engine.hub.secret import Secret
from engine.models.byte_reader import shown

ANSWER_S = 40.0  # for one answer of the API, all its bytes included
MOST_ANSWER_BYTES = 32 * 2**20  # a page of 1,000 repositories has about 1 MB

# What the library raises for an answer that is JSON, or nearly, but none of the Hub's.
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the headers to ask with, which are no part of the repr."""

    asked: Asked
    headers: dict[str, str] = field(repr=False)

    def understood(self, read: Callable[[], Answer]) -> Answer:
        """What `read` makes of an answer. Raises HubUnreadable where it cannot be the Hub's."""
        from engine.hub.connection_failures import unreadable

        try:
            return read()
        except _UNREADABLE:
            raise unreadable(self.asked) from None


class Connection:
    """The way to the Hub at `endpoint`, asked with what `token` returns at that moment."""

    def __init__(self, endpoint: str, token: Callable[[], str | None]) -> None:
        self.endpoint = endpoint
        self._token = token

    @contextmanager
    def question(
        self,
        repo_id: str | None,
        cancel: threading.Event | None,
        seconds: float | None = None,
        most_bytes: int | None = None,
    ) -> Iterator[Question]:
        """One question, maybe about `repo_id`: it ends after `seconds`, with `cancel`, or at `most_bytes`.

        Raises HubFailure, NotOnHub for what is no repository's name.
        """
        from engine.hub.session import Call, asking

        if repo_id is not None:
            _check_name(repo_id)
        secret = self.secret()
        page = None if repo_id is None else self.page(repo_id)
        asked = Asked(host_of(self.endpoint), repo_id, page, secret is not None)
        deadline = time.monotonic() + (seconds or ANSWER_S)
        with asking(Call(asked, deadline, most_bytes or MOST_ANSWER_BYTES, cancel)):
            yield Question(asked, self.headers(secret))

    def page(self, repo_id: str) -> str:
        """The address of the repository's page, where its terms are."""
        return f"{self.endpoint}/{repo_id}"

    def secret(self) -> Secret | None:
        """The token of this moment; None where it must not be sent. Raises TokenRejected for what is none."""
        text = self._token() if may_have_token(self.endpoint) else None
        if text and not (text.isascii() and text.isprintable() and " " not in text):
            raise TokenRejected(
                "Your token holds characters that no token has. Nothing was sent: enter it again, or try "
                "without it."
            )
        return Secret(text) if text else None

    def headers(self, secret: Secret | None) -> dict[str, str]:
        """The headers of a request to the Hub's own origin."""
        headers = {"user-agent": USER_AGENT}
        return headers if secret is None else headers | {"authorization": f"Bearer {secret.reveal()}"}


def _check_name(repo_id: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(repo_id)
    except HFValidationError:
        raise NotOnHub(
            f"{shown(repo_id)} is no repository's name. Nothing was asked: write it as owner/name."
        ) from None
