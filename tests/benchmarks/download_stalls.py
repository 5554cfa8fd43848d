"""Three downloads at full speed beside the page that shows them; run as a process of its own.

`hub FILE` serves the file as three models, prints its endpoint and ends with its stdin. `window ENDPOINT SIZE
SHA256 FOLDER` downloads them with the page in sight and prints one JSON line: how late a timer of 20 ms came,
in milliseconds, and how fast the bytes did.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.services.downloads import Downloads
from app.views.downloads_page import DownloadsPage
from app.views.theme import apply_theme
from engine.download.download_values import DownloadStatus
from engine.download.queue_client import QueueClient
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.loopback import Elsewhere, LoopbackAccess
from tests.fake_hub.content import COMMIT, HubFile, HubRepo
from tests.fake_hub.server import fake_hub

N_MODELS = 3
TICK_MS = 20


def serve(file: str) -> None:
    """A Hub until standard input ends; it takes little from the cores, as one at another place would."""
    psutil.Process().nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 10))
    with fake_hub() as hub:
        for number in range(N_MODELS):
            hub.add(HubRepo(f"org/repo-{number}", {"model.gguf": HubFile(Path(file))}))
        print(hub.endpoint, flush=True)
        sys.stdin.read()


class Stalls:
    """How late a timer comes, and for how much of that this thread waited for a core (Linux alone says)."""

    def __init__(self) -> None:
        self.found: list[tuple[float, float]] = []
        self._last, self._waited = time.perf_counter(), waited_ms()
        self._timer = QTimer()
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now, waited = time.perf_counter(), waited_ms()
        self.found.append((max(0.0, (now - self._last) * 1000 - TICK_MS), waited - self._waited))
        self._last, self._waited = now, waited


def waited_ms() -> float:
    """Milliseconds that this thread could have run, but other processes did; 0 where that is not known."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e6
    except (OSError, IndexError):
        return 0.0


def show(endpoint: str, size: str, sha256: str, folder: str) -> None:
    """Download in sight."""
    application = QApplication(["weir"])
    apply_theme(application, "light")
    service = Downloads(
        lambda on_change: QueueClient(
            LoopbackAccess(Elsewhere(endpoint)), Path(folder), on_change=on_change, parallel=N_MODELS
        ),
        parallel=N_MODELS,
    )
    page = DownloadsPage(service)
    page.resize(900, 700)
    page.show()
    for _ in range(5):
        application.processEvents()
    stalls, start = Stalls(), time.perf_counter()
    done: list[Path] = []
    most_running = 0

    def look(states: tuple[object, ...]) -> None:
        nonlocal most_running
        running = [state for state in service.states if state.status is DownloadStatus.RUNNING]
        most_running = max(most_running, len(running))

    def count(path: Path) -> None:
        done.append(path)
        if len(done) == N_MODELS:
            application.quit()

    service.changed.connect(look)
    service.finished.connect(count)
    for number in range(N_MODELS):
        part = RemotePart("model.gguf", int(size), sha256)
        service.add(RemoteModel(f"org/repo-{number}", COMMIT, (part,)))
    application.exec()
    seconds = time.perf_counter() - start
    found = sorted(late for late, _ in stalls.found)
    service.close()
    print(
        json.dumps(
            {
                "longest_stall_ms": round(found[-1], 1),
                "waited_for_a_core_meanwhile_ms": round(max(stalls.found)[1], 1),
                "99th_percentile_ms": round(found[len(found) * 99 // 100], 1),
                "median_stall_ms": round(statistics.median(found), 1),
                "n_ticks": len(found),
                "mb_per_second": round(N_MODELS * int(size) / 1e6 / seconds),
                "most_running": most_running,
            }
        )
    )


if __name__ == "__main__":
    if sys.argv[1] == "hub":
        serve(sys.argv[2])
    else:
        show(*sys.argv[2:])
