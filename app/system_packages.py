"""Which system package brings a missing library or tool, and the command that installs it.

In: the names of what is missing. Out: one command line for this system's package manager.
Standard library only, because the set-up uses it before anything is installed. It does not know
what is missing, except for Qt's shared libraries, which it can ask the dynamic linker for.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterable

# The order is the order of asking: Homebrew may also be found on Linux, beside the system's own.
_INSTALL = {
    "apt-get": "apt install",
    "dnf": "dnf install",
    "zypper": "zypper install",
    "pacman": "pacman -S",
    "brew": "brew install",
    "winget": "winget install",
}
_NO_ROOT_NEEDED = ("brew", "winget")

_BUILD_TOOLS = (
    "Microsoft.VisualStudio.2022.BuildTools --override "
    '"--passive --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended"'
)

_TOOLS: dict[str, dict[str, str]] = {
    "C++ compiler": {
        "apt-get": "g++",
        "dnf": "gcc-c++",
        "zypper": "gcc-c++",
        "pacman": "gcc",
        "brew": "gcc",
        "winget": _BUILD_TOOLS,
    },
    "CMake": {
        "apt-get": "cmake",
        "dnf": "cmake",
        "zypper": "cmake",
        "pacman": "cmake",
        "brew": "cmake",
        "winget": "Kitware.CMake",
    },
    "Python venv module": {
        "apt-get": f"python{sys.version_info.major}.{sys.version_info.minor}-venv",
        "dnf": "python3",
        "zypper": "python3",
        "pacman": "python",
        "brew": "python",
        "winget": "Python.Python.3.13",
    },
    "CUDA toolkit": {
        "apt-get": "nvidia-cuda-toolkit",
        "dnf": "cuda-toolkit",
        "zypper": "cuda-toolkit",
        "pacman": "cuda",
        "winget": "Nvidia.CUDA",
    },
    "Vulkan SDK": {
        "apt-get": "libvulkan-dev glslc spirv-headers",
        "dnf": "vulkan-headers vulkan-loader-devel glslc spirv-headers-devel",
        "zypper": "vulkan-devel shaderc spirv-headers",
        "pacman": "vulkan-headers vulkan-icd-loader shaderc spirv-headers",
        "brew": "vulkan-headers vulkan-loader shaderc spirv-headers molten-vk",
        "winget": "KhronosGroup.VulkanSDK",
    },
}

_QT_COLUMNS = ("apt-get", "dnf", "zypper", "pacman")

# What PySide6 takes from the system: its QtGui and QtWidgets on any platform ...
_QT_CORE_LIBRARIES = {
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd", "libglvnd"),
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd", "libglvnd"),
    "libX11.so.6": ("libx11-6", "libX11", "libX11-6", "libx11"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "libdbus-1-3", "dbus"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig", "fontconfig"),
    "libfreetype.so.6": ("libfreetype6", "freetype", "libfreetype6", "freetype2"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2", "libglib-2_0-0", "glib2"),
    "libgthread-2.0.so.0": ("libglib2.0-0", "glib2", "libgthread-2_0-0", "glib2"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon0", "libxkbcommon"),
}
# ... and its platform plugins for an X server and for Wayland.
_QT_X11_LIBRARIES = {
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb", "libX11-xcb1", "libx11"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "libxcb-icccm4", "xcb-util-wm"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image", "libxcb-image0", "xcb-util-image"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb", "libxcb-randr0", "libxcb"),
    "libxcb-render-util.so.0": (
        "libxcb-render-util0",
        "xcb-util-renderutil",
        "libxcb-render-util0",
        "xcb-util-renderutil",
    ),
    "libxcb-render.so.0": ("libxcb-render0", "libxcb", "libxcb-render0", "libxcb"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb", "libxcb-shape0", "libxcb"),
    "libxcb-shm.so.0": ("libxcb-shm0", "libxcb", "libxcb-shm0", "libxcb"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb", "libxcb-sync1", "libxcb"),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util", "libxcb-util1", "xcb-util"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb", "libxcb-xfixes0", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb", "libxcb-xkb1", "libxcb"),
    "libxcb.so.1": ("libxcb1", "libxcb", "libxcb1", "libxcb"),
    "libxkbcommon-x11.so.0": (
        "libxkbcommon-x11-0",
        "libxkbcommon-x11",
        "libxkbcommon-x11-0",
        "libxkbcommon-x11",
    ),
}
_QT_WAYLAND_LIBRARIES = {
    "libwayland-client.so.0": ("libwayland-client0", "libwayland-client", "libwayland-client0", "wayland"),
    "libwayland-cursor.so.0": ("libwayland-cursor0", "libwayland-cursor", "libwayland-cursor0", "wayland"),
}
_QT_LIBRARIES = _QT_CORE_LIBRARIES | _QT_X11_LIBRARIES | _QT_WAYLAND_LIBRARIES


def package_manager() -> str | None:
    """The program of this system's package manager, None if it is not one of the table's."""
    return next((program for program in _INSTALL if shutil.which(program)), None)


def packages(missing: Iterable[str], manager: str) -> list[str]:
    """The packages of `manager` that bring `missing` (sonames and tools), each once, in order."""
    found: dict[str, None] = {}
    for name in missing:
        by_manager = _TOOLS.get(name) or dict(zip(_QT_COLUMNS, _QT_LIBRARIES.get(name, ()), strict=False))
        if manager in by_manager:
            found[by_manager[manager]] = None
    return list(found)


def install_command(missing: Iterable[str]) -> str | None:
    """The command that installs `missing` here, None if the table does not know one."""
    missing = list(missing)
    if sys.platform == "darwin" and "C++ compiler" in missing:
        return "xcode-select --install"
    manager = package_manager()
    if manager is None or not (names := packages(missing, manager)):
        return None
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    prefix = "" if manager in _NO_ROOT_NEEDED or is_root else "sudo "
    return f"{prefix}{_INSTALL[manager]} {' '.join(names)}"


def qt_libraries(platform: str) -> tuple[str, ...]:
    """The system libraries that Qt's `platform` ("xcb", "wayland", "offscreen", ...) is linked to."""
    more = {"xcb": _QT_X11_LIBRARIES, "wayland": _QT_WAYLAND_LIBRARIES}.get(platform, {})
    return (*_QT_CORE_LIBRARIES, *more)


def missing_qt_libraries(platform: str) -> tuple[str, ...]:
    """Those of `qt_libraries` that the dynamic linker cannot find; empty outside Linux."""
    if not sys.platform.startswith("linux"):
        return ()
    return tuple(name for name in qt_libraries(platform) if not _can_load(name))


def _can_load(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True
