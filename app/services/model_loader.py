"""Which model answers: loading, replacing and restarting it.

A path goes in, `model_ready` comes out, or a notice that names file and cause. Promises:
- the loaded model goes on answering until another one is ready, unless memory is too short for both;
- a file that failed to load, or died twice in a row, is never loaded again by itself, also not after
  a restart of Weir;
- a worker that dies is started again with the same model by itself, once.
It knows nothing about chats; what the engine says about them passes through as `event_received`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import psutil
from PySide6.QtCore import QObject, Signal

from app.data.settings import LoadSettings
from app.services.engine_bridge import ClientFactory, EngineBridge
from app.services.known_models import KnownModels
from app.services.model_engine import ModelEngine, load_command, load_settings
from app.services.notice import Notice, NoticeAction
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

MEMORY_RESERVE = 1.1
"""A second model needs its file's size and a tenth more to be loaded beside the first."""


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
        self._closed: list[ModelEngine] = []
        self._fallback: LoadModel | None = None
        self._last_asked: str | None = None
        self._deaths = 0
        self.problem = ""
        self.known = KnownModels()

    @property
    def info(self) -> ModelInfo | None:
        """The model that answers now, None if there is none."""
        return self._current.info if self._current else None

    @property
    def load_ms(self) -> float | None:
        """How long the model that answers took to load, in milliseconds."""
        return self._current.load_ms if self._current else None

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
        return load_settings(engine.command) if engine else None

    def send(self, command: Command) -> None:
        """Give the engine that answers a command; raises EngineGone when there is none."""
        if self._current is None:
            raise EngineGone("No model is loaded. Nothing was lost: choose a model first.")
        self._current.bridge.send(command)

    def load(self, path: str, how: LoadSettings | None = None) -> None:
        """Load the model at `path` in place of the current one; `how` None is as the settings say."""
        self._deaths = 0
        self._last_asked = path
        self._drop_candidate()
        if self._current and not self._fits_beside(path):
            self._fallback = self._current.command
            self._leave_current()
        settings = self._preferences.settings
        self._start(load_command(path, how or settings.load_settings, settings.chat_formats.get(path)))

    def load_first(self, starter: str | None) -> None:
        """Load what was used last, or else the starter model, if there is one."""
        last = self._preferences.settings.last_model
        if last and not Path(last).is_file():
            sentence = self.tr("The model {0} is not in its place any more: choose another one.")
            self.notice.emit(Notice(sentence.format(last), action=NoticeAction.CHOOSE_MODEL))
            last = None
        for known in filter(None, (starter, last)):
            self.known.add(known)
        if path := last or starter:
            self.load(path)

    def load_again(self) -> None:
        """Load the model that was asked for last once more."""
        if self._last_asked is not None:
            self.load(self._last_asked)

    def close(self, timeout_s: float) -> None:
        """End all workers; returns when they have ended or the time is over."""
        for engine in (self._candidate, self._current):
            if engine:
                self._retire(engine)
        self._candidate = self._current = None
        for engine in self._closed:
            engine.bridge.wait_closed(timeout_s)

    # --- loading ----------------------------------------------------------------------------------

    def _fits_beside(self, path: str) -> bool:
        try:
            size = Path(path).stat().st_size
        except OSError:
            return True  # the worker will say what is wrong with the file
        return self._available_memory() >= size * MEMORY_RESERVE

    def _start(self, command: LoadModel, *, restarted: bool = False) -> None:
        engine = ModelEngine(EngineBridge(self._make_client, self), command, restarted)
        self._candidate = engine
        self.problem = ""
        engine.bridge.event_received.connect(functools.partial(self._on_event, engine))
        try:
            engine.bridge.send(command)
        except EngineGone as error:
            self._on_candidate(engine, EngineDied(None, str(error)))
        self.changed.emit()

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
                self._refuse(engine, error.message, error.detail)
            case EngineDied(_, cause):
                sentence = self.tr("{0} could not be loaded: the engine stopped while reading it.")
                self._refuse(engine, sentence.format(Path(engine.path).name), cause)

    def _adopt(self, engine: ModelEngine, info: ModelInfo) -> None:
        self._leave_current()
        engine.info = info
        self._current, self._candidate, self._fallback = engine, None, None
        self.known.add(engine.path, info.name)
        self._preferences.update(last_model=engine.path)
        self.changed.emit()
        self.model_ready.emit(info)

    def _refuse(self, engine: ModelEngine, message: str, detail: str) -> None:
        self._drop_candidate()
        self.refused.emit(load_settings(engine.command))
        self._never_by_itself(engine.path)
        self.problem = message
        fallback, self._fallback = self._fallback, None
        if fallback and fallback != engine.command:
            self._start(fallback)
        self.changed.emit()
        if self._current and self._current.info:
            goes_on = self.tr("{0} goes on answering.").format(self._current.info.name)
            self.notice.emit(Notice(f"{message} {goes_on}", detail))
        else:
            action = NoticeAction.LOAD_AGAIN if engine.restarted else NoticeAction.CHOOSE_MODEL
            self.notice.emit(Notice(message, detail, action))

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
            self._fallback = engine.command  # another model is on its way; this one only if that fails
        elif self._deaths < 2:
            self.notice.emit(
                Notice(
                    self.tr(
                        "The engine stopped. The text so far is kept, and the model is "
                        "being loaded again: just go on."
                    ),
                    death.cause,
                )
            )
            self._start(engine.command, restarted=True)
        else:
            self._give_up(engine, death)
        self.changed.emit()

    def _give_up(self, engine: ModelEngine, death: EngineDied) -> None:
        self._last_asked = engine.path
        self._never_by_itself(engine.path)
        sentence = self.tr(
            "The engine stopped twice in a row with {0}. The text so far is kept: "
            "load it again, or choose another model."
        )
        self.problem = sentence.format(Path(engine.path).name)
        self.notice.emit(Notice(self.problem, death.cause, NoticeAction.LOAD_AGAIN))

    # --- letting go -------------------------------------------------------------------------------

    def _leave_current(self) -> None:
        if self._current:
            self.leaving.emit()
            self._lose_current()

    def _lose_current(self) -> None:
        if self._current:
            self._retire(self._current)
            self._current = None
            self.engine_lost.emit()

    def _drop_candidate(self) -> None:
        if self._candidate:
            self._retire(self._candidate)
            self._candidate = None

    def _retire(self, engine: ModelEngine) -> None:
        engine.bridge.close()
        self._closed.append(engine)
