"""The files that went with a message, by name; a click shows the text that the model was given.

`Attachment`s go in. Promises that a text of any length opens at once. It knows nothing about files.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QTextOption
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.data.attachment_text import clean_name
from app.data.stored_message import Attachment
from app.views.tokens import UNIT


class SentAttachments(QWidget):
    """A button for each file; hidden while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Attachment, ...] = ()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(UNIT // 2)
        self.hide()

    def show_attachments(self, attachments: tuple[Attachment, ...]) -> None:
        """Show these files in place of the former ones."""
        if attachments == self._shown:
            return
        self._shown = attachments
        for button in self.buttons():
            self._column.removeWidget(button)
            button.deleteLater()
        for attachment in attachments:
            self._column.addWidget(self._button(attachment), 0, Qt.AlignmentFlag.AlignLeading)
        self.setVisible(bool(attachments))

    def buttons(self) -> list[QPushButton]:
        """All buttons, from the top."""
        items = (self._column.itemAt(index) for index in range(self._column.count()))
        widgets = (item.widget() for item in items if item)
        return [widget for widget in widgets if isinstance(widget, QPushButton)]

    def _button(self, attachment: Attachment) -> QPushButton:
        name = clean_name(attachment.name)
        size = self.tr("{0} characters").format(f"{len(attachment.text):,}")
        button = QPushButton(f"{name.replace('&', '&&')}  \N{MIDDLE DOT}  {size}", self)
        button.setObjectName("sentFile")
        button.setAccessibleName(self.tr("File {0}, {1}").format(name, size))
        button.setToolTip(self.tr("Show the text that the model was given"))
        button.clicked.connect(lambda _checked: self._open(name, attachment.text))
        return button

    def _open(self, name: str, text: str) -> None:
        dialog = QDialog(self.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(name)
        box = QPlainTextEdit()
        box.setReadOnly(True)
        box.setAccessibleName(name)
        # Breaking a very long line at words takes quadratic time.
        box.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        box.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        box.setPlainText(text)
        QVBoxLayout(dialog).addWidget(box)
        dialog.resize(UNIT * 90, UNIT * 70)
        dialog.open()
