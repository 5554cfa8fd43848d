"""A benchmark's report as Markdown: the table of `llama-bench`, one of what a chat costs, and what to doubt.

Records and the names of their files go in, text comes out. Promises: a name never breaks a table. Knows
nothing about files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.data.bench_names import encodable, undirected
from app.data.bench_record import BenchRecord
from app.data.bench_warnings import missing, warnings
from app.data.message_text import one_line

_MIB, _GIB = 2**20, 2**30
_FLASH = {-1: "auto", 0: "off", 1: "on"}


@dataclass(frozen=True, slots=True)
class _Column:
    """`is_shown`: for which records it is worth a column."""

    title: str
    cell: Callable[[BenchRecord], str]
    is_text: bool = False
    is_shown: Callable[[Sequence[BenchRecord]], bool] = lambda _records: True


def to_markdown(records: Sequence[BenchRecord], names: Sequence[str]) -> str:
    """All of the report; `names`: the file of each record."""
    if not records:
        return "Nothing was measured.\n"
    by_record = dict(zip(map(id, records), names, strict=True))
    columns = _columns(lambda record: by_record[id(record)])
    lines = [_circumstances(records), ""]
    lines += _table(records, [column for column in columns if column.is_shown(records)])
    chats = list(filter(_is_chat, records))
    if chats:
        lines += ["", *_table(chats, _CHAT_COLUMNS)]
    told = _doubts(records, names)
    lines += ["", *(f"- {one_line(sentence)}" for sentence in told)] if told else []
    builds = {f"{record.build_commit} ({record.build_number})": None for record in records}
    lines += ["", f"build: {one_line(', '.join(builds))}"]
    return "\n".join(lines) + "\n"


def _circumstances(records: Sequence[BenchRecord]) -> str:
    """Where, when and how it was measured; all that differs is named."""
    told = [
        _each(records, lambda r: r.cpu_info),
        _each(records, lambda r: r.gpu_info),
        _each(records, lambda r: r.test_time[:10]),
        f"fa {_each(records, lambda r: _FLASH.get(r.flash_attn, str(r.flash_attn)))}",
        f"KV cache {_each(records, lambda r: f'{r.type_k}/{r.type_v}')}",
        f"Weir {_each(records, lambda r: r.weir_version)}",
    ]
    return " · ".join(part for part in told if part)


def _each(records: Sequence[BenchRecord], value: Callable[[BenchRecord], str]) -> str:
    return undirected(one_line(", ".join(dict.fromkeys(map(value, records)))))


def _doubts(records: Sequence[BenchRecord], names: Sequence[str]) -> list[str]:
    several = len(set(names)) > 1
    told = [
        undirected(sentence)
        for record, name in zip(records, names, strict=True)
        for sentence in warnings(record, encodable(name) if several else "")
    ]
    sentence = missing(len(records), len(records) + sum(record.missing_cases for record in records))
    return [*told, sentence] if sentence else told


def _table(records: Sequence[BenchRecord], columns: Sequence[_Column]) -> list[str]:
    rows = [[_safe(column.cell(record)) for column in columns] for record in records]
    titles = [column.title for column in columns]
    widths = [max(len(row[index]) for row in [titles, *rows]) for index in range(len(columns))]
    lines = [_line(titles, widths, columns)]
    rules = ["-" * (width + 1) + ("-" if column.is_text else ":") for width, column in _zip(widths, columns)]
    lines.append("|" + "|".join(rules) + "|")
    return lines + [_line(row, widths, columns) for row in rows]


def _line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[_Column]) -> str:
    padded = [
        cell.ljust(width) if column.is_text else cell.rjust(width)
        for cell, (width, column) in zip(cells, _zip(widths, columns), strict=True)
    ]
    return "| " + " | ".join(padded) + " |"


def _zip(widths: Sequence[int], columns: Sequence[_Column]) -> list[tuple[int, _Column]]:
    return list(zip(widths, columns, strict=True))


def _safe(text: str) -> str:
    """One line without a bar that would end the cell."""
    return undirected(one_line(encodable(text))).replace("|", "\\|")


# --- columns --------------------------------------------------------------------------------------


def _columns(file_of: Callable[[BenchRecord], str]) -> list[_Column]:
    return [
        _Column("model", lambda r: r.model_type, is_text=True),
        _Column("file", file_of, is_text=True, is_shown=_vary(lambda r: r.model_filename)),
        _Column("size", lambda r: _size(r.model_size)),
        _Column("params", lambda r: _count(r.model_n_params)),
        _Column("backend", lambda r: r.backends, is_text=True),
        _Column("ngl", lambda r: str(r.n_gpu_layers), is_shown=lambda rs: any(r.gpu_info for r in rs)),
        _Column("threads", lambda r: str(r.n_threads)),
        _optional("n_batch", lambda r: str(r.n_batch), "2048"),
        _optional("n_ubatch", lambda r: str(r.n_ubatch), "512"),
        _optional("type_k", lambda r: r.type_k, "f16"),
        _optional("type_v", lambda r: r.type_v, "f16"),
        _optional("fa", lambda r: str(r.flash_attn), "-1"),
        _Column("test", lambda r: r.test),
        _Column("t/s", _speed),
        _Column("median", lambda r: _number(r.decode_ts if _is_chat(r) else r.median_ts)),
        _Column("expected", lambda r: _number(_expected(r)), is_shown=_known(_expected)),
        _Column("limit", lambda r: _number(_limit(r)), is_shown=_known(_limit)),
    ]


_CHAT_COLUMNS = (
    _Column("chat", lambda r: r.test, is_text=True),
    _Column("load ms", lambda r: _number(r.load_ms, 0)),
    _Column("first token ms", lambda r: _number(r.ttft_ms, 0)),
    _Column("prompt t/s", lambda r: _number(r.prompt_ts)),
    _Column("reply t/s", lambda r: _number(r.decode_ts)),
    _Column("eviction ms", lambda r: _number(r.eviction_ms)),
    _Column("restore ms", lambda r: _number(r.restore_ms)),
    _Column("reading again ms", lambda r: _number(r.reevaluation_ms, 0)),
)


def _optional(title: str, cell: Callable[[BenchRecord], str], default: str) -> _Column:
    """Shown where not all have the default, as `llama-bench` does it."""
    return _Column(title, cell, is_shown=lambda records: any(cell(record) != default for record in records))


def _vary(value: Callable[[BenchRecord], object]) -> Callable[[Sequence[BenchRecord]], bool]:
    return lambda records: len({value(record) for record in records}) > 1


def _known(value: Callable[[BenchRecord], object]) -> Callable[[Sequence[BenchRecord]], bool]:
    return lambda records: any(value(record) is not None for record in records)


def _is_chat(record: BenchRecord) -> bool:
    return record.test_kind == "chat"


def _speed(record: BenchRecord) -> str:
    """Of a chat the reply's: prompt and reply together say nothing beside what a reply is expected to be."""
    if _is_chat(record):
        return _number(record.decode_ts)
    return f"{_number(record.avg_ts)} ± {_number(record.stddev_ts)}"


def _expected(record: BenchRecord) -> float | None:
    return None if record.decode_rate is None else record.predicted_ts


def _limit(record: BenchRecord) -> float | None:
    return None if record.decode_rate is None else record.limit_ts


def _size(n_bytes: int) -> str:
    return f"{n_bytes / _MIB:.2f} MiB" if n_bytes < _GIB else f"{n_bytes / _GIB:.2f} GiB"


def _count(n_params: int) -> str:
    return f"{n_params / 1e6:.2f} M" if n_params < 1e9 else f"{n_params / 1e9:.2f} B"


def _number(value: float | None, n_digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{n_digits}f}"
