"""A driver of NVIDIA's that says what a test wants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

MIB = 2**20


class NotSupported(Exception):
    """As NVMLError_NotSupported: each question that a card does not answer raises it."""


class FakeNVML:
    """`cards`: answers by question, of each card; what is missing raises, what is callable is called."""

    nvmlMemory_v2 = 2  # noqa: N815

    def __init__(self, *cards: dict[str, Any]) -> None:
        self.cards = cards
        self.open = 0

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:
        return self.cards[index]

    def __getattr__(self, question: str) -> Any:
        name = question.removeprefix("nvmlDeviceGet")

        def answer(card: dict[str, Any], *_more: object) -> Any:
            if name not in card:
                raise NotSupported(question)
            said = card[name]
            return said() if callable(said) else said

        return answer


def memory(total: int, used: int, reserved: int = 0) -> SimpleNamespace:
    """Sizes in MiB."""
    return SimpleNamespace(total=total * MIB, used=used * MIB, free=(total - used - reserved) * MIB)


def process(pid: object, size: object) -> SimpleNamespace:
    """Size in MiB, or something that is none."""
    return SimpleNamespace(pid=pid, usedGpuMemory=size * MIB if isinstance(size, int) else size)
