"""What is connected with what: the window's signals with the services, and back.

Each function connects one theme, once. Nothing is decided here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from app.data.settings import Settings
from app.open_chats import OpenChats
from app.services.chat_files import ChatFormat
from app.services.machine_memory import machine_memory
from app.services.notice import NoticeAction
from app.services.preferences import Preferences
from app.services.sights import CacheFill
from app.views.chat_file_dialogs import ask_what_to_import, ask_where_to_export
from app.views.status_strip import CURVE_S
from app.views.theme import apply_direction, apply_theme
from engine.protocol import Event, Gauges, Policy

if TYPE_CHECKING:
    from app.window import Weir


def dress(application: QApplication, preferences: Preferences) -> None:
    """Theme, font size and direction, now and whenever they are changed."""

    dress_with(application, preferences.settings)
    preferences.changed.connect(lambda settings: dress_with(application, settings))
    hints = application.styleHints()
    hints.colorSchemeChanged.connect(lambda _scheme: dress_with(application, preferences.settings))


def dress_with(application: QApplication, settings: Settings) -> None:
    """Theme, font size and direction of these settings."""
    apply_theme(application, settings.theme, settings.font_size)
    apply_direction(application, settings.direction)


def connect_model(weir: Weir) -> None:
    """The model bar, and what happens to models."""
    loader, window = weir.loader, weir.window
    loader.changed.connect(lambda: show_model(weir))
    loader.progress.connect(window.model_bar.show_progress)
    loader.progress.connect(window.empty.show_progress)
    loader.notice.connect(window.banner.add)
    weir.preferences.notice.connect(window.banner.add)
    weir.preferences.changed.connect(lambda _settings: show_model(weir))
    weir.options.notice.connect(window.banner.add)
    window.model_bar.model_chosen.connect(weir.pages.choose_model)
    window.model_bar.models_requested.connect(weir.pages.open_models)
    window.model_bar.cancel_requested.connect(loader.cancel_loading)
    if weir.plans:
        loader.guard = weir.plans.look
    window.model_bar.format_line.format_chosen.connect(weir.options.use_chat_format)
    window.model_bar.cache.settings_requested.connect(weir.pages.open_settings)
    window.model_bar.cache.options_requested.connect(weir.pages.open_chat_options)
    window.empty.choose_requested.connect(window.model_bar.open_menu)
    window.empty.open_requested.connect(window.model_bar.open_file)
    window.empty.again_requested.connect(loader.load_again)
    window.banner.action_requested.connect(lambda action: act(weir, action))
    show_model(weir)


def connect_gauges(weir: Weir) -> None:
    """The strip, the panel above it, and their history."""
    loader, window, history = weir.loader, weir.window, weir.history
    loader.event_received.connect(history.take)
    loader.event_received.connect(lambda event: show_gauges(weir, event))
    loader.engine_lost.connect(history.clear)
    loader.engine_lost.connect(lambda: window.status.show_gauges(None))
    loader.progress.connect(window.status.show_load_progress)
    history.changed.connect(lambda: window.status.show_speeds(history.speeds(CURVE_S, CURVE_S)))
    window.status.show_total_memory(machine_memory().total)
    if calibrations := weir.calibrations:
        window.memory.read_use = lambda: calibrations.use(history.newest)
    window.memory.name_of = weir.chats.name_of
    window.status.panel_requested.connect(window.memory.toggle)
    window.memory.opened.connect(window.status.show_panel_open)


def connect_chats(weir: Weir, open_chats: OpenChats) -> None:
    """The chats, once they are open."""
    _connect_list(weir, open_chats)
    _connect_composer(weir, open_chats)
    _connect_messages(weir, open_chats)
    window, controller = weir.window, open_chats.controller
    for teller in (
        *(controller, open_chats.list, open_chats.files, open_chats.pins),
        *(open_chats.options, open_chats.attachments),
    ):
        teller.notice.connect(window.banner.add)
    controller.chat_opened.connect(lambda: _show_chat(weir, open_chats))
    controller.prefill.connect(window.status.show_prefill)
    open_chats.sights.changed.connect(lambda _chat_id: show_sight(weir))
    open_chats.options.changed.connect(lambda _chat_id: show_model(weir))
    _connect_options(weir, open_chats)
    weir.pages.connect_chats(open_chats)


def _connect_options(weir: Weir, open_chats: OpenChats) -> None:
    cache, options, controller = weir.window.model_bar.cache, open_chats.options, open_chats.controller
    cache.n_ctx_chosen.connect(lambda n_ctx: options.choose(controller.open_chat_id, n_ctx=n_ctx))
    cache.kv_type_chosen.connect(lambda kind: options.choose(controller.open_chat_id, kv_type=kind))
    cache.policy_chosen.connect(lambda policy: options.choose(controller.open_chat_id, policy=policy))
    cache.reload_requested.connect(lambda: options.load_for(controller.open_chat_id))


def _connect_list(weir: Weir, open_chats: OpenChats) -> None:
    window, sidebar, controller = weir.window, weir.window.sidebar, open_chats.controller
    sidebar.new_chat_requested.connect(lambda: controller.open(None))
    sidebar.chat_chosen.connect(controller.open)
    open_chats.list.deleted.connect(weir.saved_kv.forget)
    sidebar.pin_requested.connect(open_chats.list.pin)
    sidebar.delete_requested.connect(open_chats.list.delete)
    sidebar.search_requested.connect(open_chats.search.find)
    open_chats.search.found.connect(sidebar.show_found)
    sidebar.found_chosen.connect(lambda chat, message: _open_found(weir, open_chats, chat, message))
    sidebar.options_requested.connect(controller.open)
    sidebar.options_requested.connect(lambda _chat: weir.pages.open_chat_options())
    sidebar.export_requested.connect(lambda chat, form: ask_to_export(weir, open_chats, chat, form))
    sidebar.export_all_requested.connect(lambda form: ask_to_export(weir, open_chats, None, form))
    open_chats.answering.chats_changed.connect(weir.chats.set_answering)
    sidebar.import_requested.connect(lambda: ask_what_to_import(window, open_chats.files.import_from))


def _connect_composer(weir: Weir, open_chats: OpenChats) -> None:
    window, composer, controller = weir.window, weir.window.composer, open_chats.controller
    attachments, counts = open_chats.attachments, open_chats.counts
    composer.text_changed.connect(controller.set_draft)
    composer.text_changed.connect(counts.set_draft)
    composer.send_requested.connect(window.banner.clear)
    composer.send_requested.connect(window.transcript.scroll_to_end)
    composer.send_requested.connect(controller.send)
    composer.variants_requested.connect(window.banner.clear)
    composer.variants_requested.connect(window.transcript.scroll_to_end)
    composer.variants_requested.connect(controller.send)
    composer.stop_requested.connect(controller.stop)
    composer.cancel_edit_requested.connect(controller.cancel_edit)
    composer.files_offered.connect(lambda paths: _take_files(weir, open_chats, paths))
    window.files_dropped.connect(lambda paths: _take_files(weir, open_chats, paths))
    composer.text_offered.connect(lambda text: attachments.add_text(controller.open_chat_id, text))
    composer.attachment_removed.connect(lambda item: attachments.remove(controller.open_chat_id, item))
    window.empty.example_chosen.connect(controller.send_example)
    controller.running_changed.connect(composer.set_running)
    controller.draft_changed.connect(lambda: _show_draft(weir, open_chats))
    attachments.changed.connect(lambda _chat_id: _show_counts(weir, open_chats))
    counts.changed.connect(lambda: _show_counts(weir, open_chats))
    open_chats.sights.changed.connect(lambda _chat_id: _show_counts(weir, open_chats))


def _connect_messages(weir: Weir, open_chats: OpenChats) -> None:
    messages, controller = weir.window.transcript.messages, open_chats.controller
    branches = open_chats.branches
    messages.pin_requested.connect(open_chats.pins.set_pinned)
    messages.edit_requested.connect(controller.begin_edit)
    messages.edit_requested.connect(weir.window.composer.setFocus)
    messages.again_requested.connect(branches.again)
    messages.choose_requested.connect(branches.choose)
    messages.choose_requested.connect(weir.window.composer.setFocus)
    messages.stop_requested.connect(open_chats.answering.stop_reply)
    messages.go_on_requested.connect(branches.go_on)
    messages.version_requested.connect(branches.show_version)
    messages.delete_requested.connect(branches.take_out)


def _take_files(weir: Weir, open_chats: OpenChats, paths: list[str]) -> None:
    """Models go to the library, everything else with the next message."""
    models = [path for path in paths if path.lower().endswith(".gguf")]
    if models:
        weir.pages.open_models()
        weir.pages.models.offer_files([Path(path) for path in models])
    if others := [path for path in paths if path not in models]:
        open_chats.attachments.add(open_chats.controller.open_chat_id, others)


# --- what is shown --------------------------------------------------------------------------------


def show_model(weir: Weir) -> None:
    """The model that answers, or is being loaded, as it is run in the open chat."""
    info, loading = weir.loader.info, weir.loader.loading
    settings, needs_reload = weir.preferences.settings, False
    if weir.open:
        chat_id = weir.open.controller.open_chat_id
        settings = weir.open.options.effective(chat_id)
        needs_reload = weir.open.options.needs_reload(chat_id)
    weir.window.model_bar.show_model(info, loading, settings, reload_needed=needs_reload)
    weir.window.model_bar.set_choices(weir.loader.known.paths())
    weir.window.empty.show_state(
        model=info.name if info else None, loading=loading is not None, problem=weir.loader.problem
    )
    weir.window.status.show_model(info, loading)
    present = weir.loader.present
    weir.window.memory.show_model(
        info, present.load_ms if present else None, present.plan if present else None
    )
    weir.pages.show_model(info)


def show_gauges(weir: Weir, event: Event) -> None:
    """The engine's newest numbers."""
    if isinstance(event, Gauges):
        fill = _fill(weir)
        weir.window.status.show_gauges(event, fill)
        weir.window.memory.show_fill(fill)  # it grows with the reply


