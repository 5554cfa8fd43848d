"""Trees of small files, as /sys and /proc have them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_tree(root: Path, files: Mapping[str, object]) -> Path:
    """Write each of `files` (path below `root`: content) and answer the root."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", "utf-8")
    return root


def cores(threads: int, number: int, first: int = 0) -> dict[str, str]:
    """The topology of `number` cores with so many threads each."""
    files = {}
    for core in range(number):
        cpus = range(first + core * threads, first + (core + 1) * threads)
        for cpu in cpus:
            siblings = f"{cpus[0]}-{cpus[-1]}" if threads > 1 else f"{cpu}"
            files[f"devices/system/cpu/cpu{cpu}/topology/core_cpus_list"] = siblings
    return files
