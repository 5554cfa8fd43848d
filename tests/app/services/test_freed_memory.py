"""What ending the engine gives back."""

from __future__ import annotations

import dataclasses

from app.services.freed_memory import freed_by_unloading
from engine.protocol import DeviceBuffers, Gauges
from tests.app.scripted_engine import model_info

MIB = 2**20


def test_rearranged_weights_come_back_and_pages_of_the_file_do_not() -> None:
    buffers = (DeviceBuffers("CPU", 120 * MIB, 16 * MIB, 4 * MIB, file_cache=84 * MIB),)
    info = dataclasses.replace(model_info("/models/m.gguf"), buffers=buffers)
    # 84 of the 120 were rearranged, so that as much of the file is not read again.
    assert freed_by_unloading(info, None) == {"CPU": (84 + 16 + 4) * MIB}
    gauges = Gauges(None, None, None, 0, 2048, None, None, 300 * MIB, (), rss_file_bytes=130 * MIB)
    assert freed_by_unloading(info, gauges) == {"CPU": 170 * MIB}
