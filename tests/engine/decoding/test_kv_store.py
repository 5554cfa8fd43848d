"""Saved KV: what comes out is what went in, or nothing; the folder keeps within its budget."""

from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from engine.decoding import kv_store
from engine.decoding.kv_key import KVKey
from engine.decoding.kv_store import KVStore
from engine.decoding.saved_sequence import SavedSequence
from engine.protocol import KVType, variant_chat_id
from tests.engine.decoding.saved_kv_stage import KEY, saved_chat

BUDGET = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> KVStore:
    return KVStore(tmp_path / "saved", BUDGET)


def only_file(store: KVStore) -> Path:
    (file,) = store.files()
    return file.path


def names(store: KVStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir())


def used_at(store: KVStore, chat_id: str, seconds: float) -> None:
    os.utime(store.path_of(chat_id, KEY.model), (seconds, seconds))


def kept(store: KVStore, *chat_ids: str) -> list[str]:
    return [chat_id for chat_id in chat_ids if store.path_of(chat_id, KEY.model).exists()]


def test_what_is_saved_is_loaded(store: KVStore) -> None:
    assert store.save(KEY, saved_chat())
    loaded = store.load(KEY, "chat-1")
    assert loaded == saved_chat()
    assert loaded.seen[0].pinned  # which `==` of messages leaves out


def test_another_process_loads_it(store: KVStore) -> None:
    store.save(KEY, saved_chat())
    assert KVStore(store.folder, 0).load(KEY, "chat-1") == saved_chat()


def test_a_later_state_replaces_the_earlier_one(store: KVStore) -> None:
    store.save(KEY, saved_chat())
    store.save(KEY, saved_chat(state=b"later"))
    assert store.load(KEY, "chat-1") == saved_chat(state=b"later")
    assert len(store.files()) == 1


def test_of_a_chat_that_was_never_saved_there_is_nothing(store: KVStore) -> None:
    assert store.load(KEY, "chat-1") is None
    assert store.size_bytes() == 0
    store.forget("chat-1")
    store.clear()
    assert not store.folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permission bits")
def test_only_the_user_can_read_what_was_said(store: KVStore) -> None:
    store.save(KEY, saved_chat())
    assert stat.S_IMODE(only_file(store).stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_names_say_nothing_and_lead_nowhere(store: KVStore) -> None:
    assert store.save(KEY, saved_chat("../../secret/\0\ud800"))
    assert store.load(KEY, "../../secret/\0\ud800") is not None
    assert "secret" not in only_file(store).name
    assert only_file(store).parent == store.folder


# --- damage -------------------------------------------------------------------------------------------


def test_no_flipped_bit_gets_through(store: KVStore) -> None:
    """Each bit of the file's head, and a sample of those of the state."""
    store.save(KEY, saved_chat())
    path = only_file(store)
    whole = path.read_bytes()
    n_head = len(whole) - len(saved_chat().state)
    for bit in (*range(0, n_head * 8, 5), *range(n_head * 8, len(whole) * 8, 97)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert store.load(KEY, "chat-1") is None, f"bit {bit}"
        assert not path.exists(), f"bit {bit}"
    path.write_bytes(whole)
    assert store.load(KEY, "chat-1") == saved_chat()


def test_no_cut_and_nothing_added_gets_through(store: KVStore) -> None:
    store.save(KEY, saved_chat())
    path = only_file(store)
    whole = path.read_bytes()
    lengths = (0, 1, 7, 8, 60, 63, 64, 95, 96, 97, 300, len(whole) // 2, len(whole) - 1)
    for damaged in (*(whole[:length] for length in lengths), whole + b"\0", whole + whole):
        path.write_bytes(damaged)
        assert store.load(KEY, "chat-1") is None, len(damaged)
        assert not path.exists(), len(damaged)


def test_a_hole_in_the_state_is_found(store: KVStore) -> None:
    """What a loss of power leaves: the right length, with zeros at the end."""
    store.save(KEY, saved_chat(state=b"\x55" * 10_000))
    path = only_file(store)
    path.write_bytes(path.read_bytes()[:-4096] + bytes(4096))
    assert store.load(KEY, "chat-1") is None
    assert not path.exists()


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, architecture="qwen3"),
        replace(KEY, build="b9001 AVX2"),
        replace(KEY, k_type=KVType.Q8_0),
        replace(KEY, v_type=KVType.Q8_0),
        replace(KEY, flash_attention=True),
        replace(KEY, swa_full=False),
        replace(KEY, n_ctx=16_384),
        replace(KEY, n_ctx=4096),
        replace(KEY, chat_format="chatml"),
        replace(KEY, layout="CUDA0"),
    ],
)
def test_a_state_of_another_load_is_refused_and_removed(store: KVStore, other: KVKey) -> None:
    store.save(other, saved_chat())
    assert store.load(KEY, "chat-1") is None
    assert store.files() == []


