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
    if gauges is None:
        # Weights are pages of the file, which the system counts as available already.
        private = sum(entry.kv + entry.compute for entry in in_ram)
    else:
        of_file = gauges.rss_file_bytes
        if of_file is None:
            of_file = sum(entry.weights for entry in in_ram)
        private = max(0, gauges.rss_bytes - of_file)
    return {**freed, "CPU": private}
