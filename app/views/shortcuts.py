"""All shortcuts of Weir, in one table: what they are called, which keys they have, where they hold.

Ids go in, keys and words for people come out; the window makes its shortcuts of the same table that the
page and the tool tips show. Knows nothing about what a shortcut does.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence


class Place(enum.Enum):
    """Where the keys act."""

    WINDOW = enum.auto()  # wherever the focus is
    CHAT_LIST = enum.auto()  # the list acts on them itself
    MESSAGE_FIELD = enum.auto()  # the message field acts on them itself


class Section(enum.Enum):
    """What a shortcut is about."""

    CHATS = enum.auto()
    WRITING = enum.auto()
    READING = enum.auto()
    WINDOW = enum.auto()


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`keys` are alternatives as QKeySequence reads them: "Ctrl" is the command key of a Mac."""

    id: str
    keys: tuple[str, ...]
    words: str
    section: Section
    place: Place = Place.WINDOW

    def sequences(self) -> list[QKeySequence]:
        """The keys for a QShortcut."""
        return [QKeySequence(keys) for keys in self.keys]

    def key_texts(self) -> list[str]:
        """The keys as the user's system writes them."""
        return [sequence.toString(QKeySequence.SequenceFormat.NativeText) for sequence in self.sequences()]


def shortcuts() -> tuple[Shortcut, ...]:
    """The table, in the order in which people read it."""
    return (*_chats(), *_writing(), *_reading(), *_window())


def shortcut(shortcut_id: str) -> Shortcut:
    """One row of the table. Raises KeyError."""
    return {row.id: row for row in shortcuts()}[shortcut_id]


def section_words(section: Section) -> str:
    """What the shortcuts of a section have in common."""
    match section:
        case Section.CHATS:
            return _tr("Chats")
        case Section.WRITING:
            return _tr("Writing")
        case Section.READING:
            return _tr("Reading")
        case Section.WINDOW:
            return _tr("Window")


def with_keys(words: str, shortcut_id: str) -> str:
    """A tool tip: the words, and the first keys that do the same."""
    return _tr("{0} ({1})").format(words, isolated(shortcut(shortcut_id).key_texts()[0]))


def isolated(keys: str) -> str:
    """Keys as a piece of text that keeps its order inside right-to-left words."""
    return f"\N{LEFT-TO-RIGHT ISOLATE}{keys}\N{POP DIRECTIONAL ISOLATE}"


def _chats() -> tuple[Shortcut, ...]:
    section, in_list = Section.CHATS, Place.CHAT_LIST
    return (
        Shortcut("new_chat", ("Ctrl+N",), _tr("New chat"), section),
        Shortcut("search", ("Ctrl+F",), _tr("Search all chats"), section),
        Shortcut("next_chat", ("Ctrl+Tab", "Alt+Down"), _tr("Next chat in the list"), section),
        Shortcut("previous_chat", ("Ctrl+Shift+Tab", "Alt+Up"), _tr("Previous chat in the list"), section),
        Shortcut("rename", ("F2",), _tr("Rename the chat"), section),
        Shortcut("open", ("Return",), _tr("Open the chosen chat of the list"), section, in_list),
        Shortcut("delete", ("Del",), _tr("Delete the chosen chat of the list"), section, in_list),
        Shortcut("menu", ("Shift+F10",), _tr("What can be done with the chosen chat"), section, in_list),
    )


def _writing() -> tuple[Shortcut, ...]:
    section, in_field = Section.WRITING, Place.MESSAGE_FIELD
    return (
        Shortcut("message_field", ("Ctrl+L",), _tr("Go to the message field"), section),
        Shortcut("send", ("Return",), _tr("Send the message"), section, in_field),
        Shortcut(
            "several",
            ("Ctrl+Shift+Return",),
            _tr("Send the message, or ask again, for several answers"),
            section,
        ),
        Shortcut("new_line", ("Shift+Return",), _tr("Begin a new line"), section, in_field),
        Shortcut("history", ("Up",), _tr("Bring back what was sent before"), section, in_field),
        Shortcut("stop", ("Esc",), _tr("Stop the reply, or leave what is open"), section),
        Shortcut("edit_last", ("Ctrl+Up",), _tr("Edit your last message"), section),
        Shortcut("again", ("Ctrl+R",), _tr("Write the last reply again"), section),
        Shortcut("attach", ("Ctrl+Shift+A",), _tr("Attach a file"), section),
    )


def _reading() -> tuple[Shortcut, ...]:
    section = Section.READING
    return (
        Shortcut("newest", ("Ctrl+End",), _tr("Go to the newest message"), section),
        Shortcut("copy_reply", ("Ctrl+Shift+C",), _tr("Copy the last reply"), section),
        Shortcut("memory", ("Ctrl+J",), _tr("Show where the memory is"), section),
        Shortcut("model", ("Ctrl+M",), _tr("Choose the model"), section),
    )


def _window() -> tuple[Shortcut, ...]:
    section = Section.WINDOW
    return (
        Shortcut("palette", ("Ctrl+K",), _tr("Find a command or chat"), section),
        Shortcut("sidebar", ("Ctrl+B",), _tr("Fold the list of chats away, or out"), section),
        Shortcut("models", ("Ctrl+Shift+M",), _tr("Models: choose, find, download"), section),
        Shortcut("settings", ("Ctrl+,",), _tr("Settings"), section),
        Shortcut("shortcuts", ("F1", "Ctrl+/"), _tr("This list of shortcuts"), section),
        Shortcut("quit", ("Ctrl+Q",), _tr("Quit Weir"), section),
    )


def _tr(words: str) -> str:
    return QCoreApplication.translate("Shortcuts", words)
