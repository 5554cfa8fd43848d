"""The system's keyring, as far as it can be trusted to answer.

Keyrings ask the user for a password, wait for services that are not running, or raise whatever their library
raises. Each call runs in a thread of its own and is waited for a few seconds; while one hangs, no other is
begun. Backends that only write a file (keyrings.alt) do not count as keyrings: Weir's own file is safer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from engine.hub.secret import Secret

SERVICE = "Weir"
ACCOUNT = "Hugging Face token"

READ_S = 3.0
_NO_KEYRINGS = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")

WRITE_S = 20.0  # somebody may have to unlock it


class KeyringUnusable(Exception):
    """There is no keyring, or it did not answer; what it said is not passed on."""


class SystemKeyring:
    """One entry of the keyring; `backend` finds the keyring, `keyring.get_keyring` if None."""

    def __init__(self, backend: Callable[[], Any] | None = None) -> None:
        self._backend = backend or _system_backend
        self._hanging: threading.Thread | None = None

    def read(self) -> Secret | None:
        """The token in it; None without one. Raises KeyringUnusable."""
        text = self._bounded(lambda backend: backend.get_password(SERVICE, ACCOUNT), READ_S)
        return Secret(text) if isinstance(text, str) and text else None

    def save(self, secret: Secret) -> None:
        """Put `secret` in, and look whether it is there. Raises KeyringUnusable."""

        def put(backend: Any) -> bool:
            backend.set_password(SERVICE, ACCOUNT, secret.reveal())
            return bool(backend.get_password(SERVICE, ACCOUNT) == secret.reveal())

        if not self._bounded(put, WRITE_S):
            raise KeyringUnusable

    def delete(self) -> None:
        """Take the token out, if there is one. Raises KeyringUnusable."""

        def drop(backend: Any) -> None:
            if backend.get_password(SERVICE, ACCOUNT) is not None:
                backend.delete_password(SERVICE, ACCOUNT)

        self._bounded(drop, WRITE_S)

    def _bounded(self, call: Callable[[Any], Any], seconds: float) -> Any:
        """What `call` answers within `seconds`. Raises KeyringUnusable for anything else."""
        if self._hanging is not None and self._hanging.is_alive():
            raise KeyringUnusable
        answers: list[Any] = []

        def run() -> None:
            # Backends raise errors of D-Bus, of ctypes and of their own; none of them may end the program.
            try:
                answers.append(call(_usable(self._backend())))
            except Exception:
                return

        thread = threading.Thread(target=run, name="keyring", daemon=True)
        thread.start()
        thread.join(seconds)
        self._hanging = thread
        if not answers:
            raise KeyringUnusable
        return answers[0]


def _system_backend() -> Any:
    import keyring

    return keyring.get_keyring()


def _usable(backend: Any) -> Any:
    """`backend`, or the first of a chain that is more than a file. Raises KeyringUnusable."""
    members = getattr(backend, "backends", (backend,))  # a chain of them is asked one after the other
    for member in members:
        if not type(member).__module__.startswith(_NO_KEYRINGS):
            return member
    raise KeyringUnusable
