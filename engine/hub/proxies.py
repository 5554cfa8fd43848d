"""Proxies of the environment that the HTTP library refuses to hear of, made harmless.

GNOME writes `ALL_PROXY=socks://...` beside `HTTPS_PROXY=http://...`; the HTTP library
raises ValueError for the first, although the second would do. Here each usable proxy is used, and a
request that only an unusable one could carry gets a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from engine.hub.hub_errors import ProxyUnusable
from engine.models.byte_reader import shown


def environment_mounts() -> dict[str, httpx2.BaseTransport | None]:
    """A transport for each scheme that the environment has a proxy for; None for hosts that need none."""
    proxies = getproxies()
    mounts: dict[str, httpx2.BaseTransport | None] = {
        f"{scheme}://": _transport(address)
        for scheme in ("http", "https", "all")
        if (address := proxies.get(scheme))
    }
    if "all://" in mounts and isinstance(mounts["all://"], _Unusable):
        for scheme in ("http://", "https://"):
            mounts.setdefault(scheme, mounts["all://"])
    return mounts | _direct(proxies)


def _direct(proxies: Mapping[str, str]) -> dict[str, httpx2.BaseTransport | None]:
    """The hosts of NO_PROXY, which hold for their subdomains too."""
    hosts = [host.strip().lstrip("*.") for host in proxies.get("no", "").split(",")]
    return {pattern: None for host in hosts if host for pattern in (f"all://{host}", f"all://*.{host}")}


def _transport(address: str) -> httpx2.BaseTransport:
    try:
        return httpx2.HTTPTransport(proxy=address if "://" in address else f"http://{address}")
    except (ValueError, ImportError, httpx2.InvalidURL):  # ImportError: SOCKS needs a package of its own
        return _Unusable(address)


class _Unusable(httpx2.BaseTransport):
    """Refuses each request with the reason; an address may hold a password, so only its start is shown."""

    def __init__(self, address: str) -> None:
        self._kind = urlsplit(address).scheme if "://" in address else "no"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:  # noqa: ARG002
        raise ProxyUnusable(
            f"Your proxy setting is of a kind that Weir cannot use ({shown(self._kind)}://). Nothing was "
            "sent: set HTTPS_PROXY to an http:// proxy, or unset ALL_PROXY, then start Weir again."
        )
