"""The typesetting process: a line with a task comes in at stdin, a line with the result goes out at stdout.

Formulas and code come from a model, and the libraries that set them are slow and can be made to hang: in
a process of their own they cost the window nothing and can be ended at any time. It has no Qt, leaves the
processor to others, takes at most 512 MiB where the platform can limit that, and ends with its parent.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from app.views.markdown_typesetting import HighlightTask, Result, Task, decode_task, encode_result

MEMORY_LIMIT_BYTES = 512 * 2**20


def serve() -> None:
    """Answer each task in turn, until there are no more."""
    _be_modest()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(encode_result(_result(decode_task(line))))
        sys.stdout.buffer.flush()


def _result(task: Task) -> Result:
    # Each library is loaded when it is first needed.
    try:
        if isinstance(task, HighlightTask):
            from app.views.code_highlighting import highlight

            return highlight(task)
        from app.views.math_typesetting import set_formula

        return set_formula(task)
    except (MemoryError, RecursionError):
        return None


def _be_modest() -> None:
    if sys.platform != "win32":
        import resource

        with suppress(OSError):
            os.nice(5)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))


if __name__ == "__main__":
    serve()
