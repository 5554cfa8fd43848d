"""The question before a link is opened: where it leads, and whether to go there.

A link that may not be opened can be copied here. Knows nothing about messages.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from app.views.link_address import LinkTarget, breakable, link_target


def ask_about_link(url: QUrl, parent: QWidget) -> QMessageBox:
    """Show where `url` leads, over the window of `parent`, without waiting for an answer."""
    target = link_target(url)
    box = QMessageBox(parent.window())
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByKeyboard | Qt.TextInteractionFlag.TextSelectableByMouse
    )
    box.setWindowTitle(_tr("Link"))
    box.setText(_question(target))
    box.setInformativeText(_details(target))
    if target.opens:
        go = box.addButton(_tr("Open"), QMessageBox.ButtonRole.AcceptRole)
        go.clicked.connect(lambda: QDesktopServices.openUrl(url))
    copy = box.addButton(_tr("Copy address"), QMessageBox.ButtonRole.ActionRole)
    whole = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
    copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(whole))
    cancel = box.addButton(
        QMessageBox.StandardButton.Cancel if target.opens else QMessageBox.StandardButton.Close
    )
    box.setDefaultButton(cancel)
    box.open()
    return box


def _question(target: LinkTarget) -> str:
    if not target.opens:
        return _tr("Weir opens web and mail addresses only. This link can be copied.")
    return _tr("Open {0}?").format(target.host)


def _details(target: LinkTarget) -> str:
    lines = [breakable(target.address)]
    if target.opens and "xn--" in target.host:
        lines.append(_tr("The name has letters that may look like others: {0}").format(target.spelled))
    return "\n\n".join(lines)


def _tr(text: str) -> str:
    return QCoreApplication.translate("LinkBox", text)
