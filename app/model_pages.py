"""The page of models with its three parts, made when it is first wanted, and the downloads behind it.

Objects of the window go in. Downloads that an earlier Weir left go on without the page; the rest waits until
somebody looks. What is connected with what of these parts stands here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.data.paths import QUANTIZED_FOLDER, data_dir, models_dir
from app.services.engine_bridge import ClientFactory
from app.services.notice import Notice
from engine.download.download_values import DownloadStatus
from engine.download.queue_file import QueueFile
from engine.hub.hub_errors import Remedy
from engine.models.unfinished_file import sweep

if TYPE_CHECKING:
    from app.model_discovery import ModelDiscovery
    from app.model_library import ModelLibrary
    from app.services.downloads import Downloads, DownloadsSummary
    from app.services.quantizing import QuantizeRun
    from app.views.models_page import ModelsPage, ModelsPart
    from app.views.proposals_view import ProposalsView
    from app.window import Weir
    from engine.hub.hub_values import RemoteModel
    from engine.hub.token_store import TokenStore
    from engine.protocol import QuantizeFinished


_PROPOSED_AT_FIRST = 2  # on the page of a new chat, where they must not crowd out the rest


class ModelPages:
    """Owns the library, the discovery, the downloads and the page that shows them."""

    def __init__(
        self,
        weir: Weir,
        make_client: ClientFactory,
        choose: Callable[[str], None],
        close: Callable[[], None],
    ) -> None:
        """`choose` is called with the path of a model to load, `close` when the page is left."""
        self._weir = weir
        self._make_client = make_client
        self._choose = choose
        self._close = close
        self._tokens: TokenStore | None = None
        self._downloads: Downloads | None = None
        self._library: ModelLibrary | None = None
        self._discovery: ModelDiscovery | None = None
        self._page: ModelsPage | None = None
        self._first_proposals: ProposalsView | None = None

    @property
    def page(self) -> ModelsPage:
        """The page. Raises KnownError when Weir has no folder for models."""
        if self._page is None:
            self._page = self._make_page()
        return self._page

    def go_on(self) -> None:
        """Let downloads that an earlier Weir has left go on, and sweep what it had not finished making.

        Raises KnownError as `page` does.
        """
        sweep(models_dir() / QUANTIZED_FOLDER)
        if QueueFile(models_dir()).stamp:
            self._with_downloads()

    def offer_files(self, paths: Sequence[Path]) -> None:
        """Files or folders were dropped on the window: ask what shall be done with them."""
        from app.views.models_page import ModelsPart

        self.page.show_part(ModelsPart.INSTALLED)
        self.library.page.offer_files(paths)

    def propose(self) -> None:
        """Show on the page of a new chat what fits this machine, if nothing but the starter is here."""
        if self._weir.sources is None or any(models_dir().glob("*/*/**/*.gguf")):
            return
        view = self._first_proposals = self._with_discovery().proposals_view(_PROPOSED_AT_FIRST)
        view.download_requested.connect(self._download)
        view.repository_requested.connect(self._open_repository)
        view.remedy_chosen.connect(self._on_remedy)
        self._weir.window.empty.show_proposals(view)
        self._show_known()

    @property
    def is_quantizing(self) -> bool:
        """Whether a model is being quantized."""
        return self._library is not None and self._library.quantizing.running

    def why_not_quit(self) -> str:
        """A question before Weir is left, or nothing."""
        return self._library.quantizing.why_not_quit() if self._library else ""

    def close(self) -> None:
        """End all that runs; downloads go on at the next start."""
        for part in (self._downloads, self._library, self._discovery):
            if part:
                part.close()

    # --- the parts ----------------------------------------------------------------------------------

    def _make_page(self) -> ModelsPage:
        from app.views.downloads_page import DownloadsPage
        from app.views.models_page import ModelsPage, ModelsPart

        downloads, library = self._with_downloads(), self.library
        downloads_page = DownloadsPage(downloads)
        page = ModelsPage()
        discovery = self._with_discovery()
        page.set_parts(library.page, discovery.page, downloads_page)
        page.closed.connect(self._close)
        library.page.model_chosen.connect(self._choose)
        library.page.discover_requested.connect(lambda: page.show_part(ModelsPart.DISCOVER))
        downloads_page.use_requested.connect(self._choose)
        downloads_page.discover_requested.connect(lambda: page.show_part(ModelsPart.DISCOVER))
        downloads_page.token_requested.connect(self._ask_for_token)
        page.set_count(downloads.summary.n_unfinished)
        downloads.summary_changed.connect(lambda summary: page.set_count(summary.n_unfinished))
        return page

    def _with_downloads(self) -> Downloads:
        if self._downloads is None:
            from app.services.downloads import Downloads
            from engine.download.queue_client import QueueClient
            from engine.hub.hub import Hub

            hub, folder = Hub(token=self._with_tokens().token), models_dir()
            preferences = self._weir.preferences
            parallel = preferences.settings.parallel_downloads
            downloads = self._downloads = Downloads(
                lambda on_change: QueueClient(hub, folder, on_change=on_change, parallel=parallel),
                parallel=parallel,
            )
            downloads.parallel_changed.connect(
                lambda parallel: preferences.update(parallel_downloads=parallel)
            )
            downloads.summary_changed.connect(self._show_summary)
            downloads.changed.connect(lambda _states: self._show_known())
            downloads.finished.connect(self._on_finished)
            self._show_summary(downloads.summary)
            self._show_known()  # what an earlier Weir has left
        return self._downloads

    @property
    def library(self) -> ModelLibrary:
        """The models on this computer. Raises KnownError when Weir has no folder for models."""
        if self._library is None:
            from app.model_library import ModelLibrary

            weir = self._weir
            self._library = ModelLibrary(
                weir.preferences,
                weir.loader,
                weir.history,
                sources=weir.sources,
                starter=weir.starter,
                make_client=self._make_client,
                obstacle=weir.pages.benchmarks.obstacle,
            )
            self._library.quantizing.finished.connect(self._on_quantized)
            self._library.service.found.connect(lambda _models: self._show_known())
            self._library.service.gone.connect(lambda _paths: self._show_known())
        return self._library

    def _with_discovery(self) -> ModelDiscovery:
        if self._discovery is None:
            from app.model_discovery import ModelDiscovery
            from app.services.plan_sources import this_machine

            weir = self._weir
            sources = weir.sources or this_machine()
            self._discovery = ModelDiscovery(
                sources, weir.loader, weir.history, weir.preferences, self._with_tokens()
            )
            self._discovery.page.download_requested.connect(self._download)
            if weir.calibrations:
                weir.calibrations.measured.connect(self._discovery.proposals.propose)
            self._show_known()
        return self._discovery

    def _with_tokens(self) -> TokenStore:
        if self._tokens is None:
            from engine.hub.token_store import TokenStore

            self._tokens = TokenStore(data_dir())
        return self._tokens

    # --- what happens -------------------------------------------------------------------------------

    def _download(self, model: RemoteModel) -> None:
        self._with_downloads().add(model)
        words = self._weir.window.tr("Models shows how far the download is; what it has fetched is kept.")
        self._weir.window.banner.add(Notice(words, calm=True))

    def _on_finished(self, path: Path) -> None:
        if self._library:
            self._library.service.refresh()
        words = self._weir.window.tr("{0} was downloaded and verified: Models lets you use it.")
        self._weir.window.banner.add(Notice(words.format(path.stem), calm=True))

    def _on_quantized(self, run: QuantizeRun, _event: QuantizeFinished) -> None:
        if self._page is None or not self._page.isVisible():  # there it is told already
            words = self._weir.window.tr("{0} was quantized to {1}: Models lets you use it.")
            self._weir.window.banner.add(Notice(words.format(run.name, run.command.kind), calm=True))

    def _show_summary(self, summary: DownloadsSummary) -> None:
        self._weir.window.sidebar.show_download(summary.percent)

    def _show_known(self) -> None:
        """Tell the Hub's files which of them are here, or on their way."""
        if self._discovery is None:
            return
        downloading: list[str] = []
        installed: list[str] = []
        stopped: list[str] = []
        for state in self._downloads.states if self._downloads else ():
            if state.status is DownloadStatus.FAILED:
                stopped.append(state.id)
            elif state.status is not DownloadStatus.CANCELLED:
                (installed if state.path else downloading).append(state.id)
        if self._library:
            # As texts: this is asked ten times a second while something is downloaded.
            own = f"{self._library.service.own}{os.sep}"
            paths = [str(path) for path in self._library.service.models]
            installed += [path[len(own) :].replace(os.sep, "/") for path in paths if path.startswith(own)]
        if self._first_proposals:
            from app.views.download_button import KnownDownloads

            self._first_proposals.show_known(KnownDownloads.of(installed, downloading, stopped))
        self._discovery.page.show_downloads(installed, downloading, stopped)

    def _open_repository(self, repo_id: str) -> None:
        from app.views.models_page import ModelsPart

        self._show(ModelsPart.DISCOVER)
        self._with_discovery().page.open_repository(repo_id)

    def _on_remedy(self, remedy: Remedy, _url: str) -> None:
        """What the Hub refused to a first proposal is seen to where models are found."""
        from app.views.models_page import ModelsPart

        if remedy is Remedy.ENTER_TOKEN:
            self._ask_for_token()
        else:
            self._show(ModelsPart.DISCOVER)

    def _ask_for_token(self) -> None:
        from app.views.models_page import ModelsPart

        self._show(ModelsPart.DISCOVER)
        self._with_discovery().page.sheet.ask()

    def _show(self, part: ModelsPart) -> None:
        self._weir.pages.open_models()
        self.page.show_part(part)
