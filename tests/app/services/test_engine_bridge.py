"""Events cross from the client's thread to the window's, and stop when the bridge is closed."""

from __future__ import annotations

import threading

from pytestqt.qtbot import QtBot

from app.services.engine_bridge import EngineBridge
from engine.protocol import Event, LoadProgress
from tests.app.conftest import settle
from tests.app.scripted_engine import ScriptedEngine


def _say_from_another_thread(engine: ScriptedEngine, event: Event) -> None:
    thread = threading.Thread(target=engine.newest.say, args=(event,))
    thread.start()
    thread.join()


def test_events_arrive_in_order_on_the_windows_thread(qtbot: QtBot, engine: ScriptedEngine) -> None:
    bridge = EngineBridge(engine)
    arrived: list[tuple[float, bool]] = []
    main = threading.main_thread()
    bridge.event_received.connect(
        lambda event: arrived.append((event.fraction, threading.current_thread() is main))
    )
    for fraction in (0.1, 0.5, 1.0):
        _say_from_another_thread(engine, LoadProgress(fraction))
    assert arrived == []
    settle()
    assert arrived == [(0.1, True), (0.5, True), (1.0, True)]
    bridge.close()


def test_nothing_arrives_after_closing(qtbot: QtBot, engine: ScriptedEngine) -> None:
    bridge = EngineBridge(engine)
    arrived: list[Event] = []
    bridge.event_received.connect(arrived.append)
    _say_from_another_thread(engine, LoadProgress(0.5))
    bridge.close()
    bridge.close()
    bridge.wait_closed(1.0)
    _say_from_another_thread(engine, LoadProgress(1.0))
    settle()
    assert arrived == []
    assert engine.newest.closed
