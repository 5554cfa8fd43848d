"""How fast a planned load will decode: each device reads its part of the weights for every token.

Facts, hardware and the places of layers go in, tokens a second come out, None where the speed of a device
that is used is not known. Knows nothing about room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from engine.memory.calibration import CalibrationStore, expected_speed
from engine.memory.hardware import Device, Hardware
from engine.memory.memory_wall import DecodeSpeed, split_seconds_per_token
from engine.models.model_facts import ModelFacts


def predicted_tps(
    facts: ModelFacts, hardware: Hardware, places: Sequence[str], calibrations: CalibrationStore | None
) -> float | None:
    """Tokens a second of one chat with an empty context, as the devices were measured or are expected.

    `places`: the device of each layer, then that of the output.
    """
    return _tps(
        facts, hardware, places, lambda device: expected_speed(device, facts.quantization, calibrations)
    )


def limit_tps(facts: ModelFacts, hardware: Hardware, places: Sequence[str]) -> float | None:
    """The roofline: what the bandwidths alone would allow."""
    return _tps(facts, hardware, places, _at_full_bandwidth)


def _at_full_bandwidth(device: Device) -> DecodeSpeed | None:
    return None if device.bandwidth is None else DecodeSpeed(device.bandwidth)


def _tps(
    facts: ModelFacts,
    hardware: Hardware,
    places: Sequence[str],
    speed_of: Callable[[Device], DecodeSpeed | None],
) -> float | None:
    devices = {device.name: device for device in hardware.devices}
    reads: list[tuple[float, DecodeSpeed]] = []
    for name, n_bytes in bytes_read(facts, places).items():
        speed = speed_of(devices[name]) if name in devices else None
        if speed is None:
            return None
        reads.append((n_bytes, speed))
    seconds = split_seconds_per_token(reads)
    return 1 / seconds if seconds > 0 else None


def bytes_read(facts: ModelFacts, places: Sequence[str]) -> Mapping[str, float]:
    """Bytes of weights that one token reads from each device; of experts, only those used."""
    read: defaultdict[str, float] = defaultdict(float)
    output = facts.output_bytes + facts.output_copy_bytes
    read[places[-1]] += min(output, facts.active_bytes)
    layers = facts.layer_bytes or (1,) * facts.n_layers
    share = max(0, facts.active_bytes - output) / (sum(layers) or 1)
    for place, n_bytes in zip(places, layers, strict=False):
        read[place] += n_bytes * share
    return {name: n_bytes for name, n_bytes in read.items() if n_bytes}
