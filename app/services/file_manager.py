"""Showing a file in the system's own file manager.

A path goes in. Promises to return at once and never to open the file itself; where the file cannot be
marked, its folder is opened. Knows nothing about what the file is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices

_SERVICE, _OBJECT = "org.freedesktop.FileManager1", "/org/freedesktop/FileManager1"


def reveal(path: Path) -> None:
    """Open the folder of `path`, with the file marked in it where the system can do that."""
    if sys.platform == "darwin":
        done = QProcess.startDetached("open", ["-R", str(path)])
    elif sys.platform == "win32":
        done = QProcess.startDetached("explorer", ["/select,", str(path)])
    else:
        done = _ask_the_desktop(path)
    if not done:
        open_folder(path.parent)


def open_folder(folder: Path) -> None:
    """Open a folder."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def _ask_the_desktop(path: Path) -> bool:
    """As https://www.freedesktop.org/wiki/Specifications/file-manager-interface/ has it."""
    from PySide6.QtDBus import QDBusConnection, QDBusMessage

    bus = QDBusConnection.sessionBus()
    names = bus.interface()
    if not bus.isConnected() or names is None:
        return False
    offered = {*names.registeredServiceNames().value(), *names.activatableServiceNames().value()}
    if _SERVICE not in offered:
        return False
    message = QDBusMessage.createMethodCall(_SERVICE, _OBJECT, _SERVICE, "ShowItems")
    message.setArguments(
        [[QUrl.fromLocalFile(str(path)).toString(QUrl.ComponentFormattingOption.FullyEncoded)], ""]
    )
    return bool(bus.send(message))
