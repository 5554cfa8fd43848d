from __future__ import annotations

import importlib.util
import socket
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import display
from app.display import display_problem

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux is asked")


@pytest.fixture
def qt_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PySide6 whose platform plugins are what the test puts there; none means nothing to load."""
    plugins = tmp_path / "PySide6" / "Qt" / "plugins" / "platforms"
    plugins.mkdir(parents=True)
    spec = types.SimpleNamespace(submodule_search_locations=[str(tmp_path / "PySide6")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    return plugins


@pytest.fixture
def x_server() -> Iterator[str]:
    """A server at a TCP display that lets nobody in; gives its DISPLAY."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(1024)
                    client.sendall(b"\0\x04\x0b\0\0\0\x01\0Nope")  # X11 set-up: failed, with its reason

        thread = threading.Thread(target=refuse)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1] - 6000}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_no_variable_means_no_display() -> None:
    assert display_problem({}) == "No display: neither DISPLAY nor WAYLAND_DISPLAY is set."


def test_platform_without_a_screen_is_fine(qt_plugins: Path) -> None:
    assert display_problem({"QT_QPA_PLATFORM": "offscreen"}) is None
    assert display_problem({"QT_QPA_PLATFORM": "minimal:option=1", "DISPLAY": ":999"}) is None


@pytest.mark.parametrize("name", [":999", "unix:999", "127.0.0.1:1", "nonsense", ""])
def test_display_where_no_server_answers(name: str, qt_plugins: Path) -> None:
    problem = display_problem({"DISPLAY": name, "QT_QPA_PLATFORM": "xcb"})
    assert problem is not None and problem.startswith("No display: ")
    assert name in problem


def test_server_that_answers_is_fine(
    x_server: str, qt_plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "_x_server_admits", lambda name: name == x_server)
    assert display_problem({"DISPLAY": x_server}) is None


def test_server_that_refuses_this_user(x_server: str, qt_plugins: Path) -> None:
    problem = display_problem({"DISPLAY": x_server})
    assert problem is not None and "does not let this user in" in problem


def test_wayland_socket_must_answer(tmp_path: Path, qt_plugins: Path) -> None:
    environment = {"WAYLAND_DISPLAY": "w", "XDG_RUNTIME_DIR": str(tmp_path)}
    problem = display_problem(environment)
    assert problem is not None and str(tmp_path / "w") in problem
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "w"))
        server.listen()
        assert display_problem(environment) is None
        assert display_problem({**environment, "DISPLAY": ":999"}) is None


def test_missing_library_is_named_with_the_command_that_installs_it(
    tmp_path: Path, qt_plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (qt_plugins / "libqoffscreen.so").write_text("not a library")
    monkeypatch.setattr(display, "missing_qt_libraries", lambda platform: ("libEGL.so.1",))
    monkeypatch.setattr("app.system_packages.package_manager", lambda: "apt-get")
    problem = display_problem({"QT_QPA_PLATFORM": "offscreen"})
    assert problem is not None
    assert "libEGL.so.1" in problem and problem.endswith("apt install libegl1")


def test_pyside_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    problem = display_problem({"QT_QPA_PLATFORM": "offscreen"})
    assert problem is not None and "PySide6" in problem