def test_a_state_of_another_model_is_not_found_and_stays(store: KVStore) -> None:
    other = replace(KEY, model="cd" * 32)
    store.save(other, saved_chat())
    assert store.load(KEY, "chat-1") is None
    assert store.load(other, "chat-1") == saved_chat()


def test_a_file_of_another_model_in_its_place_is_refused_and_removed(store: KVStore) -> None:
    store.save(replace(KEY, model="cd" * 32), saved_chat())
    only_file(store).rename(store.path_of("chat-1", KEY.model))
    assert store.load(KEY, "chat-1") is None
    assert store.files() == []


def test_a_file_of_another_chat_in_its_place_is_refused_and_removed(store: KVStore) -> None:
    store.save(KEY, saved_chat("chat-2"))
    only_file(store).rename(store.path_of("chat-1", KEY.model))
    assert store.load(KEY, "chat-1") is None
    assert store.files() == []


def test_a_file_of_another_format_is_refused(store: KVStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.decoding.kv_file.FORMAT", 2)
    store.save(KEY, saved_chat())
    monkeypatch.undo()
    assert store.load(KEY, "chat-1") is None


# --- the budget ---------------------------------------------------------------------------------------


def test_the_least_recently_used_makes_room(store: KVStore) -> None:
    for number, chat_id in enumerate("abc"):
        store.save(KEY, saved_chat(chat_id, bytes(300_000)))
        used_at(store, chat_id, 1000 + number)
    assert store.load(KEY, "a") is not None  # now b is the one that was used longest ago
    assert store.save(KEY, saved_chat("d", bytes(300_000)))
    assert kept(store, *"abcd") == ["a", "c", "d"]
    assert store.size_bytes() <= BUDGET


def test_files_of_other_models_make_room_too(store: KVStore) -> None:
    other = replace(KEY, model="cd" * 32)
    store.save(other, saved_chat("a", bytes(600_000)))
    assert store.save(KEY, saved_chat("b", bytes(600_000)))
    assert store.load(other, "a") is None
    assert store.load(KEY, "b") is not None


def test_a_chat_makes_room_for_itself_first(store: KVStore) -> None:
    store.save(KEY, saved_chat("a", bytes(300_000)))
    store.save(KEY, saved_chat("b", bytes(600_000)))
    assert store.save(KEY, saved_chat("b", bytes(690_000)))
    assert kept(store, "a", "b") == ["a", "b"]


def test_what_is_larger_than_the_budget_is_not_saved_and_nothing_goes_for_it(store: KVStore) -> None:
    store.save(KEY, saved_chat("a"))
    store.save(KEY, saved_chat("b"))
    assert not store.save(KEY, saved_chat("a", bytes(BUDGET)))
    assert kept(store, "a", "b") == ["a", "b"]
    assert store.load(KEY, "a") == saved_chat("a")


def test_a_budget_of_nothing_saves_nothing(tmp_path: Path) -> None:
    store = KVStore(tmp_path / "saved", 0)
    assert not store.save(KEY, saved_chat())
    assert store.files() == []


def test_a_smaller_budget_removes_the_least_recently_used(store: KVStore) -> None:
    for number, chat_id in enumerate("abc"):
        store.save(KEY, saved_chat(chat_id, bytes(100_000)))
        used_at(store, chat_id, 1000 - number)
    store.shrink_to(250_000)
    assert kept(store, *"abc") == ["a", "b"]


# --- forgetting ---------------------------------------------------------------------------------------


def test_a_deleted_chat_takes_its_variants_and_all_models_with_it(store: KVStore) -> None:
    for key in (KEY, replace(KEY, model="cd" * 32)):
        for chat_id in ("a", variant_chat_id("a", 1), variant_chat_id("a", 7), "ab"):
            assert store.save(key, saved_chat(chat_id))
    assert len(store.files()) == 8
    store.forget("a")
    assert len(store.files()) == 2
    assert store.load(KEY, "ab") == saved_chat("ab")


def test_variants_are_saved_side_by_side(store: KVStore) -> None:
    chats = [saved_chat(variant_chat_id("a", number), bytes([number])) for number in range(3)]
    for chat in chats:
        store.save(KEY, chat)
    assert [store.load(KEY, chat.chat_id) for chat in chats] == chats


def test_only_the_chats_that_still_are_stay(store: KVStore) -> None:
    for chat_id in ("a", variant_chat_id("b", 2), "c"):
        store.save(KEY, saved_chat(chat_id))
    store.keep_only(["b", "c", "d"])
    assert kept(store, "a", variant_chat_id("b", 2), "c") == [variant_chat_id("b", 2), "c"]


def test_clearing_touches_nothing_else(store: KVStore) -> None:
    store.save(KEY, saved_chat())
    (store.folder / "mine.kv").write_text("not Weir's")
    (store.folder / ("0" * 32)).mkdir()
    assert store.size_bytes() == only_file(store).stat().st_size
    store.clear()
    assert names(store) == ["0" * 32, "mine.kv"]


# --- the disk -----------------------------------------------------------------------------------------


def test_a_disk_that_fills_up_leaves_the_earlier_state(
    store: KVStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(KEY, saved_chat())
    real = tempfile.NamedTemporaryFile

    def full(*args: object, **more: object) -> object:
        file = real(*args, **more)  # type: ignore[call-overload]
        writes = iter([10])

        def write(_data: object) -> int:
            for n_bytes in writes:
                return n_bytes
            raise OSError(errno.ENOSPC, "No space left on device")

        file.write = write
        return file

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    assert not store.save(KEY, saved_chat(state=b"later"))
    assert store.load(KEY, "chat-1") == saved_chat()
    assert len(names(store)) == 1  # no partial file is left


def test_a_short_disk_gives_back_old_states_before_it_refuses(
    store: KVStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(KEY, saved_chat("a", bytes(300_000)))
    used_at(store, "a", 1000)
    store.save(KEY, saved_chat("b", bytes(300_000)))
    room = store.size_bytes() + 100_000  # as large as the disk would be without the reserve

    def missing(needed: int, _folder: Path) -> int:
        return needed - (room - store.size_bytes())

    monkeypatch.setattr(kv_store, "missing_bytes", missing)
    assert store.save(KEY, saved_chat("c", bytes(200_000)))
    assert kept(store, *"abc") == ["b", "c"]
    assert not store.save(KEY, saved_chat("d", bytes(900_000)))
    assert kept(store, *"abc") == ["b", "c"]


def test_five_hundred_megabytes_of_the_disk_stay_free(
    store: KVStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 500_000_000 + 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    assert not store.save(KEY, saved_chat(state=bytes(1000)))


@pytest.mark.parametrize("call", ["mkdir", "replace", "utime"])
def test_no_fault_of_the_disk_raises(store: KVStore, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    store.save(KEY, saved_chat())
    monkeypatch.setattr(os if call == "utime" else Path, call, refuse)
    assert store.save(KEY, saved_chat(state=b"later")) is (call == "utime")
    assert store.load(KEY, "chat-1") is not None
    assert len(names(store)) == 1


def test_a_file_in_the_folders_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text("a file")
    store = KVStore(tmp_path / "saved", BUDGET)
    assert not store.save(KEY, saved_chat())
    assert store.load(KEY, "chat-1") is None
    store.clear()
    assert store.size_bytes() == 0
    assert store.folder.read_text() == "a file"


def test_a_pipe_or_a_folder_in_the_files_place_holds_nobody_up(store: KVStore) -> None:
    path = store.path_of("chat-1", KEY.model)
    path.mkdir(parents=True)
    assert store.load(KEY, "chat-1") is None
    assert not store.save(KEY, saved_chat())
    if hasattr(os, "mkfifo"):
        path.rmdir()
        os.mkfifo(path)
        assert store.load(KEY, "chat-1") is None
        assert store.save(KEY, saved_chat())


def test_what_an_ended_process_left_half_written_goes_after_an_hour(store: KVStore) -> None:
    store.folder.mkdir()
    old, new = store.folder / "abc_1.kv-part", store.folder / "abc_2.kv-part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1000, 1000))
    store.save(KEY, saved_chat())
    assert (old.exists(), new.exists()) == (False, True)


# --- several processes --------------------------------------------------------------------------------


def _save_and_load(folder: str, number: int, failures: multiprocessing.Queue[str]) -> None:
    """One of several that save and load the same few chats, each with states of its own."""
    store = KVStore(Path(folder), 200_000)
    try:
        for turn in range(150):
            chat_id = "abc"[turn % 3]
            store.save(KEY, saved_chat(chat_id, bytes([number]) * 50_000))
            loaded: SavedSequence | None = store.load(KEY, chat_id)
            if loaded and (len(set(loaded.state)) != 1 or len(loaded.state) != 50_000):
                failures.put("a state of two processes")
            if turn % 50 == 49:
                store.clear()
    except BaseException as error:
        failures.put(repr(error))


def test_several_processes_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    failures: multiprocessing.Queue[str] = context.Queue()
    workers = [
        context.Process(target=_save_and_load, args=(str(tmp_path), number, failures)) for number in (1, 2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert failures.empty()
    assert not list(tmp_path.glob("*.kv-part"))
