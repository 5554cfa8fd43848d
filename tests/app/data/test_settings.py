"""Settings: kept, repaired, never in the way."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.data.chat_options import ChatOptions
from app.data.presets import Preset
from app.data.settings import Settings, SettingsStore
from engine.errors import KnownError
from engine.protocol import FlashAttention, KVType, LoadOptions, Policy, Sampling, Split

CHOSEN = Settings(
    theme="dark",
    last_model="/models/\udcff.gguf",  # a file name that is no valid text
    model_folders=("/models", "/more"),
    n_ctx=4096,
    system_prompt="Be brief.\0\n<b>",
    sampling=Sampling(temperature=0, top_k=1, seed=7),
    max_tokens=100,
    n_threads=2,
    window_geometry="AdnQ",
    chat_formats={"/models/a.gguf": "chatml"},
    policy=Policy.EXACT,
    kv_type=KVType.Q8_0,
    n_gpu_layers=0,
    font_size=14,
    direction="rtl",
    saved_kv=False,
    saved_kv_budget=2**31,
    presets=(Preset("Pirate & Co", "Talk like one.\n"),),
    load_options=LoadOptions(
        v_type=KVType.Q4_0,
        flash_attention=FlashAttention.ON,
        n_batch=1024,
        n_ubatch=256,
        main_device="CUDA1",
        split=Split.NONE,
        mmap=False,
        mlock=True,
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def broken_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob("settings-broken-*.json"))


def test_without_a_file_there_are_the_defaults(path: Path) -> None:
    assert SettingsStore(path).load() == (Settings(), None)
    assert not path.exists()


@pytest.mark.parametrize("settings", [CHOSEN, Settings()])
def test_what_is_saved_is_loaded(path: Path, settings: Settings) -> None:
    SettingsStore(path).save(settings)
    assert SettingsStore(path).load() == (settings, None)


def test_unknown_keys_are_kept(path: Path) -> None:
    stored = {"from_the_future": [1], "sampling": {"mirostat": 2, "top_k": 5}, "theme": "light"}
    path.write_text(json.dumps(stored))
    settings, notice = SettingsStore(path).load()
    assert notice is None
    assert (settings.theme, settings.sampling) == ("light", Sampling(top_k=5))
    SettingsStore(path).save(replace(settings, theme="dark"))
    saved = json.loads(path.read_text())
    assert saved["from_the_future"] == [1]
    assert (saved["sampling"]["mirostat"], saved["sampling"]["top_k"]) == (2, 5)
    assert saved["theme"] == "dark"


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 500, b'{"theme": "da', b"[1]", b"null", b"\xff\xfe{}", b"[" * 100_000, b"text"]
)
def test_a_broken_file_is_set_aside_and_told_once(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    settings, notice = SettingsStore(path).load()
    assert settings == Settings()
    [aside] = broken_files(path)
    assert aside.read_bytes() == content
    assert notice == (
        "Your settings file could not be read, so Weir starts with its defaults; "
        f"the old file is kept as {aside}."
    )
    assert SettingsStore(path).load() == (Settings(), None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "sepia"),
        ("theme", ["dark"]),
        ("last_model", 5),
        ("model_folders", "/models"),
        ("model_folders", [None]),
        ("n_ctx", 0),
        ("n_ctx", True),
        ("n_ctx", 1.5),
        ("n_ctx", 10**400),
        ("system_prompt", None),
        ("max_tokens", "many"),
        ("n_threads", -1),
        ("window_geometry", {}),
        ("chat_formats", {"/a": 1}),
        ("chat_formats", []),
        ("policy", "forget"),
        ("policy", None),
        ("kv_type", 5),
        ("n_gpu_layers", -2),
        ("n_gpu_layers", None),
        ("n_gpu_layers", 10_000),
        ("font_size", 7),
        ("font_size", 29),
        ("font_size", 12.5),
        ("direction", "up"),
        ("saved_kv", "yes"),
        ("saved_kv_budget", 2**28 - 1),
        ("saved_kv_budget", 2**40 + 1),
        ("saved_kv_budget", 1e10),
        ("saved_kv_budget", None),
        ("presets", None),
        ("presets", ["Concise"]),
        ("presets", [{"name": " ", "text": "x"}]),
        ("presets", [{"name": "a"}]),
        ("load_options", "fast"),
        ("load_options.v_type", "q5"),
        ("load_options.flash_attention", True),
        ("load_options.n_batch", 0),
        ("load_options.n_ubatch", 2**20 + 1),
        ("load_options.main_device", 1),
        ("load_options.split", "tensor"),
        ("load_options.mmap", "auto"),
        ("load_options.mlock", None),
        ("sampling", "hot"),
        ("sampling", None),
        ("sampling.temperature", "hot"),
        ("sampling.temperature", -1),
        ("sampling.temperature", float("nan")),
        ("sampling.temperature", None),
        ("sampling.top_k", None),
        ("sampling.top_k", 1.5),
        ("sampling.top_p", True),
        ("sampling.seed", -1),
    ],
)
def test_a_wrong_value_takes_its_default_and_the_others_stay(path: Path, name: str, value: object) -> None:
    group, _, option = name.partition(".")
    stored: dict[str, object] = {"future": 1, "theme": "dark", "sampling": {"min_p": 0.5}}
    stored[group] = {"min_p": 0.5, option: value} if option else value
    path.write_text(json.dumps(stored))
    before = path.read_bytes()

    settings, notice = SettingsStore(path).load()

    assert notice is not None and f"({name})" in notice
    assert settings == Settings(
        theme="system" if name == "theme" else "dark",
        sampling=Sampling() if name == "sampling" else Sampling(min_p=0.5),
    )
    [aside] = broken_files(path)
    assert aside.read_bytes() == before
    assert SettingsStore(path).load() == (settings, None)
    assert json.loads(path.read_text())["future"] == 1


def test_presets_begin_with_examples_and_may_all_be_deleted(path: Path) -> None:
    settings, _ = SettingsStore(path).load()
    assert [preset.name for preset in settings.presets] == ["Concise", "Explain step by step", "Translator"]
    SettingsStore(path).save(replace(settings, presets=()))
    assert SettingsStore(path).load()[0].presets == ()


def test_of_two_presets_with_one_name_the_first_is_kept(path: Path) -> None:
    path.write_text(json.dumps({"presets": [{"name": "a", "text": "1"}, {"name": " a ", "text": "2"}]}))
    assert SettingsStore(path).load() == (Settings(presets=(Preset("a", "1"),)), None)


def test_what_holds_in_a_chat_is_its_own_options_over_the_settings() -> None:
    own = ChatOptions(system_prompt="", n_ctx=512, n_gpu_layers=-1, policy=Policy.STOP)
    assert CHOSEN.with_options(own) == replace(
        CHOSEN, system_prompt="", n_ctx=512, n_gpu_layers=-1, policy=Policy.STOP
    )
    assert CHOSEN.with_options(ChatOptions()) == CHOSEN


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = sorted(Settings.__dataclass_fields__)


@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
@given(stored=st.dictionaries(st.sampled_from(NAMES), json_values))
def test_no_file_stops_the_start(path: Path, stored: dict[str, object]) -> None:
    path.write_text(json.dumps(stored))
    settings, _ = SettingsStore(path).load()
    SettingsStore(path).save(settings)
    assert SettingsStore(path).load() == (settings, None)


def test_a_folder_in_the_files_place_does_not_stop_the_start(path: Path) -> None:
    path.mkdir()
    settings, notice = SettingsStore(path).load()
    assert settings == Settings()
    assert notice is not None and "could not be read" in notice
    with pytest.raises(KnownError, match="could not be stored"):
        SettingsStore(path).save(settings)


def test_a_save_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SettingsStore(path).save(CHOSEN)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(KnownError, match="No space left on device"):
            SettingsStore(path).save(Settings())
    assert SettingsStore(path).load() == (CHOSEN, None)
    assert list(path.parent.iterdir()) == [path]
