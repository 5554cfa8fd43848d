"""The settings' page and the page of one chat: what is chosen holds at once, and is explained."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QPlainTextEdit, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.data.chat_options import ChatOptions
from app.data.presets import EXAMPLES, Preset
from app.data.settings import Settings, SettingsStore
from app.services.preferences import Preferences
from app.views.chat_options_panel import ChatOptionsPanel
from app.views.settings_controls import NumberBox
from app.views.settings_form import SettingsForm
from app.views.settings_page import SettingsPage
from app.views.settings_sheet import SettingsSheet
from engine.protocol import (
    DeviceMemory,
    FlashAttention,
    KVType,
    LoadOptions,
    ModelInfo,
    Policy,
    Sampling,
    Split,
)
from tests.app.conftest import settle
from tests.app.scripted_engine import model_info


class Options(QObject):
    """Stands in for the `ChatOptionsService`."""

    changed = Signal(object)

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self.of: dict[str | None, ChatOptions] = {}

    def options(self, chat_id: str | None) -> ChatOptions:
        return self.of.get(chat_id, ChatOptions())

    def effective(self, chat_id: str | None) -> Settings:
        return self._preferences.settings.with_options(self.options(chat_id))

    def set_options(self, chat_id: str | None, options: ChatOptions) -> None:
        self.of[chat_id] = options
        self.changed.emit(chat_id)


@pytest.fixture
def preferences(qapp: QApplication, tmp_path: Path) -> Preferences:
    return Preferences(SettingsStore(tmp_path / "settings.json"), Settings())


@pytest.fixture
def host(qtbot: QtBot) -> QWidget:
    """The window, without any wish for a size."""
    host = QWidget()
    qtbot.addWidget(host)
    return host


@pytest.fixture
def page(host: QWidget, preferences: Preferences, tmp_path: Path) -> SettingsPage:
    page = SettingsPage(preferences, tmp_path, host)
    _show(page, host)
    return page


@pytest.fixture
def options(preferences: Preferences) -> Options:
    return Options(preferences)


@pytest.fixture
def panel(host: QWidget, preferences: Preferences, options: Options) -> ChatOptionsPanel:
    panel = ChatOptionsPanel(options, preferences, host)  # type: ignore[arg-type]
    panel.show_chat("a")
    _show(panel, host)
    return panel


def _show(sheet: SettingsSheet, host: QWidget) -> None:
    host.resize(1200, 600)
    sheet.resize(680, 520)
    host.show()
    host.activateWindow()
    settle()


def _choose(form: SettingsForm, name: str, value: object) -> None:
    """As the control does when the user chooses."""
    row = next(group.rows[name] for group in form.groups() if name in group.rows)
    row.control.show_value(value)  # type: ignore[arg-type]
    row.control.chosen.emit(value)


def _reset_button(form: SettingsForm, name: str) -> QAbstractButton:
    return next(group.rows[name].undo for group in form.groups() if name in group.rows)


def _remark(form: SettingsForm, name: str) -> str:
    return next(group.rows[name].remark.text() for group in form.groups() if name in group.rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 100),
        ("n_ctx", 4096),
        ("policy", Policy.STOP),
        ("kv_type", KVType.Q4_0),
        ("n_gpu_layers", 0),
        ("n_threads", 2),
        ("theme", "dark"),
        ("font_size", 14),
        ("direction", "rtl"),
        ("saved_kv", False),
    ],
)
def test_what_is_chosen_is_stored_at_once_and_can_be_reset(
    page: SettingsPage, preferences: Preferences, tmp_path: Path, name: str, value: object
) -> None:
    assert not _reset_button(page.form, name).isVisible()
    _choose(page.form, name, value)
    assert getattr(preferences.settings, name) == value
    assert getattr(SettingsStore(tmp_path / "settings.json").load()[0], name) == value
    _reset_button(page.form, name).click()
    assert preferences.settings == Settings()
    assert not _reset_button(page.form, name).isVisible()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0.0),
        ("top_k", 0),
        ("top_p", 1.0),
        ("min_p", 0.0),
        ("repeat_penalty", 1.1),
        ("seed", 2**32 - 1),
    ],
)
def test_one_option_of_sampling_leaves_the_others(
    page: SettingsPage, preferences: Preferences, name: str, value: float
) -> None:
    preferences.update(sampling=Sampling(repeat_last_n=5))
    _choose(page.form, name, value)
    expected = dataclasses.replace(Sampling(repeat_last_n=5), **{name: value})  # type: ignore[arg-type]
    assert preferences.settings.sampling == expected
    _reset_button(page.form, name).click()
    assert preferences.settings.sampling == Sampling(repeat_last_n=5)


def test_a_choice_can_be_made_with_the_keyboard(page: SettingsPage, preferences: Preferences) -> None:
    box = page.form.sampling.rows["temperature"].control
    box.setFocus()
    box.selectAll()  # type: ignore[union-attr]
    QTest.keyClicks(box, "1.5")
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert preferences.settings.sampling.temperature == 1.5
    policy = page.form.memory.rows["policy"].control
    policy.setFocus()
    QTest.keyClick(policy, Qt.Key.Key_Down)
    assert preferences.settings.policy is Policy.EXACT
    assert "read again: slow" in _remark(page.form, "policy")


def test_settings_that_change_elsewhere_are_shown(page: SettingsPage, preferences: Preferences) -> None:
    preferences.update(n_ctx=2048, policy=Policy.EXACT, system_prompt="Be brief.")
    assert page.form.memory.rows["n_ctx"].control.text() == "2,048"  # type: ignore[union-attr]
    assert page.form.memory.rows["policy"].control.currentText() == "Exact"  # type: ignore[union-attr]
    assert page.form.prompt.toPlainText() == "Be brief."


def test_a_reload_is_offered_and_never_done_by_itself(qtbot: QtBot, page: SettingsPage) -> None:
    asked: list[bool] = []
    page.reload_requested.connect(lambda: asked.append(True))
    assert _remark(page.form, "n_ctx") == "loads the model again"
    _choose(page.form, "n_ctx", 4096)
    page.show_model(model_info("/models/a.gguf"), True)
    assert page.reload_line.isVisible()
    assert asked == []
    page.reload_button.setFocus()
    page.reload_button.click()
    assert asked == [True]
    page.show_model(model_info("/models/a.gguf"), False)
    assert not page.reload_line.isVisible()
    assert page.close_button.hasFocus()


def test_a_context_that_the_model_cannot_have_is_explained_beside_it(page: SettingsPage) -> None:
    info = dataclasses.replace(model_info("/models/a.gguf"), n_ctx_train=2048)
    page.show_model(info, False)
    _choose(page.form, "n_ctx", 4096)
    assert _remark(page.form, "n_ctx") == "a takes at most 2,048"
    assert page.form.memory.rows["n_ctx"].control.text() == "2,048"  # type: ignore[union-attr]
    _choose(page.form, "n_ctx", 2048)
    assert _remark(page.form, "n_ctx") == "loads the model again"


def test_more_context_than_the_model_was_trained_for_cannot_be_chosen(
    page: SettingsPage, preferences: Preferences
) -> None:
    page.show_model(dataclasses.replace(model_info("/models/a.gguf"), n_ctx_train=2048), False)
    box = page.form.memory.rows["n_ctx"].control
    assert isinstance(box, NumberBox)
    box.selectAll()
    QTest.keyClicks(box, "99999999")
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert preferences.settings.n_ctx == 2048
    page.show_model(dataclasses.replace(model_info("/models/b.gguf"), n_ctx_train=0), False)  # not known
    box.selectAll()
    QTest.keyClicks(box, "4096")
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert preferences.settings.n_ctx == 4096
    assert _remark(page.form, "n_ctx") == "loads the model again"


def test_title_stands_in_line_with_the_form(page: SettingsPage, host: QWidget) -> None:
    for width in (680, 1200):
        page.resize(width, 520)
        settle()
        title, form = (part.mapTo(page, QPoint(0, 0)) for part in (page.title, page.form))
        assert title.x() == form.x()


def test_layers_for_no_graphics_card_are_said_to_be_for_none(page: SettingsPage) -> None:
    cpu = DeviceMemory("CPU", "", "cpu", 1, 2)
    card = DeviceMemory("CUDA0", "", "gpu", 1, 2)
    page.show_model(dataclasses.replace(model_info("/models/a.gguf"), devices=(cpu,)), False)
    assert "no graphics card" in _remark(page.form, "n_gpu_layers")
    page.show_model(dataclasses.replace(model_info("/models/a.gguf"), devices=(cpu, card)), False)
    assert "no graphics card" not in _remark(page.form, "n_gpu_layers")


def _loaded(*names: str) -> ModelInfo:
    """A model on a machine with these cards."""
    cards = (DeviceMemory(name, "", "gpu", 1, 2) for name in names)
    cpu = DeviceMemory("CPU", "", "cpu", None, None)
    return dataclasses.replace(model_info("/models/a.gguf"), devices=(cpu, *cards))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flash_attention", FlashAttention.OFF),
        ("v_type", KVType.Q4_0),
        ("n_batch", 1024),
        ("n_ubatch", 256),
        ("main_device", "CUDA1"),
        ("split", Split.NONE),
        ("mmap", False),
        ("mlock", True),
    ],
)
def test_options_of_loading_are_stored_at_once_and_can_be_reset(
    page: SettingsPage, preferences: Preferences, tmp_path: Path, name: str, value: object
) -> None:
    page.show_model(_loaded("CUDA0", "CUDA1"), False)
    _choose(page.form, name, value)
    assert preferences.settings.load_options == LoadOptions(**{name: value})  # type: ignore[arg-type]
    assert preferences.settings.load_settings.load_options == preferences.settings.load_options
    assert SettingsStore(tmp_path / "settings.json").load()[0] == preferences.settings
    _reset_button(page.form, name).click()
    assert preferences.settings == Settings()


def test_wrong_combination_says_at_once_what_it_becomes(page: SettingsPage, preferences: Preferences) -> None:
    _choose(page.form, "flash_attention", FlashAttention.OFF)
    assert _remark(page.form, "flash_attention") == "loads the model again"
    preferences.update(kv_type=KVType.Q8_0)
    assert "stored as f16" in _remark(page.form, "flash_attention")
    _choose(page.form, "n_ubatch", 1024)
    _choose(page.form, "n_batch", 256)
    assert "it has 256 tokens" in _remark(page.form, "n_ubatch")
    preferences.update(kv_type=KVType.F16)
    assert _remark(page.form, "flash_attention") == "loads the model again"


def test_cards_can_be_chosen_only_where_there_are_several(page: SettingsPage) -> None:
    assert page.form.loading is not None
    rows = [page.form.loading.rows[name] for name in ("main_device", "split")]
    for names, reason in (((), "no graphics card was found"), (("CUDA0",), "there is only one card")):
        page.show_model(_loaded(*names), False)
        assert [row.control.isEnabled() for row in rows] == [False, False]
        assert [row.control.toolTip() for row in rows] == [reason, reason]
    page.show_model(_loaded("CUDA0", "CUDA1"), False)
    assert [row.control.isEnabled() for row in rows] == [True, True]
    assert [row.control.toolTip() for row in rows] == [row.setting.hint for row in rows]
    box = rows[0].control
    assert isinstance(box, QComboBox)
    assert [box.itemText(index) for index in range(box.count())] == ["automatic", "CUDA0", "CUDA1"]


def test_main_device_of_another_machine_is_shown_and_told(
    page: SettingsPage, preferences: Preferences
) -> None:
    preferences.update(load_options=LoadOptions(main_device="CUDA7"))
    page.show_model(_loaded("CUDA0", "CUDA1"), False)
    assert page.form.loading is not None
    box = page.form.loading.rows["main_device"].control
    assert isinstance(box, QComboBox)
    assert box.currentText() == "CUDA7"
    assert "no graphics card called CUDA7" in _remark(page.form, "main_device")


def test_a_chat_has_no_options_of_loading(panel: ChatOptionsPanel) -> None:
    assert panel.form.loading is None


def test_a_preset_takes_the_place_of_the_prompt(page: SettingsPage, preferences: Preferences) -> None:
    page.form.presets.chooser.activated.emit(1)
    assert preferences.settings.system_prompt == EXAMPLES[1].text
    assert page.form.presets.chooser.currentText() == EXAMPLES[1].name


def _menu(page: SettingsPage) -> list[Callable[[], None]]:
    page.form.presets.fill_menu()
    return [action.trigger for action in page.form.presets.menu.actions() if action.isEnabled()]


def test_the_text_is_kept_as_a_preset_under_a_name_that_is_free(
    page: SettingsPage, preferences: Preferences
) -> None:
    assert _menu(page) == []  # there is no text, and no preset is chosen
    page.form.prompt.choose("Talk like a pirate.")
    [keep] = _menu(page)
    keep()
    naming = page.form.presets.naming
    for name in ("", "  ", "Concise"):
        naming.edit.setText(name)
        QTest.keyClick(naming.edit, Qt.Key.Key_Return)
        assert preferences.settings.presets == EXAMPLES
    assert naming.fault.isVisible()
    naming.edit.setText(" Pirate & Co ")
    QTest.keyClick(naming.edit, Qt.Key.Key_Return)
    assert preferences.settings.presets[-1] == Preset("Pirate & Co", "Talk like a pirate.")
    assert page.form.presets.chooser.currentText() == "Pirate & Co"
    assert not naming.isVisible()


def test_a_preset_is_edited_renamed_and_deleted_with_a_way_back(
    page: SettingsPage, preferences: Preferences
) -> None:
    page.form.presets.chooser.activated.emit(0)
    page.form.prompt.choose("Be very brief.")
    _keep_new, update, rename, delete = _menu(page)
    update()
    assert preferences.settings.presets[0] == Preset("Concise", "Be very brief.")
    rename()
    page.form.presets.naming.edit.setText("Brief")
    page.form.presets.naming.keep.click()
    changed = preferences.settings.presets
    assert list(changed) == [Preset("Brief", "Be very brief."), *EXAMPLES[1:]]
    *_others, delete = _menu(page)
    delete()
    assert list(preferences.settings.presets) == list(EXAMPLES[1:])
    assert preferences.settings.system_prompt == "Be very brief."
    assert page.form.presets.told.text() == "Brief was deleted."
    page.form.presets.undo.click()
    assert preferences.settings.presets == changed


def test_escape_gives_up_a_name_first_and_then_leaves_the_page(qtbot: QtBot, page: SettingsPage) -> None:
    closed: list[bool] = []
    page.closed.connect(lambda: closed.append(True))
    page.form.prompt.choose("Hi")
    _menu(page)[0]()
    QTest.keyClick(page.form.presets.naming.edit, Qt.Key.Key_Escape)
    assert not page.form.presets.naming.isVisible()
    assert closed == []
    QTest.keyClick(page.form.prompt, Qt.Key.Key_Escape)
    assert closed == [True]
    page.close_button.click()
    assert len(closed) == 2


def test_what_is_being_typed_is_kept_when_the_page_goes(page: SettingsPage, preferences: Preferences) -> None:
    page.form.prompt.insertPlainText("Half a sent")
    page.hide()
    assert preferences.settings.system_prompt == "Half a sent"


def test_the_folder_of_the_chats_is_shown_and_opened(
    page: SettingsPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    assert page.folder.text() == str(tmp_path)
    page.open_folder.click()
    assert [url.toLocalFile() for url in opened] == [str(tmp_path)]


def test_a_chat_shows_what_it_takes_from_the_settings(
    panel: ChatOptionsPanel, preferences: Preferences
) -> None:
    preferences.update(max_tokens=77, sampling=Sampling(temperature=0.3), system_prompt="From the settings")
    form = panel.form
    assert form.answers.rows["max_tokens"].control.text() == "77"  # type: ignore[union-attr]
    assert form.prompt.toPlainText() == "From the settings"
    names = ("max_tokens", "policy", "kv_type", "n_ctx", "n_gpu_layers")
    assert all("as in the settings" in _remark(form, name) for name in names)
    assert form.prompt_note.text() == form.sampling.note.text() == "as in the settings"
    assert "theme" not in {name for group in form.groups() for name in group.rows}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 100),
        ("n_ctx", 4096),
        ("policy", Policy.STOP),
        ("kv_type", KVType.Q4_0),
        ("n_gpu_layers", 0),
    ],
)
def test_what_is_chosen_for_a_chat_holds_there_until_it_is_reset(
    panel: ChatOptionsPanel, options: Options, preferences: Preferences, name: str, value: object
) -> None:
    _choose(panel.form, name, value)
    assert options.of["a"] == ChatOptions(**{name: value})  # type: ignore[arg-type]
    assert preferences.settings == Settings()
    assert "as in the settings" not in _remark(panel.form, name)
    _reset_button(panel.form, name).click()
    assert options.of["a"] == ChatOptions()


def test_a_chat_has_all_of_its_sampling_or_none(
    panel: ChatOptionsPanel, options: Options, preferences: Preferences
) -> None:
    preferences.update(sampling=Sampling(top_k=7))
    _choose(panel.form, "temperature", 0.1)
    assert options.of["a"].sampling == Sampling(temperature=0.1, top_k=7)
    preferences.update(sampling=Sampling(top_k=9))
    assert panel.form.sampling.note.text() == "all of these hold in this chat"
    assert panel.form.sampling.rows["top_k"].control.text() == "7"  # type: ignore[union-attr]
    panel.form.sampling.reset.click()
    assert options.of["a"] == ChatOptions()
    assert panel.form.sampling.rows["top_k"].control.text() == "9"  # type: ignore[union-attr]


def test_a_chat_may_have_no_system_prompt_where_the_settings_have_one(
    panel: ChatOptionsPanel, options: Options, preferences: Preferences
) -> None:
    preferences.update(system_prompt="Be brief.")
    panel.form.prompt.choose("")
    assert options.effective("a").system_prompt == ""
    panel.form.prompt_reset.click()
    assert panel.form.prompt.toPlainText() == "Be brief."


def test_nothing_chosen_for_a_chat_shows_what_the_settings_say(
    panel: ChatOptionsPanel, preferences: Preferences
) -> None:
    preferences.update(n_ctx=4096)
    _choose(panel.form, "n_ctx", None)
    assert panel.form.memory.rows["n_ctx"].control.text() == "4,096"  # type: ignore[union-attr]


def test_presets_are_the_same_in_all_chats(
    panel: ChatOptionsPanel, options: Options, preferences: Preferences
) -> None:
    panel.form.presets.chooser.activated.emit(2)
    assert options.of["a"].system_prompt == EXAMPLES[2].text
    panel.form.presets.presets_chosen.emit(EXAMPLES[:1])
    assert preferences.settings.presets == EXAMPLES[:1]
    assert panel.form.presets.chooser.count() == 1


def test_what_is_being_typed_stays_in_the_chat_it_was_typed_in(
    panel: ChatOptionsPanel, options: Options
) -> None:
    panel.form.prompt.insertPlainText("For a")
    panel.show_chat(None)
    assert options.of == {"a": ChatOptions(system_prompt="For a")}
    assert panel.form.prompt.toPlainText() == ""


@pytest.mark.parametrize("kind", ["page", "panel"])
@pytest.mark.parametrize("width", [440, 680, 1200])
@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_every_control_is_reached_with_tab_and_none_is_out_of_sight(
    request: pytest.FixtureRequest, kind: str, width: int, direction: Qt.LayoutDirection
) -> None:
    sheet: SettingsSheet = request.getfixturevalue(kind)
    sheet.setLayoutDirection(direction)
    sheet.resize(width, 330)
    settle()
    [area] = sheet.findChildren(QScrollArea)
    assert area.horizontalScrollBar().maximum() == 0
    controls = {
        child
        for kind in (NumberBox, QComboBox, QPlainTextEdit, QAbstractButton)
        for child in sheet.findChildren(kind)
        if child.isVisible()
    }
    reached: set[QWidget] = set()
    sheet.close_button.setFocus()
    for _ in range(2 * len(controls)):
        widget = QApplication.focusWidget()
        assert widget is not None
        reached.add(widget)
        if area.isAncestorOf(widget):
            shown = widget.mapTo(area.viewport(), QPoint(0, 0))
            assert area.viewport().rect().intersects(widget.rect().translated(shown)), widget
        QTest.keyClick(widget, Qt.Key.Key_Tab)
    assert controls <= reached
    assert all(control.accessibleName() or control.text() for control in controls)  # type: ignore[attr-defined]
