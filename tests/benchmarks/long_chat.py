"""A chat of 2,000 messages in the real window while a reply streams in; run as a process of its own.

Takes how many seconds to stream and prints one JSON line: seconds to open the chat until it is painted,
the stalls of the event loop in milliseconds as a timer of 5 ms sees them, repaint costs at 20 and at
2,000 messages, and the resident megabytes of the process at the end.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["WEIR_HOME"] = tempfile.mkdtemp(prefix="weir-long-chat-")

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.data.chat_store import ChatStore
from app.data.stored_message import MessageState, TurnNumbers
from app.views.theme import apply_theme
from app.window import Weir
from tests.app.scripted_engine import ScriptedEngine

TICK_MS = 5
TOKENS_A_SECOND = 200
EVENT_MS = 30
"""The engine merges its text to about one event each 30 ms."""

_PROSE = "The river runs on, and the level behind the weir stays what it was; **nothing** is lost. "
_CODE = "```python\ndef level(inflow: float, outflow: float) -> float:\n    return inflow - outflow\n```\n"
_TABLE = "| Hour | Place | Cost |\n|---|---|--:|\n| 8:00 | Mosque | 2 |\n| 11:00 | Museum | 3 |\n"


def reply_text(number: int) -> str:
    """About 900 characters: prose, and each few messages code or a table."""
    extra = ("\n\n" + _CODE) if number % 3 == 0 else ("\n\n" + _TABLE + "\n") if number % 3 == 1 else ""
    return f"## Answer {number}\n\n" + _PROSE * 8 + extra + "\n\n- one\n- two `code`\n"


def fill(store: ChatStore, n_messages: int) -> str:
    """A chat of `n_messages`, half of them replies; returns its id."""
    chat = store.create_chat(f"{n_messages} messages")
    numbers = TurnNumbers(118, 41.2, 210.0, 380.0)
    for number in range(n_messages // 2):
        question = store.add_user_message(chat.id, f"Question {number}: " + _PROSE)
        reply = store.begin_reply(question, "SmolLM2")
        store.finish_reply(reply.id, reply_text(number), MessageState.COMPLETE, numbers)
    return chat.id


def run_for(seconds: float) -> None:
    """Let the event loop run."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    loop.exec()


class Stalls:
    """How late a timer of TICK_MS is, in milliseconds."""

    def __init__(self) -> None:
        self.found: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def stop(self) -> None:
        """End the measurement."""
        self._timer.stop()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.found.append(max(0.0, (now - self._last) * 1000 - TICK_MS))
        self._last = now


def repaint_ms(weir: Weir) -> float:
    """Median milliseconds to paint the whole transcript."""
    viewport = weir.window.transcript.viewport()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        viewport.repaint()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def open_chat(weir: Weir, chat_id: str) -> float:
    """Seconds until the chat is shown and painted."""
    assert weir.open
    started = time.perf_counter()
    weir.open.controller.open(chat_id)
    QApplication.processEvents()
    weir.window.repaint()
    return time.perf_counter() - started


def stream(engine: ScriptedEngine, seconds: float) -> list[float]:
    """Stream a long reply into the open chat; the stalls meanwhile."""
    client = engine.newest
    words = (_PROSE * 3 + "\n\n" + _CODE + "\n" + _TABLE + "\n\n").split(" ")
    written: list[str] = []
    n_tokens = TOKENS_A_SECOND * EVENT_MS // 1000

    def write() -> None:
        first = len(written) * n_tokens
        piece = "".join(f"{words[(first + i) % len(words)]} " for i in range(n_tokens))
        written.append(piece)
        client.write(piece)

    writing = QTimer()
    writing.setInterval(EVENT_MS)
    writing.timeout.connect(write)
    writing.start()
    stalls = Stalls()
    run_for(seconds)
    stalls.stop()
    writing.stop()
    client.finish("".join(written))
    run_for(0.3)
    return stalls.found


def main() -> int:
    """Measure and print."""
    application = QApplication(["weir"])
    engine = ScriptedEngine()
    weir = Weir(engine, Path("/models/starter.gguf"))
    apply_theme(application, "light")
    weir.window.resize(1366, 768)
    weir.show()
    run_for(0.3)
    engine.newest.load()
    run_for(0.2)
    assert weir.open
    short, long = fill(weir.open.store, 20), fill(weir.open.store, 2_000)
    weir.open.controller.open(short)
    run_for(0.3)
    short_ms = repaint_ms(weir)
    weir.open.controller.open(None)
    run_for(0.2)
    opened = open_chat(weir, long)
    run_for(0.3)
    long_ms = repaint_ms(weir)
    weir.window.composer.edit.set_text("And now?")
    weir.window.composer.edit.submitted.emit()
    found = stream(engine, float(sys.argv[1]))
    bar = weir.window.transcript.verticalScrollBar()
    print(
        json.dumps(
            {
                "n_messages": weir.transcript.rowCount(),
                "n_characters": sum(len(weir.transcript.message_at(r).content) for r in range(2_000)),
                "open_s": opened,
                "longest_stall_ms": max(found),
                "median_stall_ms": statistics.median(found),
                "p99_stall_ms": sorted(found)[len(found) * 99 // 100],
                "repaint_ms_20": short_ms,
                "repaint_ms_2000": long_ms,
                "at_end": bar.value() == bar.maximum(),
                "rss_mb": psutil.Process().memory_info().rss / 1e6,
            }
        )
    )
    weir.window.close()
    run_for(0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
