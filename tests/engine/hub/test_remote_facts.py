"""What a remote model is, from its first bytes: exact, bounded, and with a sentence for anything odd."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.hub.hub import Hub
from engine.hub.hub_errors import HubCancelled, HubUnreadable
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.remote_header import MOST_BYTES
from engine.memory.kv_math import bytes_per_token
from engine.models.header_prefix import FIRST_BYTES
from engine.models.model_facts import read_facts
from engine.protocol import KVType
from tests import generated_models
from tests import malformed_files as raw
from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.faults import Faults
from tests.fake_hub.server import FakeHub


def _model(server: FakeHub, hub: Hub, *paths: Path) -> RemoteModel:
    server.add(HubRepo("a/m", {path.name: HubFile(path) for path in paths}))
    (model,) = hub.details("a/m").models
    return model


def _sent(server: FakeHub) -> list[str]:
    return [seen.headers.get("Range", "") for seen in server.seen if seen.port == server.storage_port]


def test_facts_are_those_of_the_file(server: FakeHub, hub: Hub, starter_model: Path) -> None:
    model = _model(server, hub, starter_model)
    found = hub.facts(model)
    assert found == read_facts(starter_model)
    assert bytes_per_token(found, KVType.F16) == 23_040
    assert _sent(server) == ["bytes=0-1048575", "bytes=1048576-2097151"]


def test_token_stays_at_the_hub(server: FakeHub, hub: Hub, starter_model: Path) -> None:
    hub.facts(_model(server, hub, starter_model))
    at_hub = [seen for seen in server.seen if seen.port == server.port]
    at_storage = [seen for seen in server.seen if seen.port == server.storage_port]
    assert all("Authorization" in seen.headers or "authorization" in seen.headers for seen in at_hub)
    assert at_storage
    assert not any(
        name.lower() in ("authorization", "cookie") for seen in at_storage for name in seen.headers
    )


def test_largest_vocabulary_takes_few_requests(server: FakeHub, hub: Hub, tmp_path: Path) -> None:
    path = generated_models.write_model(
        tmp_path / "m.gguf",
        n_tokens=generated_models.LARGEST_N_TOKENS,
        n_merges=generated_models.LARGEST_N_MERGES,
    )
    assert hub.facts(_model(server, hub, path)).n_layers == generated_models.N_LAYERS
    assert len(_sent(server)) <= 6


def test_server_that_ignores_range_is_not_read_whole(
    server: FakeHub, hub: Hub, starter_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _model(server, hub, starter_model)
    server.faults = Faults(ignores_range=True, bytes_per_second=20e6)  # the whole would take 5 s, twice
    assert hub.facts(model) == read_facts(starter_model)


def test_server_that_answers_from_elsewhere_is_not_believed(
    server: FakeHub, hub: Hub, starter_model: Path
) -> None:
    model = _model(server, hub, starter_model)
    server.faults.starts_at = 64
    with pytest.raises(HubUnreadable):
        hub.facts(model)


def test_parts_are_one_model(server: FakeHub, hub: Hub, tmp_path: Path) -> None:
    paths = [
        generated_models.write_part(tmp_path, number, tensor=b"blk.%d.attn_norm.weight" % (number - 1))
        for number in (1, 2)
    ]
    assert hub.facts(_model(server, hub, *paths)) == read_facts(paths[0])


def test_missing_part_is_named_and_nothing_is_fetched(server: FakeHub, hub: Hub, tmp_path: Path) -> None:
    model = _model(server, hub, generated_models.write_part(tmp_path, 2))
    with pytest.raises(ModelFileError, match=r"m-00001-of-00002\.gguf"):
        hub.facts(model)
    assert not _sent(server)


def test_parts_of_another_model_are_refused(server: FakeHub, hub: Hub, tmp_path: Path) -> None:
    first = generated_models.write_part(tmp_path, 1)
    wrong = generated_models.write_part(tmp_path, 2)
    wrong.write_bytes(first.read_bytes())
    with pytest.raises(ModelFileError, match="is not part 2"):
        hub.facts(_model(server, hub, first, wrong))
    alone = tmp_path / "alone.gguf"
    alone.write_bytes(first.read_bytes())
    with pytest.raises(ModelFileError, match="one of 2 parts"):
        hub.facts(_model(server, hub, alone))


@pytest.mark.parametrize(
    "content",
    [
        b"<html>not found</html>",
        b"GGUF",
        b"",
        raw.header(2**40, 2**40),
        raw.header(0, 1) + raw.string_entry(b"general.architecture", b"llama")[:-3],
        raw.header(0, 1) + raw.array_entry(b"tokenizer.ggml.tokens", raw.STRING, 2**40, b""),
    ],
)
def test_odd_header_is_a_sentence(server: FakeHub, hub: Hub, content: bytes) -> None:
    server.add(HubRepo("a/m", {"m.gguf": HubFile(content)}))
    (model,) = hub.details("a/m").models
    with pytest.raises(ModelFileError, match=r"m\.gguf"):
        hub.facts(model)


def test_endless_header_is_given_up(server: FakeHub, hub: Hub, tmp_path: Path) -> None:
    """A vocabulary that fills all bytes there are, of a file that claims to be large."""
    path = tmp_path / "m.gguf"
    texts = b"".join((8).to_bytes(8, "little") + b"x" * 8 for _ in range(4 * FIRST_BYTES // 16))
    path.write_bytes(
        raw.header(0, 1) + raw.array_entry(b"tokenizer.ggml.tokens", raw.STRING, 8_000_000, texts)
    )
    with path.open("r+b") as file:
        file.truncate(2**30)
    part = RemotePart("m.gguf", 2**30, None)
    server.add(HubRepo("a/m", {"m.gguf": HubFile(path)}))
    with pytest.raises(ModelFileError, match="longer header than any real model"):
        hub.facts(RemoteModel("a/m", "main", (part,)))
    asked = [tuple(map(int, sent.removeprefix("bytes=").split("-"))) for sent in _sent(server)]
    assert sum(last - first + 1 for first, last in asked) <= MOST_BYTES


def test_size_that_is_not_the_files_is_noticed(server: FakeHub, hub: Hub, starter_model: Path) -> None:
    model = _model(server, hub, starter_model)
    (part,) = model.parts
    short = dataclasses.replace(model, parts=(dataclasses.replace(part, size=part.size // 2),))
    with pytest.raises(ModelFileError, match=r"cut short.*\. Nothing was fetched: choose another file\.$"):
        hub.facts(short)


def test_cancel_ends_it(server: FakeHub, hub: Hub, starter_model: Path) -> None:
    model = _model(server, hub, starter_model)
    server.faults.bytes_per_second = 100_000
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(HubCancelled):
        hub.facts(model, cancel=cancel)
