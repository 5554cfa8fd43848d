"""A small window, 683 x 384 (1366 x 768 at twice the scale): every control is in sight or scrolls there."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QLineEdit, QWidget

from tests.app.conftest import Desk, settle


def _controls(window: QWidget) -> list[QWidget]:
    found: list[QWidget] = [*window.findChildren(QAbstractButton), *window.findChildren(QLineEdit)]
    return [control for control in found if control.isVisible() and control.isEnabled()]


def _scrolls(control: QWidget) -> bool:
    parent = control.parentWidget()
    while parent is not None:
        if isinstance(parent, QAbstractScrollArea):
            return True
        parent = parent.parentWidget()
    return False


def _in_sight(control: QWidget, window: QWidget) -> bool:
    area = QRect(control.mapTo(window, QPoint(0, 0)), control.size())
    return window.rect().contains(area) and not control.visibleRegion().isEmpty()


@pytest.mark.qt_log_ignore("propagateSizeHints")
@pytest.mark.parametrize("size", [(900, 600), (683, 384)])
@pytest.mark.parametrize("page", [None, "settings", "shortcuts", "endurance"])
def test_every_control_can_be_reached(desk: Desk, size: tuple[int, int], page: str | None) -> None:
    window = desk.weir.window
    desk.send("Hello")
    desk.say(desk.engine.newest.finish, "Hello!")
    if page:
        desk.weir.pages.open(page)
    window.resize(*size)
    settle()
    assert (window.width(), window.height()) == size
    hidden = [
        control.accessibleName() or control.objectName() or type(control).__name__
        for control in _controls(window)
        if not _scrolls(control) and not _in_sight(control, window)
    ]
    assert hidden == []
