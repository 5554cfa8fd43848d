"""What decoding really reaches on a device: measured while models run, kept, and fitted.

Times of tokens go in with the work that they did; a `DecodeSpeed` comes out. Promises: a disturbed
measurement changes nothing as soon as there is a better one, since of each size a quick one of the last few
counts; what a small model shows moves what is expected of a large one within bounds; a broken file is an
empty one; several processes may add to one file. Knows nothing about chats.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from engine.memory.hardware import Device
from engine.memory.kernel_fit import Point, fitted_factors
from engine.memory.memory_wall import DecodeSpeed, kernel_seconds, seconds_of
from engine.memory.system_file import read_json, write_json
from engine.memory.token_work import TokenWork

_LAST_FEW = 5
_SIZES_PER_DOUBLING = 8
_MOST_SIZES = 16
_MOST_KEYS = 40
_LEAST_SPREAD = 1.15  # sizes nearer than this tell overhead and bandwidth apart by noise alone
_LEAST_SHARE_OF_READING = 0.25
# Times what is expected. A slow decode may have been disturbed; a quick one proves that what is expected was
# measured while others wanted the cores too. The bandwidth of a card cannot be much more than expected.
_SLOWEST, _QUICKEST, _QUICKEST_READ = 2.0, 0.25, 0.7

# Of uncalibrated devices: the part of the bandwidth that llama.cpp's decoding reaches, and the seconds that
# a token costs besides. On an H200: 0.43 and 0.9 ms; cards with slower memory reach a larger part of it.
_EFFICIENCY = {"cpu": 0.75, "gpu": 0.6, "igpu": 0.7}
_OVERHEAD = {"cpu": 5e-4, "gpu": 1e-3, "igpu": 1e-3}
# With the kernels measured, what is left is the worker's own work and the sampler's: 49,000 logits in 0.4 ms.
_OVERHEAD_BESIDE_KERNELS, _LOGIT = 5e-4, 8e-9


@dataclass(frozen=True, slots=True)
class DecodeTime:
    """One measurement: a token that did this work took so long."""

    work: TokenWork
    seconds: float


class CalibrationStore:
    """A JSON file of measurements for each device and quantization. Many threads may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read_at: int | None = None
        self._times: dict[str, list[DecodeTime]] = {}

    def add(self, device: Device, quantization: str, work: TokenWork, seconds: float) -> None:
        """Remember a decode whose model lies on `device` alone; what cannot be true is left out."""
        if not (_is_positive(work.bytes_read) and _is_positive(seconds)):
            return
        with self._lock:
            self._read()
            kept = self._times.pop(_key(device, quantization), [])
            # The newest key stands last, and of each size the newest measurement.
            self._times[_key(device, quantization)] = _thinned([*kept, DecodeTime(work, seconds)])
            for key in list(self._times)[:-_MOST_KEYS]:
                del self._times[key]
            write_json(self._path, {key: list(map(_stored, times)) for key, times in self._times.items()})
            self._read_at = self._written_at()

    def speed(self, device: Device, quantization: str) -> DecodeSpeed | None:
        """What was measured with this quantization, or else with others; None if nothing was."""
        with self._lock:
            self._read()
            times = list(self._times.get(_key(device, quantization), ()))
            if not times:
                prefix = _key(device, "")
                times = [t for key, kept in self._times.items() if key.startswith(prefix) for t in kept]
        return fitted(times, uncalibrated_speed(device))

    def _read(self) -> None:
        """Take what another process wrote meanwhile."""
        written_at = self._written_at()
        if written_at is not None and written_at != self._read_at:
            self._times, self._read_at = _parse(read_json(self._path)), written_at

    def _written_at(self) -> int | None:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return None


def expected_speed(
    device: Device, quantization: str, calibrations: CalibrationStore | None
) -> DecodeSpeed | None:
    """How `device` will decode: as calibrated, or else as its bandwidth lets expect; None without both."""
    calibrated = None if calibrations is None else calibrations.speed(device, quantization)
    return calibrated or uncalibrated_speed(device)


def uncalibrated_speed(device: Device) -> DecodeSpeed | None:
    """What its bandwidth and its kernels let expect; None if the bandwidth is not known."""
    if device.bandwidth is None:
        return None
    if device.kernels is not None:
        return DecodeSpeed(device.bandwidth, _OVERHEAD_BESIDE_KERNELS, device.kernels, _LOGIT)
    efficiency = _EFFICIENCY.get(device.kind, 0.6)
    return DecodeSpeed(device.bandwidth * efficiency, _OVERHEAD.get(device.kind, 0.0))


def fitted(times: Sequence[DecodeTime], prior: DecodeSpeed | None) -> DecodeSpeed | None:
    """What the measurements make of `prior`, what was expected; None without any.

    Where the kernels are known, two factors. Else a line through a quick one of each size, by least squares
    of the relative errors; where sizes are too much alike, or so small that reading them is hidden behind
    the overhead, `prior` tells what part of the time is overhead.
    """
    points = [_quick(group, prior) for group in _by_size(times).values()]
    if not points:
        return None
    if prior is not None and prior.kernels is not None:
        expected = [kernel_seconds(point.work, prior, prior.kernels) for point in points]
        pairs = [Point(*parts, point.seconds) for parts, point in zip(expected, points, strict=True)]
        base, attention = fitted_factors(pairs, _SLOWEST, _QUICKEST)
        return replace(prior, base_factor=base, attention_factor=attention)
    line = _line(points) if _make_a_line(points, prior) else None
    return _within_bounds(line or _through(_middle(points), prior), prior)


