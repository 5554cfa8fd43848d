"""Who may read what: distinct sentences that help, and a token that goes to the Hub's own origin alone."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from engine.download.download_errors import RefusedByHub
from engine.hub.hub_errors import AccessDenied, NotOnHub, Remedy, TermsNotAccepted, TokenRejected
from engine.hub.hub_values import RemoteModel
from tests.engine.download.downloads import Watched, content, keep, offer
from tests.fake_hub.server import FakeHub

TOKEN = "hf_TheSecretOfTheTestsXYZ"


@pytest.fixture
def model(hub: FakeHub) -> RemoteModel:
    return offer(hub, {"model.gguf": 500_000})


def _refusal(watched: Watched, model: RemoteModel) -> RefusedByHub:
    with pytest.raises(RefusedByHub) as caught:
        watched.run(model)
    assert list(watched.folder.rglob("*.gguf")) == []
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("token", [None, TOKEN], ids=["without token", "with token"])
def test_gated(hub: FakeHub, watched: Watched, model: RemoteModel, status: int, token: str | None) -> None:
    hub.faults.status, hub.faults.error_code = status, "GatedRepo"
    watched.token = token
    refusal = _refusal(watched, model)
    assert isinstance(refusal.failure, TermsNotAccepted)
    assert refusal.remedies[0] is Remedy.ACCEPT_TERMS
    assert refusal.failure.url == f"{hub.endpoint}/org/repo"


def test_a_token_that_is_refused_where_none_is_needed(
    hub: FakeHub, watched: Watched, model: RemoteModel
) -> None:
    hub.faults.refuses_tokens = True
    watched.token = TOKEN
    refusal = _refusal(watched, model)
    assert isinstance(refusal.failure, TokenRejected)
    assert {Remedy.TRY_WITHOUT_TOKEN, Remedy.ENTER_TOKEN} <= set(refusal.remedies)
    watched.token = None
    assert watched.run(model).read_bytes() == content(hub, model)


def test_forbidden(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.status = 403
    watched.token = TOKEN
    assert isinstance(_refusal(watched, model).failure, AccessDenied)


@pytest.mark.parametrize("code", ["EntryNotFound", "RevisionNotFound", "RepoNotFound", None])
def test_not_there(hub: FakeHub, watched: Watched, model: RemoteModel, code: str | None) -> None:
    hub.faults.status, hub.faults.error_code = 404, code
    assert isinstance(_refusal(watched, model).failure, NotOnHub)


def test_each_refusal_has_a_sentence_of_its_own(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    watched.token = TOKEN
    sentences = set()
    for status, code in ((401, "GatedRepo"), (401, None), (403, None), (404, None)):
        hub.faults.status, hub.faults.error_code = status, code
        sentences.add(str(_refusal(watched, model)))
    assert len(sentences) == 4


def test_what_was_fetched_before_a_refusal_is_kept(
    hub: FakeHub, watched: Watched, model: RemoteModel
) -> None:
    keep(watched.folder, hub, model, 200_000)
    hub.faults.status = 403
    _refusal(watched, model)
    assert next(watched.folder.rglob("*.part")).stat().st_size == 200_000


def test_the_token_goes_to_the_hub_alone(
    hub: FakeHub, watched: Watched, model: RemoteModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    watched.token = TOKEN
    hub.faults.cuts = [100_000, 100_000]
    path = watched.run(model)
    assert path.read_bytes() == content(hub, model)
    at_hub = [seen for seen in hub.seen if seen.port == hub.port]
    at_storage = [seen for seen in hub.seen if seen.port == hub.storage_port]
    assert all(seen.headers["Authorization"] == f"Bearer {TOKEN}" for seen in at_hub)
    assert len(at_storage) >= 3
    assert not any(TOKEN in str(seen) for seen in at_storage)
    assert TOKEN not in caplog.text
    assert TOKEN not in str(watched.states)
    assert not any(TOKEN in text for text in _texts(watched.folder))


def test_files_that_the_hub_sends_itself(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"small.gguf": b"small"})
    hub.repos["org/repo"].files["small.gguf"].is_lfs = False
    watched.token = TOKEN
    assert watched.run(model).read_bytes() == b"small"


def _texts(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*.json")]
