"""How the choices of a model's memory are called, wherever they are offered.

Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from engine.protocol import FlashAttention, KVType, Policy, Split


def policies() -> dict[Policy, tuple[str, str]]:
    """What can happen when the context is full: name and meaning of each."""
    return {
        Policy.ENDLESS: (_tr("Endless"), _tr("the oldest messages leave, nothing is read again")),
        Policy.EXACT: (_tr("Exact"), _tr("the oldest messages leave, the rest is read again: slow")),
        Policy.STOP: (_tr("Stop"), _tr("the reply ends, and the chat with it")),
    }


def kv_types() -> dict[KVType, tuple[str, str]]:
    """How the values of the cache can be stored: name of each, and what it costs."""
    return {
        KVType.F16: (KVType.F16.value, _tr("the most exact")),
        KVType.Q8_0: (KVType.Q8_0.value, _tr("about half the memory")),
        KVType.Q4_0: (KVType.Q4_0.value, _tr("about a quarter of the memory, less exact")),
    }


def flash_attentions() -> dict[FlashAttention, str]:
    """When flash attention is used."""
    return {
        FlashAttention.AUTO: _tr("automatic"),
        FlashAttention.ON: _tr("on"),
        FlashAttention.OFF: _tr("off"),
    }


def splits() -> dict[Split, str]:
    """How a model can be laid over several cards."""
    return {
        Split.LAYER: _tr("whole layers on each"),
        Split.ROW: _tr("rows of each matrix"),
        Split.NONE: _tr("one card alone"),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("SettingsWords", text)
