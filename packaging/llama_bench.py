"""Build `llama-bench` and `llama-batched-bench` once, from the sources that Weir was compiled from.

The pinned llama-cpp-python's source distribution goes in; the programs lie in `build/llama-bench` afterwards,
with a stamp of what it was made from. It is compiled as the library was: for this processor, without AMX.
Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
from pathlib import Path

from logged_run import SetupError, missing_sentence, run_logged
from prepare import CONSTRAINTS, PYTHON, ROOT, choose_accel, recorded_accel, without_amx

FOLDER = ROOT / "build" / "llama-bench"
PROGRAM = FOLDER / "bin" / ("llama-bench.exe" if os.name == "nt" else "llama-bench")
_LOG = FOLDER / "build.log"
_STAMP = FOLDER / "made-from.stamp"
_SOURCES = re.compile(r"[^/]+/vendor/llama\.cpp/(.+)")
_FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_SERVER=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
)


def main() -> int:
    """Build it if it is not there; 0, 1 for a failure that is reported, 130 for Ctrl+C."""
    try:
        build()
    except SetupError as error:
        print(f"llama-bench was not built: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def build() -> None:
    """Leave the program in its place. Raises SetupError."""
    pin = _pin()
    accel = choose_accel("", recorded_accel())
    made_from = f"{pin}\naccel={accel}\n"
    if PROGRAM.exists() and _STAMP.exists() and _STAMP.read_text("utf-8") == made_from:
        return
    if shutil.which("cmake") is None:
        raise SetupError(missing_sentence(["CMake"]))
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    _compile(_sources(pin), accel)
    _STAMP.write_text(made_from, "utf-8")


def _pin() -> str:
    found = re.search(r"^llama[-_]cpp[-_]python==\S+", CONSTRAINTS.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SetupError(f"{CONSTRAINTS.name} names no version of llama-cpp-python.")
    return found[0]


def _sources(pin: str) -> Path:
    """The folder with llama.cpp's sources."""
    command = [str(PYTHON), "-m", "pip", "download", "--no-binary", "llama-cpp-python", "--no-deps"]
    run_logged(
        [*command, "-d", str(FOLDER), pin], "Fetching llama.cpp's sources", _LOG, ROOT, dict(os.environ)
    )
    archive = next(FOLDER.glob("*.tar.gz"))
    folder = FOLDER / "sources"
    with tarfile.open(archive) as packed:
        for member in packed:
            found = _SOURCES.fullmatch(member.name)
            if found and member.isfile():
                member.name = found[1]
                packed.extract(member, folder, filter="data")
    archive.unlink()
    return folder


def _compile(sources: Path, accel: str) -> None:
    backend = [] if accel == "cpu" else [f"-DGGML_{accel.upper()}=ON"]
    env = dict(os.environ) | without_amx()
    configure = ["cmake", "-S", str(sources), "-B", str(FOLDER), *_FLAGS, *backend]
    run_logged(configure, "Configuring llama-bench", _LOG, ROOT, env)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    targets = ["llama-bench", "llama-batched-bench"]
    compile_ = ["cmake", "--build", str(FOLDER), "--config", "Release", "--target", *targets, "-j", jobs]
    run_logged(compile_, "Compiling llama-bench, once: 5 to 15 minutes on 2 cores", _LOG, ROOT, env)


if __name__ == "__main__":
    sys.exit(main())
