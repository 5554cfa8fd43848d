"""Which Hub is asked: an address from a setting or the environment, checked before anything is sent there."""

from __future__ import annotations

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

from engine.hub.hub_errors import HubFailure
from engine.models.byte_reader import shown

PUBLIC = "https://huggingface.co"


class BadEndpoint(HubFailure):
    """The address of the Hub is none."""


def endpoint_of(chosen: str | None) -> str:
    """The address of the Hub, without a slash at its end: `chosen`, else HF_ENDPOINT, else the public one.

    Raises BadEndpoint for what is no http or https address.
    """
    text = (chosen or os.environ.get("HF_ENDPOINT") or PUBLIC).strip().rstrip("/")
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        is_good = False
    # A name or a password in an address would end up in sentences and logs.
    if not is_good or parts.query or parts.fragment or parts.username is not None or not text.isprintable():
        raise BadEndpoint(
            f"{shown(text.rpartition('@')[2])} is no address of a Hub. Nothing was sent: write it as "
            f"{PUBLIC}, in the settings or in HF_ENDPOINT."
        )
    return text


def host_of(endpoint: str) -> str:
    """What the Hub at `endpoint` is called in sentences: its host, and its port if it names one."""
    return urlsplit(endpoint).netloc


def may_have_token(endpoint: str) -> bool:
    """Whether a token may be sent: not in the clear through a network."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
