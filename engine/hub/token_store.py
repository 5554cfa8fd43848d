"""The token that the Hub is asked with: where it comes from, and where an entered one is kept.

An entered token lies in the system's keyring, or, where there is none, in a file that only this user can
read. It comes before those of `huggingface_hub`, HF_TOKEN and its token file, which are read and never
changed. Texts go in and out; no exception, log or repr from here holds one. A keyring that asks for a
password or hangs is waited for a few seconds only.
"""

from __future__ import annotations

import contextlib
import enum
import os
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadRequest, KnownError
from engine.hub.keyring_access import KeyringUnusable, SystemKeyring
from engine.hub.secret import Secret

_FILE_NAME = "hub-token"
_MOST_CHARACTERS = 1_000


class TokenSource(enum.StrEnum):
    """Where a token comes from."""

    KEYRING = "keyring"  # entered
    FILE = "file"  # entered
    ENVIRONMENT = "environment"  # HF_TOKEN
    HUB_LIBRARY = "hub_library"  # `hf auth login`

    @property
    def is_entered(self) -> bool:
        """Whether it was entered into Weir, and can be deleted there."""
        return self in (TokenSource.KEYRING, TokenSource.FILE)


@dataclass(frozen=True, slots=True)
class FoundToken:
    """A token and where it comes from."""

    secret: Secret
    source: TokenSource


class TokenStore:
    """The token of this user; `folder` is Weir's own. For any thread; reads once, then remembers."""

    def __init__(self, folder: Path, keyring: SystemKeyring | None = None) -> None:
        self._path = folder / _FILE_NAME
        self._keyring = keyring or SystemKeyring()
        self._lock = threading.Lock()
        self._entered: FoundToken | None = None
        self._is_read = False

    def token(self) -> str | None:
        """The token to ask with; None without one. For `Hub`."""
        found = self.find()
        return None if found is None else found.secret.reveal()

    def find(self) -> FoundToken | None:
        """The token and where it comes from; None without one. May wait for the keyring the first time."""
        with self._lock:
            if not self._is_read:
                # A keyring that is still locked is asked again the next time.
                with contextlib.suppress(KeyringUnusable):
                    self._entered, self._is_read = self._read_entered(), True
            return self._entered or _of_the_library()

    def save(self, text: str) -> TokenSource:
        """Keep an entered token instead of a former one; tells where it lies now.

        Raises BadRequest for what cannot be a token, KnownError where it cannot be written.
        """
        secret = Secret(_checked(text))
        with self._lock:
            source = TokenSource.KEYRING
            try:
                self._keyring.save(secret)
                self._path.unlink(missing_ok=True)
            except (KeyringUnusable, OSError):
                source = TokenSource.FILE
                _write(self._path, secret)
            self._entered, self._is_read = FoundToken(secret, source), True
            return source

    def delete(self) -> None:
        """Forget the entered token, wherever it lies; those of `huggingface_hub` stay.

        Raises KnownError where that failed: it is used no more, but may be back at the next start.
        """
        with self._lock:
            was_in_keyring = self._entered is not None and self._entered.source is TokenSource.KEYRING
            self._entered, self._is_read = None, True
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                raise KnownError(
                    f"The token's file could not be deleted ({error.strerror}). Delete it: {self._path}"
                ) from None
            try:
                self._keyring.delete()
            except KeyringUnusable:
                if was_in_keyring:
                    raise KnownError(
                        "The keyring did not delete the token. Weir no longer uses it: delete the entry of "
                        "Weir in the keyring yourself."
                    ) from None

    def _read_entered(self) -> FoundToken | None:
        # The file first: it is there only if the keyring could not take the token.
        if secret := _read(self._path):
            return FoundToken(secret, TokenSource.FILE)
        secret = self._keyring.read()
        return FoundToken(secret, TokenSource.KEYRING) if secret else None


def _checked(text: str) -> str:
    token = text.strip()
    is_plain = token.isascii() and token.isprintable() and " " not in token
    if not is_plain or not 0 < len(token) <= _MOST_CHARACTERS:
        raise BadRequest(
            "This is no token. Nothing was kept: copy it from the page of your tokens; it starts with hf_."
        )
    return token


def _of_the_library() -> FoundToken | None:
    """The token of `huggingface_hub`, which may renew it over the network."""
    from engine.hub.session import library_token

    text = library_token()
    if not text:
        return None
    is_set = any(os.environ.get(name) for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))
    return FoundToken(Secret(text), TokenSource.ENVIRONMENT if is_set else TokenSource.HUB_LIBRARY)


def _read(path: Path) -> Secret | None:
    """The token in the file at `path`, which is made this user's alone if it was not."""
    try:
        with path.open("rb") as file:
            if hasattr(os, "fchmod") and os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
            text = file.read(_MOST_CHARACTERS + 1).decode("ascii").strip()
    except (OSError, ValueError):
        return None
    return Secret(text) if text else None


def _write(path: Path, secret: Secret) -> None:
    """Replace the file at `path`, which nobody else can read at any moment; on the disk when this returns."""
    temporary = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secret.reveal().encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise KnownError(
            f"The token could not be kept in {path.parent} ({error.strerror}). Nothing was changed: make the "
            "folder writable, or set HF_TOKEN instead."
        ) from None
