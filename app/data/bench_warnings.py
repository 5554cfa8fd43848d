"""What makes a measurement doubtful, in sentences.

A `BenchRecord` goes in. Knows nothing about where the sentences are shown.
"""

from __future__ import annotations

from app.data.bench_record import BenchRecord

MOST_OTHER_LOAD_PCT = 10.0
"""CPU time of other processes, in percent of one core, that goes without saying."""


def warnings(record: BenchRecord) -> list[str]:
    """Each a sentence about one row; none for a quiet machine."""
    told = []
    if record.other_load_pct is not None and record.other_load_pct > MOST_OTHER_LOAD_PCT:
        told.append(
            f"{record.test}: other programs took {record.other_load_pct:.0f} % of a core meanwhile; "
            "the figures may be too low."
        )
    if record.throttled:
        told.append(f"{record.test}: the machine slowed itself down because of heat or power.")
    if record.power_source == "battery":
        told.append(f"{record.test}: measured on battery, which may be slower.")
    if record.aborted:
        n_done = len(record.samples_ns)
        told.append(f"{record.test}: aborted after {n_done:,} repetition{'' if n_done == 1 else 's'}.")
    return told
