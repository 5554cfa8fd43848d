"""Models of the library in words.

`InstalledModel`s go in, short texts come out. Knows nothing about widgets.
"""

from __future__ import annotations

import html

from PySide6.QtCore import QCoreApplication

from app.data.installed_model import InstalledModel, Verification
from app.views import number_format
from engine.memory.memory_plan import Verdict
from engine.models.known_folders import ModelSource
from engine.models.quantized_model import may_be_source

SEPARATOR = "  \N{MIDDLE DOT}  "


def source_in_words(source: ModelSource) -> str:
    """Whose the model is; empty for Weir's own and the user's."""
    words = {
        ModelSource.STARTER: _tr("came with Weir"),
        ModelSource.LM_STUDIO: _tr("from LM Studio"),
        ModelSource.JAN: _tr("from Jan"),
        ModelSource.GPT4ALL: _tr("from GPT4All"),
        ModelSource.HUGGING_FACE: _tr("from the Hugging Face cache"),
        ModelSource.FILE: _tr("used where it is"),
        ModelSource.LINKED: _tr("linked from elsewhere"),
    }
    return words.get(source, "")


def verification_in_words(verification: Verification) -> str:
    """Whether its bytes were checked."""
    match verification:
        case Verification.VERIFIED:
            return _tr("verified")
        case Verification.CHANGED:
            return _tr("changed since it was downloaded")
        case Verification.UNVERIFIED:
            return _tr("unverified")
        case Verification.MADE_HERE:
            return _tr("made here")


def fit_in_words(model: InstalledModel) -> str:
    """Whether it fits here; empty while that is not known, and for what cannot be loaded."""
    return verdict_in_words(model.fit.verdict) if model.fit and model.can_be_chosen else ""


def verdict_in_words(verdict: Verdict) -> str:
    """In a word or two."""
    match verdict:
        case Verdict.FITS:
            return _tr("Fits")
        case Verdict.FITS_PARTLY:
            return _tr("Fits partly on the card")
        case Verdict.TIGHT:
            return _tr("Just fits")
        case Verdict.DOES_NOT_FIT:
            return _tr("Too large")
        case Verdict.CANNOT_CHAT:
            return ""


def figures(model: InstalledModel) -> tuple[str, str, str]:
    """Quantization, size and trained context, empty where the file does not tell."""
    scanned = model.scanned
    context = _tr("{0} tokens").format(f"{model.n_ctx_train:,}") if model.n_ctx_train else ""
    return scanned.quantization or "", number_format.size(scanned.size), context


def origin_in_words(model: InstalledModel) -> str:
    """Where it comes from, and whether it was checked."""
    if model.source is ModelSource.STARTER:
        return source_in_words(model.source)  # whose installer has checked it
    if model.quantized_from:
        made = _tr("quantized from {0} by Weir")
        is_changed = model.verification is Verification.CHANGED
        words = _tr("quantized from {0} by Weir, changed since") if is_changed else made
        return words.format(model.quantized_from)
    parts = (model.place, source_in_words(model.source), verification_in_words(model.verification))
    return SEPARATOR.join(part for part in parts if part)


def second_line(model: InstalledModel, is_loaded: bool = False) -> str:
    """What stands below the name: where it comes from, or why it cannot be loaded."""
    if model.can_be_chosen:
        loaded = (_tr("loaded"),) if is_loaded else ()
        return SEPARATOR.join((*loaded, origin_in_words(model)))
    return model.reason or _tr("This file cannot be loaded.")


def all_in_words(model: InstalledModel, is_loaded: bool = False) -> str:
    """A whole row, for screen readers."""
    numbers = figures(model) if model.can_be_chosen else ()
    parts = (model.name, *numbers, fit_in_words(model), second_line(model, is_loaded))
    return ", ".join(part.replace(SEPARATOR, ", ") for part in parts if part)


def tool_tip(model: InstalledModel) -> str:
    """The path and the reasons. As text, never as rich text: a file's name may hold markup."""
    reason = model.fit.sentence if model.fit else model.reason
    real = _tr("It really is {0}").format(model.real_path) if model.real_path else ""
    # Hashing it again at each look would take minutes.
    is_verified = model.verification is Verification.VERIFIED
    checked = _tr("Verified when it was downloaded.") if is_verified else ""
    lines = (model.name, reason, str(model.path), real, checked)
    return "".join(plain_tool_tip(line) for line in lines if line)


def why_not_quantized(model: InstalledModel) -> str:
    """A sentence why no smaller model can be made of it; empty if one may be."""
    if not model.can_be_chosen:
        return _tr("Only models that can be loaded are quantized.")
    if not may_be_source(model.scanned.quantization):
        words = _tr("It is quantized already ({0}): smaller ones are made of F16, BF16, F32 or Q8_0.")
        return words.format(model.scanned.quantization)
    return ""


def plain_tool_tip(text: str) -> str:
    """A tool tip that shows `text` as it is, and breaks its lines."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("LibraryWords", text)
