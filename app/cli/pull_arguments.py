"""The words of `weir pull`, and the values that they become. Imports nothing heavy."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

DESCRIPTION = (
    "Downloads a model from Hugging Face and checks every byte. After a break, the same command goes on "
    "where it was. HF_ENDPOINT names another Hub, HF_TOKEN a token."
)


@dataclass(frozen=True, slots=True)
class PullOptions:
    """One download as it was asked for; `to` None is Weir's own folder of models."""

    model: str
    to: str | None = None
    without_token: bool = False
    as_json: bool = False


def add_pull(pull: argparse.ArgumentParser) -> None:
    """Add the arguments to the subcommand's parser."""
    add = pull.add_argument
    add(
        "model",
        metavar="REPO[:QUANT or FILE]",
        help="as in owner/name, owner/name:Q4_K_M or owner/name:file.gguf, or the address of a page",
    )
    add("--to", metavar="FOLDER", help="another folder than Weir's own; owner/name/file is put into it")
    add("--no-token", action="store_true", dest="without_token", help="ask without the token that there is")
    help_json = "one JSON object a line, the last with the path or the reason why there is none"
    add("--json", action="store_true", dest="as_json", help=help_json)


def pull_options(arguments: argparse.Namespace) -> PullOptions:
    """The options of `weir pull`."""
    return PullOptions(arguments.model, arguments.to, arguments.without_token, arguments.as_json)
