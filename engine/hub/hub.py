"""The Hub itself: searches, repositories, what a remote model is, and where its files are.

Queries go in, values come out, by `huggingface_hub` over HTTP. Every method blocks, within bounds of time,
and may be called from any thread; each raises a HubFailure (`engine.hub.hub_errors`) that says what would
help. The token goes to the Hub's own origin and nowhere else, and never in the clear through a network.
Nothing is stored. Setting `cancel` ends a question with HubCancelled at the next byte.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice

from engine.hub.connection import Connection
from engine.hub.endpoint import endpoint_of
from engine.hub.file_address import FileAddress, file_address
from engine.hub.hub_values import RemoteModel, RemotePart, RepoDetails, RepoSummary, Sort, WeightsFormat
from engine.hub.remote_header import remote_facts
from engine.hub.repo_names import name_without_format
from engine.hub.repo_pages import pages
from engine.hub.repo_reading import details_of
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts

GGUF_ONLY = frozenset({WeightsFormat.GGUF})

_HEADER_S = 120.0  # for one piece of a header, of up to 8 MB
_SLACK_BYTES = 2**20  # read beyond what was wanted before a connection can be closed
_SORT_KEYS = {Sort.DOWNLOADS: "downloads", Sort.LIKES: "likes", Sort.DATE: "lastModified"}
_MOST_LOOKED_AT = 1_000


class Hub:
    """One Hub, at `endpoint` (None: HF_ENDPOINT, else huggingface.co), asked with what `token` returns.

    `token` is called for each question, so that a new one counts at once. Raises BadEndpoint.
    """

    def __init__(self, endpoint: str | None = None, token: Callable[[], str | None] = lambda: None) -> None:
        self._connection = Connection(endpoint_of(endpoint), token)

    @property
    def endpoint(self) -> str:
        """The Hub's address, without a slash at its end."""
        return self._connection.endpoint

    def without_token(self) -> Hub:
        """The same Hub, asked without a token: where one was rejected, what is public can still be read."""
        return Hub(self.endpoint)

    def search(
        self,
        query: str,
        sort: Sort = Sort.DOWNLOADS,
        *,
        limit: int | None = None,
        formats: frozenset[WeightsFormat] = GGUF_ONLY,
        cancel: threading.Event | None = None,
    ) -> Iterator[RepoSummary]:
        """Repositories whose names hold the words of `query`, by `sort`, each page fetched when reached.

        An empty `query` finds all. `formats`: those that are wanted; what a repository is, is told by its
        tags and its name. For others than GGUF the first 1,000 found are looked at. Ends after `limit`.
        """
        params: dict[str, object] = {"sort": _SORT_KEYS[sort]}
        if words := query.strip():
            params["search"] = words
        if formats == GGUF_ONLY:
            found = pages(self._connection, params | {"filter": ["gguf"]}, limit, cancel)
        else:
            found = islice(pages(self._connection, params, None, cancel), _MOST_LOOKED_AT)
        return islice((summary for summary in found if summary.weights_format in formats), limit)

    def gguf_versions(
        self, repo_id: str, *, limit: int | None = 20, cancel: threading.Event | None = None
    ) -> Iterator[RepoSummary]:
        """GGUF repositories made from `repo_id`, then those made from what it was itself made from.

        Last come those that are merely named alike.
        """
        return islice(_once(self._versions(repo_id, limit, cancel)), limit)

    def details(
        self, repo_id: str, revision: str | None = None, *, cancel: threading.Event | None = None
    ) -> RepoDetails:
        """`repo_id` with its models at `revision`, a branch, tag or commit (None: the newest commit)."""
        from huggingface_hub import HfApi

        with self._connection.question(repo_id, cancel) as question:
            api = HfApi(self.endpoint, token=False, headers=question.headers)
            return question.understood(
                lambda: details_of(api.model_info(repo_id, revision=revision, files_metadata=True))
            )

    def facts(self, model: RemoteModel, *, cancel: threading.Event | None = None) -> ModelFacts:
        """What `model` is and keeps in memory, from the first bytes of its files: some MB.

        Raises ModelFileError for a header that is damaged or a model with parts missing.
        """
        from engine.hub.ranges import fetch_range

        def fetch(part: RemotePart, start: int, n_bytes: int) -> bytes:
            most_bytes = start + n_bytes + _SLACK_BYTES
            with self._connection.question(model.repo_id, cancel, _HEADER_S, most_bytes) as question:
                return fetch_range(question, self.address(model, part), start, n_bytes)

        return remote_facts(model, fetch)

    def user_name(self, *, cancel: threading.Event | None = None) -> str | None:
        """Whose the token is, asked of the Hub; None without a token."""
        from huggingface_hub import get_session

        if self._connection.secret() is None:
            return None
        url = f"{self.endpoint}/api/whoami-v2"
        with self._connection.question(None, cancel) as question:
            response = get_session().get(url, headers=question.headers)
            return question.understood(lambda: shown(str(response.json()["name"])))

    def page(self, repo_id: str) -> str:
        """The address of the repository's page, where its terms are."""
        return self._connection.page(repo_id)

    def address(self, model: RemoteModel, part: RemotePart) -> FileAddress:
        """Where `part` of `model` is fetched from, with the token of this moment."""
        secret = self._connection.secret()
        return file_address(self.endpoint, model.repo_id, model.revision, part.path, secret)

    def _versions(
        self, repo_id: str, limit: int | None, cancel: threading.Event | None
    ) -> Iterator[RepoSummary]:
        yield from self._made_from(repo_id, limit, cancel)
        for base in self.details(repo_id, cancel=cancel).based_on:
            yield from self._made_from(base, limit, cancel)
        yield from self.search(name_without_format(repo_id), limit=limit, cancel=cancel)

    def _made_from(
        self, repo_id: str, limit: int | None, cancel: threading.Event | None
    ) -> Iterator[RepoSummary]:
        params = {"sort": "downloads", "filter": ["gguf", f"base_model:quantized:{repo_id}"]}
        return pages(self._connection, params, limit, cancel)


def _once(found: Iterator[RepoSummary]) -> Iterator[RepoSummary]:
    """Each repository the first time that it is found."""
    seen: set[str] = set()
    for summary in found:
        if summary.repo_id not in seen:
            seen.add(summary.repo_id)
            yield summary
