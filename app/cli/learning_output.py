"""Learns from what passes by: the speed of each reply goes to the store that the window keeps too.

An `Output` goes in, the same output comes out, which notes how fast a model decodes here. Promises never to
stop or slow a chat: nothing is read or written while tokens come. Knows nothing about the chat.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil

from app.cli.machine import open_learner
from app.cli.output import Output
from engine.errors import KnownError
from engine.memory.bandwidth import with_bandwidth
from engine.memory.hardware import Hardware, read_hardware
from engine.memory.learning import Learner
from engine.memory.other_load import OtherLoad
from engine.models.model_facts import ModelFacts, read_facts
from engine.protocol import Event, Finished, ModelInfo, ModelLoaded, TextDelta, TurnStats


class LearningOutput:
    """Shows everything on `output`; `make_learner` opens the stores once there is something to learn."""

    def __init__(self, output: Output, make_learner: Callable[[], Learner | None] = open_learner) -> None:
        self._output = output
        self._make_learner = make_learner
        self._learner: Learner | None = None
        self._info: ModelInfo | None = None
        self._known: tuple[ModelFacts, Hardware] | None = None
        self._load: OtherLoad | None = None

    def note(self, sentence: str) -> None:
        """Pass the sentence on."""
        self._output.note(sentence)

    def show(self, event: Event) -> None:
        """Pass the event on, and learn from the end of a reply."""
        self._output.show(event)
        match event:
            case ModelLoaded(info):
                self._info, self._known = info, None
            case TextDelta() if self._load is None:
                self._load = OtherLoad(_children())
            case Finished(stats=stats):
                load, self._load = self._load, None
                if load and not load.disturbs():
                    self._learn(stats)

    def _learn(self, stats: TurnStats) -> None:
        if self._info is None or not stats.decode_tps:
            return
        self._learner = self._learner or self._make_learner()
        if self._learner is None:
            return
        try:
            facts, hardware = self._known or _look(self._info, self._learner)
        except KnownError:
            return
        self._known = facts, hardware
        self._learner.learn(facts, self._info, hardware, stats)


def _look(info: ModelInfo, learner: Learner) -> tuple[ModelFacts, Hardware]:
    facts, hardware = read_facts(Path(info.path)), read_hardware(info.devices)
    return facts, with_bandwidth(hardware, learner.bandwidths.stored(hardware))


def _children() -> list[int]:
    try:
        return [child.pid for child in psutil.Process().children(recursive=True)]
    except (psutil.Error, OSError):
        return []
