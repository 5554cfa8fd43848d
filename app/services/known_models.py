"""The models that are worth offering: the starter, and what was loaded well since the start.

Paths go in, with the names that the models gave themselves. Knows nothing about files.
"""

from __future__ import annotations

from pathlib import Path


class KnownModels:
    """Paths of models in the order in which they became known."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add(self, path: str, name: str | None = None) -> None:
        """Offer the model at `path`; `name` is its own, None while that is not known."""
        if name is not None or path not in self._names:
            self._names[path] = name or Path(path).stem

    def paths(self) -> list[str]:
        """All of them."""
        return list(self._names)

    def name_of(self, path: str) -> str:
        """The model's own name, or what its file is called."""
        return self._names.get(path, Path(path).stem)
