"""Which settings there are: their names in plain words, their ranges, their places.

Builds the groups of the form. Ranges are those of `engine.protocol` and `app.data.settings`.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from app.data.chat_options import ChatOptions
from app.data.settings import LARGEST_FONT, SMALLEST_FONT, Settings
from app.data.settings_parsing import ALL_LAYERS, MOST_LAYERS
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_group import SamplingGroup, SettingsGroup
from app.views.settings_row import Setting
from app.views.settings_words import kv_types, policies
from engine.protocol import KVType, ModelInfo, Policy

SMALLEST_CONTEXT = 512
"""Tokens; with less there is hardly room for a question and its answer."""

_LARGEST_COUNT = 2**31 - 1
_LARGEST_SEED = 2**32 - 1
_MOST_THREADS = 1024


class MemoryGroup(SettingsGroup):
    """Knows what the loaded model can do, and says so beside what it cannot."""

    def __init__(self, form: QWidget, *, for_chat: bool) -> None:
        super().__init__(_tr("Memory"), form, for_chat=for_chat)
        self.info: ModelInfo | None = None
        self._add_context()
        self._add_machine()

    def show_settings(self, settings: Settings, options: ChatOptions | None) -> None:
        """The context goes as far as the loaded model was trained, where that is known."""
        context = self.rows["n_ctx"].control
        assert isinstance(context, NumberBox)
        context.limit(self.info.n_ctx_train or None if self.info else None)
        super().show_settings(settings, options)

    def fault_of(self, name: str, value: object) -> str:
        """A context that the loaded model was not trained for cannot be had."""
        most = self.info.n_ctx_train if self.info else 0
        if name == "n_ctx" and self.info and most and isinstance(value, int) and value > most:
            return self.tr("{0} takes at most {1}").format(self.info.name, f"{most:,}")
        return ""

    def meaning_of(self, name: str, value: Any) -> str:
        """What the policy or the KV type means, and that layers for no graphics card mean nothing."""
        if name == "policy":
            return policies()[Policy(value)][1]
        if name == "kv_type":
            return kv_types()[KVType(value)][1]
        devices = self.info.devices if self.info else ()
        without_card = bool(devices) and all(device.kind == "cpu" for device in devices)
        return self.tr("no graphics card was found") if name == "n_gpu_layers" and without_card else ""

    def _add_context(self) -> None:
        self.add(
            Setting(
                "n_ctx",
                _tr("Context"),
                _tr(
                    "How many tokens of a chat the model sees at once; a token is about three quarters of an "
                    "English word. More needs more memory. Automatic is what the model was trained for, "
                    "at most 8,192."
                ),
                reloads=True,
            ),
            NumberBox(SMALLEST_CONTEXT, _LARGEST_COUNT, below=_tr("automatic"), doubling=True),
        )
        self.add(
            Setting(
                "policy",
                _tr("When it is full"),
                _tr("What happens when a chat has outgrown the context. Holds from the next message on."),
            ),
            ChoiceBox([(name, policy) for policy, (name, _) in policies().items()]),
        )
        self.add(
            Setting(
                "kv_type",
                _tr("KV cache"),
                _tr("How exactly the model's notes on the chat are kept. Less exact needs less memory."),
                reloads=True,
            ),
            ChoiceBox([(name, kv_type) for kv_type, (name, _) in kv_types().items()]),
        )

    def _add_machine(self) -> None:
        self.add(
            Setting(
                "n_gpu_layers",
                _tr("GPU layers"),
                _tr(
                    "How many layers of the model the graphics card works on. Fewer need less of its memory "
                    "and are slower; 0 leaves all to the processor."
                ),
                reloads=True,
            ),
            NumberBox(0, MOST_LAYERS, below=_tr("all"), unset=ALL_LAYERS),
        )
        if not self.for_chat:
            self.add(
                Setting(
                    "n_threads",
                    _tr("Threads"),
                    _tr("How many threads of the processor work for the model. Automatic suits most."),
                    reloads=True,
                ),
                NumberBox(1, _MOST_THREADS, below=_tr("automatic")),
            )


def sampling_group(form: QWidget, *, for_chat: bool) -> SamplingGroup:
    """How the next token is chosen."""
    group = SamplingGroup(_tr("How words are chosen"), form, for_chat=for_chat)
    off = _tr("off")
    group.add(
        Setting(
            "temperature",
            _tr("Temperature"),
            _tr("0 always takes the likeliest word; more makes answers livelier and less exact."),
        ),
        NumberBox(0, 100, decimals=2, step=0.05),
    )
    group.add(
        Setting("top_k", _tr("Top-k"), _tr("Only so many of the likeliest words are considered.")),
        NumberBox(1, _LARGEST_COUNT, below=off, unset=0),
    )
    group.add(
        Setting(
            "top_p",
            _tr("Top-p"),
            _tr("Only the likeliest words that together reach this probability are considered; 1 is all."),
        ),
        NumberBox(0, 1, decimals=2, step=0.05),
    )
    group.add(
        Setting(
            "min_p",
            _tr("Min-p"),
            _tr("Words less likely than this part of the likeliest one are left out; 0 leaves none out."),
        ),
        NumberBox(0, 1, decimals=2, step=0.05),
    )
    group.add(
        Setting(
            "repeat_penalty",
            _tr("Repeat penalty"),
            _tr("Above 1, words that were just said become less likely; 1 switches it off."),
        ),
        NumberBox(0.01, 100, decimals=2, step=0.05),
    )
    group.add(
        Setting(
            "seed",
            _tr("Seed"),
            _tr("With the same seed, the same question gets the same answer. Random is a new one each time."),
        ),
        NumberBox(0, _LARGEST_SEED, below=_tr("random")),
    )
    return group


def answers_group(form: QWidget, *, for_chat: bool) -> SettingsGroup:
    """What replies are like."""
    group = SettingsGroup(_tr("Answers"), form, for_chat=for_chat)
    group.add(
        Setting(
            "max_tokens",
            _tr("Longest reply"),
            _tr("A reply ends after so many tokens, even in the middle of a sentence."),
        ),
        NumberBox(1, _LARGEST_COUNT, below=_tr("no limit"), doubling=True),
    )
    if not for_chat:
        _add_speculation(group)
    return group


def _add_speculation(group: SettingsGroup) -> None:
    group.add(
        Setting(
            "speculate",
            _tr("Draft tokens ahead"),
            _tr(
                "Speculation: what is likely to come next is guessed and checked in one go, where that is "
                "faster. The answers are the same."
            ),
        ),
        ChoiceBox([(_tr("yes"), True), (_tr("no"), False)]),
    )


def looks_group(form: QWidget) -> SettingsGroup:
    """How the window looks."""
    group = SettingsGroup(_tr("Looks"), form, for_chat=False)
    group.add(
        Setting("theme", _tr("Theme"), _tr("Light, dark, or what the desktop uses.")),
        ChoiceBox([(_tr("as the system"), "system"), (_tr("light"), "light"), (_tr("dark"), "dark")]),
    )
    group.add(
        Setting("font_size", _tr("Font size"), _tr("The size of all text, in points.")),
        NumberBox(SMALLEST_FONT, LARGEST_FONT, below=_tr("as the system")),
    )
    group.add(
        Setting(
            "direction",
            _tr("Direction"),
            _tr(
                "Where the lines of the window begin; as the system is as its language has it. Messages "
                "have a direction of their own, paragraph by paragraph."
            ),
        ),
        ChoiceBox(
            [
                (_tr("as the system"), "auto"),
                (_tr("left to right"), "ltr"),
                (_tr("right to left"), "rtl"),
            ]
        ),
    )
    return group


def _tr(text: str) -> str:
    return QCoreApplication.translate("Settings", text)
