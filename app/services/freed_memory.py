"""What ending the present model's engine gives back, by device.

Its facts and its newest gauges go in, bytes come out. Knows nothing about processes.
"""

from __future__ import annotations

from engine.protocol import Gauges, ModelInfo

_NO_MEMORY = ("cpu", "accel")


def freed_by_unloading(info: ModelInfo | None, gauges: Gauges | None) -> dict[str, int]:
    """Bytes by device; the machine's own memory is "CPU". Empty without a model."""
    if info is None:
        return {}
    cards = {device.name for device in info.devices if device.kind not in _NO_MEMORY}
    freed = {
        entry.device: entry.weights + entry.kv + entry.compute
        for entry in info.buffers
        if entry.device in cards
    }
    in_ram = [entry for entry in info.buffers if entry.device not in cards]
    # Weights that are mapped are pages of the file, which the system counts as available already.
    of_file = 0 if info.options.mmap is False else sum(entry.weights for entry in in_ram)
    if gauges is None:
        rearranged = sum(entry.file_cache for entry in in_ram)
        private = sum(entry.weights + entry.kv + entry.compute for entry in in_ram) - of_file + rearranged
    else:
        known = gauges.rss_file_bytes
        private = max(0, gauges.rss_bytes - (of_file if known is None else known))
    return {**freed, "CPU": private}
