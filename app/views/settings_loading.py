"""The settings of how llama.cpp goes about a model, which hardly anybody needs.

`Settings` in force and the loaded model go in, whole `LoadOptions` come out. What cannot be chosen on this
machine is disabled and says why; what does not go together says at once what it will become.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from app.data.chat_options import ChatOptions
from app.data.settings import Settings
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_group import SettingsGroup
from app.views.settings_row import Setting, Undo
from app.views.settings_words import flash_attentions, kv_types, splits
from engine.memory.load_options import settle, usable_cards
from engine.memory.memory_plan import Wishes
from engine.memory.words import said
from engine.protocol import LARGEST_BATCH, DeviceMemory, LoadOptions, ModelInfo


class LoadingGroup(SettingsGroup):
    """The rows are fields of `LoadOptions`."""

    def __init__(self, form: QWidget) -> None:
        super().__init__(_tr("Advanced: loading a model"), form, for_chat=False)
        self.info: ModelInfo | None = None
        self._options = LoadOptions()
        self._main_device = ChoiceBox([(_tr("automatic"), None)])
        self._add_computing()
        self._add_cards()
        self._add_memory()

    def undo_of(self, name: str) -> Undo | None:
        """Each field has a default of its own."""
        return Undo(self.tr("back to the default"), getattr(LoadOptions(), name))

    def choose(self, name: str, value: object) -> None:
        """A field takes the others with it."""
        options = dataclasses.replace(self._options, **{name: value})  # type: ignore[arg-type]
        super().choose("load_options", options)

    def show_settings(self, settings: Settings, _options: ChatOptions | None) -> None:
        """Show the fields in force, and what becomes of them together."""
        self._options = settings.load_options
        self._main_device.offer(self._main_devices())
        devices = self.info.devices or None if self.info else None
        n_ctx = settings.n_ctx or (self.info.n_ctx if self.info else None)
        wishes = Wishes(n_ctx, settings.kv_type, settings.n_gpu_layers, options=self._options)
        notices = {notice.option: notice.sentence for notice in settle(wishes, devices, None).notices}
        for name, row in self.rows.items():
            value = getattr(self._options, name)
            notice = said(notices[name], _translated) if name in notices else ""
            obstacle = self._obstacle(name)
            row.show_value(
                value,
                is_own=value != getattr(LoadOptions(), name),
                remark=notice or obstacle or self.tr("loads the model again"),
                warns=bool(notice),
            )
            row.allow(obstacle)

    def _cards(self) -> tuple[DeviceMemory, ...] | None:
        return usable_cards(self.info.devices) if self.info and self.info.devices else None

    def _main_devices(self) -> list[tuple[str, object]]:
        """Those of this machine, and what was chosen on another one."""
        names = dict.fromkeys(card.name for card in self._cards() or ())
        if self._options.main_device:
            names[self._options.main_device] = None
        return [(_tr("automatic"), None), *((name, name) for name in names)]

    def _obstacle(self, name: str) -> str:
        """Why the field cannot be chosen on this machine, as far as that is known."""
        cards = self._cards()
        if name not in ("main_device", "split") or cards is None or len(cards) > 1:
            return ""
        return self.tr("there is only one card") if cards else self.tr("no graphics card was found")

    def _add_computing(self) -> None:
        self._add(
            "flash_attention",
            _tr("Flash attention"),
            _tr(
                "Computes attention in one pass: faster, and with less memory. Off may help a faulty driver."
            ),
            ChoiceBox([(text, value) for value, text in flash_attentions().items()]),
        )
        self._add(
            "v_type",
            _tr("KV cache, values"),
            _tr("How exactly the values of the KV cache are kept, where they shall differ from the keys."),
            ChoiceBox(
                [(_tr("as the keys"), None), *((text, kind) for kind, (text, _) in kv_types().items())]
            ),
        )
        self._add(
            "n_batch",
            _tr("Batch"),
            _tr("The most tokens of a prompt that are given to the model at once. Automatic is 512."),
            NumberBox(1, LARGEST_BATCH, below=_tr("automatic"), doubling=True),
        )
        self._add(
            "n_ubatch",
            _tr("Micro-batch"),
            _tr(
                "How many of those are computed at once; more need more memory. Automatic is 512, without a "
                "graphics card 128."
            ),
            NumberBox(1, LARGEST_BATCH, below=_tr("automatic"), doubling=True),
        )

    def _add_cards(self) -> None:
        self._add(
            "main_device",
            _tr("Main device"),
            _tr("The graphics card that takes the whole model, where there are several."),
            self._main_device,
        )
        self._add(
            "split",
            _tr("Several cards"),
            _tr("How a model is laid over several graphics cards."),
            ChoiceBox([(_tr("automatic"), None), *((text, value) for value, text in splits().items())]),
        )

    def _add_memory(self) -> None:
        self._add(
            "mmap",
            _tr("Map the file"),
            _tr(
                "A mapped file is loaded faster, and its memory can be taken back. Automatic reads it "
                "instead where it would lie in memory twice."
            ),
            ChoiceBox([(_tr("automatic"), None), (_tr("yes"), True), (_tr("no"), False)]),
        )
        self._add(
            "mlock",
            _tr("Lock in memory"),
            _tr("Weights are never swapped out, even when other programs need memory."),
            ChoiceBox([(_tr("no"), False), (_tr("yes"), True)]),
        )

    def _add(self, name: str, label: str, hint: str, control: NumberBox | ChoiceBox) -> None:
        self.add(Setting(name, label, hint, reloads=True), control)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Settings", text)


def _translated(template: str) -> str:
    """The engine's sentences, as plans show them."""
    return QCoreApplication.translate("PlanReasons", template)
