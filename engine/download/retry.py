"""Which faults pass by themselves, and how long to wait for that.

Whatever the network does is tried again for as long as somebody waits: 1, 2, 4 ... 60 s apart, give or take
a quarter, and not before the server's Retry-After. Refusals that trying again would not change are errors:
401, 403 and 404 of the Hub itself, a disk without space, wrong content twice. A refusal of the storage that
the Hub redirects to is none: its signed addresses expire, and the next attempt gets a new one.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from engine.download.access import Patience
from engine.hub import refusals

_PASSING = frozenset({408, 425, 429})
_JITTER = 0.25


class Interrupted(Exception):
    """An attempt failed in a way that may pass; `reason` is a sentence.

    `retry_after_s`: the server's own wish. `at_once`: the first wait of a row is left out.
    `without_range`: the next attempt asks for the whole file, since this server got the range wrong.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after_s: float | None = None,
        at_once: bool = False,
        without_range: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.at_once = at_once
        self.without_range = without_range


class WrongBytes(Exception):
    """What came is not the file; `cause` completes "came with the wrong content"."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


def passes(status: int) -> bool:
    """Whether a refusal of the Hub with `status` may be over the next time."""
    return status in _PASSING or status >= 500


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds until the server answers again, as it says in seconds or as a date; None where it does not."""
    if (seconds := refusals.retry_after_s(headers)) is not None:
        return seconds
    date = headers.get("Retry-After", "")
    if not re.match(r"[A-Z][a-z]{2}", date):
        return None
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - (time.time() if now is None else now))
    except (ValueError, OverflowError):
        return None


class BackOff:
    """How long to wait after each failure of a row; a success ends the row."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._n_failures = 0

    def succeeded(self) -> None:
        """The next failure is the first one of a row again."""
        self._n_failures = 0

    def after(self, failure: Interrupted) -> float:
        """Seconds to wait after `failure`."""
        self._n_failures += 1
        n_waits = self._n_failures - failure.at_once
        if n_waits == 0:
            return failure.retry_after_s or 0.0
        doubled: float = self._patience.first_delay_s * 2.0 ** min(n_waits - 1, 30)
        delay = min(doubled, self._patience.longest_delay_s) * random.uniform(1 - _JITTER, 1 + _JITTER)
        return max(delay, failure.retry_after_s or 0.0)
