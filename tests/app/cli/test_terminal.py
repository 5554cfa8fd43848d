"""The terminal chat as a process: at a pseudo-terminal, and in a pipe whose reader leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tests.app.cli.terminal_program"]


class Typist:
    """Types at a program's terminal and reads its screen."""

    def __init__(self, controller: int) -> None:
        self.controller = controller
        self.screen = ""

    def type(self, keys: str) -> None:
        os.write(self.controller, keys.encode())

    def wait_for(self, is_there: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + 20
        while not is_there(self.screen):
            assert time.monotonic() < deadline, self.screen
            try:
                self.screen += os.read(self.controller, 4096).decode()
            except OSError as error:  # the program has left its terminal
                raise AssertionError(self.screen) from error


@pytest.fixture
def chat_at_a_terminal() -> Iterator[tuple[Typist, subprocess.Popen[bytes]]]:
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "--endless"],
        cwd=ROOT,
        env={**os.environ, "TERM": "dumb"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    ) as program:
        os.close(terminal)
        yield Typist(controller), program
        program.kill()
    os.close(controller)


def test_ctrl_c_stops_the_reply_and_ctrl_d_ends_the_chat(
    chat_at_a_terminal: tuple[Typist, subprocess.Popen[bytes]],
) -> None:
    typist, program = chat_at_a_terminal
    typist.wait_for(lambda screen: "Small, context 512" in screen and screen.endswith("> "))
    typist.type("Tell me\r")
    typist.wait_for(lambda screen: "It goes on" in screen)
    typist.type("\x03")
    typist.wait_for(lambda screen: screen.count("> ") == 2 and screen.endswith("> "))
    typist.type("And now?\r")
    typist.wait_for(lambda screen: "Short." in screen and screen.endswith("> "))
    typist.type("\x04")
    assert program.wait(timeout=20) == 0
    assert "Traceback" not in typist.screen


def test_reader_that_leaves_ends_the_chat_quietly(tmp_path: Path) -> None:
    with subprocess.Popen(
        PROGRAM,
        cwd=ROOT,
        env={**os.environ, "WEIR_HOME": str(tmp_path), "LC_ALL": "C"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdin and program.stdout and program.stderr
        program.stdin.write(b"one\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"Line.\n"
        program.stdout.close()
        program.stdin.write(b"two\nthree\n")
        program.stdin.close()
        assert program.stderr.read() == b""
        assert program.wait(timeout=20) == 0
