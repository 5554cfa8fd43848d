"""What the model sees of the chats: asked of the engine, never guessed.

`CacheView`s come in, `Sight`s of stored messages and the fill of the cache go out. Promises: an
answer counts only for the messages it was asked about, and only while the chat still is as it was
then; when the engine is gone nothing is claimed. The engine answers each question once, in order,
and tells by itself only while it writes a reply; nothing is asked about a chat meanwhile, so the two
cannot be confused. It knows nothing about how a sight is shown.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.item_models.sight import Sight
from app.services.answering import Answering
from app.services.chat_options import ChatOptionsService
from app.services.model_loader import ModelLoader
from app.services.prompt import StoredIds, prompt_of, sight_of
from engine.errors import KnownError
from engine.protocol import CachePolicy, CacheView, Event, LookAt, TurnStats

_NOT_STORED = ""
"""What the engine knows the chat as that has no message yet."""


@dataclass(frozen=True, slots=True)
class CacheFill:
    """What the cache holds of a chat, in tokens, and what its last turn cost; None while unknown.

    With `is_forecast`, what the next message will leave there. The other numbers are those of `CacheView`;
    `n_window` and `n_chat` grow with the reply that is being written.
    """

    n_sinks: int
    n_window: int
    n_cells: int
    is_forecast: bool
    last_turn: TurnStats | None
    n_system: int = 0
    n_pinned: int = 0
    n_chat: int | None = None
    n_room: int | None = None

    @property
    def n_first(self) -> int:
        """Of the sinks, the first tokens of the chat that stay although nobody asked for it."""
        return max(0, self.n_sinks - self.n_system - self.n_pinned)

    @property
    def n_unseen(self) -> int | None:
        """Tokens of the chat that the model does not see; None where its length is not known."""
        return None if self.n_chat is None else max(0, self.n_chat - self.n_sinks - self.n_window)


@dataclass(frozen=True, slots=True)
class _Known:
    """The newest view of a chat, what it was about, and how many tokens of the running turn it includes."""

    view: CacheView
    ids: StoredIds
    sight: Sight
    n_included: int


class Sights(QObject):
    """Owns what is known of each chat, and the questions that are not answered yet."""

    changed = Signal(str)
    """The id of a chat of which something else is known now: ask `of_chat` and `fill_of`."""

    def __init__(
        self,
        store: ChatStore,
        answering: Answering,
        loader: ModelLoader,
        options: ChatOptionsService,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._answering = answering
        self._loader = loader
        self._options = options
        self._watched: str | None = None
        self._known: dict[str, _Known] = {}
        self._asked: dict[str, deque[StoredIds]] = {}
        self._ask_later: set[str] = set()
        self._told_by_itself: set[str] = set()
        self._turns: dict[str, TurnStats] = {}
        self._asked_with: tuple[CachePolicy, str] | None = None
        loader.event_received.connect(self._on_event)
        loader.engine_lost.connect(self._on_engine_lost)
        loader.model_ready.connect(lambda _info: self.look(self._watched))
        answering.ended.connect(self._on_ended)
        answering.measured.connect(self._on_measured)
        options.changed.connect(lambda _chat_id: self.check_options())

    def of_chat(self, chat_id: str | None) -> Sight:
        """What the model sees of a chat; no line where nothing is known."""
        known = self._known.get(chat_id or _NOT_STORED)
        return known.sight if known else Sight()

    def fill_of(self, chat_id: str | None) -> CacheFill | None:
        """What the cache holds of a chat by now; None where nothing is known."""
        known = self._known.get(chat_id or _NOT_STORED)
        if known is None:
            return None
        view, running = known.view, self._answering.own_reply(chat_id)
        n_since = max(0, running.n_tokens - known.n_included) if running else 0
        return CacheFill(
            view.n_sinks,
            view.n_window + n_since,
            view.n_cells,
            view.is_forecast,
            self._turns.get(view.chat_id),
            n_system=view.n_system,
            n_pinned=view.n_pinned,
            n_chat=None if view.n_chat is None else view.n_chat + n_since,
            n_room=view.n_room,
        )

    def is_settled(self, chat_id: str) -> bool:
        """Whether what is known includes everything that was done to the chat."""
        asked = self._asked.get(chat_id) or chat_id in self._ask_later
        return not asked and not self._answering.is_answering(chat_id)

    def watch(self, chat_id: str | None) -> None:
        """This chat is the one that the user looks at; what was known of it may be long out of date.

        None is the chat that is not stored yet.
        """
        if chat_id and chat_id != self._watched and not self._answering.is_answering(chat_id):
            self._forget(chat_id)
        self._watched = chat_id
        self.look(chat_id)

    def look(self, chat_id: str | None) -> None:
        """Ask what the model sees of a chat; while it is being answered, as soon as that has ended."""
        key = chat_id or _NOT_STORED
        if chat_id and self._answering.is_answering(chat_id):
            self._ask_later.add(chat_id)
            return
        self._ask_later.discard(key)
        settings = self._options.effective(chat_id)
        if chat_id == self._watched:
            self._asked_with = (settings.cache, settings.system_prompt)
        try:
            stored = self._store.messages(chat_id) if chat_id else []
            prompt = prompt_of(stored, settings.system_prompt)
            self._loader.send(LookAt(key, prompt.messages, settings.cache))
        except KnownError:
            self._forget(key)  # without an engine or a disk nothing is known
            return
        self._asked.setdefault(key, deque()).append(prompt.ids)

    def _forget(self, chat_id: str) -> None:
        if self._known.pop(chat_id, None):
            self.changed.emit(chat_id)

    # --- from the engine --------------------------------------------------------------------------

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, CacheView):
            return
        asked, running = self._asked.get(event.chat_id), self._answering.own_reply(event.chat_id)
        if asked:
            ids = asked.popleft()
            if not asked and not self._answering.is_answering(event.chat_id):
                self._take(event, ids)
        elif running and running.prompt:
            self._told_by_itself.add(event.chat_id)
            goes_on = bool(running.text_before)
            ids = running.prompt.ids if goes_on else (*running.prompt.ids, (running.message.id,))
            self._take(event, ids, running.n_tokens)

    def _take(self, view: CacheView, ids: StoredIds, n_included: int = 0) -> None:
        if view.n_messages == len(ids):
            sight = sight_of(view, ids) if _says_something(view) else self._expected(view.chat_id, ids)
            self._known[view.chat_id] = _Known(view, ids, sight, n_included)
            self.changed.emit(view.chat_id)

    def _expected(self, chat_id: str, ids: StoredIds) -> Sight:
        """What was foretold for these messages; nothing if the chat was changed since."""
        known = self._known.get(chat_id)
        return known.sight if known and known.ids == ids[: len(known.ids)] else Sight()

    def _on_ended(self, chat_id: str) -> None:
        is_told = chat_id in self._told_by_itself
        self._told_by_itself.discard(chat_id)
        if chat_id != self._watched:
            self._ask_later.discard(chat_id)  # it is asked about when somebody looks at it
        elif chat_id in self._ask_later or not is_told:
            self.look(chat_id)

    def _on_measured(self, chat_id: str, turn: TurnStats) -> None:
        self._turns[chat_id] = turn
        self.changed.emit(chat_id)

    def _on_engine_lost(self) -> None:
        self._asked.clear()
        self._turns.clear()
        for chat_id in list(self._known):
            self._forget(chat_id)

    def check_options(self) -> None:
        """Ask again where the options of the chat that is looked at are others than before."""
        settings = self._options.effective(self._watched)
        if self._asked_with != (settings.cache, settings.system_prompt):
            self.look(self._watched)


def _says_something(view: CacheView) -> bool:
    """False while a chat is read anew from its beginning: nothing of it is in the cache yet."""
    return view.is_forecast or view.first_seen is not None
