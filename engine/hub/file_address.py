"""Where a file of the Hub is fetched from, and which headers may go there.

The Hub redirects to storage at other hosts, by addresses that are signed for a while. Whoever follows a
redirect asks `headers_for` again with the new address, and gets the token for the Hub's own origin alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from engine.hub.secret import Secret
from engine.version import VERSION

USER_AGENT = f"weir/{VERSION}"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class FileAddress:
    """`url` answers with the file or with a redirect to it. Its text and repr hold no secret."""

    url: str
    token: Secret | None = field(default=None, repr=False)

    def headers_for(self, url: str) -> dict[str, str]:
        """The headers of a request to `url`: the token is among them only for the Hub's own origin."""
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        if self.token is not None and origin_of(url) == origin_of(self.url):
            headers["Authorization"] = f"Bearer {self.token.reveal()}"
        return headers


def file_address(
    endpoint: str, repo_id: str, revision: str, path: str, token: Secret | None = None
) -> FileAddress:
    """The address of the file at `path` of `repo_id` at `revision`."""
    where = f"{quote(repo_id)}/resolve/{quote(revision, safe='')}/{quote(path)}"
    return FileAddress(f"{endpoint}/{where}", token)


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of `url`; addresses with the same ones are of one server (RFC 6454)."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(scheme, 0)
