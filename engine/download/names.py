"""Names in a repository in, paths in the models folder out; or a refusal.

org/repo/path stays as folders: equal names of two repositories lie side by side. No link is made or followed.
Which names are taken is the rule of `engine.hub.file_names`.
"""

from __future__ import annotations

from pathlib import Path

from engine.download.download_errors import UnsafeName
from engine.hub.file_names import DOWNLOADS_FOLDER, ORIGIN_FILE, full_names, name_fault
from engine.hub.hub_values import RemoteModel

__all__ = ["DOWNLOADS_FOLDER", "ORIGIN_FILE", "final_paths", "repo_folder"]


def final_paths(model: RemoteModel, folder: Path) -> tuple[Path, ...]:
    """Where the parts of `model` will lie, the first one first: folder/org/repo/path. Raises UnsafeName."""
    if fault := name_fault(model):
        raise UnsafeName(*fault)
    return tuple(folder.joinpath(*name.split("/")) for name in full_names(model))


def repo_folder(repo_id: str, folder: Path) -> Path:
    """The folder of all files of one repository, as `final_paths` has it."""
    return folder.joinpath(*repo_id.split("/"))
