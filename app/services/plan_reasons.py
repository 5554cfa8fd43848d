"""Why a planned model can be loaded or not, in the language of the window.

A `PlanResult` goes in, sentences come out. The engine owns the wording; here it is only translated. Numbers
are written as everywhere in the window.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.services.plan_result import PlanResult
from engine.memory.words import said


def reasons_of(result: PlanResult) -> tuple[str, ...]:
    """The verdict, then what else there is to know of it; at least one sentence."""
    reasons = result.plan.reasons if result.plan and not result.problem else (result.problem,)
    return tuple(said(reason, _tr) for reason in reasons)


def _tr(template: str) -> str:
    return QCoreApplication.translate("PlanReasons", template)
