"""Loading a draft model: whether it can draft for a model at all, and then its weights and cells.

Paths and a loaded model go in, a `DraftModel` comes out. Knows nothing about commands or events.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from engine.errors import BadRequest
from engine.llama.backend import Backend
from engine.llama.context import Context, ContextParams
from engine.llama.draft_model import DraftModel
from engine.llama.model import Model
from engine.models.gguf_header import read_header
from engine.models.model_file import check_chat_model
from engine.protocol import EffectiveOptions

_LARGEST_DIFFERENCE, _FIRST_COMPARED = 128, 5
"""As in llama.cpp's own example: sizes may differ by padding, and the first tokens may have other names."""


def check_draft(backend: Backend, model_path: Path, draft_path: Path) -> None:
    """Compare the vocabularies of two files, before any weights are read.

    Raises ModelFileError for a draft that is no chat model, BadRequest with the reason if it cannot draft for
    the model.
    """
    check_chat_model(read_header(draft_path))
    with ExitStack() as opened:
        models: list[Model] = []
        for path in (model_path, draft_path):
            models.append(Model(backend, path, dry_run=True))
            opened.callback(models[-1].close)
        check_vocabulary(*models)


def load_draft(
    path: Path,
    model: Model,
    params: ContextParams,
    resources: ExitStack,
    *,
    n_gpu_layers: int = -1,
    options: EffectiveOptions | None = None,
) -> DraftModel:
    """Load the model at `path` to draft for `model`, whose context has `params`; `resources` frees it.

    Raises ModelLoadError, or BadRequest if it cannot draft for it.
    """
    draft = Model(model.backend, path, n_gpu_layers, options or EffectiveOptions())
    resources.callback(draft.close)
    check_vocabulary(model, draft)
    n_ctx = min(params.n_ctx, draft.n_ctx_train or params.n_ctx)
    context = Context(draft, replace(params, n_ctx=n_ctx, n_outputs_max=params.n_seq_max))
    resources.callback(context.close)
    drafter = DraftModel(draft, context, params.n_seq_max)
    resources.callback(drafter.close)
    return drafter


def check_vocabulary(model: Model, draft: Model) -> None:
    """Raises BadRequest with the reason if `draft` cannot draft for `model`, as llama.cpp's example decides.

    Both may be dry runs: only the vocabularies are read.
    """
    why = next(_differences(model, draft), None)
    if why:
        raise BadRequest(
            f"{draft.path.name} cannot draft for {model.path.name}: {why}. "
            "Choose a small model of the same family, or none."
        )


def _differences(model: Model, draft: Model) -> Iterator[str]:
    """What keeps `draft` from drafting, the simplest first."""
    if draft.has_recurrent_state:
        yield "its state cannot take a token back"
    if model.vocabulary_kind != draft.vocabulary_kind:
        yield "their vocabularies are of different kinds"
    if model.adds_bos != draft.adds_bos or (model.adds_bos and model.bos != draft.bos):
        yield "their texts begin with different tokens"
    if model.eos != draft.eos:
        yield "their texts end with different tokens"
    if abs(model.n_vocab - draft.n_vocab) > _LARGEST_DIFFERENCE:
        yield f"their vocabularies have {model.n_vocab:,} and {draft.n_vocab:,} tokens"
    for token in range(_FIRST_COMPARED, min(model.n_vocab, draft.n_vocab)):
        mine, other = model.text_of(token), draft.text_of(token)
        if mine != other:
            yield f"token {token:,} is {mine!r} in one and {other!r} in the other"