def show_sight(weir: Weir) -> None:
    """What the model sees of the open chat."""
    if weir.open:
        sights, chat_id = weir.open.sights, weir.open.controller.open_chat_id
        weir.transcript.set_sight(sights.of_chat(chat_id))
        weir.window.status.show_fill(_fill(weir))
        weir.window.memory.show_fill(_fill(weir))


def _fill(weir: Weir) -> CacheFill | None:
    return weir.open.sights.fill_of(weir.open.controller.open_chat_id) if weir.open else None


def _show_chat(weir: Weir, open_chats: OpenChats) -> None:
    controller = open_chats.controller
    weir.window.show_chat(controller.open_chat_id, controller.draft())
    _show_draft(weir, open_chats)
    show_sight(weir)
    show_model(weir)


def _show_draft(weir: Weir, open_chats: OpenChats) -> None:
    composer, controller = weir.window.composer, open_chats.controller
    edit = controller.edit()
    composer.set_text(controller.draft())
    composer.show_editing(edit.number if edit else None)
    composer.set_history(controller.history())
    _show_counts(weir, open_chats)


def _show_counts(weir: Weir, open_chats: OpenChats) -> None:
    composer, counts = weir.window.composer, open_chats.counts
    items = open_chats.attachments.of_chat(open_chats.controller.open_chat_id)
    composer.show_attachments(items, counts.of)
    fill = _fill(weir)
    free = max(0, fill.n_cells - fill.n_sinks - fill.n_window) if fill else None
    composer.show_counts(counts.total, free, fill.n_room if fill else None)


