from __future__ import annotations

import os
import sys

import pytest

from app import system_packages
from app.system_packages import install_command, missing_qt_libraries, packages, qt_libraries


def test_packages_are_named_once() -> None:
    needed = ("libglib-2.0.so.0", "libgthread-2.0.so.0", "libxcb-cursor.so.0")
    assert packages(needed, "apt-get") == ["libglib2.0-0", "libxcb-cursor0"]
    assert packages(["libxcb-icccm.so.4"], "dnf") == ["xcb-util-wm"]


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "zypper", "pacman"])
def test_every_library_has_a_package_on_every_linux(manager: str) -> None:
    for platform in ("offscreen", "xcb", "wayland"):
        for library in qt_libraries(platform):
            assert len(packages([library], manager)) == 1, library


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "zypper", "pacman", "winget"])
@pytest.mark.parametrize("tool", ["C++ compiler", "Python venv module", "CUDA toolkit", "Vulkan SDK"])
def test_every_tool_has_a_command(tool: str, manager: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "package_manager", lambda: manager)
    monkeypatch.setattr(sys, "platform", "linux")
    assert install_command([tool])


def test_root_needs_no_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "package_manager", lambda: "apt-get")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert install_command(["C++ compiler"]) == "sudo apt install g++"
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert install_command(["C++ compiler"]) == "apt install g++"


def test_mac_brings_its_own_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert install_command(["C++ compiler"]) == "xcode-select --install"


def test_unknown_system_gets_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "package_manager", lambda: None)
    monkeypatch.setattr(sys, "platform", "linux")
    assert install_command(["C++ compiler"]) is None


def test_libraries_that_the_linker_does_not_find_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(system_packages, "_QT_WAYLAND_LIBRARIES", {"libnosuch.so.9": ("a", "b", "c", "d")})
    assert "libnosuch.so.9" in missing_qt_libraries("wayland")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert missing_qt_libraries("wayland") == ()
