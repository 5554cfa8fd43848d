"""The strip's gauge of memory, in words: the graphics cards where there are some, else the engine's process.

`Gauges` go in. Knows nothing about widgets.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app.views import number_format
from engine.protocol import DeviceMemory, Gauges


def memory_in_words(gauges: Gauges | None, machine_total: int | None) -> str:
    """For example "VRAM 5.1/8.0 GiB", or "RAM 0.3/15.5 GiB"; several cards are one figure."""
    cards = _cards(gauges)
    if cards:
        return _tr("VRAM {0}").format(_of_cards(cards))
    resident = gauges.rss_bytes if gauges else None
    known = number_format.part(resident, machine_total)
    return _tr("RAM {0}").format(number_format.size(resident) if machine_total is None else known)


def memory_hint(gauges: Gauges | None) -> str:
    """What the figure means; of several cards, each."""
    cards = _cards(gauges)
    if not cards:
        return _tr("Memory of the engine, which runs the model, and of the whole machine.")
    hint = _tr("Memory of the graphics card, in use by all programs and in all.")
    each = [f"{card.name}: {_of_cards([card])}" for card in cards] if len(cards) > 1 else []
    return "\n".join((hint, *each))


def _cards(gauges: Gauges | None) -> list[DeviceMemory]:
    """The graphics cards; a processor's own one has no memory of its own, and counts where it is alone."""
    devices = gauges.devices if gauges else ()
    cards = [device for device in devices if device.kind == "gpu"]
    return cards or [device for device in devices if device.kind == "igpu"]


def _of_cards(cards: Sequence[DeviceMemory]) -> str:
    told = [(card.total, card.free) for card in cards if card.total and card.free is not None]
    if not told:
        return number_format.NOT_AVAILABLE
    total, free = (sum(numbers) for numbers in zip(*told, strict=True))
    words = number_format.part(max(0, total - free), total)
    return words if len(told) == len(cards) else f"{words} + {number_format.NOT_AVAILABLE}"


def _tr(text: str) -> str:
    return QCoreApplication.translate("MemoryGauge", text)
