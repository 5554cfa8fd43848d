"""What decoding really reaches on a device: measured while chats run, kept, and fitted.

Times of tokens go in with the bytes that they read; a `DecodeSpeed` comes out: time = overhead + bytes /
bandwidth. Promises: one disturbed measurement changes nothing, since of each size the median of the last few
counts; a broken file is an empty one. Knows nothing about chats.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.memory.hardware import Device
from engine.memory.memory_wall import DecodeSpeed, seconds_per_token
from engine.memory.system_file import read_json, write_json

_LAST_FEW = 5
_SIZES_PER_DOUBLING = 4
_MOST_SIZES = 24
_MOST_KEYS = 100
_LEAST_SPREAD = 1.15  # sizes nearer than this tell overhead and bandwidth apart by noise alone
_LEAST_SHARE_OF_READING = 0.25

# Of uncalibrated devices: the part of the bandwidth that llama.cpp's decoding reaches, and the seconds that
# a token costs besides. On an H200: 0.43 and 0.9 ms; cards with slower memory reach a larger part of it.
_EFFICIENCY = {"cpu": 0.75, "gpu": 0.6, "igpu": 0.7}
_OVERHEAD = {"gpu": 1e-3, "igpu": 1e-3}


@dataclass(frozen=True, slots=True)
class DecodeTime:
    """One measurement: a token that read so many bytes of weights and cache took so long."""

    bytes_read: float
    seconds: float


class CalibrationStore:
    """A JSON file of measurements for each device and quantization. Many threads may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._times = _parse(read_json(path))

    def add(self, device: Device, quantization: str, bytes_read: float, seconds: float) -> None:
        """Remember a decode whose model lies on `device` alone; what cannot be true is left out."""
        if not (_is_positive(bytes_read) and _is_positive(seconds)):
            return
        with self._lock:
            kept = self._times.pop(_key(device, quantization), [])
            # The newest key stands last, and of each size the newest measurement.
            self._times[_key(device, quantization)] = _thinned([*kept, DecodeTime(bytes_read, seconds)])
            for key in list(self._times)[:-_MOST_KEYS]:
                del self._times[key]
            write_json(
                self._path,
                {key: [[t.bytes_read, t.seconds] for t in times] for key, times in self._times.items()},
            )

    def speed(self, device: Device, quantization: str) -> DecodeSpeed | None:
        """What was measured with this quantization, or else with others; None if nothing was."""
        with self._lock:
            times = list(self._times.get(_key(device, quantization), ()))
            if not times:
                prefix = _key(device, "")
                times = [t for key, kept in self._times.items() if key.startswith(prefix) for t in kept]
        return fitted(times, uncalibrated_speed(device))


def expected_speed(
    device: Device, quantization: str, calibrations: CalibrationStore | None
) -> DecodeSpeed | None:
    """How `device` will decode: as calibrated, or else as its bandwidth lets expect; None without both."""
    calibrated = None if calibrations is None else calibrations.speed(device, quantization)
    return calibrated or uncalibrated_speed(device)


def uncalibrated_speed(device: Device) -> DecodeSpeed | None:
    """What its bandwidth lets expect; None if that is not known."""
    if device.bandwidth is None:
        return None
    efficiency = _EFFICIENCY.get(device.kind, 0.6)
    return DecodeSpeed(device.bandwidth * efficiency, _OVERHEAD.get(device.kind, 0.0))


def fitted(times: Sequence[DecodeTime], prior: DecodeSpeed | None) -> DecodeSpeed | None:
    """The line through the medians of each size, by least squares of the relative errors.

    Where they do not make a line, `prior` tells what part of the time is overhead: sizes that are too much
    alike, or so small that reading them is hidden behind the overhead.
    """
    points = [_median(group) for group in _by_size(times).values()]
    if not points:
        return None
    if _make_a_line(points, prior):
        line = _line(points)
        if line is not None:
            return line
    return _through(_median(points), prior)


def _make_a_line(points: Sequence[DecodeTime], prior: DecodeSpeed | None) -> bool:
    smallest = min(points, key=lambda point: point.bytes_read)
    largest = max(points, key=lambda point: point.bytes_read)
    reading = largest.seconds if prior is None else largest.bytes_read / prior.bandwidth
    spread = largest.bytes_read / smallest.bytes_read
    return spread >= _LEAST_SPREAD and reading >= _LEAST_SHARE_OF_READING * largest.seconds


def _line(points: Iterable[DecodeTime]) -> DecodeSpeed | None:
    """None if larger reads take no more time, or if none would be left for small ones."""
    # Minimises the sum of ((overhead + slope * bytes) / seconds - 1)^2.
    pairs = [(1 / point.seconds, point.bytes_read / point.seconds) for point in points]
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
        return DecodeSpeed(point.bytes_read / point.seconds)
    overhead = point.seconds - point.bytes_read / prior.bandwidth
    if overhead > 0 and prior.overhead > 0:
        return DecodeSpeed(prior.bandwidth, overhead)
    # Slower, or faster, than expected altogether.
    factor = point.seconds / seconds_per_token(point.bytes_read, prior)
    return DecodeSpeed(prior.bandwidth / factor, prior.overhead * factor)


def _size(time: DecodeTime) -> int:
    return round(_SIZES_PER_DOUBLING * math.log2(time.bytes_read))


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


def _median(times: Sequence[DecodeTime]) -> DecodeTime:
    sizes, seconds = [time.bytes_read for time in times], [time.seconds for time in times]
    return DecodeTime(statistics.median(sizes), statistics.median(seconds))


def _key(device: Device, quantization: str) -> str:
    # ggml's number of a card changes when another one is put in; its name does not.
    return f"{device.kind}:{device.description or device.name}/{quantization}"


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18


def _parse(stored: object) -> dict[str, list[DecodeTime]]:
    if not isinstance(stored, Mapping):
        return {}
    parsed: dict[str, list[DecodeTime]] = {}
    for key, times in list(stored.items())[:_MOST_KEYS]:
        if isinstance(times, list):
            pairs = [pair for pair in times if isinstance(pair, list) and len(pair) == 2]
            kept = [DecodeTime(float(a), float(b)) for a, b in pairs if _is_positive(a) and _is_positive(b)]
            parsed[str(key)] = _thinned(kept)
    return parsed
