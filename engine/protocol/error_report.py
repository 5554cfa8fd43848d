"""Errors as they cross the process boundary: an error of Weir's goes in, a plain value comes out."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.errors import (
    BadRequest,
    EngineGone,
    ModelFileError,
    ModelLoadError,
    PromptTooLong,
    TemplateError,
    WeirError,
)


class ErrorCode(enum.StrEnum):
    """What kind of failure it was, for programs; people read the message."""

    MODEL_FILE = "model_file"
    MODEL_LOAD = "model_load"
    TEMPLATE = "template"
    PROMPT_TOO_LONG = "prompt_too_long"
    BAD_REQUEST = "bad_request"
    ENGINE_DIED = "engine_died"
    BUG = "bug"


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as it crosses the boundary: `message` for a person, `detail` for a log."""

    code: ErrorCode
    message: str
    detail: str = ""

    @classmethod
    def of(cls, error: WeirError) -> ErrorReport:
        """The report of an error that Weir raised; its code is that of the nearest kind that has one."""
        codes = (_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
        return cls(next(codes, ErrorCode.BUG), str(error))


_CODES: dict[type, ErrorCode] = {
    ModelFileError: ErrorCode.MODEL_FILE,
    ModelLoadError: ErrorCode.MODEL_LOAD,
    TemplateError: ErrorCode.TEMPLATE,
    PromptTooLong: ErrorCode.PROMPT_TOO_LONG,
    BadRequest: ErrorCode.BAD_REQUEST,
    EngineGone: ErrorCode.ENGINE_DIED,
}
