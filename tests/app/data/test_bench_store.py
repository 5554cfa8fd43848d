"""Stored benchmarks: what is kept, what two processes see, and what becomes of a file that is not ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.data.bench_store import BenchStore
from engine.errors import KnownError
from tests.app.bench_stage import FIRST, SECOND, prompt_record, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "benchmarks.db"


@pytest.fixture
def store(path: Path) -> Iterator[BenchStore]:
    store = BenchStore(path)
    yield store
    store.close()


def test_nothing_is_opened_before_it_is_needed(path: Path) -> None:
    BenchStore(path).close()
    assert not path.exists()


def test_results_come_back_as_they_were_grouped_by_run_newest_first(path: Path, store: BenchStore) -> None:
    odd = record(model_name='=HYPERLINK("http://h","x")', model_filename='/m/a,b|c"d\nsecond line.gguf')
    store.add(FIRST, odd)
    store.add(FIRST, prompt_record())
    store.add(SECOND, record(other_load_pct=34.5, aborted=True, throttled=None))
    store.close()
    newest, oldest = BenchStore(path).runs()
    assert (newest.facts, oldest.facts) == (SECOND, FIRST)
    assert [stored.record for stored in oldest.results] == [odd, prompt_record()]
    assert newest.results[0].record == record(other_load_pct=34.5, aborted=True, throttled=None)


def test_label_and_deletion(store: BenchStore) -> None:
    for run in (FIRST, SECOND):
        store.add(run, record())
        store.add(run, prompt_record())
    store.set_label("first", "laptop, on battery")
    newest, oldest = store.runs()
    assert (newest.label, oldest.label) == ("", "laptop, on battery")
    store.delete([newest.results[0].id, *(stored.id for stored in oldest.results)])
    [left] = store.runs()
    assert [stored.record for stored in left.results] == [prompt_record()]
    store.add(FIRST, record())
    assert store.runs()[1].label == "", "the run is a new one"


def test_two_processes_use_it_at_once(path: Path, store: BenchStore) -> None:
    other = BenchStore(path)
    store.add(FIRST, record())
    other.add(SECOND, record())
    assert [run.facts for run in store.runs()] == [SECOND, FIRST] == [run.facts for run in other.runs()]
    other.delete([stored.id for run in other.runs() for stored in run.results])
    store.add(FIRST, prompt_record())  # of a run that the other has just deleted
    assert [run.facts for run in other.runs()] == [FIRST]
    other.close()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"", b"SQLite format 3\0" + b"\xff" * 4000])
def test_broken_file_is_set_aside_whole(path: Path, store: BenchStore, content: bytes) -> None:
    path.write_bytes(content)
    store.add(FIRST, record())
    assert len(store.runs()) == 1
    [aside] = path.parent.glob("benchmarks-broken-*.db")
    assert aside.read_bytes() == content
    assert store.notice is not None and str(aside) in store.notice


def test_database_of_another_program_is_set_aside(path: Path, store: BenchStore) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE runs (id)")
    assert store.runs() == ()
    assert len(list(path.parent.glob("benchmarks-broken-*.db"))) == 1


def test_newer_database_is_refused_and_left_alone(path: Path, store: BenchStore) -> None:
    store.add(FIRST, record())
    store.close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(KnownError, match="newer Weir"):
        store.runs()
    assert path.read_bytes() == before


def test_row_that_cannot_be_read_is_passed_over(path: Path, store: BenchStore) -> None:
    store.add(FIRST, record())
    store.add(FIRST, prompt_record())
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE results SET record = '{\"n_prompt\": 1}' WHERE id = 1")
        other.commit()
    [run] = store.runs()
    assert [stored.record for stored in run.results] == [prompt_record()]


def test_folder_that_cannot_be_used_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match="could not be read or written"):
        BenchStore(tmp_path / "gone" / "benchmarks.db").runs()


def test_run_that_was_not_measured_to_its_end_is_known_as_stopped(store: BenchStore) -> None:
    facts = replace(FIRST, n_cases=3)
    store.add(facts, record())
    store.add(facts, prompt_record())
    store.add(facts, record(n_depth=9, aborted=True))
    [run] = store.runs()
    assert (run.facts, run.n_measured, run.is_stopped) == (facts, 2, True)
    store.add(facts, record(n_depth=9))
    [run] = store.runs()
    assert not run.is_stopped
    store.delete([run.results[0].id])
    assert not store.runs()[0].is_stopped, "a result that was deleted was measured"


def test_results_of_the_first_version_stay_and_count_as_whole(path: Path, store: BenchStore) -> None:
    store.add(FIRST, record())
    store.close()
    with closing(sqlite3.connect(path)) as older:
        for column in ("n_cases", "n_measured"):
            older.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        older.execute("PRAGMA user_version = 1")
    [run] = store.runs()
    assert [stored.record for stored in run.results] == [record()] and not run.is_stopped
