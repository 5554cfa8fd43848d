"""How fast a planned load will decode: each device reads its part of the weights for every token.

Facts, hardware, the places of layers and the length of the context go in, a `PlannedSpeed` comes out. Knows
nothing about room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.memory.calibration import CalibrationStore, expected_speed
from engine.memory.hardware import Device, Hardware
from engine.memory.memory_wall import DecodeSpeed, seconds_of
from engine.memory.token_work import TokenWork, works
from engine.models.model_facts import ModelFacts
from engine.protocol import EffectiveOptions, FlashAttention


@dataclass(frozen=True, slots=True)
class PlannedSpeed:
    """Tokens a second of one chat, with an empty context and with a full one; None where a device is unknown.

    `predicted` as the devices were measured or are expected, `limit` the roofline. `is_measured`: models
    were decoded on these devices before.
    """

    predicted: float | None
    predicted_full: float | None
    limit: float | None
    limit_full: float | None
    is_measured: bool


def planned_speed(
    facts: ModelFacts,
    hardware: Hardware,
    places: Sequence[str],
    *,
    n_ctx: int,
    options: EffectiveOptions,
    calibrations: CalibrationStore | None,
) -> PlannedSpeed:
    """`places`: the device of each layer, then that of the output."""
    is_flash = options.flash_attention is not FlashAttention.OFF
    empty, full = (
        works(facts, places, n, options.k_type, options.v_type, flash_attention=is_flash)
        for n in (0, n_ctx - 1)  # the token itself takes the last cell
    )
    devices = {device.name: device for device in hardware.devices}

    def expected(device: Device) -> DecodeSpeed | None:
        return expected_speed(device, facts.quantization, calibrations)

    def measured(device: Device) -> DecodeSpeed | None:
        return None if calibrations is None else calibrations.speed(device, facts.quantization)

    predicted, predicted_full = (_tps(work, devices, expected) for work in (empty, full))
    return PlannedSpeed(
        predicted,
        predicted_full,
        _at_least(predicted, _tps(empty, devices, _at_full_bandwidth)),
        _at_least(predicted_full, _tps(full, devices, _at_full_bandwidth)),
        is_measured=_tps(empty, devices, measured) is not None,
    )


def _at_least(predicted: float | None, limit: float | None) -> float | None:
    """A device that was busy while its bandwidth was measured may be faster than its limit."""
    return limit if limit is None or predicted is None else max(limit, predicted)


def _at_full_bandwidth(device: Device) -> DecodeSpeed | None:
    return None if device.bandwidth is None else DecodeSpeed(device.bandwidth)


def _tps(
    work: Mapping[str, TokenWork],
    devices: Mapping[str, Device],
    speed_of: Callable[[Device], DecodeSpeed | None],
) -> float | None:
    seconds = 0.0
    for name, here in work.items():
        speed = speed_of(devices[name]) if name in devices else None
        if speed is None:
            return None
        seconds += seconds_of(here, speed)
    return 1 / seconds if seconds > 0 else None
