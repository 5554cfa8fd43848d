"""What the keys and the command palette do.

The ids of `app.views.shortcuts` are carried out here, by shortcut or from the palette.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPoint
from PySide6.QtGui import QShortcut

from app.connections import ask_to_export
from app.data.stored_message import MessageState
from app.item_models.palette_item_model import PaletteCommand
from app.services.chat_files import ChatFormat
from app.services.notice import NoticeAction
from app.views.chat_file_dialogs import ask_what_to_import
from app.views.shortcuts import Place, section_words, shortcuts
from app.views.variants_menu import VariantsMenu
from engine.protocol import Role

if TYPE_CHECKING:
    from app.window import Weir

_NOT_IN_PALETTE = frozenset({"palette", "message_field", "stop"})


class Commands:
    """Owns the window's shortcuts."""

    def __init__(self, weir: Weir) -> None:
        self._weir = weir
        window = weir.window
        self._acts = self._window_acts() | self._chat_acts()
        for row in shortcuts():
            if row.place is Place.WINDOW:
                for keys in row.sequences():
                    QShortcut(keys, window, self._acts[row.id])
        window.palette_of_commands.command_chosen.connect(self.carry_out)
        window.palette_of_commands.chat_chosen.connect(self._open_chat)

    def carry_out(self, command_id: str) -> None:
        """Do what a command says."""
        (self._acts | {command.id: act for command, act in self._palette_acts()})[command_id]()

    def offers(self) -> list[PaletteCommand]:
        """The commands of the palette, with the reason where one cannot be carried out now."""
        rows = [row for row in shortcuts() if row.place is Place.WINDOW and row.id not in _NOT_IN_PALETTE]
        keyed = [
            PaletteCommand(
                row.id,
                row.words,
                row.key_texts()[0],
                group=section_words(row.section),
                unavailable_because=self._obstacle(row.id),
            )
            for row in rows
        ]
        return keyed + [command for command, _act in self._palette_acts()]

    def _window_acts(self) -> dict[str, Callable[[], None]]:
        window, pages = self._weir.window, self._weir.pages
        return {
            "message_field": lambda: window.show_page(None),
            "stop": self._stop,
            "attach": window.composer.choose_files,
            "newest": window.transcript.scroll_to_end,
            "memory": window.memory.toggle,
            "model": window.model_bar.open_menu,
            "palette": self._open_palette,
            "sidebar": window.sidebar.toggle_collapsed,
            "search": window.sidebar.begin_search,
            "rename": window.sidebar.rename_chosen,
            "next_chat": lambda: window.sidebar.open_neighbour(1),
            "previous_chat": lambda: window.sidebar.open_neighbour(-1),
            "models": pages.open_models,
            "settings": pages.open_settings,
            "shortcuts": pages.open_shortcuts,
            "quit": self._quit,
        }

    def _chat_acts(self) -> dict[str, Callable[[], None]]:
        return {
            "new_chat": self._weir.window.sidebar.new_chat_requested.emit,
            "edit_last": self._edit_last,
            "again": self._again,
            "several": self._ask_for_several,
            "copy_reply": self._copy_reply,
        }

    def _palette_acts(self) -> list[tuple[PaletteCommand, Callable[[], None]]]:
        pages, window = self._weir.pages, self._weir.window
        export = _tr("Export and import")

        def write(form: ChatFormat, whole: bool) -> Callable[[], None]:
            def act() -> None:
                chats = self._weir.open
                chat_id = chats.controller.open_chat_id if chats and not whole else None
                if chats and (whole or chat_id):
                    ask_to_export(self._weir, chats, chat_id, form)

            return act

        def read() -> None:
            if chats := self._weir.open:
                ask_what_to_import(window, chats.files.import_from)

        return [
            (PaletteCommand("chat_options", _tr("This chat's options")), pages.open_chat_options),
            (PaletteCommand("benchmarks", _tr("Measure how fast models are here")), pages.open_benchmarks),
            (PaletteCommand("endurance", _tr("Measure how the model holds out")), pages.open_endurance),
            (PaletteCommand("open_file", _tr("Open a model file")), window.model_bar.open_file),
            (
                PaletteCommand(
                    "cancel_loading",
                    _tr("Cancel loading the model"),
                    unavailable_because="" if self._weir.loader.loading else _tr("no model is being loaded"),
                ),
                self._weir.loader.cancel_loading,
            ),
            (
                PaletteCommand("export_markdown", _tr("Export this chat as Markdown"), group=export),
                write(ChatFormat.MARKDOWN, whole=False),
            ),
            (
                PaletteCommand("export_json", _tr("Export this chat as JSON"), group=export),
                write(ChatFormat.JSON, whole=False),
            ),
            (
                PaletteCommand("export_all", _tr("Export all chats as JSON"), group=export),
                write(ChatFormat.JSON, whole=True),
            ),
            (
                PaletteCommand("export_all_markdown", _tr("Export all chats as Markdown"), group=export),
                write(ChatFormat.MARKDOWN, whole=True),
            ),
            (PaletteCommand("import", _tr("Import chats"), group=export), read),
            *self._acts_on_the_chat(),
            *self._theme_acts(),
        ]

    def _acts_on_the_chat(self) -> list[tuple[PaletteCommand, Callable[[], None]]]:
        chats, transcript = self._weir.open, self._weir.transcript
        chat_id = chats.controller.open_chat_id if chats else None
        no_chat = "" if chat_id else _tr("no chat is open")
        row = self._weir.chats.row_of(chat_id)
        chat = None if row is None else self._weir.chats.chat_at(row)
        last = transcript.last()
        can_go_on = last is not None and last.state is MessageState.INTERRUPTED and bool(last.content)
        notice = self._weir.window.banner.shown()
        can_undo = notice is not None and notice.action in (NoticeAction.UNDO, NoticeAction.RESTORE_CHAT)
        if chats is None:
            return []
        pinned = chat is not None and chat.pinned
        return [
            (
                PaletteCommand("delete_chat", _tr("Delete this chat"), unavailable_because=no_chat),
                lambda: chats.list.delete(chat_id or ""),
            ),
            (
                PaletteCommand(
                    "pin_chat",
                    _tr("Unpin this chat") if pinned else _tr("Pin this chat"),
                    unavailable_because=no_chat,
                ),
                lambda: chats.list.pin(chat_id or "", not pinned),
            ),
            (
                PaletteCommand(
                    "continue",
                    _tr("Continue the last reply"),
                    unavailable_because="" if can_go_on else _tr("the last reply was not interrupted"),
                ),
                lambda: chats.branches.go_on(last.id if last else 0),
            ),
            (
                PaletteCommand(
                    "undo",
                    _tr("Undo deleting"),
                    unavailable_because="" if can_undo else _tr("nothing was deleted"),
                ),
                self._weir.window.banner.act,
            ),
        ]

    def _theme_acts(self) -> list[tuple[PaletteCommand, Callable[[], None]]]:
        preferences = self._weir.preferences
        words = {
            "system": _tr("Colours of the system"),
            "light": _tr("Light colours"),
            "dark": _tr("Dark colours"),
        }
        return [
            (
                PaletteCommand(f"theme_{name}", title, keywords=(_tr("theme"),)),
                lambda name=name: preferences.update(theme=name),  # type: ignore[misc]
            )
            for name, title in words.items()
        ]

    def _obstacle(self, command_id: str) -> str:
        last = self._weir.transcript.last(Role.ASSISTANT)
        if command_id in ("again", "copy_reply") and last is None:
            return _tr("there is no reply yet")
        if command_id == "edit_last" and self._weir.transcript.last(Role.USER) is None:
            return _tr("there is no message yet")
        if command_id == "several" and last is None and not self._weir.window.composer.has_content():
            return _tr("nothing is written, and there is no reply yet")
        if command_id in ("again", "several") and self._weir.open and self._weir.open.controller.running:
            return _tr("a reply is being written")
        return ""

    def _open_palette(self) -> None:
        self._weir.window.palette_of_commands.open(self.offers(), self._weir.chats.chats())

    def _stop(self) -> None:
        """Leave an edit, or else stop the reply, or else the model that is being loaded."""
        composer, chats = self._weir.window.composer, self._weir.open
        is_at_work = not composer.editing.isHidden() or (chats and chats.controller.running)
        if self._weir.loader.loading and not is_at_work:
            self._weir.loader.cancel_loading()
        else:
            composer.escape()

    def _quit(self) -> None:
        self._weir.window.close()

    def _again(self) -> None:
        last = self._weir.transcript.last(Role.ASSISTANT)
        if self._weir.open and last:
            self._weir.open.branches.again(last.id)

    def _ask_for_several(self) -> None:
        """Of what is written, else of the last reply."""
        composer, last = self._weir.window.composer, self._weir.transcript.last(Role.ASSISTANT)
        if composer.has_content():
            composer.open_variants_menu()
        elif self._weir.open and last:
            menu = VariantsMenu(_tr("Write the last reply again"), composer)
            menu.chosen.connect(partial(self._weir.open.branches.again, last.id))
            menu.popup(composer.several.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

    def _edit_last(self) -> None:
        last = self._weir.transcript.last(Role.USER)
        if self._weir.open and last:
            self._weir.open.controller.begin_edit(last.id)
            self._weir.window.composer.setFocus()

    def _copy_reply(self) -> None:
        last = self._weir.transcript.last(Role.ASSISTANT)
        if last:
            QCoreApplication.instance().clipboard().setText(last.content)  # type: ignore[union-attr]

    def _open_chat(self, chat_id: str) -> None:
        if self._weir.open:
            self._weir.open.controller.open(chat_id)


def _tr(words: str) -> str:
    return QCoreApplication.translate("Commands", words)
