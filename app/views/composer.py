"""Where the user writes: the box, the files that go with the message, and Send or Stop.

Text, files and wishes come out as signals; drafts, files and counts go in. Promises: what is blank, still
being read or too long is not sent, and the reason stands there; the text stays where it is until somebody
sets another. It knows nothing about chats, and opens no file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.services.attachments import AttachmentState, DraftAttachment
from app.views.attachment_chips import AttachmentChips
from app.views.draft_counts import DraftCounts
from app.views.message_edit import MessageEdit, local_files
from app.views.shortcuts import with_keys
from app.views.theme import set_style
from app.views.tokens import UNIT
from app.views.variants_menu import VariantsMenu


class Composer(QFrame):
    """The box with its buttons."""

    text_changed = Signal(str)
    send_requested = Signal()

    variants_requested = Signal(int)
    """Send, and have it answered so many times."""

    stop_requested = Signal()
    cancel_edit_requested = Signal()

    files_offered = Signal(list)
    """Paths of files, as strings, that were chosen, dropped or pasted."""

    text_offered = Signal(str)
    """A pasted text that is too long for the box: it may become a file."""

    attachment_removed = Signal(str)
    """The id of a `DraftAttachment` that shall not go with the message."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.setAcceptDrops(True)
        self._running = False
        self._items: Sequence[DraftAttachment] = ()
        self.edit = MessageEdit(self)
        self.editing = self._note("editing")
        self.problem = self._note("problem")
        self.chips = AttachmentChips(self)
        self.attach = QPushButton(self.tr("+ File"), self)
        self.attach.setObjectName("attach")
        self.attach.setAccessibleName(self.tr("Attach files"))
        self.attach.setToolTip(self.tr("Attach text, code or PDF files (Ctrl+Shift+A), or drop them here"))
        self.counts = DraftCounts(self)
        self.button = QPushButton(self)
        self.button.setObjectName("send")
        self.several = QPushButton("\N{BLACK DOWN-POINTING SMALL TRIANGLE}", self)
        self.several.setObjectName("several")
        self.several.setAccessibleName(self.tr("Send, and choose among several answers"))
        self.several.setToolTip(with_keys(self.several.accessibleName(), "several"))
        self._arrange()
        self._connect()
        self._show_button()

    def text(self) -> str:
        """What is written."""
        return self.edit.text()

    def set_text(self, text: str) -> None:
        """Show a draft; nothing happens where it is shown already."""
        if text != self.text():
            self.edit.set_text(text)

    def set_history(self, texts: Sequence[str]) -> None:
        """What was sent in this chat, oldest first: Up brings it back."""
        self.edit.history.set_texts(texts)

    def show_attachments(
        self, items: Sequence[DraftAttachment], tokens_of: Callable[[str], int | None]
    ) -> None:
        """These files go with the message; `tokens_of` gives the tokens of one by its id."""
        self._items = items
        self.chips.show_items(items, tokens_of)
        chips = (chip.remove for chip in self.chips.chips)
        order = [self.edit, *chips, self.attach, self.button, self.several]
        for one, other in itertools.pairwise(order):
            self.setTabOrder(one, other)  # new chips would be reached after everything else in the window
        self._show_problem()

    def show_counts(self, n_draft: int | None, n_free: int | None, n_room: int | None) -> None:
        """Tokens of the message with its files, those that are free, and the most that can be sent."""
        self.counts.show_counts(n_draft, n_free, n_room)
        self._show_problem()

    def show_editing(self, number: int | None) -> None:
        """Say which message of the chat is being edited, counted from 1; None for none."""
        note = self.tr("Editing message {0}: what came after it will be put aside. Esc leaves it as it was.")
        self.editing.setText(note.format(f"{number:,}") if number else "")
        self.editing.setVisible(number is not None)
        self._describe()

    def choose_files(self) -> None:
        """Let the user choose files to attach."""
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.files_offered.emit)
        dialog.finished.connect(lambda _result: self.edit.setFocus())
        dialog.open()  # not exec: replies go on being written meanwhile

    def escape(self) -> None:
        """Escape leaves an edit, or else stops the reply."""
        if self.editing.isHidden():
            self.stop_requested.emit()
        else:
            self.cancel_edit_requested.emit()

    def set_running(self, running: bool) -> None:
        """While a reply is being written the button stops it; writing goes on being possible."""
        self._running = running
        self._show_button()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files may be dropped anywhere on the frame."""
        if local_files(event.mimeData()):
            set_style(self, "active", True)
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """They went elsewhere."""
        set_style(self, "active", self.edit.hasFocus())

    def dropEvent(self, event: QDropEvent) -> None:
        """Offer them; a copy, so that nobody takes them for moved and deletes them."""
        self.files_offered.emit(local_files(event.mimeData()))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.edit.setFocus()
        set_style(self, "active", self.edit.hasFocus())

    def _note(self, name: str) -> QLabel:
        note = QLabel(self)
        note.setObjectName(name)
        note.setTextFormat(Qt.TextFormat.PlainText)
        note.setWordWrap(True)
        note.setIndent(UNIT // 2)
        note.hide()
        return note

    def _arrange(self) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(UNIT)
        foot.addWidget(self.attach)
        foot.addStretch(1)
        foot.addWidget(self.counts)
        foot.addWidget(self.button)
        foot.addWidget(self.several)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT // 2)
        for part in (self.editing, self.edit, self.chips, self.problem):
            column.addWidget(part)
        column.addLayout(foot)
        self.setFocusProxy(self.edit)

    def _connect(self) -> None:
        self.edit.submitted.connect(self._on_submitted)
        self.edit.textChanged.connect(self._on_text_changed)
        self.edit.focus_changed.connect(lambda focused: set_style(self, "active", focused))
        self.edit.files_pasted.connect(self.files_offered)
        self.edit.long_text_pasted.connect(self.text_offered)
        self.chips.remove_requested.connect(self.attachment_removed)
        self.chips.emptied.connect(self.edit.setFocus)
        self.attach.clicked.connect(self.choose_files)
        self.button.clicked.connect(self._on_button)
        self.several.clicked.connect(self.open_variants_menu)

    def _on_text_changed(self) -> None:
        self._show_button()
        self.text_changed.emit(self.text())

    def open_variants_menu(self) -> None:
        """Let the user choose how many answers shall be written."""
        if self._can_send():
            menu = VariantsMenu(self.several.accessibleName(), self)
            menu.chosen.connect(self.variants_requested)
            menu.popup(self.several.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

    def _on_submitted(self) -> None:
        if self._can_send():
            self.send_requested.emit()

    def _can_send(self) -> bool:
        """Whether there is something that can be sent; why there is not is said."""
        if self._running or not self.has_content():
            return False
        problem = self._problem()
        self._say(problem)
        return not problem

    def _on_button(self) -> None:
        if self._running:
            self.stop_requested.emit()
        else:
            self._on_submitted()

    def has_content(self) -> bool:
        """Whether there is anything to send."""
        return bool(self.text().strip()) or any(
            item.state is not AttachmentState.REFUSED for item in self._items
        )

    def _problem(self) -> str:
        """Why the message cannot be sent, "" if it can."""
        if any(item.state is AttachmentState.READING for item in self._items):
            return self.tr("A file is still being read: send the message when that is done.")
        return self.counts.problem

    def _show_problem(self) -> None:
        """Keep the reason in sight while it holds; that a file is being read is said when somebody sends."""
        self._say(self._problem() if self.problem.text() else self.counts.problem)
        self._show_button()

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self._describe()

    def _describe(self) -> None:
        self.edit.setAccessibleDescription(f"{self.editing.text()} {self.problem.text()}".strip())

    def _show_button(self) -> None:
        name = self.tr("Stop") if self._running else self.tr("Send")
        hint = self.tr("Stop the reply (Esc)") if self._running else self.tr("Send the message (Enter)")
        can_send = self.has_content() and not self._problem()
        self.button.setEnabled(self._running or can_send)
        self.several.setEnabled(can_send and not self._running)
        if self.button.text() != name:
            self.button.setText(name)
            self.button.setToolTip(hint)
            self.button.setAccessibleName(name)
            set_style(self.button, "stop", self._running)
