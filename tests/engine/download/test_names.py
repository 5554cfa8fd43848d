"""Names from a repository that must not leave the folder, on any system."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.download.download_errors import UnsafeName
from engine.download.names import final_paths
from engine.hub.hub_values import RemoteModel, RemotePart

FOLDER = Path("/models")


def _model(*paths: str, repo_id: str = "org/repo") -> RemoteModel:
    return RemoteModel(repo_id, "main", tuple(RemotePart(path, 1, None) for path in paths))


@pytest.mark.parametrize(
    "path",
    [
        *("../x.gguf", "a/../../x.gguf", "/etc/x.gguf", "a//x.gguf", ".", "", "a/./x.gguf", "x/"),
        *("C:x.gguf", "C:\\x.gguf", "a\\..\\x.gguf", "\\\\server\\x.gguf", "x.gguf:stream"),
        *(
            "x\0.gguf",
            "x\n.gguf",
            "x\r\n.gguf",
            "x\x1b[2J.gguf",
            "x\u2028.gguf",
            "x\u202egguf.exe",
            "x\ud800.gguf",
        ),
        *("CON.gguf", "con", "a/nul.gguf", "COM1.gguf", "lpt9.x.gguf", "com².gguf", "CON .gguf", "conout$"),
        *("x.gguf.", "x.gguf ", "folder./x.gguf", "folder /x.gguf", " x.gguf"),
        *('x".gguf', "x<.gguf", "x|.gguf", "x?.gguf", "x*.gguf"),
        *("x" * 300 + ".gguf", "ü" * 130 + ".gguf", "a/" * 100 + "x.gguf"),
        *(".weir-origin.json", ".WEIR-origin.json", ".downloads/x.gguf"),
    ],
)
def test_unsafe_names_are_refused(path: str) -> None:
    with pytest.raises(UnsafeName) as refused:
        final_paths(_model(path), FOLDER)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("repo_id", ["../x", "/x", "..", "org/..", ".downloads/x", "a\\b/c"])
def test_unsafe_repositories_are_refused(repo_id: str) -> None:
    with pytest.raises(UnsafeName):
        final_paths(_model("x.gguf", repo_id=repo_id), FOLDER)


@pytest.mark.parametrize(
    "paths", [("a.gguf", "A.GGUF"), ("é.gguf", "e\u0301.gguf"), ("a.gguf", "A.gguf/b.gguf")]
)
def test_names_that_some_systems_take_for_one_are_refused(paths: tuple[str, ...]) -> None:
    with pytest.raises(UnsafeName):
        final_paths(_model(*paths), FOLDER)


@pytest.mark.parametrize(
    "path",
    ["model-Q4_K_M.gguf", "sub/Modell Ü (1).gguf", "模型.gguf", ".hidden.gguf", "console.gguf", "a..b.gguf"],
)
def test_usual_names_keep_their_folders(path: str) -> None:
    assert final_paths(_model(path), FOLDER) == (FOLDER / "org" / "repo" / path,)


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_name_leaves_the_folder(path: str, repo_id: str) -> None:
    try:
        (final,) = final_paths(_model(path, repo_id=repo_id), FOLDER)
    except UnsafeName as refused:
        assert str(refused).isprintable()
        return
    assert final.is_relative_to(FOLDER)
    assert ".." not in final.parts
    there = PureWindowsPath("D:/models").joinpath(*final.relative_to(FOLDER).parts)
    assert there.is_relative_to("D:/models")
    assert not there.is_reserved()
