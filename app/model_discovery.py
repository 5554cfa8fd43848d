"""Finding models on the Hub, with all that belongs to it, made when it is first wanted.

Objects of the window go in, the page and views of proposals come out. What is connected with what of the
discovery stands here; nothing is asked of the Hub by making it.
"""

from __future__ import annotations

from app.data.catalogue import read_catalogue
from app.services.gauge_history import GaugeHistory
from app.services.hub_access import HubAccess
from app.services.hub_repository import HubRepository
from app.services.hub_search import HubSearch
from app.services.hub_token import HubToken
from app.services.machine_plans import MachinePlans
from app.services.model_loader import ModelLoader
from app.services.model_proposals import ModelProposals
from app.services.plan_sources import PlanSources
from app.services.preferences import Preferences
from app.views.discover_page import DiscoverPage
from app.views.proposals_view import ProposalsView
from engine.hub.hub import Hub
from engine.hub.token_store import TokenStore


class ModelDiscovery:
    """Owns the services of the Hub and the page."""

    def __init__(
        self,
        sources: PlanSources,
        loader: ModelLoader,
        history: GaugeHistory,
        preferences: Preferences,
        tokens: TokenStore,
    ) -> None:
        plans = MachinePlans(sources, loader, history, preferences)
        self.access = HubAccess(lambda: Hub(token=tokens.token))
        self.search = HubSearch(self.access, sources.make_runner)
        self.repository = HubRepository(self.access, plans, sources.make_runner)
        self.token = HubToken(tokens, self.access, sources.make_runner)
        self.proposals = ModelProposals(self.access, plans, read_catalogue, sources.make_runner)
        self.page = DiscoverPage(self.access, self.search, self.repository, self.token, self.proposals)

    def proposals_view(self, most: int) -> ProposalsView:
        """Another view of the best proposals, as for the page of a new chat."""
        return ProposalsView(self.proposals, most)

    def close(self) -> None:
        """End what runs; nothing is told any more."""
        for service in (self.search, self.repository, self.token, self.proposals):
            service.close()
