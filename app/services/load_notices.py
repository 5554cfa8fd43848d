"""What the user is told when a model could not be loaded, or its engine died.

Events and plans go in, `Notice`s come out. Knows nothing about who shows them.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.services.model_engine import ModelEngine
from app.services.notice import Notice, NoticeAction
from app.services.plan_reasons import reasons_of
from app.services.plan_result import PlanResult
from engine.protocol import EngineDied, ErrorReport

_KILLED = -9
"""By the system: nobody else sends SIGKILL to a worker that is not being closed."""

_SIGNS = ("bad_alloc", "out of memory", "failed to allocate", "cannot allocate memory")


def refused(engine: ModelEngine, error: ErrorReport) -> Notice:
    """The engine said why it cannot load the model."""
    return Notice(error.message, error.detail, _next_step(engine))


def died_loading(engine: ModelEngine, death: EngineDied) -> Notice:
    """The engine ended before the model was ready."""
    if _ran_out_of_memory(death):
        sentence = _tr(
            "{0} could not be loaded: there was not enough memory. What it took is free again: "
            "choose a smaller context, or a smaller model."
        )
        return Notice(sentence.format(_name(engine.path)), death.cause, NoticeAction.SHOW_PLAN)
    sentence = _tr("{0} could not be loaded: the engine stopped while reading it.")
    return Notice(sentence.format(_name(engine.path)), death.cause, _next_step(engine))


def died_answering(death: EngineDied) -> Notice:
    """The engine ended, and is started again."""
    if _ran_out_of_memory(death):
        sentence = _tr(
            "The engine was ended for lack of memory. The text so far is kept, and the model is being "
            "loaded again: close other programs, or choose a smaller context."
        )
    else:
        sentence = _tr(
            "The engine stopped. The text so far is kept, and the model is being loaded again: just go on."
        )
    return Notice(sentence, death.cause)


def died_twice(path: str, death: EngineDied) -> Notice:
    """The engine ended again, and is not started any more."""
    sentence = _tr(
        "The engine stopped twice in a row with {0}. The text so far is kept: "
        "load it again, or choose another model."
    )
    return Notice(sentence.format(_name(path)), death.cause, NoticeAction.LOAD_AGAIN)


def has_no_room(planned: PlanResult) -> Notice:
    """A model was not loaded, since its plan says that it does not fit."""
    reasons = reasons_of(planned)
    sentence = _tr("{0} was not loaded. {1}").format(_name(planned.path), reasons[0])
    return Notice(sentence, "\n".join(reasons), NoticeAction.SHOW_PLAN)


def goes_on(why: Notice, name: str) -> Notice:
    """The same, where the model called `name` still answers."""
    sentence = _tr("{0} {1} goes on answering.").format(why.message, name)
    action = why.action if why.action is NoticeAction.SHOW_PLAN else None
    return dataclasses.replace(why, message=sentence, action=action)


def _ran_out_of_memory(death: EngineDied) -> bool:
    return death.exit_code == _KILLED or any(sign in death.cause.lower() for sign in _SIGNS)


def _next_step(engine: ModelEngine) -> NoticeAction:
    return NoticeAction.LOAD_AGAIN if engine.restarted else NoticeAction.CHOOSE_MODEL


def _name(path: str) -> str:
    return Path(path).name


def _tr(text: str) -> str:
    return QCoreApplication.translate("LoadNotices", text)
