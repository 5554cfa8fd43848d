"""What the fake Hub holds: repositories with their files, in memory or on the disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class HubFile:
    """One file; stored by LFS, as every model file is, unless it is small text."""

    data: bytes | Path
    is_lfs: bool = True

    @cached_property
    def body(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else self.data.read_bytes()

    @property
    def size(self) -> int:
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    @property
    def etag(self) -> str:
        return f'"{self.sha256}"'


@dataclass
class HubRepo:
    """One repository at one commit."""

    repo_id: str
    files: dict[str, HubFile] = field(default_factory=dict)
    commit: str = COMMIT
    downloads: int = 0
    likes: int = 0
    last_modified: str = "2026-01-01T00:00:00.000Z"
    tags: list[str] = field(default_factory=lambda: ["gguf"])
    gated: str | bool = False
    private: bool = False