def _within_bounds(speed: DecodeSpeed, prior: DecodeSpeed | None) -> DecodeSpeed:
    """Measurements of small models say little about the bandwidth."""
    if prior is None:
        return speed
    low, high = prior.bandwidth / _SLOWEST, prior.bandwidth / _QUICKEST_READ
    return replace(speed, bandwidth=max(low, min(high, speed.bandwidth)))


def _make_a_line(points: Sequence[DecodeTime], prior: DecodeSpeed | None) -> bool:
    smallest = min(points, key=_n_bytes)
    largest = max(points, key=_n_bytes)
    reading = largest.seconds if prior is None else _n_bytes(largest) / prior.bandwidth
    spread = _n_bytes(largest) / _n_bytes(smallest)
    return spread >= _LEAST_SPREAD and reading >= _LEAST_SHARE_OF_READING * largest.seconds


def _line(points: Iterable[DecodeTime]) -> DecodeSpeed | None:
    """None if larger reads take no more time, or if none would be left for small ones."""
    # Minimises the sum of ((overhead + slope * bytes) / seconds - 1)^2.
    pairs = [(1 / point.seconds, _n_bytes(point) / point.seconds) for point in points]
    aa, ab, bb = (sum(p[i] * p[j] for p in pairs) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        return None
    overhead, slope = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
    if overhead < 0:
        overhead, slope = 0.0, b / bb
    return DecodeSpeed(1 / slope, overhead) if slope > 0 else None


def _through(point: DecodeTime, prior: DecodeSpeed | None) -> DecodeSpeed:
    if prior is None:
        return DecodeSpeed(_n_bytes(point) / point.seconds)
    overhead = point.seconds - _n_bytes(point) / prior.bandwidth
    if overhead > 0 and prior.overhead > 0:
        return DecodeSpeed(prior.bandwidth, overhead)
    # Slower, or faster, than expected altogether.
    factor = point.seconds / seconds_of(point.work, prior)
    return DecodeSpeed(prior.bandwidth / factor, prior.overhead * factor)


def _n_bytes(time: DecodeTime) -> float:
    return time.work.bytes_read


def _size(time: DecodeTime) -> int:
    return round(_SIZES_PER_DOUBLING * math.log2(_n_bytes(time)))


def _by_size(times: Iterable[DecodeTime]) -> dict[int, list[DecodeTime]]:
    groups: dict[int, list[DecodeTime]] = {}
    for time in times:
        groups.setdefault(_size(time), []).append(time)
    return groups


def _thinned(times: Sequence[DecodeTime]) -> list[DecodeTime]:
    """The last few of each size, of the sizes measured last; in the order of measuring."""
    kept: list[DecodeTime] = []
    counts: dict[int, int] = {}
    for time in reversed(times):
        size = _size(time)
        if counts.get(size, 0) < _LAST_FEW and (size in counts or len(counts) < _MOST_SIZES):
            counts[size] = counts.get(size, 0) + 1
            kept.append(time)
    return kept[::-1]


def _quick(times: Sequence[DecodeTime], prior: DecodeSpeed | None) -> DecodeTime:
    """A slow one proves only that something disturbed it; the very quickest is chance."""
    expected = prior or DecodeSpeed(1.0)
    by_rate = sorted(times, key=lambda time: time.seconds / seconds_of(time.work, expected))
    return by_rate[len(by_rate) // 4]


def _middle(times: Sequence[DecodeTime]) -> DecodeTime:
    return sorted(times, key=_n_bytes)[len(times) // 2]


def _key(device: Device, quantization: str) -> str:
    # ggml's number of a card changes when another one is put in; its name does not.
    return f"{device.kind}:{device.description or device.name}/{quantization}"


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18


def _stored(time: DecodeTime) -> dict[str, object]:
    return {"seconds": time.seconds, **asdict(time.work)}


def _parse(stored: object) -> dict[str, list[DecodeTime]]:
    if not isinstance(stored, Mapping):
        return {}
    parsed: dict[str, list[DecodeTime]] = {}
    for key, times in list(stored.items())[:_MOST_KEYS]:
        if isinstance(times, list):
            parsed[str(key)] = _thinned([time for time in map(_parse_time, times) if time])
    return parsed


def _parse_time(stored: object) -> DecodeTime | None:
    if not isinstance(stored, Mapping) or not isinstance(weights := stored.get("weights"), Mapping):
        return None

    def number(name: str) -> float:
        value = stored.get(name)
        return float(value) if isinstance(value, int | float) and _is_positive(value) else 0.0

    work = TokenWork(
        {str(name): float(size) for name, size in weights.items() if _is_positive(size)},
        number("kv_bytes"),
        number("head_cells"),
        int(number("head_size")),
        str(stored.get("k_type")),
        int(number("n_layers")),
        int(number("n_logits")),
        number("sharing") or 1.0,
        stored.get("flash_attention") is not False,
    )
    seconds = number("seconds")
    return DecodeTime(work, seconds) if seconds and _is_positive(work.bytes_read) else None
