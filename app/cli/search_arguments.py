"""The words of `weir search`, and the values that they become."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from engine.hub.hub_values import Sort

DESCRIPTION = (
    "Finds models on Hugging Face that Weir can load, by the words of their names. `weir pull` fetches one. "
    "HF_ENDPOINT names another Hub, HF_TOKEN a token."
)
_DEFAULT_LIMIT = 20


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """One search as it was asked for."""

    query: str
    sort: Sort = Sort.DOWNLOADS
    limit: int = _DEFAULT_LIMIT
    as_json: bool = False


def add_search(search: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the arguments to the subcommand's parser; `positive` reads a number of at least 1."""
    add = search.add_argument
    add("query", nargs="+", metavar="QUERY", help="words of the name, or the address of a repository's page")
    choices = [sort.value for sort in Sort]
    add("--sort", choices=choices, default=Sort.DOWNLOADS.value, help="what comes first (default downloads)")
    add("--limit", type=positive, default=_DEFAULT_LIMIT, metavar="N", help="how many (default 20)")
    add("--json", action="store_true", dest="as_json", help="one JSON array")


def search_options(arguments: argparse.Namespace) -> SearchOptions:
    """The options of `weir search`."""
    query = " ".join(arguments.query)
    return SearchOptions(query, Sort(arguments.sort), arguments.limit, arguments.as_json)
