"""What the terminal chat shows: plain text for people, or one JSON object a line for programs.

In: the engine's events, and notes about them. Out: replies (or JSON lines) on standard output,
everything else on standard error. Progress and the model's name appear on a terminal only. It
promises that JSON lines are strict JSON in ASCII, and that a model's text cannot steer a terminal.
It knows nothing about the chat itself.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Protocol, TextIO

from engine.protocol import (
    CacheShifted,
    Event,
    Failed,
    Finished,
    FinishReason,
    LoadProgress,
    ModelInfo,
    ModelLoaded,
    PrefillProgress,
    TextDelta,
    TurnStats,
)

# Escape sequences in a reply could move the cursor, rename the window or worse: C0 and C1 go, but
# for the tab and the line break.
_NO_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)
}
_NO_CONTROLS[ord("\r")] = ""


class Output(Protocol):
    """Where a terminal chat goes."""

    def show(self, event: Event) -> None:
        """Show one event of the engine; those that are not for this output are passed over."""

    def note(self, sentence: str) -> None:
        """Tell the user something about the chat, on standard error."""


class JsonOutput:
    """Every event as one line of JSON on `out`, at once; notes go to `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def show(self, event: Event) -> None:
        """Write the event's line, if it has one."""
        fields = json_fields(event)
        if fields is not None:
            # In ASCII, since some readers take U+2028 and its like for the end of a line.
            print(json.dumps(_finite(fields), allow_nan=False), file=self._out, flush=True)

    def note(self, sentence: str) -> None:
        """Write the sentence to `err`."""
        print(f"weir: {sentence}", file=self._err, flush=True)


def json_fields(event: Event) -> dict[str, object] | None:
    """The fields of an event's JSON object, None for events that are not shown."""
    name: str
    fields: dict[str, object]
    match event:
        case LoadProgress():
            name, fields = "load_progress", {"fraction": event.fraction}
        case ModelLoaded():
            name, fields = "model_loaded", {**asdict(event.info), "load_ms": event.load_ms}
        case PrefillProgress():
            name = "prefill_progress"
            fields = {"n_done": event.n_done, "n_total": event.n_total, "seconds_left": event.seconds_left}
        case TextDelta():
            name, fields = "text", {"text": event.text, "n_generated": event.n_generated}
        case CacheShifted():
            name, fields = "cache_shifted", {"n_evicted": event.n_evicted, "shifted": event.shifted}
        case Finished():
            name, fields = "finished", {"reason": event.reason, "text": event.text, **asdict(event.stats)}
        case Failed():
            name, fields = "failed", {"code": event.error.code, "message": event.error.message}
        case _:
            return None
    return {"event": name, **fields}


def _finite(fields: dict[str, object]) -> dict[str, object]:
    """NaN and infinity are no JSON: null instead."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
    }


class PlainOutput:
    """Replies as they come on `out`, each ended by a line break; the rest on `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._replies_to_terminal = out.isatty()
        self._shows_progress = err.isatty()
        self._ends_in_line = False  # the reply's last character so far is not a line break
        self._progress_width = 0

    def show(self, event: Event) -> None:
        """Show the event as a person wants it."""
        match event:
            case LoadProgress():
                self._progress(f"loading the model: {event.fraction:.0%}")
            case ModelLoaded():
                self._loaded(event.info)
            case PrefillProgress():
                self._progress(_reading(event))
            case TextDelta():
                self._write(event.text)
            case CacheShifted() if self._shows_progress:
                self._end_line()
                self.note(f"the model no longer sees the oldest {event.n_evicted:,} tokens of this chat.")
            case Finished():
                self._progress("")
                # A message that was not read has no reply, not an empty one.
                self._end_line(even_if_empty=not event.text and event.reason is not FinishReason.CONTEXT_FULL)
                if self._shows_progress and (spared := _spared(event.stats)):
                    self.note(f"{spared}.")
            case Failed():
                self._end_line()
                self.note(event.error.message)
            case _:
                pass

    def note(self, sentence: str) -> None:
        """Write the sentence to `err`, on a line of its own."""
        self._progress("")
        print(f"weir: {_printable(sentence)}", file=self._err, flush=True)

    def _loaded(self, info: ModelInfo) -> None:
        self._progress("")
        if self._shows_progress:
            name = _printable(info.name or info.description)
            print(f"{name}, context {info.n_ctx:,}. Ctrl+C stops a reply, Ctrl+D ends.", file=self._err)

    def _write(self, text: str) -> None:
        self._progress("")
        self._out.write(_printable(text) if self._replies_to_terminal else text)
        self._out.flush()
        if text:
            self._ends_in_line = not text.endswith("\n")

    def _end_line(self, even_if_empty: bool = False) -> None:
        if self._ends_in_line or even_if_empty:
            self._out.write("\n")
            self._out.flush()
        self._ends_in_line = False

    def _progress(self, text: str) -> None:
        """Replace the progress line by `text`; an empty one clears it."""
        if self._shows_progress and (text or self._progress_width):
            self._err.write("\r" + " " * self._progress_width + "\r" + text)
            self._err.flush()
            self._progress_width = len(text)


def _reading(event: PrefillProgress) -> str:
    text = f"reading {event.n_done:,} of {event.n_total:,} tokens"
    return text if event.seconds_left is None else f"{text}, {event.seconds_left:,.0f} s left"


def _spared(stats: TurnStats) -> str:
    """What a turn did not have to read or to decode one by one; "" if that is nothing."""
    parts = [
        f"{count:,} tokens {how}"
        for count, how in ((stats.tokens_restored, "restored"), (stats.tokens_shared, "shared"))
        if count
    ]
    if stats.tokens_drafted:
        parts.append(f"drafts {stats.tokens_accepted:,} of {stats.tokens_drafted:,}")
        if stats.draft_gain is not None and math.isfinite(stats.draft_gain):
            parts.append(f"{stats.draft_gain:.1f} times as fast")
    return ", ".join(parts)


def _printable(text: str) -> str:
    return text.translate(_NO_CONTROLS)
