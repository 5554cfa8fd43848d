"""The words of `weir models` and `weir rm`. Imports nothing heavy."""

from __future__ import annotations

import argparse

RM_DESCRIPTION = (
    "Moves a model to the trash, or where there is none deletes it for ever. Asks first; models of other "
    "programs, and the one that Weir came with, are never deleted."
)


def add_models(models: argparse.ArgumentParser) -> None:
    """Add the arguments to the parser of `weir models`: `as_json`, `folders`."""
    models.add_argument("--json", action="store_true", dest="as_json", help="one JSON array")
    models.add_argument(
        "--folder",
        action="append",
        default=[],
        dest="folders",
        metavar="FOLDER",
        help="list what is in this folder instead; may be said several times",
    )


def add_rm(rm: argparse.ArgumentParser) -> None:
    """Add the arguments to the parser of `weir rm`: `name`, `as_json`, `is_sure`."""
    rm.add_argument("name", metavar="MODEL", help="its name, its file's name, or its path")
    rm.add_argument("--json", action="store_true", dest="as_json", help="one JSON object")
    rm.add_argument("--yes", action="store_true", dest="is_sure", help="do not ask")
