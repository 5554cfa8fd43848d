"""`weir search`: models on Hugging Face that Weir can load.

In: words. Out: a table on a terminal, lines of fields with tabs between them in a pipe, or one JSON array;
and an exit status: 1 if the Hub could not be asked, with one sentence on standard error. What is found in
formats that Weir cannot load is named there too, for what it is. With JSON the sentence is told as an object
on standard output too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence

from app.cli.model_argument import failed
from app.cli.search_arguments import SearchOptions
from app.data.message_text import clean_text
from app.data.paths import data_dir
from engine.errors import KnownError
from engine.hub.file_choice import searched_words
from engine.hub.hub import Hub
from engine.hub.hub_errors import TokenRejected
from engine.hub.hub_values import Gating, RepoSummary, WeightsFormat
from engine.hub.token_store import TokenStore
from engine.models.byte_reader import shown

_HEAD = ("Repository", "Downloads", "Likes", "Updated", "License", "")
_GATING = {Gating.NONE: "", Gating.AUTO: "gated", Gating.MANUAL: "gated, on request"}
_FORMATS = {
    WeightsFormat.SAFETENSORS: "safetensors",
    WeightsFormat.AWQ: "AWQ",
    WeightsFormat.GPTQ: "GPTQ",
    WeightsFormat.EXL2: "EXL2",
    WeightsFormat.MLX: "MLX",
}
_MOST_OTHERS = 5


def run_search(options: SearchOptions) -> int:
    """Print what is found; 0, or 1 if the Hub could not be asked."""
    try:
        hub = Hub(token=TokenStore(data_dir()).token)
        try:
            found = _found(hub, options)
        except TokenRejected as error:
            hub = hub.without_token()
            found = _found(hub, options)
            print(f"weir: {error} This search was made without it.", file=sys.stderr)
        if options.as_json:
            print(json.dumps([json_fields(summary) for summary in found], allow_nan=False))
        else:
            _print_lines([_row(summary) for summary in found])
        if not found:
            _tell_others(hub, options)
    except KnownError as error:
        return failed(str(error), options.as_json)
    return 0


def json_fields(summary: RepoSummary) -> dict[str, object]:
    """The fields of one object; `updated` in ISO 8601, null for what the Hub did not say."""
    updated = summary.last_modified
    return {
        "repo_id": summary.repo_id,
        "weights_format": str(summary.weights_format),
        "downloads": summary.downloads,
        "likes": summary.likes,
        "updated": None if updated is None else updated.isoformat(),
        "license": None if summary.license is None else clean_text(summary.license),
        "gating": str(summary.gating),
    }


def _found(hub: Hub, options: SearchOptions) -> list[RepoSummary]:
    return list(hub.search(searched_words(options.query), options.sort, limit=options.limit))


def _print_lines(rows: Sequence[tuple[str, ...]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(row))
    elif rows:
        for line in _table([_HEAD, *rows]):
            print(line)


def _row(summary: RepoSummary) -> tuple[str, ...]:
    updated = summary.last_modified
    return (
        summary.repo_id,
        _count(summary.downloads),
        _count(summary.likes),
        "" if updated is None else updated.date().isoformat(),
        shown(summary.license or ""),
        _GATING[summary.gating],
    )


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}" if sys.stdout.isatty() else str(number)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.rjust(width) if number in (1, 2) else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _tell_others(hub: Hub, options: SearchOptions) -> None:
    """Nothing can be loaded: say what there is instead."""
    words = searched_words(options.query)
    others = list(hub.search(words, limit=_MOST_OTHERS, formats=frozenset(_FORMATS)))
    sentence = f"No GGUF model on {hub.endpoint} has {shown(words)} in its name."
    print(f"weir: {sentence}{_others(others)}", file=sys.stderr)


def _others(others: Iterable[RepoSummary]) -> str:
    names = ", ".join(f"{summary.repo_id} ({_FORMATS[summary.weights_format]})" for summary in others)
    return f" In formats that Weir cannot load: {names}." if names else ""
