"""Can a window be opened here? Asked before Qt is imported, because Qt aborts where it cannot.

In: the environment variables that Qt reads. Out: None, or one sentence that says what is missing.
Only Linux is asked; macOS and Windows always have a display. It promises to answer within a few
seconds and knows nothing about Qt but the names of its platform plugins.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.system_packages import install_command, missing_qt_libraries

_TIMEOUT_S = 2.0
_ATTEMPTS, _PAUSE_S = 3, 0.1
_DISPLAY_NAME = re.compile(r"^(?:[a-z]+/)?(?P<host>.*):(?P<number>\d+)(?:\.\d+)?$")


def display_problem(environment: Mapping[str, str] = os.environ) -> str | None:
    """Why no window can be opened, in one sentence; None if one can.

    As Qt does, it takes the platforms of QT_QPA_PLATFORM if set, else whichever of Wayland and X
    the environment names, and is content with the first that works.
    """
    if not sys.platform.startswith("linux"):
        return None
    problems = []
    for platform in _platforms(environment):
        problem = _server_problem(platform, environment) or _plugin_problem(platform)
        if problem is None:
            return None
        problems.append(problem)
    return problems[0] if problems else "No display: neither DISPLAY nor WAYLAND_DISPLAY is set."


def _platforms(environment: Mapping[str, str]) -> Iterator[str]:
    chosen = environment.get("QT_QPA_PLATFORM")
    if chosen:
        for name in chosen.split(";"):
            platform = name.split(":")[0]
            yield "wayland" if platform.startswith("wayland") else platform
        return
    if environment.get("WAYLAND_DISPLAY"):
        yield "wayland"
    if environment.get("DISPLAY"):
        yield "xcb"


def _server_problem(platform: str, environment: Mapping[str, str]) -> str | None:
    if platform == "xcb":
        return _x_server_problem(environment.get("DISPLAY", ""))
    if platform == "wayland":
        return _wayland_problem(environment)
    return None


def _x_server_problem(display: str) -> str | None:
    if not display:
        return "No display: DISPLAY is not set."
    match = _DISPLAY_NAME.match(display)
    if match is None:
        return f"No display: DISPLAY is {display!r}, which names no X server."
    addresses = _x_addresses(match)
    is_remote = addresses[0][0] == socket.AF_INET
    if is_remote and not any(_answers(family, address) for family, address in addresses):
        return f"No display: no X server answers at DISPLAY={display}."  # libxcb would wait for minutes
    if _x_server_admits(display):
        return None
    if not any(_answers(family, address) for family, address in addresses):
        return f"No display: no X server answers at DISPLAY={display}."
    return f"No display: the X server at DISPLAY={display} does not let this user in."


def _x_addresses(match: re.Match[str]) -> list[tuple[int, object]]:
    host, number = match["host"], int(match["number"])
    if host and host != "unix":
        return [(socket.AF_INET, (host.strip("[]"), 6000 + number))]
    path = f"/tmp/.X11-unix/X{number}"
    return [(socket.AF_UNIX, path), (socket.AF_UNIX, "\0" + path)]


def _x_server_admits(display: str) -> bool:
    """Connect as Qt would, with the user's own credentials; without libxcb the plugin's check tells.

    The connection is kept: some servers, Xvfb among them, start anew when their last client leaves,
    and would not answer Qt just then. For the same reason a refusal is not believed at once.
    """
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    for _ in range(_ATTEMPTS):
        connection = ctypes.c_void_p(xcb.xcb_connect(os.fsencode(display), None))
        if not xcb.xcb_connection_has_error(connection):
            return True
        xcb.xcb_disconnect(connection)
        time.sleep(_PAUSE_S)
    return False


def _wayland_problem(environment: Mapping[str, str]) -> str | None:
    name = environment.get("WAYLAND_DISPLAY") or "wayland-0"
    path = Path(environment.get("XDG_RUNTIME_DIR", "")) / name
    if _answers(socket.AF_UNIX, str(path)):
        return None
    return f"No display: no Wayland compositor answers at {path}."


def _answers(family: int, address: object) -> bool:
    if isinstance(address, tuple):
        try:
            socket.create_connection(address, timeout=_TIMEOUT_S).close()
        except OSError:
            return False
        return True
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(_TIMEOUT_S)
        return isinstance(address, str) and probe.connect_ex(address) == 0


def _plugin_problem(platform: str) -> str | None:
    """Load Qt's plugin as Qt will, and name the system libraries that it lacks."""
    spec = importlib.util.find_spec("PySide6")
    if spec is None or not spec.submodule_search_locations:
        return "The window needs PySide6, which is not installed; run `make run` to install it."
    root = Path(next(iter(spec.submodule_search_locations)))
    plugin = root / "Qt" / "plugins" / "platforms" / f"libq{platform}.so"
    if not plugin.exists():  # a PySide6 laid out in another way: Qt itself finds its plugins
        return None
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        named = str(error).split(":", 1)[0]
        missing = missing_qt_libraries(platform) or (named,)
        command = install_command(missing)
        advice = f"; install with: {command}" if command else ""
        return f"The window needs system libraries that are missing: {', '.join(missing)}{advice}"
    return None
