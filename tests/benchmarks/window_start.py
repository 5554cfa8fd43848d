"""Opens the real window and tells how long that took; run as a process of its own by the benchmark.

Takes the time at which it was started, from `time.time()`. Prints one JSON line: seconds from then
to the first paint of the window and to a loaded model, and the resident megabytes of the window's
process then.
"""

from __future__ import annotations

import json
import sys
import time

import psutil
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication

from app.services.model_loader import ModelLoader
from app.views.theme import apply_theme
from app.window import Weir
from engine.client import EngineClient
from engine.models.starter import starter_model_path


class FirstPaint(QObject):
    """Notes when the window is painted for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.at: float | None = None

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and self.at is None:
            self.at = time.time()
        return False


def main() -> int:
    started = float(sys.argv[1])  # the kernel's own record is only good to a second
    application = QApplication(["weir"])
    weir = Weir(EngineClient, starter_model_path())
    apply_theme(application, weir.preferences.settings.theme)
    paint = FirstPaint()
    weir.window.installEventFilter(paint)

    def report() -> None:
        assert paint.at is not None
        print(
            json.dumps(
                {
                    "painted_s": paint.at - started,
                    "model_ready_s": time.time() - started,
                    "rss_mb": psutil.Process().memory_info().rss / 1e6,
                }
            )
        )
        weir.window.close()

    loader: ModelLoader = weir.loader
    loader.model_ready.connect(lambda *_: QTimer.singleShot(0, report))
    weir.show()
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
