"""A connection that failed, as an error that says where: the name, the network, the certificate, the time.

The HTTP library's exceptions go in; their own text, which may hold signed addresses, is not passed on.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx2

from engine.hub.hub_errors import (
    HubFailure,
    HubNameUnknown,
    HubOffline,
    HubTooSlow,
    HubUnreadable,
    HubUntrusted,
)
from engine.hub.refusals import Asked

# The first that is among the causes decides. Errors of certificates and names come wrapped in ConnectError.
_CAUSES: tuple[tuple[type[BaseException], type[HubFailure], str], ...] = (
    (
        ssl.SSLError,
        HubUntrusted,
        "The connection to {host} is not safe: its certificate could not be verified. Nothing was sent: "
        "check the clock, and whether your network or a virus scanner reads along, then try again.",
    ),
    (
        socket.gaierror,
        HubNameUnknown,
        "{host} could not be found. Nothing was lost: check the network and its address, then try again.",
    ),
    (
        httpx2.TimeoutException,
        HubTooSlow,
        "{host} did not answer in time. Nothing was lost: check the network, then try again.",
    ),
    (
        httpx2.ProxyError,
        HubOffline,
        "The proxy does not let Weir reach {host}. Nothing was lost: check HTTPS_PROXY, then try again.",
    ),
    (
        httpx2.ConnectError,
        HubOffline,
        "{host} cannot be reached. Nothing was lost: check the network, then try again.",
    ),
    (
        httpx2.TransportError,
        HubOffline,
        "The connection to {host} broke. Nothing was lost: check the network, then try again.",
    ),
)


def failure_of(error: Exception, asked: Asked) -> HubFailure:
    """The error for a request that ended with `error`, an exception of the HTTP library."""
    causes = tuple(_causes(error))
    for kind, failure, sentence in _CAUSES:
        if any(isinstance(cause, kind) for cause in causes):
            return failure(sentence.format(host=asked.host))
    return unreadable(asked)


def unreadable(asked: Asked) -> HubUnreadable:
    """The error for an answer that cannot be the Hub's."""
    return HubUnreadable(
        f"What {asked.host} answered is not the Hub's. Nothing was changed: check its address, and whether "
        "your network wants a login in the browser first, then try again."
    )


def too_slow(asked: Asked) -> HubFailure:
    """The error for an answer that is still not there, or not whole, when its time is over."""
    return failure_of(httpx2.ReadTimeout(""), asked)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        yield cause
        cause = cause.__cause__ or cause.__context__
