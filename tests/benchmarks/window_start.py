"""Opens the real window and tells how long that took; run as a process of its own by the benchmark.

Takes the time at which it was started, from `time.time()`. Prints one JSON line: seconds from then
to the first paint of the window and to a loaded model, the processor's seconds of the window's process
until then, and its resident megabytes. It starts as `app.__main__` does: nothing is imported at the top,
because each child process imports this module again.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.window import Weir
    from engine.client import HeadStart


def main() -> int:
    from engine.client import HeadStart

    head_start = HeadStart()
    from app.qt_features import skip_feature_search

    skip_feature_search()
    return _run(head_start)


def _run(head_start: HeadStart) -> int:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app import connections
    from app.data.paths import settings_path
    from app.data.settings import SettingsStore
    from app.services.plan_sources import this_machine
    from app.window import Weir
    from engine.models.starter import starter_model_path

    application = QApplication(["weir"])
    connections.dress_with(application, SettingsStore(settings_path()).load()[0])
    weir = Weir(head_start.client, starter_model_path(), this_machine())
    painted = _watch(weir)
    weir.loader.model_ready.connect(lambda *_: QTimer.singleShot(0, lambda: _report(weir, painted)))
    weir.show(head_start.close)
    return application.exec()


def _watch(weir: Weir) -> dict[str, float]:
    """The times of the first paint, once there was one."""
    from PySide6.QtCore import QEvent, QObject

    painted: dict[str, float] = {}

    class FirstPaint(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and not painted:
                painted.update(at=time.time(), cpu=time.process_time())
            return False

    weir.window.installEventFilter(FirstPaint(weir.window))
    return painted


def _report(weir: Weir, painted: dict[str, float]) -> None:
    import psutil

    started = float(sys.argv[1])  # the kernel's own record is only good to a second
    figures = {
        "painted_s": painted["at"] - started,
        "painted_cpu_s": painted["cpu"],
        "model_ready_s": time.time() - started,
        "rss_mb": psutil.Process().memory_info().rss / 1e6,
    }
    print(json.dumps(figures))
    weir.window.close()


if __name__ == "__main__":
    sys.exit(main())
