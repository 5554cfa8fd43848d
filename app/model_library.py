"""The library of installed models with all that belongs to it, made when it is first wanted.

Objects of the window go in, the page comes out. What is connected with what of the library stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.data.library_file import LibraryFile
from app.data.paths import library_path, models_dir, quantized_dir
from app.data.provenance import provenance_of
from app.services.engine_bridge import ClientFactory
from app.services.gauge_history import GaugeHistory
from app.services.library import LibraryService
from app.services.machine_plans import MachinePlans
from app.services.model_fits import ModelFits
from app.services.model_import import ModelImport
from app.services.model_loader import ModelLoader
from app.services.model_removal import ModelRemoval
from app.services.plan_sources import PlanSources
from app.services.preferences import Preferences
from app.services.quantize_prospects import QuantizeProspects
from app.services.quantizing import Quantizing
from app.views.library_page import LibraryPage
from app.views.quantize_panel import QuantizePanel
from engine.client import EngineClient


class ModelLibrary:
    """Owns the services of the library and its page."""

    def __init__(
        self,
        preferences: Preferences,
        loader: ModelLoader,
        history: GaugeHistory,
        *,
        sources: PlanSources | None,
        starter: str | None,
        make_client: ClientFactory = EngineClient,
        obstacle: Callable[[], str] = lambda: "",
    ) -> None:
        """Without `sources` nobody says how a model fits. `obstacle`: why nothing can be quantized now.

        Raises KnownError when Weir has no folder.
        """
        self._loader = loader
        self.service = LibraryService(
            preferences,
            models_dir(),
            LibraryFile(library_path()),
            provenance_of,
            starter=Path(starter) if starter else None,
        )
        self.removal = ModelRemoval(self.service, self._in_use)
        self.imports = ModelImport(self.service)
        self.fits = ModelFits(sources, loader, history, preferences) if sources else None
        machine = MachinePlans(sources, loader, history, preferences) if sources else None
        self.quantizing = Quantizing(quantized_dir(), make_client, obstacle)
        self._prospects = QuantizeProspects(quantized_dir(), machine)
        self.page = LibraryPage(self.service, self.removal, self.imports, preferences)
        self.panel = QuantizePanel(self.quantizing, self._prospects, self.page.question)
        self._connect()

    def close(self) -> None:
        """End what runs; nothing is told any more."""
        self.service.close()
        self.removal.close()
        self.imports.close()
        self._prospects.close()
        self.quantizing.close()
        if self.fits:
            self.fits.close()

    def _connect(self) -> None:
        self.page.add_part(self.panel)
        self.page.list.quantize_requested.connect(self.panel.ask)
        self.panel.load_requested.connect(self.page.model_chosen)
        self.panel.closed.connect(self.page.list.setFocus)
        self.quantizing.finished.connect(lambda _run, _event: self.service.refresh())
        self._loader.changed.connect(self._show_loaded)
        self._show_loaded()
        if self.fits:
            self.service.scan_ended.connect(lambda _skipped: self._count())
            self._loader.model_ready.connect(lambda _info: self._count())
            self.fits.counted.connect(self.service.take_fits)

    def _count(self) -> None:
        """How the models fit now: other memory is free than the last time."""
        if self.fits:
            models = self.service.models.values()
            self.fits.count(model.scanned for model in models if model.can_be_chosen)

    def _show_loaded(self) -> None:
        present = self._loader.present
        self.page.show_loaded(present.path if present else None)

    def _in_use(self) -> tuple[str, ...]:
        """The models that are loaded, or being loaded."""
        present = self._loader.present
        paths = (present.path if present else None, self._loader.loading)
        return tuple(path for path in paths if path)
