"""The presets of a system prompt: choose one, keep the text as one, rename and delete.

The presets and the text that is written go in; the text to use and other presets come out. It knows nothing
about the field that the text stands in.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.data.presets import Preset
from app.views.settings_controls import QuietComboBox
from app.views.settings_preset_name import PresetNameRow
from app.views.tokens import UNIT


class PresetRow(QWidget):
    """The chooser with its menu; below it, when they are needed, a field for a name and a way back."""

    prompt_chosen = Signal(str)
    """The text of the preset that was chosen."""

    presets_chosen = Signal(object)
    """A tuple of `Preset`s instead of those that were shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presets: tuple[Preset, ...] = ()
        self._text = ""
        self._name: str | None = None
        self._before: tuple[Preset, ...] = ()
        self.chooser = QuietComboBox()
        self.chooser.setPlaceholderText(self.tr("Choose a preset"))
        self.chooser.setAccessibleName(self.tr("Preset of the system prompt"))
        self.chooser.setToolTip(self.tr("Put the text of a preset in place of the system prompt"))
        self.chooser.activated.connect(self._choose)
        self.button = QToolButton()
        self.button.setObjectName("formButton")
        self.button.setText(self.tr("Presets  \N{BLACK DOWN-POINTING SMALL TRIANGLE}"))
        self.button.setAccessibleName(self.tr("Change the presets"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.menu.aboutToShow.connect(self.fill_menu)
        self.button.setMenu(self.menu)
        self.naming = PresetNameRow()
        self.naming.done.connect(self.chooser.setFocus)
        self.naming.named.connect(self._on_named)
        self.told = QLabel()
        self.told.setTextFormat(Qt.TextFormat.PlainText)
        self.told.setProperty("muted", True)
        self.undo = QPushButton(self.tr("Undo"))
        self.undo.setObjectName("formButton")
        self.undo.clicked.connect(self._undo)
        self._arrange()

    def show_presets(self, presets: Sequence[Preset], text: str) -> None:
        """Offer `presets` for a field in which `text` stands."""
        self._presets, self._text = tuple(presets), text
        same = next((preset.name for preset in presets if preset.text == text), None)
        if same or self._chosen() is None:
            self._name = same
        names = [preset.name for preset in presets]
        if [self.chooser.itemText(row) for row in range(self.chooser.count())] != names:
            self.chooser.clear()
            self.chooser.addItems(names)
        self.chooser.setCurrentIndex(names.index(self._name) if self._name else -1)

    def fill_menu(self) -> None:
        """Offer what can be done with the chosen preset and the text."""
        self.menu.clear()
        keep = self.menu.addAction(self.tr("Keep the text as a new preset \N{HORIZONTAL ELLIPSIS}"))
        keep.triggered.connect(lambda: self.naming.ask_new(self._names()))
        keep.setEnabled(bool(self._text.strip()))
        chosen = self._chosen()
        name = f"\N{LEFT DOUBLE QUOTATION MARK}{chosen.name}\N{RIGHT DOUBLE QUOTATION MARK}" if chosen else ""
        name = name.replace("&", "&&") or self.tr("the preset")
        update = self.menu.addAction(self.tr("Keep the text in {0}").format(name), self._update)
        update.setEnabled(chosen is not None and chosen.text != self._text and bool(self._text.strip()))
        rename = self.menu.addAction(self.tr("Rename {0} \N{HORIZONTAL ELLIPSIS}").format(name))
        rename.triggered.connect(lambda: self.naming.ask_rename(self._names(), self._name or ""))
        delete = self.menu.addAction(self.tr("Delete {0}").format(name), self._delete)
        for action in (rename, delete):
            action.setEnabled(chosen is not None)

    def _names(self) -> list[str]:
        return [preset.name for preset in self._presets]

    def _chosen(self) -> Preset | None:
        return next((preset for preset in self._presets if preset.name == self._name), None)

    def _choose(self, index: int) -> None:
        preset = self._presets[index]
        self._name = preset.name
        self.prompt_chosen.emit(preset.text)

    def _on_named(self, name: str, former: str) -> None:
        """`former` is the name of the preset that is called `name` now, "" for a new one."""
        self._name = name
        if former:
            renamed = (Preset(name, p.text) if p.name == former else p for p in self._presets)
            self._change(tuple(renamed))
        else:
            self._change((*self._presets, Preset(name, self._text)))

    def _update(self) -> None:
        kept = (Preset(p.name, self._text) if p.name == self._name else p for p in self._presets)
        self._change(tuple(kept), self.tr("The text is kept in {0}.").format(self._name))

    def _delete(self) -> None:
        left = tuple(preset for preset in self._presets if preset.name != self._name)
        self._change(left, self.tr("{0} was deleted.").format(self._name))

    def _change(self, presets: tuple[Preset, ...], told: str = "") -> None:
        self._before = self._presets
        self.presets_chosen.emit(presets)
        self._tell(told)

    def _undo(self) -> None:
        self.chooser.setFocus()
        self.presets_chosen.emit(self._before)
        self._tell("")

    def _tell(self, told: str) -> None:
        self.told.setText(told)
        self.told.setVisible(bool(told))
        self.undo.setVisible(bool(told))

    def _arrange(self) -> None:
        choose = QHBoxLayout()
        choose.addWidget(self.chooser, 1)
        choose.addWidget(self.button)
        back = QHBoxLayout()
        back.addWidget(self.told)
        back.addWidget(self.undo)
        back.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        column.addLayout(choose)
        column.addWidget(self.naming)
        column.addLayout(back)
        self._tell("")
