"""What stands when the window is painted first, and what waits until it is wanted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SHOWN = """
import sys
from app.qt_features import skip_feature_search
skip_feature_search()
import app.window
from PySide6.QtCore import QEvent, QObject, QTimer
from tests.app.scripted_engine import ScriptedEngine

engine = app.window.EngineClient = ScriptedEngine()
show = app.window.Weir.show

class FirstPaint(QObject):
    def eventFilter(self, window, event):
        if event.type() == QEvent.Type.Paint:
            window.removeEventFilter(self)
            QTimer.singleShot(0, lambda: wait_for_load(window))
        return False

def wait_for_load(window):
    if not engine.clients or not engine.newest.sent:  # whether the model fits is looked at first
        QTimer.singleShot(20, lambda: wait_for_load(window))
        return
    import linecache
    print(len(linecache.cache), *sys.modules)
    window.close()

paint = FirstPaint()

def show_and_watch(weir, on_started):
    weir.window.installEventFilter(paint)
    show(weir, on_started)

app.window.Weir.show = show_and_watch
raise SystemExit(app.window.run_window([]))
"""

ONLY_WHEN_WANTED = {
    *("numpy", "pyqtgraph", "pygments", "markdown_it", "ziamath", "pypdf", "huggingface_hub", "gguf", "yaml"),
    *("llama_cpp", "jinja2", "PySide6.QtPdf", "PySide6.QtOpenGL", "PySide6.QtNetwork", "PySide6.QtQml"),
    *("app.views.settings_page", "app.views.endurance_page", "app.views.load_plan_page"),
    *("app.views.chat_options_panel", "app.views.shortcuts_page", "app.views.message_view"),
    "engine.worker",
}


def test_window_is_painted_and_its_model_on_its_way_with_little_imported(
    tmp_path: Path, starter_model: Path
) -> None:
    env = {**os.environ, "WEIR_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    run = subprocess.run(
        [sys.executable, "-c", SHOWN], env=env, capture_output=True, text=True, check=True, timeout=60
    )
    n_sources, *modules = run.stdout.split()
    assert "app.views.main_window" in modules
    assert not ONLY_WHEN_WANTED & set(modules)
    assert int(n_sources) < 20  # PySide6 did not read and keep the source of each module


def test_main_module_that_every_child_imports_again_brings_nothing_of_weir() -> None:
    code = "import sys, app.__main__; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {name for name in run.stdout.split() if name.split(".")[0] in ("app", "engine")}
    assert ours == {"app", "app.__main__"}
