"""The tables of the package `gguf`, without the package.

Its `__init__` imports all that writes model files: NumPy, YAML and more, a tenth of a second and 20 MB in
each process, for three enumerations. Knows nothing about what the tables say.
"""

from __future__ import annotations

import functools
import importlib
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_NAME = "gguf.constants"


@functools.cache
def gguf_constants() -> ModuleType:
    """The module `gguf.constants`. Raises ImportError where the package is missing."""
    package = find_spec("gguf")  # finds it and imports nothing
    locations = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec(_NAME, locations) if locations else None
    if spec is None or spec.loader is None:  # missing, or packed in another way than as files
        return importlib.import_module(_NAME)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
