"""What makes a measurement doubtful, in sentences.

A `BenchRecord` goes in. Knows nothing about where the sentences are shown.
"""

from __future__ import annotations

from app.data.bench_record import BenchRecord

MOST_OTHER_LOAD_PCT = 10.0
"""CPU time of other processes, in percent of one core, that goes without saying."""


def warnings(record: BenchRecord, model: str = "") -> list[str]:
    """Each a sentence about one row; none for a quiet machine. `model` is named where there are several."""
    test = f"{model}, {record.test}" if model else record.test
    told = []
    if record.other_load_pct is not None and record.other_load_pct > MOST_OTHER_LOAD_PCT:
        told.append(
            f"{test}: other programs took {record.other_load_pct:.0f} % of a core meanwhile; "
            "the figures may be too low."
        )
    if record.throttled:
        told.append(f"{test}: the machine slowed itself down because of heat or power.")
    if record.power_source == "battery":
        told.append(f"{test}: measured on battery, which may be slower.")
    if record.aborted:
        n_done = len(record.samples_ns)
        repetitions = f"{n_done:,} repetition{'' if n_done == 1 else 's'}"
        # Of the last row before cases that are missing it is not known whether it is whole.
        last = f"{test}: the last case that was measured, with {repetitions}."
        told.append(last if record.missing_cases else f"{test}: aborted after {repetitions}.")
    return told


def missing(n_measured: int, n_cases: int) -> str | None:
    """A sentence about a report that ended before all its cases; None if it did not."""
    if n_measured >= n_cases:
        return None
    return f"aborted: {n_measured:,} of {n_cases:,} cases were measured."
