"""PySide6 without its look into every module.

PySide6 reads the source of each module that is imported after it, to see whether that could ask for the
optional `__feature__`s (snake case names, true properties), and keeps all those sources: a tenth of the time
until the window stands, and 9 MB. Nothing in Weir asks for them. The hook is PySide6's own and undocumented:
where it is another one, nothing is changed.
"""

from __future__ import annotations

import sys

import PySide6.QtCore  # noqa: F401  # makes the module `__feature__`


def skip_feature_search() -> None:
    """From now on PySide6 takes each module for one that uses no features."""
    feature = sys.modules.get("__feature__")
    if hasattr(feature, "_mod_uses_pyside"):
        setattr(feature, "_mod_uses_pyside", lambda _module: False)  # noqa: B010  # mypy knows no such module
