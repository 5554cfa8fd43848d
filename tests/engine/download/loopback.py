"""The way to a fake Hub; imports little, since processes start with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.hub.file_address import FileAddress, file_address
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.secret import Secret


class HasEndpoint(Protocol):
    """A fake Hub, or where one is in another process."""

    @property
    def endpoint(self) -> str: ...


@dataclass(frozen=True)
class Elsewhere:
    """A fake Hub of another process."""

    endpoint: str


@dataclass
class LoopbackAccess:
    """Leads to `hub`, wherever it is at that moment, with `token` where there is one."""

    hub: HasEndpoint
    token: str | None = None

    def page(self, repo_id: str) -> str:
        return f"{self.hub.endpoint}/{repo_id}"

    def address(self, model: RemoteModel, part: RemotePart) -> FileAddress:
        secret = Secret(self.token) if self.token is not None else None
        return file_address(self.hub.endpoint, model.repo_id, model.revision, part.path, secret)
