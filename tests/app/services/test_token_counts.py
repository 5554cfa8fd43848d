"""What is counted is the newest draft and each attachment once, by the model that answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.attachment_text import attachment_block
from app.data.settings import Settings, SettingsStore
from app.data.stored_message import Attachment
from app.services.attachments import AttachmentState, DraftAttachment
from app.services.model_loader import ModelLoader
from app.services.preferences import Preferences
from app.services.token_counts import TokenCounts
from engine.protocol import CountTokens, TokenCount
from tests.app.conftest import settle
from tests.app.scripted_engine import ScriptedEngine

NOTES = DraftAttachment("file-1", "notes.md", "", AttachmentState.READY, Attachment("notes.md", "text"))
READING = DraftAttachment("file-2", "book.pdf", "/book.pdf")
REFUSED = DraftAttachment("file-3", "a.png", "/a.png", AttachmentState.REFUSED, None, "no text")


@pytest.fixture
def loader(qtbot: QtBot, tmp_path: Path, engine: ScriptedEngine) -> ModelLoader:
    loader = ModelLoader(Preferences(SettingsStore(tmp_path / "s.json"), Settings()), engine)
    loader.load("/models/a.gguf")
    engine.newest.load()
    settle()
    return loader


@pytest.fixture
def counts(loader: ModelLoader) -> TokenCounts:
    return TokenCounts(loader)


def _asked(engine: ScriptedEngine) -> list[CountTokens]:
    return [command for command in engine.newest.sent if isinstance(command, CountTokens)]


def _answer(engine: ScriptedEngine, key: str, n_tokens: int) -> None:
    engine.newest.say(TokenCount(key, n_tokens))
    settle()


def _known(counts: TokenCounts) -> tuple[int | None, int | None]:
    """What is known of the message, and of the file in it."""
    return counts.total, counts.of("file-1")


def test_only_the_newest_draft_is_counted(qtbot: QtBot, counts: TokenCounts, engine: ScriptedEngine) -> None:
    for end in range(1, 6):
        counts.set_draft("Hello"[:end])
    assert _known(counts) == (None, None)
    qtbot.waitUntil(lambda: bool(_asked(engine)), timeout=2000)
    assert [question.text for question in _asked(engine)] == ["Hello"]
    _answer(engine, _asked(engine)[0].key, 312)
    assert counts.total == 312


def test_an_empty_draft_has_no_tokens_whatever_comes_late(
    qtbot: QtBot, counts: TokenCounts, engine: ScriptedEngine
) -> None:
    assert counts.total == 0
    counts.set_draft("Hello")
    qtbot.waitUntil(lambda: bool(_asked(engine)), timeout=2000)
    counts.set_draft("")
    _answer(engine, _asked(engine)[0].key, 312)
    assert counts.total == 0


def test_each_attachment_is_counted_once_as_it_is_sent(counts: TokenCounts, engine: ScriptedEngine) -> None:
    counts.set_attachments((NOTES, REFUSED))
    counts.set_attachments((NOTES,))
    assert NOTES.attachment is not None
    assert _asked(engine) == [CountTokens("file-1", attachment_block(NOTES.attachment))]
    assert _known(counts) == (None, None)
    _answer(engine, "file-1", 1204)
    assert _known(counts) == (1204, 1204)
    counts.set_attachments((NOTES, READING))
    assert _known(counts) == (None, 1204)
    counts.set_attachments((NOTES, REFUSED))
    assert counts.total == 1204
    counts.set_attachments(())
    assert counts.total == 0


def test_another_model_counts_anew(
    qtbot: QtBot, counts: TokenCounts, engine: ScriptedEngine, loader: ModelLoader
) -> None:
    counts.set_attachments((NOTES,))
    counts.set_draft("Hello")
    qtbot.waitUntil(lambda: len(_asked(engine)) == 2, timeout=2000)
    _answer(engine, "file-1", 10)
    _answer(engine, "draft", 5)
    assert counts.total == 15
    loader.load("/models/b.gguf")
    engine.newest.load()
    settle()
    assert _known(counts) == (None, None)
    assert {question.key for question in _asked(engine)} == {"draft", "file-1"}
    _answer(engine, "file-1", 20)
    _answer(engine, "draft", 6)
    assert counts.total == 26


def test_without_a_model_nothing_is_claimed(
    qtbot: QtBot, counts: TokenCounts, engine: ScriptedEngine, loader: ModelLoader
) -> None:
    counts.set_attachments((NOTES,))
    _answer(engine, "file-1", 10)
    engine.newest.die()
    settle()
    assert _known(counts) == (None, None)
    counts.set_draft("Hello")
    qtbot.wait(350)
    assert not _asked(engine)
