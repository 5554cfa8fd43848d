"""What touches llama.cpp, through the binding's plain C functions alone.

`llama_cpp/__init__.py` would import the binding's own engine too, with jinja2, NumPy and much more: a third
of a second for each process that loads llama.cpp. So the package is put in place without running it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec

if "llama_cpp" not in sys.modules and (_package := find_spec("llama_cpp")):
    sys.modules["llama_cpp"] = module_from_spec(_package)
