"""Files that are no export, or not quite: refused as a whole, with one sentence."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.data.chat_export import export_json
from app.data.chat_import import import_chats, import_file
from app.data.chat_store import ChatStore, open_chat_store
from app.data.exported_file import write_text_atomically
from engine.errors import KnownError
from tests.app.data.whole_chats import write_chat


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(tmp_path / "chats.db").store
    yield store
    store.close()


def exported(store: ChatStore) -> dict[str, object]:
    chat: dict[str, object] = json.loads(export_json(store, [write_chat(store, "text")]))
    return chat


def test_fields_from_the_future_are_left_alone(store: ChatStore) -> None:
    future = exported(store)
    [chat] = future["chats"]  # type: ignore[misc]
    for place in (future, chat, chat["options"], chat["messages"][0], chat["messages"][1]["numbers"]):  # type: ignore[has-type]
        place["from_the_future"] = {"nested": [1]}
    chat["messages"][1]["numbers"]["finish_reason"] = "from_the_future"  # type: ignore[has-type]
    [imported] = import_chats(store, "\ufeff" + json.dumps(future))
    reply = next(message for message in store.whole_chat(imported.id).messages if message.numbers)  # type: ignore[union-attr]
    assert reply.numbers is not None and reply.numbers.finish_reason is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is damaged, or no JSON"),
        ("\0" * 500, "it is damaged, or no JSON"),
        ('{"format": "weir-chats", "ver', "it is damaged, or no JSON"),
        ('{"format": "weir-chats", "version": NaN}', "it is damaged, or no JSON"),
        ("9" * 10_000, "it is damaged, or no JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"format":' * 100_000, "it is nested too deeply"),
        ("[]", "there are no chats of Weir in it"),
        ("null", "there are no chats of Weir in it"),
        ('{"format": "other", "chats": []}', "there are no chats of Weir in it"),
        ('{"format": "weir-chats"}', '"version" is missing'),
        ('{"format": "weir-chats", "version": true}', '"version" is not right'),
        (
            '{"format": "weir-chats", "version": 2, "chats": 5}',
            "newer Weir (format 2; this one knows up to 1)",
        ),
        ('{"format": "weir-chats", "version": 1, "chats": {}}', '"chats" is not right'),
        ('{"format": "weir-chats", "version": 1, "chats": [5]}', "in chat 1, there is something that is no"),
    ],
)
def test_a_text_that_is_no_export_is_refused(store: ChatStore, text: str, what: str) -> None:
    with pytest.raises(KnownError, match=re.escape(what)) as refused:
        import_chats(store, text)
    assert str(refused.value).startswith("The file cannot be imported: ")
    assert store.list_chats() == []


MISSING = object()
CHAT_VALUES: list[tuple[str, object]] = [
    *((name, MISSING) for name in ("title", "created_at", "updated_at", "pinned", "options", "messages")),
    *(("title", 5), ("created_at", "now"), ("updated_at", True), ("created_at", 10**400), ("pinned", 1)),
    *(("options", []), ("options", {"n_ctx": "many"}), ("options", {"sampling": {"top_k": -1}})),
    *(("head_id", 99), ("head_id", "1"), ("messages", "text"), ("messages", [None]), ("messages", [[]])),
]
MESSAGE_VALUES: list[tuple[str, object]] = [
    *((name, MISSING) for name in ("id", "role", "content", "attachments", "state", "created_at", "pinned")),
    *(("id", -1), ("id", 1.0), ("id", True), ("id", 2**63), ("id", 1), ("parent_id", 5), ("parent_id", 2)),
    *(("parent_id", "1"), ("role", "tool"), ("role", []), ("content", None), ("content", ["a"])),
    *(("state", "new"), ("state", {}), ("created_at", None), ("model", 5), ("pinned", "no"), ("numbers", [])),
    *(("attachments", {}), ("attachments", [5]), ("attachments", [{"name": "a"}])),
    *(("attachments", [{"name": 1, "text": "b"}]), ("numbers", {})),
    *(("numbers", {"tokens_generated": 1.5}), ("numbers", {"tokens_generated": -1})),
    *(
        ("numbers", {"tokens_generated": 1, name: "fast"})
        for name in ("decode_tps", "ttft_ms", "prefill_tps")
    ),
    *(("numbers", {"tokens_generated": 1, name: [1]}) for name in ("thinking_ms", "finish_reason")),
]


@pytest.mark.parametrize(
    ("of_message", "name", "value"),
    [(False, *case) for case in CHAT_VALUES] + [(True, *case) for case in MESSAGE_VALUES],
)
def test_a_wrong_value_refuses_the_file_and_changes_nothing(
    store: ChatStore, of_message: bool, name: str, value: object
) -> None:
    wrong = exported(store)
    before = store.list_chats()
    wrong["chats"] = [*wrong["chats"], *json.loads(json.dumps(wrong))["chats"]]  # type: ignore[misc]
    place = wrong["chats"][1]  # type: ignore[index]
    if of_message:
        place = place["messages"][1]
    if value is MISSING:
        del place[name]
    else:
        place[name] = value
    with pytest.raises(KnownError, match="cannot be imported: in chat 2, ") as refused:
        import_chats(store, json.dumps(wrong))
    assert str(refused.value).endswith("choose a JSON file that Weir exported.")
    assert store.list_chats() == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.data(), value=json_values)
def test_any_value_in_any_place_is_taken_or_refused_as_a_whole(
    store: ChatStore, data: st.DataObject, value: object
) -> None:
    if not store.list_chats():
        write_chat(store, "text")
    text = export_json(store, [store.list_chats()[-1].id])
    place = json.loads(text)
    root = place
    for _ in range(data.draw(st.integers(0, 5))):
        inner = [key for key in keys_of(place) if isinstance(place[key], dict | list) and place[key]]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    place[data.draw(st.sampled_from(keys_of(place)))] = value
    n_before = len(store.list_chats())
    try:
        n_imported = len(import_chats(store, json.dumps(root)))
    except KnownError:
        n_imported = 0
    assert len(store.list_chats()) == n_before + n_imported


def keys_of(place: object) -> list[object]:
    assert isinstance(place, dict | list)
    return list(place) if isinstance(place, dict) else list(range(len(place)))


def test_a_disk_that_fails_in_the_middle_of_an_import_changes_nothing(store: ChatStore) -> None:
    text = export_json(store, [write_chat(store, "x" * 100_000)])
    before = store.list_chats()
    n_pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {n_pages + 20}")
    with pytest.raises(KnownError, match="is full"):
        import_chats(store, text)
    assert store.list_chats() == before


def test_chats_that_are_there_already_are_stored_again_and_counted(store: ChatStore) -> None:
    first, second = write_chat(store), write_chat(store, "other words")
    text = export_json(store, [first, second])
    store.rename_chat(first, "Another title")
    store.add_user_message(second, "goes on")
    again = import_chats(store, text)
    assert (len(again), again.n_known) == (2, 1)
    assert len(store.list_chats()) == 4
    store.delete_chat(first)
    assert import_chats(store, text).n_known == 2  # the copies
    for chat in store.list_chats():
        store.delete_chat(chat.id)
    assert import_chats(store, text).n_known == 0


def test_a_file_is_imported_or_refused(store: ChatStore, tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    write_text_atomically(path, export_json(store, [write_chat(store)]))
    assert len(import_file(store, path)) == 1
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(KnownError, match="it is not a text in UTF-8"):
        import_file(store, path)
    with pytest.raises(KnownError, match="it could not be read"):
        import_file(store, tmp_path)
