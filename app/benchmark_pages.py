"""The page of benchmarks with what measures behind it, made when it is first wanted.

Objects of the window go in. Promises that a reply and a measurement never disturb each other: whichever comes
second waits, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.services.engine_bridge import ClientFactory
from app.services.notice import Notice, NoticeAction

if TYPE_CHECKING:
    from app.open_chats import OpenChats
    from app.services.benchmarks import Benchmarks
    from app.views.bench_page import BenchPage
    from app.window import Weir


class BenchmarkPages:
    """Owns the measurement, its results and the page."""

    def __init__(self, weir: Weir, make_client: ClientFactory, close: Callable[[], None]) -> None:
        """For a window that plans its loads; `close` is called when the page is left."""
        self._weir = weir
        self._make_client = make_client
        self._close = close
        self._open: OpenChats | None = None
        self._benchmarks: Benchmarks | None = None
        self._page: BenchPage | None = None

    @property
    def running(self) -> bool:
        """Whether something is measured, or about to be."""
        return self._benchmarks is not None and self._benchmarks.running

    def hold(self) -> Notice | None:
        """Why a message has to wait now."""
        return self._benchmarks.notice if self._benchmarks and self._benchmarks.running else None

    def obstacle(self) -> str:
        """Why nothing else can be measured now, or nothing."""
        if not self.running:
            return ""
        return self._weir.window.tr("A benchmark is running: wait until it is done, or stop it.")

    def stop(self) -> None:
        """End what is measured."""
        if self._benchmarks:
            self._benchmarks.stop()

    def connect_chats(self, open_chats: OpenChats) -> None:
        """The chats are open: from now on replies may be written."""
        self._open = open_chats
        open_chats.answering.ended.connect(lambda _chat_id: self._go_on())
        self._weir.endurance.changed.connect(self._go_on)

    @property
    def page(self) -> BenchPage:
        """The page. Raises KnownError when Weir has no folder for the results."""
        if self._page is None:
            self._page = self._make_page()
        return self._page

    def close(self) -> None:
        """End the worker; what was measured is stored."""
        if self._benchmarks:
            self._benchmarks.close()

    def _make_page(self) -> BenchPage:
        from app.data.bench_store import BenchStore, bench_path
        from app.services.bench_results import BenchResults
        from app.services.benchmarks import Benchmarks
        from app.views.bench_page import BenchPage

        weir = self._weir
        assert weir.sources is not None and weir.plans is not None
        results = BenchResults(BenchStore(bench_path()))
        benchmarks = self._benchmarks = Benchmarks(
            weir.loader,
            weir.plans,
            weir.sources,
            self._make_client,
            results,
            unload=weir.loader.unload,
            others_at_work=self._others_at_work,
        )
        benchmarks.ended.connect(self._send_waiting)
        benchmarks.changed.connect(self._show_obstacle)
        page = BenchPage(benchmarks, results, self._models, self._loaded)
        page.closed.connect(self._close)
        weir.loader.changed.connect(page.show_models)
        weir.pages.models.library.quantizing.ended.connect(self._go_on)
        library = weir.pages.models.library.service
        library.found.connect(page.show_models)
        library.gone.connect(page.show_models)
        library.refresh()
        return page

    def _models(self) -> list[tuple[str, str]]:
        """Path and name of each model that can be measured."""
        found = self._weir.pages.models.library.service.models.values()
        models = {str(model.path): model.name for model in found if model.can_be_chosen}
        if (info := self._weir.loader.info) and info.path not in models:
            models[info.path] = info.name
        return list(models.items())

    def _loaded(self) -> str | None:
        info = self._weir.loader.info
        return info.path if info else None

    def _others_at_work(self) -> bool:
        writing = self._open is not None and self._open.answering.is_writing
        weir = self._weir
        return writing or weir.endurance.current is not None or weir.pages.models.is_quantizing

    def _go_on(self) -> None:
        if self._benchmarks:
            self._benchmarks.go_on()

    def _show_obstacle(self) -> None:
        if endurance := self._weir.pages.endurance:
            endurance.refresh()

    def _send_waiting(self) -> None:
        self._weir.window.banner.withdraw(NoticeAction.STOP_BENCHMARK)
        if self._open:
            self._open.answering.send_waiting()
