"""Downloads of many kinds, a queue that does what it is told, and a service over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from app.services.download_wishes import Queue
from app.services.downloads import Downloads
from engine.download.download_values import DownloadState, DownloadStatus
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel, RemotePart

SHA = "0" * 64


def remote(name: str = "model", size: int = 4_500_000_000, sha256: str | None = SHA) -> RemoteModel:
    part = RemotePart(f"{name}.gguf", size, sha256)
    return RemoteModel(f"org/{name}-GGUF", "commit", (part,), "Q4_K_M")


def state(
    name: str = "model",
    status: DownloadStatus = DownloadStatus.RUNNING,
    done: int = 1_250_000_000,
    **more: object,
) -> DownloadState:
    return replace(DownloadState(remote(name), status, done), **more)  # type: ignore[arg-type]


def one_of_each_kind() -> tuple[DownloadState, ...]:
    kinds = DownloadStatus
    gated = "meta/Llama is gated. Nothing was fetched: accept the terms on its page, then enter a token."
    return (
        state("Qwen3-4B-Instruct-Q4_K_M", bytes_per_second=12.34e6, seconds_left=264.0),
        state("SmolLM3-Q4_K_M", kinds.CHECKING, 900_000_000),
        state("gemma-3-4b-it-Q4_K_M", kinds.WAITING, reason="The connection failed.", retry_in_s=12.0),
        state("Stalled-Q8_0", kinds.STALLED, 4_400_000_000),
        state("Next-in-line-Q4_K_M", kinds.QUEUED, 0),
        state("Paused-Q4_K_M", kinds.PAUSED),
        state("Elsewhere-Q4_K_M", kinds.ELSEWHERE),
        state(
            "Llama-Q4_K_M",
            kinds.FAILED,
            0,
            reason=gated,
            remedies=(Remedy.ACCEPT_TERMS, Remedy.ENTER_TOKEN),
            page="https://hub/meta/Llama",
        ),
        state("Cancelled-Q4_K_M", kinds.CANCELLED),
        state("Done-Q4_K_M", kinds.DONE, 4_500_000_000, path=Path("/models/done.gguf")),
    )


class ScriptedQueue:
    """A queue whose states are set by the test; notes what it was asked."""

    def __init__(self) -> None:
        self.listed: tuple[DownloadState, ...] = ()
        self.asked: list[tuple[object, ...]] = []
        self.on_change: Callable[[], None] = lambda: None
        self.n_looks = 0

    def states(self) -> tuple[DownloadState, ...]:
        self.n_looks += 1
        return self.listed

    def show(self, *states: DownloadState) -> None:
        self.listed = states
        self.on_change()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *values, **named: self.asked.append((name, *values, *named.values()))


def downloads_of(queue: ScriptedQueue) -> Downloads:
    """The service over a scripted queue."""

    def make(on_change: Callable[[], None]) -> Queue:
        queue.on_change = on_change
        return cast(Queue, queue)

    service = Downloads(make)
    queue.asked.clear()
    return service
