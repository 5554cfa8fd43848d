"""Where the memory is, and how fast the model is, in words: rows of a name and a figure.

Values of the services go in. The same rows are shown as a table and copied as plain lines. Knows nothing
about widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app.services.bandwidth_use import BandwidthUse
from app.services.memory_split import DeviceSplit, Use
from app.services.sights import CacheFill
from app.views import number_format
from app.views.cache_words import seen_in_words, turn_in_words, unseen_in_words
from engine.protocol import Gauges

_USES = {
    Use.WEIGHTS: QT_TRANSLATE_NOOP("MemoryWords", "weights"),
    Use.KV: QT_TRANSLATE_NOOP("MemoryWords", "KV cache"),
    Use.STATE: QT_TRANSLATE_NOOP("MemoryWords", "state"),
    Use.COMPUTE: QT_TRANSLATE_NOOP("MemoryWords", "buffers"),
    Use.ENGINE: QT_TRANSLATE_NOOP("MemoryWords", "rest of the engine"),
    Use.FILE_CACHE: QT_TRANSLATE_NOOP("MemoryWords", "file cache"),
    Use.WEIR: QT_TRANSLATE_NOOP("MemoryWords", "Weir"),
    Use.OTHERS: QT_TRANSLATE_NOOP("MemoryWords", "other programs"),
    Use.SOMEBODY: QT_TRANSLATE_NOOP("MemoryWords", "in use"),
    Use.FREE: QT_TRANSLATE_NOOP("MemoryWords", "free"),
}


# What is planned for each use of the engine's.
_COUNTED = {
    Use.WEIGHTS: (Use.WEIGHTS,),
    Use.KV: (Use.KV, Use.STATE),
    Use.COMPUTE: (Use.COMPUTE,),
    Use.FILE_CACHE: (Use.FILE_CACHE,),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table; with `use`, the legend of a part of a bar, of `n_bytes`.

    `planned` is the figure that was expected, where one was.
    """

    name: str
    figure: str
    use: Use | None = None
    n_bytes: int | None = None
    planned: str = ""

    def plain(self) -> str:
        """The line as text, with exact bytes."""
        exact = "" if self.n_bytes is None else _tr(" ({0} bytes)").format(f"{self.n_bytes:,}")
        planned = _tr(", planned {0}").format(self.planned) if self.planned else ""
        return f"{self.name}: {self.figure}{exact}{planned}"


def device_title(split: DeviceSplit) -> str:
    """For example "CUDA0, NVIDIA RTX 4060: 8.0 GiB"."""
    name = ", ".join(filter(None, (split.name, split.description))) or _tr("This computer's memory")
    return f"{name}: {number_format.size(split.total)}"


def device_rows(split: DeviceSplit, n_cells: int | None, planned: DeviceSplit | None = None) -> list[Row]:
    """The legend of a device's bar; a device without a total says that what is free is not known.

    `planned` is how it was expected to be after loading.
    """
    rows = [
        Row(
            _name(part.use, n_cells),
            number_format.size(part.n_bytes),
            part.use,
            part.n_bytes,
            _planned(part.use, planned),
        )
        for part in split.parts
        if part.n_bytes or part.use is Use.FREE
    ]
    if split.bytes_of(Use.FREE) is None:
        rows.append(Row(use_in_words(Use.FREE), number_format.NOT_AVAILABLE))
    if split.n_missing:
        rows.append(Row(_tr("more than there is"), number_format.size(split.n_missing)))
    return rows


def use_in_words(use: Use) -> str:
    """What memory is used for, as briefly as it fits into a bar."""
    return _tr(str(_USES[use]))


def seen_lines(fill: CacheFill | None, gauges: Gauges | None) -> list[str]:
    """What the model sees of the open chat, and how much room there is."""
    if fill is not None:
        lines = [seen_in_words(fill), unseen_in_words(fill)]
    elif gauges is None:
        lines = [_tr("No model is loaded: choose one above.")]
    else:
        lines = [_tr("Nothing of this chat yet: it shows with the first message.")]
    if gauges and gauges.kv_cells > 0:
        free = max(0, gauges.kv_cells - gauges.kv_cells_used)
        lines.append(_tr("{0} of {1} cells are free.").format(f"{free:,}", f"{gauges.kv_cells:,}"))
    return [line for line in lines if line]


def turn_line(fill: CacheFill | None) -> str:
    """What the newest turn cost."""
    turn = turn_in_words(fill.last_turn) if fill else ""
    return turn or _tr("No reply yet since the model was loaded.")


def _planned(use: Use, planned: DeviceSplit | None) -> str:
    if planned is None or use not in _COUNTED:
        return ""
    return number_format.size(sum(planned.bytes_of(part) or 0 for part in _COUNTED[use]))


def wall_rows(use: BandwidthUse | None) -> list[Row]:
    """How much of the memory's bandwidth is in use, and what it would allow; nothing without a model."""
    if use is None:
        return []
    reads = f"{number_format.size(use.weights_bytes)} + {number_format.size(use.kv_bytes)}"
    limit = number_format.rate(use.limit_tps)
    if use.tps is not None:
        limit = _tr("{0}, now {1}").format(limit, f"{use.tps:,.1f}")
    return [
        Row(_tr("bandwidth"), bandwidth_in_words(use)),
        Row(_tr("weights + KV read a token"), reads),
        Row(_tr("limit here"), limit),
    ]


def bandwidth_in_words(use: BandwidthUse) -> str:
    """For example "38 of 51 GB/s in use (75 %)"."""
    if use.bandwidth is None:
        return number_format.NOT_AVAILABLE
    if use.used is None or use.share is None:
        return _tr("{0} GB/s").format(_gigabytes(use.bandwidth))
    figures = (_gigabytes(use.used), _gigabytes(use.bandwidth), round(use.share * 100))
    return _tr("{0} of {1} GB/s in use ({2}\N{NO-BREAK SPACE}%)").format(*figures)


def _gigabytes(per_second: float) -> str:
    value = per_second / 1e9
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def speed_rows(gauges: Gauges | None, load_ms: float | None) -> list[Row]:
    """Speeds and waiting times of the newest turn."""
    return [
        Row(_tr("writing now"), number_format.rate(gauges.decode_tps if gauges else None)),
        Row(_tr("reading the prompt"), number_format.rate(gauges.prefill_tps if gauges else None)),
        Row(_tr("first token after"), number_format.seconds(gauges.ttft_ms if gauges else None)),
        Row(_tr("model loaded in"), number_format.seconds(load_ms)),
    ]


def _name(use: Use, n_cells: int | None) -> str:
    if use is Use.KV and n_cells:
        return _tr("KV cache, {0} cells").format(f"{n_cells:,}")
    if use is Use.FILE_CACHE:
        return _tr("file cache, can be taken back")
    return _tr("buffers for computing") if use is Use.COMPUTE else use_in_words(use)


def _tr(text: str) -> str:
    return QCoreApplication.translate("MemoryWords", text)
