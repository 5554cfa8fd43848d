"""Searching: what is found, in which order, and how much is asked for it."""

from __future__ import annotations

import datetime
import itertools
import threading

import pytest

from engine.hub.hub import Hub
from engine.hub.hub_errors import HubCancelled
from engine.hub.hub_values import Gating, RepoSummary, Sort, WeightsFormat
from tests.fake_hub.content import HubRepo
from tests.fake_hub.server import FakeHub


def _ids(found: object) -> list[str]:
    assert not isinstance(found, list)
    return [summary.repo_id for summary in found]  # type: ignore[attr-defined]


def test_finds_gguf_repositories_by_the_words_of_their_names(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/Tiny-Llama-GGUF"))
    server.add(HubRepo("a/Tiny-Qwen-GGUF"))
    server.add(HubRepo("a/Tiny-Llama", tags=["safetensors"]))
    assert _ids(hub.search("llama tiny")) == ["a/Tiny-Llama-GGUF"]
    assert sorted(_ids(hub.search("  "))) == ["a/Tiny-Llama-GGUF", "a/Tiny-Qwen-GGUF"]


def test_tells_what_the_hub_says(server: FakeHub, hub: Hub) -> None:
    server.add(
        HubRepo(
            "a/m-GGUF",
            downloads=7,
            likes=3,
            last_modified="2025-05-06T07:08:09.000Z",
            tags=["gguf", "license:apache-2.0"],
            gated="manual",
        )
    )
    day = datetime.datetime(2025, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    assert list(hub.search("m")) == [
        RepoSummary("a/m-GGUF", WeightsFormat.GGUF, 7, 3, day, "apache-2.0", Gating.MANUAL)
    ]


def test_sorts_by_downloads_likes_and_date(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/x", downloads=3, likes=1, last_modified="2025-02-01T00:00:00.000Z"))
    server.add(HubRepo("a/y", downloads=2, likes=3, last_modified="2025-01-01T00:00:00.000Z"))
    server.add(HubRepo("a/z", downloads=1, likes=2, last_modified="2025-03-01T00:00:00.000Z"))
    assert _ids(hub.search("", Sort.DOWNLOADS)) == ["a/x", "a/y", "a/z"]
    assert _ids(hub.search("", Sort.LIKES)) == ["a/y", "a/z", "a/x"]
    assert _ids(hub.search("", Sort.DATE)) == ["a/z", "a/x", "a/y"]


def test_pages_are_fetched_as_they_are_reached(server: FakeHub, hub: Hub) -> None:
    for number in range(250):
        server.add(HubRepo(f"a/m{number}", downloads=number))
    found = hub.search("m")
    assert not server.seen
    first = list(itertools.islice(found, 100))
    assert (first[0].repo_id, len(server.seen)) == ("a/m249", 1)
    assert len(list(found)) == 150
    assert len(server.seen) == 3


def test_limit_asks_for_no_more(server: FakeHub, hub: Hub) -> None:
    for number in range(50):
        server.add(HubRepo(f"a/m{number}"))
    assert len(list(hub.search("m", limit=20))) == 20
    assert len(server.seen) == 1
    assert "limit=20" in server.seen[0].path


def test_next_page_of_another_origin_is_fetched_from_this_one(server: FakeHub, hub: Hub) -> None:
    """A mirror may pass on the links of the Hub that it mirrors; the token must not follow them."""
    for number in range(101):
        server.add(HubRepo(f"a/m{number}"))
    server.faults.api_next_origin = server.storage
    assert len(list(hub.search("m"))) == 101
    assert {seen.port for seen in server.seen} == {server.port}


@pytest.mark.parametrize(
    ("repo_id", "tags", "expected"),
    [
        ("a/m-AWQ", ["safetensors", "4-bit", "awq"], WeightsFormat.AWQ),
        ("a/m-GPTQ-Int4", ["safetensors"], WeightsFormat.GPTQ),
        ("a/m-exl2", ["safetensors"], WeightsFormat.EXL2),
        ("a/m-4bit", ["mlx", "safetensors"], WeightsFormat.MLX),
        ("a/m", ["safetensors"], WeightsFormat.SAFETENSORS),
    ],
)
def test_names_other_formats_for_what_they_are(
    server: FakeHub, hub: Hub, repo_id: str, tags: list[str], expected: WeightsFormat
) -> None:
    server.add(HubRepo(repo_id, tags=tags))
    server.add(HubRepo("a/m-dataset", tags=[]))
    server.add(HubRepo("a/m-GGUF", tags=["gguf"]))
    others = frozenset(WeightsFormat) - {WeightsFormat.GGUF, WeightsFormat.OTHER}
    assert [(found.repo_id, found.weights_format) for found in hub.search("m", formats=others)] == [
        (repo_id, expected)
    ]


def test_gguf_versions_come_by_descent_then_by_name(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("base/Big-7B", tags=["safetensors"]))
    server.add(HubRepo("q/Big-7B-AWQ", tags=["awq", "base_model:base/Big-7B"]))
    server.add(HubRepo("p/of-awq", tags=["gguf", "base_model:quantized:q/Big-7B-AWQ"]))
    server.add(HubRepo("p/of-base", tags=["gguf", "base_model:quantized:base/Big-7B"]))
    server.add(HubRepo("p/Big-7B-GGUF", tags=["gguf"]))
    server.add(HubRepo("p/other", tags=["gguf"]))
    assert _ids(hub.gguf_versions("q/Big-7B-AWQ")) == ["p/of-awq", "p/of-base", "p/Big-7B-GGUF"]
    assert _ids(hub.gguf_versions("q/Big-7B-AWQ", limit=1)) == ["p/of-awq"]


def test_cancelled_search_asks_nothing(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/m"))
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(HubCancelled):
        list(hub.search("m", cancel=cancel))
    assert not server.seen


def test_names_itself_and_nothing_else(server: FakeHub, hub: Hub) -> None:
    list(hub.search("m"))
    assert server.seen[0].headers["user-agent"].startswith("weir/")
    assert "python" not in server.seen[0].headers["user-agent"]
    assert [seen.path.partition("?")[0] for seen in server.seen] == ["/api/models"]


def test_searches_of_many_threads_do_not_mix(server: FakeHub, hub: Hub) -> None:
    for number in range(8):
        server.add(HubRepo(f"a/only{number}only"))
    found: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        found[number] = _ids(hub.search(f"only{number}only"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [f"a/only{number}only"] for number in range(8)}
