"""What stands in place of the messages while there are none: what to do first.

Whether a model answers, is being loaded or could not be goes in; the wishes for a model and for one of
the example messages come out. Promises: an example can be chosen before the model is ready, and every
state names the next step. Knows nothing about models and chats.
"""

from __future__ import annotations

import enum

from PySide6.QtCore import QEvent, Qt, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.views.example_button import ExampleButton
from app.views.message_measure import widest_column
from app.views.tokens import UNIT

_MARGIN = UNIT * 2
_TWO_COLUMNS_FROM = UNIT * 60


class EmptyState(enum.Enum):
    """What a new chat waits for."""

    LOADING = enum.auto()
    READY = enum.auto()
    NO_MODEL = enum.auto()
    FAILED = enum.auto()


class EmptyPage(QScrollArea):
    """The page of a new chat."""

    choose_requested = Signal()
    """Show the models that there are."""

    open_requested = Signal()
    """Let the user look for a model's file."""

    again_requested = Signal()
    """Load the model that failed once more."""

    example_chosen = Signal(str)
    """A first message to send."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.title, self.text = QLabel(), QLabel()
        self.title.setObjectName("emptyTitle")
        self.text.setProperty("muted", True)
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setMaximumWidth(UNIT * 40)
        self.progress.setAccessibleName(self.tr("Loading the model"))
        self.choose = self._button(self.tr("Choose a model"), self.choose_requested)
        self.open_file = self._button(
            self.tr("Open a model file \N{HORIZONTAL ELLIPSIS}"), self.open_requested
        )
        self.again = self._button(self.tr("Try again"), self.again_requested)
        self.examples = [self._example(words) for words in self._example_words()]
        self._examples = QWidget()
        self._grid = QGridLayout(self._examples)
        self._arrange()
        self.show_state(model=None, loading=True)

    def show_state(self, *, model: str | None, loading: bool, problem: str = "") -> None:
        """`model` is the name of the one that answers; `problem` says why none could be loaded."""
        state = self._state(model, loading, problem)
        self.title.setText(self._title(state))
        self.text.setText(problem if state is EmptyState.FAILED else self._text(state))
        self.progress.setVisible(state is EmptyState.LOADING)
        self.progress.setValue(0)
        needs_model = state in (EmptyState.NO_MODEL, EmptyState.FAILED)
        self._examples.setVisible(not needs_model)
        self.choose.setVisible(needs_model)
        self.open_file.setVisible(needs_model)
        self.again.setVisible(state is EmptyState.FAILED)

    def show_proposals(self, view: QWidget) -> None:
        """Models that could be downloaded, below the rest; once."""
        end = self._inner_column.count() - 1
        self._inner_column.insertSpacing(end, UNIT * 2)
        self._inner_column.insertWidget(end + 1, view)

    def show_progress(self, fraction: float) -> None:
        """How much of the model is loaded, 0 to 1."""
        self.progress.setValue(round(fraction * 1000))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The examples stand side by side where there is room."""
        super().resizeEvent(event)
        self._fill(2 if self.viewport().width() >= _TWO_COLUMNS_FROM else 1)

    def changeEvent(self, event: QEvent) -> None:
        """Larger letters need a wider column."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange and hasattr(self, "_inner"):
            self._limit()

    def _limit(self) -> None:
        """As wide as the messages will be, and the composer below."""
        self._inner.setMaximumWidth(widest_column(self.fontMetrics()) + 2 * _MARGIN)

    @staticmethod
    def _state(model: str | None, loading: bool, problem: str) -> EmptyState:
        if model:
            return EmptyState.READY
        if loading:
            return EmptyState.LOADING
        return EmptyState.FAILED if problem else EmptyState.NO_MODEL

    def _title(self, state: EmptyState) -> str:
        match state:
            case EmptyState.NO_MODEL:
                return self.tr("Choose a model first")
            case EmptyState.FAILED:
                return self.tr("No model is loaded")
            case _:
                return self.tr("What is on your mind?")

    def _text(self, state: EmptyState) -> str:
        if state is EmptyState.LOADING:
            return self.tr(
                "The model is being loaded, which takes a few seconds. You can write already: "
                "it answers as soon as it is ready."
            )
        if state is EmptyState.READY:
            return self.tr(
                "Write a message below, or begin with one of these. Everything stays on this computer, "
                "and a chat may go on for as long as you like."
            )
        return self.tr(
            "A model is a file that ends in .gguf. Weir runs it on this computer; nothing is sent away."
        )

    def _example_words(self) -> tuple[str, ...]:
        return (
            self.tr("Explain in three sentences how a rainbow forms."),
            self.tr("Write a short poem about rain on a tin roof."),
            self.tr("Give me five ideas for a quick dinner."),
            self.tr("How do I read a file line by line in Python?"),
        )

    def _button(self, words: str, wish: SignalInstance) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName("pageButton")
        button.clicked.connect(wish)
        return button

    def _example(self, words: str) -> ExampleButton:
        button = ExampleButton(words)
        button.setToolTip(self.tr("Send this as your first message"))
        button.clicked.connect(lambda: self.example_chosen.emit(words))
        return button

    def _arrange(self) -> None:
        inner = self._inner = QWidget()
        self._limit()
        column = self._inner_column = QVBoxLayout(inner)
        column.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        column.setSpacing(UNIT)
        column.addStretch(2)
        for label in (self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            column.addWidget(label)
        column.addWidget(self.progress, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(UNIT)
        column.addLayout(self._buttons())
        column.addWidget(self._examples)
        column.addStretch(3)
        content = QWidget()
        content.setObjectName("pageContent")
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(inner, 1000)
        row.addStretch(1)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(UNIT)
        self.setWidget(content)
        self._fill(1)

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addStretch(1)
        for button in (self.again, self.choose, self.open_file):
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _fill(self, n_columns: int) -> None:
        for number, button in enumerate(self.examples):
            self._grid.addWidget(button, number // n_columns, number % n_columns)
