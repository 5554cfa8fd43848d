"""A signal from outside closes the window as its button would."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from pytestqt.qtbot import QtBot

from app.services.shutdown_signals import ShutdownSignals


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends a Windows process at once")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_closes_once_and_handlers_return(qtbot: QtBot, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    closed: list[None] = []
    signals = ShutdownSignals(lambda: closed.append(None))
    os.kill(os.getpid(), number)
    qtbot.waitUntil(lambda: closed == [None], timeout=1000)
    signals.release()
    assert signal.getsignal(number) is before
