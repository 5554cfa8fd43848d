"""A load without weights: llama.cpp lays everything out, allocates next to nothing, and says the sizes.

A path and a shape go in, `ExactSizes` come out. Of such a run llama.cpp logs the true sizes of the
compute buffers and of the whole KV cache, and with debug output the device of each layer; the buffers of
weights and keys themselves are logged as empty. Run it in a process that may die: llama.cpp aborts on some
broken files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from engine.llama import backend
from engine.llama.buffers import by_device
from engine.llama.context import Context, context_params
from engine.llama.model import Model
from engine.memory.memory_plan import ExactSizes, LoadShape

_LAYER = re.compile(r"load_tensors: layer +(\d+) assigned to device (\S+),")


def measure(path: Path, shape: LoadShape) -> ExactSizes:
    """What loading the model at `path` like this would allocate. Raises ModelLoadError, BadRequest."""
    llama = backend.Backend(details=_LAYER)
    model = Model(llama, path, shape.n_gpu_layers, shape.options, dry_run=True)
    layer_devices = _layer_devices(llama.log)
    context = Context(model, context_params(shape))
    names = [device.name for device in backend.devices()]
    buffers = by_device(model.buffers, context.buffers, names)
    return ExactSizes(
        shape=shape,
        layer_devices=layer_devices,
        kv_bytes=context.kv_bytes or 0,
        compute_bytes={buffer.device: buffer.compute for buffer in buffers},
    )


def _layer_devices(log: Iterable[str]) -> tuple[str, ...]:
    """The device of each layer, then that of the output."""
    found = {int(match[1]): match[2] for match in map(_LAYER.match, log) if match}
    return tuple(found[layer] for layer in sorted(found))