def _open_found(weir: Weir, open_chats: OpenChats, chat_id: str, message_id: int | None) -> None:
    if message_id is None:
        open_chats.controller.open(chat_id)
    else:
        open_chats.controller.open_at(chat_id, message_id)
        weir.window.transcript.scroll_to(message_id)


def ask_to_export(weir: Weir, open_chats: OpenChats, chat_id: str | None, form: str) -> None:
    """Ask where a chat, or all chats, shall be written to, and write them."""
    kind = ChatFormat(form)
    words = weir.window.tr("Markdown (*.md)") if kind is ChatFormat.MARKDOWN else "JSON (*.json)"
    name = open_chats.files.file_name(chat_id, kind)
    ask_where_to_export(weir.window, name, words, lambda path: open_chats.files.export(chat_id, kind, path))


def act(weir: Weir, action: NoticeAction) -> None:
    """The button of a notice was pressed."""
    open_chats = weir.open
    match action:
        case NoticeAction.LOAD_AGAIN:
            weir.loader.load_again()
        case NoticeAction.SHOW_PLAN if weir.loader.last_asked:
            weir.pages.open_load_plan(*weir.loader.last_asked)
        case NoticeAction.STOP_BENCHMARK:
            weir.pages.benchmarks.stop()
        case NoticeAction.CHOOSE_MODEL:
            weir.window.model_bar.open_menu()
        case NoticeAction.GO_ON_ENDLESS if open_chats:
            open_chats.options.choose(open_chats.controller.open_chat_id, policy=Policy.ENDLESS)
        case NoticeAction.UNDO if open_chats:
            open_chats.branches.undo(open_chats.controller.open_chat_id or "")
        case NoticeAction.RESTORE_CHAT if open_chats:
            open_chats.list.restore()
        case NoticeAction.LOAD_FOR_CHAT if open_chats:
            open_chats.options.load_for(open_chats.controller.open_chat_id)
