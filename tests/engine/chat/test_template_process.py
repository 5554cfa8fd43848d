"""The process that renders: bounded, started again after a kill, and never left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.context import SpawnProcess
from pathlib import Path

import psutil
import pytest

from engine.chat.template_process import Outcome, RenderError, TemplateProcess

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
ROOT = Path(__file__).parents[3]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is tested on Linux only")


@pytest.fixture(scope="module")
def shared_process() -> Iterator[TemplateProcess]:
    process = TemplateProcess()
    yield process
    process.close()


@pytest.fixture
def own_process() -> Iterator[TemplateProcess]:
    process = TemplateProcess()
    yield process
    process.close()


def child_pid() -> int:
    """The newest template process of this one."""
    children = [child for child in multiprocessing.active_children() if child.name == "weir-template"]
    pids = [child.pid for child in children if child.pid is not None]
    return max(pids, key=lambda pid: psutil.Process(pid).create_time())


def is_gone(pid: int) -> bool:
    try:
        # An orphan whose new parent does not collect it has ended, too.
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_gone(pid)


def failure(process: TemplateProcess, source: str) -> RenderError:
    with pytest.raises(RenderError) as caught:
        process.render(source, {"messages": []})
    return caught.value


def test_text_of_any_kind_survives_the_pipe(shared_process: TemplateProcess) -> None:
    text = "ALPHA\0BETA \u202e 👍 \ufdd0 \u2028 \r\n end"
    assert shared_process.render("{{ text }}", {"text": text}) == text


def test_five_megabytes_survive_the_pipe(shared_process: TemplateProcess) -> None:
    text = "é👍<ab>" * 830_000
    assert shared_process.render("{{ text }}", {"text": text}) == text


@pytest.mark.parametrize(
    "source, text",
    [
        ("{% generation %}{{ who }}{% endgeneration %}", "Ann"),
        ("{% for c in who %}{% if c == 'n' %}{% break %}{% endif %}{{ c }}{% endfor %}", "A"),
        ("{% for c in who %}{% if c == 'A' %}{% continue %}{% endif %}{{ c }}{% endfor %}", "nn"),
        ("{{ strftime_now('%%') }}", "%"),
        ("{{ ['é<', 1] | tojson }}", '["é<", 1]'),
        ("{{ {'b': 1, 'a': 2} | tojson(indent=1, sort_keys=true) }}", '{\n "a": 2,\n "b": 1\n}'),
        ("  {% if true %}\n  x\n  {% endif %}\ny", "  x\ny"),
    ],
)
def test_what_chat_templates_use_works(shared_process: TemplateProcess, source: str, text: str) -> None:
    assert shared_process.render(source, {"who": "Ann"}) == text


@pytest.mark.parametrize(
    "source, outcome, words",
    [
        ("{% if messages %}x", Outcome.SYNTAX, "line 1"),
        ("{% nosuchtag %}", Outcome.SYNTAX, "nosuchtag"),
        ("{{- .System }}", Outcome.SYNTAX, "'.'"),
        ("{{ raise_exception('roles must\n alternate') }}", Outcome.REFUSED, "roles must alternate"),
        ("{{ messages[0].content }}", Outcome.REFUSED, "no element 0"),
        ("{{ 1 / 0 }}", Outcome.REFUSED, "ZeroDivisionError"),
        ("{% include 'x' %}", Outcome.REFUSED, ""),
        ("{{ messages.append(1) }}", Outcome.FORBIDDEN, "append"),
        ("{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}", Outcome.REFUSED, "RecursionError"),
    ],
)
def test_a_template_that_fails_says_how(
    shared_process: TemplateProcess, source: str, outcome: Outcome, words: str
) -> None:
    error = failure(shared_process, source)
    assert error.outcome is outcome
    assert words in error.detail


def test_a_template_cannot_reach_python(
    shared_process: TemplateProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "PWN"
    command = f"{{{{ lipsum.__globals__['os'].popen('touch {target}').read() }}}}"
    assert failure(shared_process, command).outcome is Outcome.FORBIDDEN
    assert not target.exists()


def test_long_words_of_a_template_are_cut(shared_process: TemplateProcess) -> None:
    assert len(failure(shared_process, "{{ raise_exception('no ' * 100000) }}").detail) == 300


@linux_only
@pytest.mark.parametrize(
    "source",
    [
        "{{ '%999999999d' % 1 }}",
        "{{ 'x' * 10**10 }}",
        "{% set n = namespace(s='xx') %}{% for a in range(90) %}{% set n.s = n.s + n.s %}{% endfor %}",
    ],
)
def test_a_template_gets_bounded_memory(shared_process: TemplateProcess, source: str) -> None:
    shared_process.render("", {})
    pid = child_pid()
    assert failure(shared_process, source).outcome is Outcome.MEMORY
    assert shared_process.render("still here", {}) == "still here"
    assert child_pid() == pid


def test_an_endless_template_is_killed_and_the_next_render_works(own_process: TemplateProcess) -> None:
    own_process.render("", {})
    killed = child_pid()
    started = time.monotonic()
    assert failure(own_process, ENDLESS).outcome is Outcome.SLOW
    assert time.monotonic() - started < 3.5
    assert is_gone(killed)
    assert own_process.render("next", {}) == "next"
    assert child_pid() != killed


def test_a_child_that_died_between_renders_is_started_again(own_process: TemplateProcess) -> None:
    own_process.render("", {})
    psutil.Process(child_pid()).kill()
    time.sleep(0.2)
    assert own_process.render("next", {}) == "next"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")
def test_control_c_does_not_end_the_child(own_process: TemplateProcess) -> None:
    own_process.render("", {})
    pid = child_pid()
    os.kill(pid, signal.SIGINT)
    time.sleep(0.2)
    assert own_process.render("next", {}) == "next"
    assert child_pid() == pid


def test_close_leaves_nothing_running() -> None:
    process = TemplateProcess()
    process.render("", {})
    pid = child_pid()
    process.close()
    process.close()
    assert is_gone(pid)


def test_child_that_began_early_is_the_one_that_renders(own_process: TemplateProcess) -> None:
    own_process.begin()
    pid = child_pid()
    assert own_process.render("{{ word }}", {"word": "hello"}) == "hello"
    assert child_pid() == pid


def test_child_that_died_before_its_first_render_is_started_again(own_process: TemplateProcess) -> None:
    own_process.begin()
    os.kill(pid := child_pid(), signal.SIGKILL)
    assert wait_until_gone(pid, 5.0)
    assert own_process.render("here", {}) == "here"


def test_child_that_cannot_begin_is_told_of_by_the_first_render(
    own_process: TemplateProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_process: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(SpawnProcess, "start", refuse)
    own_process.begin()
    assert "no more processes" in failure(own_process, "").detail


def test_close_before_any_render_is_harmless() -> None:
    TemplateProcess().close()


def render_without_closing() -> None:
    TemplateProcess().render("", {})


@pytest.mark.parametrize("method", ["worker", "program"])
def test_a_forgotten_close_does_not_hang_the_exit(method: str) -> None:
    if method == "program":
        code = "from tests.engine.chat.test_template_process import *; render_without_closing()"
        assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=30, check=False).returncode == 0
        return
    worker = multiprocessing.get_context("spawn").Process(target=render_without_closing)
    worker.start()
    worker.join(30)
    exit_code = worker.exitcode
    worker.kill()
    worker.join()
    assert exit_code == 0


def parent_to_be_killed(source: str) -> None:
    """Renders `source` after printing the child's process id."""
    process = TemplateProcess()
    process.render("", {})
    print(child_pid(), flush=True)
    process.render(source, {})
    print("rendered", flush=True)
    time.sleep(60)


@pytest.mark.parametrize("source, seconds", [("", 3.0), (ENDLESS, 8.0)], ids=["idle", "busy"])
def test_the_child_ends_when_its_parent_is_killed(source: str, seconds: float) -> None:
    code = f"from tests.engine.chat.test_template_process import *; parent_to_be_killed({source!r})"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if source:
            time.sleep(0.3)  # so that the child is busy
        else:
            assert parent.stdout.readline() == "rendered\n"
        assert not is_gone(pid)
        parent.kill()
    assert wait_until_gone(pid, seconds)
