"""Repositories and models of the Hub, and the proposed ones, in words.

Values of the engine and of the services go in, short texts come out. Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.data.catalogue import CatalogueModel, Strength
from app.data.proposals import Proposal, Reason
from app.services.hub_fits import RemoteFit
from app.views import number_format
from app.views.library_words import SEPARATOR
from engine.hub.hub_values import Gating, RemoteModel, RepoDetails, RepoSummary, WeightsFormat
from engine.hub.token_store import TokenSource
from engine.memory.memory_plan import MemoryPlan, Verdict
from engine.memory.words import said
from engine.models.byte_reader import shown

_THOUSAND = 1000
_NAMES = {
    WeightsFormat.GGUF: "GGUF",
    WeightsFormat.SAFETENSORS: "safetensors",
    WeightsFormat.AWQ: "AWQ",
    WeightsFormat.GPTQ: "GPTQ",
    WeightsFormat.EXL2: "EXL2",
    WeightsFormat.MLX: "MLX",
}


def count_in_words(number: int) -> str:
    """For example "950", "12.3k" or "1.2M"."""
    for limit, unit in ((_THOUSAND**2, "M"), (_THOUSAND, "k")):
        if number >= limit:
            value = number / limit
            return f"{value:,.0f}{unit}" if value >= 100 else f"{value:.1f}{unit}"
    return f"{number:,}"


def format_in_words(weights_format: WeightsFormat) -> str:
    """What the weights are stored as; empty where that is not known."""
    return _NAMES.get(weights_format, "")


def repo_facts(repo: RepoSummary) -> tuple[str, ...]:
    """Its format if it cannot be loaded, "gated", downloads, likes, date and license; what is known."""
    other = "" if repo.weights_format is WeightsFormat.GGUF else format_in_words(repo.weights_format)
    gated = "" if repo.gating is Gating.NONE else _tr("gated")
    downloads = _counted(repo.downloads, _tr("{0} downloads"))
    likes = _counted(repo.likes, _tr("{0} likes"))
    date = "" if repo.last_modified is None else repo.last_modified.date().isoformat()
    parts = (other, gated, downloads, likes, date, shown(repo.license) if repo.license else "")
    return tuple(part for part in parts if part)


def repo_in_words(repo: RepoSummary) -> str:
    """A whole row, for screen readers."""
    return ", ".join((repo.repo_id, *repo_facts(repo)))


def gating_in_words(gating: Gating) -> str:
    """What a gated repository asks for; empty for any other."""
    match gating:
        case Gating.NONE:
            return ""
        case Gating.AUTO:
            return _tr(
                "This repository is gated: accept its terms on its page, then enter a token of the account "
                "that did."
            )
        case Gating.MANUAL:
            return _tr(
                "This repository is gated: ask for access on its page. Once its owner has agreed, enter a "
                "token of that account."
            )


def no_models_in_words(details: RepoDetails) -> str:
    """Why there is nothing to download in a repository without GGUF models."""
    if name := _NAMES.get(details.summary.weights_format):
        if details.summary.weights_format is WeightsFormat.GGUF:
            return _tr("There is no GGUF model in this repository.")
        return _tr(
            "This repository holds {0} weights. Weir loads GGUF only; most models have such versions."
        ).format(name)
    return _tr("There is no model in this repository that Weir can load.")


def model_name(model: RemoteModel) -> str:
    """The quantization, or what the file is called."""
    return model.quantization or file_name(model)


def file_name(model: RemoteModel) -> str:
    """What the file is called, the first one of several."""
    return shown(model.parts[0].path.rpartition("/")[2])


def size_in_words(model: RemoteModel) -> str:
    """Its bytes, and of how many files."""
    size = number_format.size(model.size)
    n_files = len(model.parts)
    return size if n_files == 1 else _tr("{0} in {1} files").format(size, f"{n_files:,}")


def fit_in_words(fit: RemoteFit | None) -> str:
    """Whether it fits, in a few words."""
    if fit is None:
        return _tr("Looking at its header")
    if fit.plan is None:
        return _tr("Cannot be used") if fit.fault else _tr("Not known whether it fits")
    return plan_in_words(fit.plan, fit.all_layers)


def plan_in_words(plan: MemoryPlan, all_layers: int) -> str:
    """The verdict with the layers on the card."""
    match plan.verdict:
        case Verdict.FITS:
            return _tr("Fits on the GPU") if plan.n_gpu_layers else _tr("Fits")
        case Verdict.FITS_PARTLY:
            if not plan.n_gpu_layers:
                return _tr("Fits in RAM, none of it on the GPU")
            return _tr("Fits with {0} of {1} layers on the GPU").format(plan.n_gpu_layers, all_layers)
        case Verdict.TIGHT:
            return _tr("Fits tightly")
        case Verdict.DOES_NOT_FIT:
            return _tr("Does not fit")
        case Verdict.CANNOT_CHAT:
            return _tr("Not a chat model")


def reason_in_words(fit: RemoteFit | None) -> str:
    """Why, in a sentence; empty while nothing is known."""
    if fit is None:
        return ""
    if fit.plan is None:
        return fit.fault
    return plan_reason(fit.plan)


def plan_reason(plan: MemoryPlan) -> str:
    """The first sentence of a plan, in the language of the window."""
    return said(plan.reasons[0], _tr_reason) if plan.reasons else ""


def fit_figures(fit: RemoteFit | None) -> tuple[str, ...]:
    """The cache of 8,192 tokens, and the expected speed; what is known."""
    if fit is None:
        return ()
    kv = (
        ""
        if fit.kv_bytes is None
        else _tr("KV {0} for 8,192 tokens").format(number_format.size(fit.kv_bytes))
    )
    speed = speed_in_words(fit.plan) if fit.plan else ""
    return tuple(part for part in (kv, speed) if part)


def speed_in_words(plan: MemoryPlan) -> str:
    """How fast it will be, if it fits and that can be told."""
    if plan.predicted_tps is None or not plan.fits:
        return ""
    return _tr("about {0}").format(number_format.rate(plan.predicted_tps))


def proposal_facts(model: CatalogueModel) -> str:
    """Quantization, size and license."""
    return SEPARATOR.join((model.quantization, number_format.size(model.size), model.license))


def strengths_in_words(model: CatalogueModel) -> str:
    """What it is good for."""
    words = {
        Strength.FAST: _tr("quick replies"),
        Strength.EVERYDAY: _tr("everyday questions"),
        Strength.WRITING: _tr("writing"),
        Strength.LANGUAGES: _tr("many languages"),
        Strength.REASONING: _tr("reasoning"),
        Strength.PROGRAMMING: _tr("programming"),
        Strength.LONG_CONTEXT: _tr("long contexts with little memory"),
        Strength.OPEN: _tr("published training data"),
    }
    return _tr("Good for {0}.").format(", ".join(words[strength] for strength in model.good_at))


def proposal_reason(proposal: Proposal) -> str:
    """Why it is proposed, and how fast it will be."""
    match proposal.reason:
        case Reason.MOST_CAPABLE:
            words = _tr("The most capable one of this list that runs well here")
        case Reason.LIGHTER:
            words = _tr("Smaller and faster")
        case Reason.SLOWER:
            words = _tr("More capable, but slow here")
        case Reason.TIGHT:
            words = _tr("More capable, but leaves other programs little memory")
        case Reason.SPEED_UNKNOWN:
            words = _tr("Fits; how fast it is here is not known yet")
    speed = speed_in_words(proposal.plan)
    return _tr("{0}: {1}.").format(words, speed) if speed else _tr("{0}.").format(words)


def source_in_words(source: TokenSource | None) -> str:
    """Where the token comes from."""
    match source:
        case None:
            return _tr("No token. Public models need none.")
        case TokenSource.KEYRING:
            return _tr("A token is kept in the system's keyring.")
        case TokenSource.FILE:
            return _tr("A token is kept in a file that only you can read.")
        case TokenSource.ENVIRONMENT:
            return _tr("The token is that of the environment variable HF_TOKEN.")
        case TokenSource.HUB_LIBRARY:
            return _tr("The token is that of \u201chf auth login\u201d.")


def _counted(number: int | None, template: str) -> str:
    return "" if number is None else template.format(count_in_words(number))


def _tr(text: str) -> str:
    return QCoreApplication.translate("HubWords", text)


def _tr_reason(template: str) -> str:
    return QCoreApplication.translate("PlanReasons", template)
