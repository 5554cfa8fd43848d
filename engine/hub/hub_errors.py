"""Why the Hub could not be asked or refused, each cause with a sentence of its own and with what would help.

    HubFailure                carries `remedies`, and the address or the time that belongs to them
    ├── HubOffline            no connection: no network, nobody listens, or offline mode is set
    ├── HubNameUnknown        the Hub's name has no address (DNS)
    ├── HubTooSlow            no answer in time
    ├── HubUntrusted          its certificate could not be verified (TLS)
    ├── ProxyUnusable         the proxy settings of the environment cannot be used
    ├── TermsNotAccepted      a gated repository: its terms, or its owner's consent
    ├── TokenRejected         the token is wrong or expired, maybe where none was needed
    ├── AccessDenied          403 for any other reason
    ├── NotOnHub              no such repository, revision or file, or a private one
    ├── TooManyRequests       429; `retry_after_s` where the Hub says
    ├── HubBroken             5xx
    ├── HubUnreadable         an answer that is not the Hub's, as from a login page of a network
    └── HubCancelled          the caller did not want the answer any more

Statuses and the library's exceptions go in, errors come out. No text of theirs is passed on but what the
Hub says about a repository, made printable: addresses may be signed, and headers hold tokens.
"""

from __future__ import annotations

import enum

from engine.errors import HubError


class Remedy(enum.StrEnum):
    """What a person can do about a failure; the first of several is the likeliest to help."""

    ACCEPT_TERMS = "accept_terms"  # on the page at `url`
    ENTER_TOKEN = "enter_token"
    TRY_WITHOUT_TOKEN = "try_without_token"
    TRY_AGAIN = "try_again"


class HubFailure(HubError):
    """Base: `remedies` may be empty; `url` is the page to open, `retry_after_s` the seconds to wait."""

    remedies: tuple[Remedy, ...] = ()

    def __init__(
        self,
        sentence: str,
        *,
        remedies: tuple[Remedy, ...] | None = None,
        url: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(sentence)
        self.url = url
        self.retry_after_s = retry_after_s
        if remedies is not None:
            self.remedies = remedies


class _Passing(HubFailure):
    """May be over the next time."""

    remedies = (Remedy.TRY_AGAIN,)


class HubOffline(_Passing):
    """No connection could be made, or it broke."""


class HubNameUnknown(_Passing):
    """The Hub's name could not be resolved."""


class HubTooSlow(_Passing):
    """The Hub did not answer within the time that was given."""


class HubUntrusted(_Passing):
    """The connection is not what it should be: the certificate was refused."""


class ProxyUnusable(HubFailure):
    """The environment names a proxy of a kind that cannot be used."""


class TermsNotAccepted(HubFailure):
    """The repository is gated; `url` is its page."""


class TokenRejected(HubFailure):
    """The token was refused; the same request without it may pass."""

    remedies = (Remedy.TRY_WITHOUT_TOKEN, Remedy.ENTER_TOKEN)


class AccessDenied(HubFailure):
    """The Hub refuses this account, this network or everybody."""

    remedies = (Remedy.ENTER_TOKEN,)


class NotOnHub(HubFailure):
    """No such repository, revision or file, as far as this account may know."""


class TooManyRequests(_Passing):
    """The Hub asks to wait."""


class HubBroken(_Passing):
    """The Hub itself has an error."""


class HubUnreadable(_Passing):
    """Something answered, but not as the Hub does."""


class HubCancelled(HubFailure):
    """The answer was no longer wanted; nothing went wrong."""
