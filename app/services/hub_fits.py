"""Whether the files of a repository fit into this machine, told from as few of their headers as possible.

Details of a repository, a way to read a header and a way to plan go in, `RemoteFit`s come out. Quantizations
of one model share a header; each further model of the repository costs one more, up to `MOST_HEADERS`. Call
it on any thread but the window's. Knows nothing about the Hub.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.services.hub_problem import HubProblem, problem_of
from engine.errors import KnownError
from engine.hub.file_choice import choose
from engine.hub.file_names import name_fault
from engine.hub.hub_errors import HubFailure, NotOnHub
from engine.hub.hub_values import RemoteModel, RepoDetails
from engine.hub.sibling_facts import sibling_facts
from engine.memory.kv_math import kv_sizes
from engine.memory.memory_plan import MemoryPlan
from engine.models.model_facts import ModelFacts

MOST_HEADERS = 4
KV_TOKENS = 8192

Read = Callable[[RemoteModel], ModelFacts]
"""Raises KnownError."""


@dataclass(frozen=True, slots=True)
class RemoteFit:
    """What is known of a remote model: its plan, or why there is none.

    `kv_bytes`: of its cache for 8,192 tokens. `all_layers`: those that cards could take. `fault`: what
    is wrong with the file itself, which cannot be used; `problem`: why the Hub does not show its header.
    """

    plan: MemoryPlan | None = None
    kv_bytes: int | None = None
    all_layers: int = 0
    fault: str = ""
    problem: HubProblem | None = None


class HeaderCache:
    """The facts that were read, by file and commit; for any thread."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str], ModelFacts] = {}

    def facts_of(self, model: RemoteModel, read: Read) -> ModelFacts:
        """Those of `model`, read once for each commit. Raises KnownError."""
        key = (model.revision, model.id)
        if key not in self._facts:
            self._facts[key] = read(model)
        return self._facts[key]

    def known(self, models: Sequence[RemoteModel]) -> list[tuple[ModelFacts, RemoteModel]]:
        """What has been read of these."""
        keys = ((model, (model.revision, model.id)) for model in models)
        return [(self._facts[key], model) for model, key in keys if key in self._facts]


def fits(
    details: RepoDetails, cache: HeaderCache, read: Read, plan: Callable[[ModelFacts], MemoryPlan]
) -> Iterator[Mapping[str, RemoteFit]]:
    """Fits by `RemoteModel.id`, some after each header that was read; all models are told of at the end."""
    waiting = {model.id: model for model in details.models if not model.missing}
    if unnamed := [model.id for model in waiting.values() if name_fault(model)]:
        for id_ in unnamed:
            del waiting[id_]
        yield dict.fromkeys(unnamed, RemoteFit(fault=_tr("Its name cannot be a file name here.")))
    for facts, of in cache.known(details.models):
        yield _told(facts, of, waiting, plan)
    n_read = 0
    while waiting and n_read < MOST_HEADERS:
        n_read += 1
        model = _next(details, waiting)
        try:
            facts = cache.facts_of(model, read)
        except NotOnHub:
            del waiting[model.id]  # the repository is there: this file alone is not
            yield {model.id: RemoteFit(fault=_tr("The Hub has no such file any more."))}
        except HubFailure as error:
            # The next header would be refused for the same reason.
            yield dict.fromkeys(waiting, RemoteFit(problem=problem_of(error)))
            return
        except KnownError as error:
            del waiting[model.id]
            yield {model.id: RemoteFit(fault=str(error))}
        else:
            yield _told(facts, model, waiting, plan)
    yield dict.fromkeys(waiting, RemoteFit())


def fit_of(facts: ModelFacts, plan: Callable[[ModelFacts], MemoryPlan]) -> RemoteFit:
    """The fit of a model with these facts."""
    planned = plan(facts)
    options = planned.shape.options
    kv = kv_sizes(facts, KV_TOKENS, options.k_type, v_type=options.v_type).kv_bytes
    return RemoteFit(planned, kv if facts.layers else None, facts.n_layers + 1)


def _told(
    facts: ModelFacts,
    of: RemoteModel,
    waiting: dict[str, RemoteModel],
    plan: Callable[[ModelFacts], MemoryPlan],
) -> Mapping[str, RemoteFit]:
    """The fits of `of` and of its other quantizations, which wait no longer."""
    told: dict[str, RemoteFit] = {}
    for model in list(waiting.values()):
        known = facts if model == of else sibling_facts(facts, of, model)
        if known is not None:
            told[model.id] = fit_of(known, plan)
            del waiting[model.id]
    waiting.pop(of.id, None)
    return told


def _next(details: RepoDetails, waiting: Mapping[str, RemoteModel]) -> RemoteModel:
    """The one that most people would take, or else the smallest."""
    try:
        usual = choose(details)
    except KnownError:
        usual = None
    return usual if usual and usual.id in waiting else next(iter(waiting.values()))


def _tr(text: str) -> str:
    return QCoreApplication.translate("HubFits", text)
