"""A model's facts and its plan in words.

Values of the engine go in, short texts come out. Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.services.plan_result import PlanResult
from app.views import number_format
from engine.memory.memory_plan import MemoryPlan, Wishes, said_n_ctx_train
from engine.models.model_facts import ModelFacts

_SEPARATOR = "  \N{MIDDLE DOT}  "


def facts_in_words(facts: ModelFacts) -> str:
    """For example "llama, 135 M parameters, Q4_1, 93 MiB, trained for 8,192 tokens"."""
    parameters = _tr("{0} parameters").format(parameters_in_words(facts.n_params))
    if facts.n_experts:
        parameters = _tr("{0}, {1} active").format(parameters, parameters_in_words(facts.n_active_params))
    n_ctx_train = said_n_ctx_train(facts.n_ctx_train)
    trained = _tr("trained for {0} tokens").format(f"{n_ctx_train:,}") if n_ctx_train else ""
    size = number_format.size(facts.weights_bytes)
    parts = (facts.architecture, parameters, facts.quantization, size, trained)
    return _SEPARATOR.join(part for part in parts if part)


def parameters_in_words(number: int) -> str:
    """For example "135 M" or "7.6 B"."""
    if number >= 1e9:
        return f"{number / 1e9:,.1f} B"
    return f"{number / 1e6:,.0f} M" if number >= 1e6 else f"{number:,}"


def speed_in_words(plan: MemoryPlan) -> str:
    """How fast it will be, and how fast it could be at most."""
    if plan.predicted_tps is None:
        return _tr("Speed: this machine is being measured for it, or its memory was never measured.")
    about = _tr("About {0} in a short chat").format(number_format.rate(plan.predicted_tps))
    if plan.predicted_full_tps is not None:
        full = number_format.rate(plan.predicted_full_tps)
        about = _tr("{0}, {1} when the context is full").format(about, full)
    if plan.limit_tps is not None:
        limit = number_format.rate(plan.limit_tps)
        about = _tr("{0}; the memory here allows at most {1}").format(about, limit)
    if not plan.is_speed_measured:
        return _tr("{0}. This is an estimate until a model has answered here.").format(about)
    return _tr("{0}.").format(about)


def origin_in_words(result: PlanResult) -> str:
    """How far the sizes can be trusted."""
    if result.plan is None:
        return ""
    if result.plan.is_exact:
        return _tr("These sizes are llama.cpp's own.")
    if result.is_settled:
        return _tr("These sizes are estimated.")
    return _tr("These sizes are estimated; llama.cpp is being asked for its own.")


def wishes_in_words(now: Wishes, then: Wishes) -> str:
    """What a button does that changes one wish."""
    if then.n_ctx != now.n_ctx and then.n_ctx is not None:
        return _tr("Use {0} tokens").format(f"{then.n_ctx:,}")
    if then.kv_type is not now.kv_type:
        return _tr("Use {0}").format(then.kv_type.value)
    return _tr("Use as many layers as fit")


def _tr(text: str) -> str:
    return QCoreApplication.translate("PlanWords", text)
