"""Which model answers: loading, replacing and restarting it.

A path goes in, `model_ready` comes out, or a notice that names file and cause. Promises:
- the loaded model goes on answering until another one is ready, unless memory is too short for both;
- a file that failed to load, or died twice in a row, is never loaded again by itself, also not after
  a restart of Weir; with a guard, nothing is for which there is no room;
- a worker that dies is started again with the same model by itself, once, but never while it loads.
It knows nothing about chats; what the engine says about them passes through as `event_received`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import psutil
from PySide6.QtCore import QObject, Signal

from app.data.settings import LoadSettings
from app.services import load_notices
from app.services.engine_bridge import ClientFactory, EngineBridge
from app.services.first_model import first_models
from app.services.known_models import KnownModels
from app.services.model_engine import ModelEngine, RetiredEngines, load_command
from app.services.notice import Notice
from app.services.plan_result import Guard, PlanResult
from app.services.preferences import Preferences
from engine.errors import EngineGone
from engine.protocol import (
    Command,
    EngineDied,
    Event,
    Failed,
    Finished,
    FinishReason,
    LoadModel,
    LoadProgress,
    ModelInfo,
    ModelLoaded,
)


class ModelLoader(QObject):
    """Owns the engine that answers and the one that is being loaded."""

    changed = Signal()
    """Another model is ready, being loaded, or gone: read `info` and `loading`."""

    progress = Signal(float)
    """How much of the model being loaded is loaded, 0 to 1."""

    leaving = Signal()
    """The engine that answers makes way for another: finish what runs."""

    engine_lost = Signal()
    """The engine that answered is gone, with all that it was doing."""

    refused = Signal(object)
    """A model could not be loaded with these `LoadSettings`; what answered before comes back."""

    model_ready = Signal(object)
    """The `ModelInfo` of the model that answers from now on."""

    event_received = Signal(object)
    """An `engine.protocol.Event` of the engine that answers, about its requests or itself."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        preferences: Preferences,
        make_client: ClientFactory,
        available_memory: Callable[[], int] = lambda: psutil.virtual_memory().available,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._make_client = make_client
        self._available_memory = available_memory
        self._current: ModelEngine | None = None
        self._candidate: ModelEngine | None = None
        self.retired = RetiredEngines()
        self._fallback: ModelEngine | None = None
        self._deaths = 0
        self.guard: Guard | None = None
        self.last_asked: tuple[str, LoadSettings] | None = None
        self.problem = ""
        self.known = KnownModels()

    @property
    def info(self) -> ModelInfo | None:
        """The model that answers now, None if there is none."""
        return self._current.info if self._current else None

    @property
    def present(self) -> ModelEngine | None:
        """The engine that answers, to read how it was loaded."""
        return self._current

    @property
    def candidate(self) -> ModelEngine | None:
        """The engine of the model being loaded."""
        return self._candidate

    @property
    def expected_name(self) -> str | None:
        """The name of the model that answers now, or will once it is loaded."""
        if self.info:
            return self.info.name
        return self.known.name_of(self.loading) if self.loading else None

    @property
    def loading(self) -> str | None:
        """The path of the model being loaded."""
        return self._candidate.path if self._candidate else None

    @property
    def asked_with(self) -> LoadSettings | None:
        """What the model being loaded, or else the one that answers, is loaded with."""
        engine = self._candidate or self._current
        return engine.how if engine else None

    def send(self, command: Command) -> None:
        """Give the engine that answers a command; raises EngineGone when there is none."""
        if self._current is None:
            raise EngineGone("No model is loaded. Nothing was lost: choose a model first.")
        self._current.bridge.send(command)

    def load(self, path: str, how: LoadSettings | None = None, planned: PlanResult | None = None) -> None:
        """Load the model at `path` in place of the current one; `how` None is as the settings say.

        `planned`: what somebody saw of it and agreed to; without it, the guard has a look first.
        """
        self._deaths = 0
        self._drop_candidate()
        settings = self._preferences.settings
        how = how or settings.load_settings
        self.last_asked = (path, how)
        engine = self._start(load_command(path, how, settings), how)
        self._go(engine, planned) if planned else self._look(engine)
        self.changed.emit()

    def cancel_loading(self) -> None:
        """Give up the model being loaded; what answered before comes back, or goes on."""
        if self._candidate:
            self._drop_candidate()
            self._bring_back()
            self.changed.emit()

    def load_first(self, starter: str | None) -> None:
        """Load what was used last, or else the starter model, if there is one."""
        paths, notice = first_models(self._preferences.settings.last_model, starter)
        if notice:
            self.notice.emit(notice)
        for path in paths:
            self.known.add(path)
        if paths:
            self.load(paths[-1])

    def load_again(self) -> None:
        """Load the model that was asked for last once more."""
        if self.last_asked is not None:
            self.load(self.last_asked[0])

    def unload(self) -> None:
        """End the engine that answers; replies wait until a model is loaded again."""
        self._leave_current()
        self.changed.emit()

    def close(self, timeout_s: float) -> None:
        """End all workers; returns when they have ended or the time is over."""
        self._drop_candidate()
        if self._current:
            self.retired.add(self._current)
            self._current = None
        self.retired.wait(timeout_s)

    def _start(self, command: LoadModel, how: LoadSettings, *, restarted: bool = False) -> ModelEngine:
        """Start an engine for a model; it waits for `_look` or `_go`."""
        engine = ModelEngine(EngineBridge(self._make_client, self), command, how, restarted)
        self._candidate = engine
        self.problem = ""
        engine.bridge.event_received.connect(functools.partial(self._on_event, engine))
        return engine

    def _look(self, engine: ModelEngine) -> None:
        """Go on if there is room. The engine's process starts meanwhile: both take a second."""
        if self.guard:
            self.guard(engine.path, engine.how, functools.partial(self._on_planned, engine))
        else:
            self._go(engine, None)

    def _on_planned(self, engine: ModelEngine, planned: PlanResult | None) -> None:
        if engine is not self._candidate:
            return
        if planned and planned.does_not_fit:
            self._refuse(engine, load_notices.has_no_room(planned), was_tried=False)
        else:
            self._go(engine, planned)

    def _go(self, engine: ModelEngine, planned: PlanResult | None) -> None:
        engine.plan_with(planned)
        if self._current and not engine.fits_beside(self._available_memory()):
            self._fallback = self._current
            self._leave_current()
        try:
            engine.bridge.send(engine.command)
        except EngineGone as error:
            self._on_candidate(engine, EngineDied(None, str(error)))

    def _on_event(self, engine: ModelEngine, event: Event) -> None:
        if engine is self._candidate:
            self._on_candidate(engine, event)
        elif engine is self._current:
            self._on_current(engine, event)

    def _on_candidate(self, engine: ModelEngine, event: Event) -> None:
        match event:
            case LoadProgress(fraction):
                self.progress.emit(fraction)
            case ModelLoaded(info, load_ms):
                engine.load_ms = load_ms
                self._adopt(engine, info)
            case Failed(_, error):
                self._refuse(engine, load_notices.refused(engine, error))
            case EngineDied():
                self._refuse(engine, load_notices.died_loading(engine, event))

    def _adopt(self, engine: ModelEngine, info: ModelInfo) -> None:
        self._leave_current()
        engine.info = info
        self._current, self._candidate, self._fallback = engine, None, None
        self.known.add(engine.path, info.name)
        self._preferences.update(last_model=engine.path)
        self.changed.emit()
        self.model_ready.emit(info)

    def _refuse(self, engine: ModelEngine, why: Notice, *, was_tried: bool = True) -> None:
        self._drop_candidate()
        self.refused.emit(engine.how)
        if was_tried:  # else there may be room the next time
            self._never_by_itself(engine.path)
        self.problem = why.message
        self._bring_back(unless=engine)
        self.changed.emit()
        if self._current and self._current.info:
            why = load_notices.goes_on(why, self._current.info.name)
        self.notice.emit(why)

    def _bring_back(self, unless: ModelEngine | None = None) -> None:
        """Load what had to make way for the model that was not loaded."""
        fallback, self._fallback = self._fallback, None
        if fallback and (unless is None or fallback.command != unless.command):
            self._go(self._start(fallback.command, fallback.how), fallback.plan)  # there was room for it

    def _never_by_itself(self, path: str) -> None:
        answering = self._current is not None and self._current.path == path
        if self._preferences.settings.last_model == path and not answering:
            self._preferences.update(last_model=None)

    # --- while it answers -------------------------------------------------------------------------

    def _on_current(self, engine: ModelEngine, event: Event) -> None:
        if isinstance(event, EngineDied):
            self._on_death(engine, event)
            return
        if isinstance(event, Finished) and event.reason is not FinishReason.ERROR:
            self._deaths = 0
        self.event_received.emit(event)

    def _on_death(self, engine: ModelEngine, death: EngineDied) -> None:
        self._deaths += 1
        self._lose_current()
        if self._candidate:
            self._fallback = engine  # another model is on its way; this one only if that fails
        elif self._deaths < 2:
            self.notice.emit(load_notices.died_answering(death))
            self._look(self._start(engine.command, engine.how, restarted=True))
        else:
            self._give_up(engine, death)
        self.changed.emit()

    def _give_up(self, engine: ModelEngine, death: EngineDied) -> None:
        self.last_asked = (engine.path, engine.how)
        self._never_by_itself(engine.path)
        why = load_notices.died_twice(engine.path, death)
        self.problem = why.message
        self.notice.emit(why)

    def _leave_current(self) -> None:
        if self._current:
            self.leaving.emit()
            self._lose_current()

    def _lose_current(self) -> None:
        if self._current:
            self.retired.add(self._current)
            self._current = None
            self.engine_lost.emit()

    def _drop_candidate(self) -> None:
        if self._candidate:
            self.retired.add(self._candidate)
            self._candidate = None
