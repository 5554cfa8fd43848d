"""A new chat says what to do first, whatever is missing."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from app.views.empty_page import EmptyPage
from app.views.message_measure import widest_column

# The offscreen platform knows no size hints, and cannot raise a window.
pytestmark = pytest.mark.qt_log_ignore("does not support")


@pytest.fixture
def page(qtbot: QtBot) -> EmptyPage:
    page = EmptyPage()
    qtbot.addWidget(page)
    page.resize(700, 500)
    page.show()
    return page


def _offered(page: EmptyPage) -> list[str]:
    buttons = page.findChildren(QAbstractButton)
    return [button.accessibleName() or button.text() for button in buttons if button.isVisible()]


def test_ready_model_offers_first_messages(page: EmptyPage, qtbot: QtBot) -> None:
    page.show_state(model="SmolLM2", loading=False)
    examples = [example.words for example in page.examples]
    assert _offered(page) == examples
    assert 3 <= len(examples) <= 4
    with qtbot.waitSignal(page.example_chosen, timeout=500) as chosen:
        page.examples[1].click()
    assert chosen.args == [examples[1]]
    assert not page.progress.isVisible()


def test_first_message_need_not_wait_for_the_model(page: EmptyPage) -> None:
    page.show_state(model=None, loading=True)
    page.show_progress(0.4)
    assert page.progress.isVisible()
    assert page.progress.value() == 400
    assert "loaded" in page.text.text()
    assert len(_offered(page)) == len(page.examples)


def test_another_model_that_is_being_loaded_disturbs_nobody(page: EmptyPage) -> None:
    page.show_state(model="SmolLM2", loading=True)
    assert not page.progress.isVisible()


def test_without_a_model_one_is_chosen_or_opened(page: EmptyPage, qtbot: QtBot) -> None:
    page.show_state(model=None, loading=False)
    assert page.title.text() == "Choose a model first"
    assert _offered(page) == ["Choose a model", "Open a model file …"]
    with qtbot.waitSignals([page.choose_requested, page.open_requested], timeout=500):
        page.choose.click()
        page.open_file.click()


def test_model_that_failed_can_be_tried_again(page: EmptyPage, qtbot: QtBot) -> None:
    page.show_state(model=None, loading=False, problem="The file <b>m.gguf</b> is cut off.")
    assert page.text.text() == "The file <b>m.gguf</b> is cut off."
    assert _offered(page) == ["Try again", "Choose a model", "Open a model file …"]
    with qtbot.waitSignal(page.again_requested, timeout=500):
        page.again.click()
    page.show_state(model=None, loading=True, problem="The file is cut off.")
    assert page.again.isHidden()


@pytest.mark.parametrize("size", [(459, 200), (700, 500), (1400, 900)])
def test_everything_can_be_reached_at_any_size(page: EmptyPage, size: tuple[int, int]) -> None:
    page.show_state(model="SmolLM2", loading=False)
    page.resize(*size)
    for _ in range(3):
        QApplication.processEvents()
    content = page.widget()
    assert content is not None
    assert content.width() <= page.viewport().width()
    for example in page.examples:
        assert content.rect().contains(QRect(example.mapTo(content, QPoint()), example.size()))
        text = example.fontMetrics().boundingRect(0, 0, example.width() - 28, 1000, 0x1000, example.words)
        assert text.height() <= example.height()


def test_examples_are_as_wide_as_the_messages_will_be(page: EmptyPage) -> None:
    page.resize(1600, 900)
    QApplication.processEvents()
    edges = [button.mapTo(page, QPoint(0, 0)).x() for button in page.examples]
    width = max(edge + button.width() for edge, button in zip(edges, page.examples, strict=True)) - min(edges)
    assert width == widest_column(page.fontMetrics())
