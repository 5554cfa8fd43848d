"""A status of the Hub, with its headers, becomes an error that says what happened and what to do.

The Hub tells reasons in `X-Error-Code` and `X-Error-Message`; of strangers' words only their presence is
used, never their text. Knows nothing about connections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.hub.hub_errors import (
    AccessDenied,
    HubBroken,
    HubFailure,
    HubUnreadable,
    NotOnHub,
    Remedy,
    TermsNotAccepted,
    TokenRejected,
    TooManyRequests,
)
from engine.models.byte_reader import shown

# As in `"api";r=0;t=55`: https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-09.html
_RATE_LIMIT = re.compile(r'"\w+"\s*;\s*r\s*=\s*(?P<left>\d{1,9})\s*;\s*t\s*=\s*(?P<seconds>\d{1,9})')


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: `host` for people, `repo_id` and its page where one is concerned."""

    host: str
    repo_id: str | None = None
    page: str | None = None
    with_token: bool = False

    @property
    def subject(self) -> str:
        """What the sentence is about."""
        return "its list of models" if self.repo_id is None else shown(self.repo_id)


def refusal_of(status: int, headers: Mapping[str, str], asked: Asked) -> HubFailure:
    """The error for an answer with `status`, 400 or more; `headers` find their names in any case."""
    code = headers.get("X-Error-Code", "")
    message = headers.get("X-Error-Message", "").lower()
    if code == "GatedRepo":
        return _gated(message, asked)
    if status == 404 or code in ("RevisionNotFound", "EntryNotFound"):
        return _not_found(code, asked)
    if status == 401:
        return _unauthorized(code, message, asked)
    if status == 403:
        return _forbidden(message, asked)
    return _too_many(headers, asked) if status == 429 else _otherwise(status, asked)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds until the Hub answers again, as it says; None where it does not."""
    limit = _RATE_LIMIT.search(headers.get("RateLimit", ""))
    if limit and int(limit["left"]) == 0:
        return float(limit["seconds"])
    seconds = headers.get("Retry-After", "").strip()
    return float(seconds) if re.fullmatch(r"\d{1,9}", seconds, re.ASCII) else None


def _gated(message: str, asked: Asked) -> TermsNotAccepted:
    if "awaiting" in message:
        sentence = (
            "waits for its owner's consent to your request. Nothing was fetched: try again once it was given."
        )
        return TermsNotAccepted(f"{asked.subject} {sentence}", remedies=(Remedy.TRY_AGAIN,), url=asked.page)
    if asked.with_token:
        return TermsNotAccepted(
            f"{asked.subject} is gated, and the account of your token may not read it yet. Nothing was "
            "fetched: accept the terms on its page with that account, then try again.",
            remedies=(Remedy.ACCEPT_TERMS, Remedy.TRY_AGAIN, Remedy.ENTER_TOKEN),
            url=asked.page,
        )
    return TermsNotAccepted(
        f"{asked.subject} is gated. Nothing was fetched: accept the terms on its page, then enter a token of "
        "the account that did.",
        remedies=(Remedy.ACCEPT_TERMS, Remedy.ENTER_TOKEN),
        url=asked.page,
    )


def _unauthorized(code: str, message: str, asked: Asked) -> HubFailure:
    # Without a token, the Hub says 401 for what is missing too: strangers cannot tell what is private.
    if asked.with_token and ("credentials" in message or code != "RepoNotFound"):
        return TokenRejected(
            f"{asked.host} refused your token: it is wrong, or it has expired. Public models need none: try "
            "without it, or enter a new one."
        )
    if asked.repo_id is not None:
        return _not_found(code, asked)
    return AccessDenied(f"{asked.host} wants to know who asks. Nothing was changed: enter a token.")


def _forbidden(message: str, asked: Asked) -> AccessDenied:
    if "disabled" in message:
        return AccessDenied(
            f"{asked.subject} was disabled by the Hub. Nothing was changed: choose another one.", remedies=()
        )
    if asked.with_token:
        return AccessDenied(
            f"{asked.host} does not let this token read {asked.subject}. Nothing was changed: enter a token "
            "with the right to read it, or try without one.",
            remedies=(Remedy.ENTER_TOKEN, Remedy.TRY_WITHOUT_TOKEN),
        )
    return AccessDenied(
        f"{asked.host} refuses access to {asked.subject}. Nothing was changed: enter a token that may read "
        "it, or ask whoever runs your network whether it is blocked."
    )


def _not_found(code: str, asked: Asked) -> NotOnHub:
    if code == "RevisionNotFound":
        return NotOnHub(
            f"{asked.subject} has no such revision. Nothing was changed: leave it out for the newest."
        )
    if code == "EntryNotFound":
        return NotOnHub(
            f"{asked.subject} no longer has this file. Nothing was changed: look at the repository again.",
            remedies=(Remedy.TRY_AGAIN,),
        )
    if asked.repo_id is None:
        return NotOnHub(
            f"{asked.host} does not answer as the Hub does. Nothing was changed: check its address."
        )
    if asked.with_token:
        return NotOnHub(
            f"{asked.host} has no {asked.subject} that your token may read. Nothing was changed: check the "
            "name, or enter a token that may read it.",
            remedies=(Remedy.ENTER_TOKEN,),
        )
    return NotOnHub(
        f"{asked.host} has no {asked.subject}, or it is private. Nothing was changed: check the name, or "
        "enter a token that may read it.",
        remedies=(Remedy.ENTER_TOKEN,),
    )


def _too_many(headers: Mapping[str, str], asked: Asked) -> TooManyRequests:
    seconds = retry_after_s(headers)
    when = "in a few minutes" if seconds is None else f"in {_duration(seconds)}"
    hint = "" if asked.with_token else " With a token it allows more."
    remedies = (Remedy.TRY_AGAIN,) if asked.with_token else (Remedy.TRY_AGAIN, Remedy.ENTER_TOKEN)
    return TooManyRequests(
        f"{asked.host} had too many requests from here. Nothing was lost: try again {when}.{hint}",
        remedies=remedies,
        retry_after_s=seconds,
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds:,.0f} seconds"
    return f"{seconds / 60:,.0f} minutes"


def _otherwise(status: int, asked: Asked) -> HubFailure:
    if status >= 500:
        return HubBroken(
            f"{asked.host} has an error of its own (status {status}). Nothing was lost: try again in a few "
            "minutes."
        )
    return HubUnreadable(
        f"{asked.host} refused the request (status {status}). Nothing was changed: check the words and the "
        "Hub's address, then try again."
    )
