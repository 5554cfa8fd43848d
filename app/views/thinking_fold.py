"""What a model thought before its answer: one line, that unfolds to the thought.

The thought goes in with `show_thought`, a height for a width comes out of `fit`, and `height_changed` says
when to ask again. While the model thinks, the line counts the seconds and shows the thought's last line;
a folded thought is not laid out. Knows nothing about answers.
"""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.views.eliding_label import ElidingLabel
from app.views.message_body import MessageBody
from app.views.tokens import UNIT

_TICK_MS = 1_000
_UNFOLD, _FOLD = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}", "\N{BLACK DOWN-POINTING SMALL TRIANGLE}"
_UNFOLD_RIGHT_TO_LEFT = "\N{BLACK LEFT-POINTING SMALL TRIANGLE}"


class ThinkingFold(QFrame):
    """Shows one message's thought; hidden without one."""

    height_changed = Signal()
    """Another height is needed now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._thought: str | None = None
        self._is_open = False
        self._ms: float | None = None
        self._began = 0.0
        self.toggle = QPushButton()
        self.toggle.setObjectName("thinkingToggle")
        self.toggle.setCheckable(True)
        self.toggle.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.toggle.toggled.connect(self._on_toggled)
        self._last_line = ElidingLabel()
        self._last_line.setProperty("muted", True)
        self.body = MessageBody()
        self.body.setProperty("dimmed", True)
        self.body.setAccessibleName(self.tr("Thought"))
        self.body.rendered.connect(self.height_changed)
        self.body.hide()
        self._ticks = QTimer(self)
        self._ticks.setInterval(_TICK_MS)
        self._ticks.timeout.connect(self._show_line)
        self._arrange()
        self.hide()

    def show_thought(self, thought: str | None, is_open: bool, ms: float | None) -> None:
        """Show `thought`, None for none. `is_open`: the model still thinks. `ms`: how long it thought.

        Where `ms` is None, the time since the first call with an open thought is counted.
        """
        if thought is None and not is_open:
            self._thought, self._is_open = None, False
            self._ticks.stop()
            self.hide()
            return
        if is_open and not self._is_open:
            self._began = monotonic()
        elif self._is_open and not is_open and ms is None:
            ms = (monotonic() - self._began) * 1000
        was_shown = self._thought is not None
        self._thought, self._is_open = thought or "", is_open
        self._ms = ms if ms is not None or is_open else self._ms
        self._show_line()
        self._show_body()
        self.setVisible(True)
        if not was_shown:
            self.height_changed.emit()

    def fit(self, width: int) -> int:
        """Take `width` pixels and return the height in pixels that the line and an unfolded thought need."""
        height = self.toggle.sizeHint().height()
        if self.toggle.isChecked():
            height += self.body.fit(width - 2 * UNIT) + UNIT
        self.setFixedSize(width, height)
        return height

    def tab_stops(self) -> list[QWidget]:
        """What the keyboard can reach, in order."""
        return [self.toggle, *([self.body, *self.body.code_buttons()] if self.toggle.isChecked() else [])]

    def changeEvent(self, event: QEvent) -> None:
        """The triangle points into the text, whichever way it is read."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.LayoutDirectionChange, QEvent.Type.LanguageChange}:
            self._show_line()

    def _arrange(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(UNIT)
        line.addWidget(self.toggle)
        line.addWidget(self._last_line)
        line.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        column.addLayout(line)
        inset = QHBoxLayout()
        inset.setContentsMargins(UNIT, 0, UNIT, 0)
        inset.addWidget(self.body)
        column.addLayout(inset)
        column.addStretch(1)

    def _on_toggled(self) -> None:
        self._show_line()
        self._show_body()
        self.height_changed.emit()

    def _show_body(self) -> None:
        unfolded = self.toggle.isChecked()
        self.body.setVisible(unfolded)
        if unfolded:
            self.body.show_text(self._thought or "", markdown=True, streaming=self._is_open)

    def _show_line(self) -> None:
        text, unfolded = self._told(), self.toggle.isChecked()
        right_to_left = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        sign = _FOLD if unfolded else _UNFOLD_RIGHT_TO_LEFT if right_to_left else _UNFOLD
        self.toggle.setText(f"{sign}  {text}")
        state = self.tr("unfolded") if unfolded else self.tr("folded")
        # Without the seconds while they run: a reader would say each of them.
        told = self.tr("The model is thinking") if self._is_open else text
        name = f"{told}, {state}"
        if name != self.toggle.accessibleName():
            self.toggle.setAccessibleName(name)
        self.toggle.setToolTip(self.tr("Hide the thought") if unfolded else self.tr("Show the thought"))
        last = (self._thought or "").rstrip().rpartition("\n")[2][-300:]
        self._last_line.setText(last if self._is_open and not unfolded else "")
        if self._is_open and not self._ticks.isActive():
            self._ticks.start()
        elif not self._is_open:
            self._ticks.stop()

    def _told(self) -> str:
        if self._is_open:
            seconds = int(monotonic() - self._began)
            return self.tr("Thinking \N{HORIZONTAL ELLIPSIS} {0}").format(self._duration(seconds))
        if self._ms is None:
            return self.tr("Thought")
        return self.tr("Thought for {0}").format(self._duration(max(1, round(self._ms / 1000))))

    def _duration(self, seconds: int) -> str:
        if seconds < 60:
            return self.tr("{0} s").format(seconds)
        return self.tr("{0} min {1} s").format(seconds // 60, seconds % 60)
