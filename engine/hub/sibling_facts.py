"""Facts of the other quantizations of a model whose header was read, without reading theirs.

A header of a large vocabulary has 16 MB, and a repository 25 quantizations: to look at each would fetch
400 MB for a list of verdicts. They differ in their weights only, so the cache is exact, and the weights
together are what the file's size leaves. Their spread over the layers is that of the one that was read.
"""

from __future__ import annotations

from dataclasses import replace

from engine.hub.hub_values import RemoteModel
from engine.hub.repo_names import name_without_quantization
from engine.models.model_facts import ModelFacts


def sibling_facts(facts: ModelFacts, of: RemoteModel, model: RemoteModel) -> ModelFacts | None:
    """The facts of `model`, told from the `facts` that were read of `of`; None if it is another model.

    `ModelFacts.layer_bytes` and what follows from the spread of the weights is an estimate.
    """
    stored = sum(facts.tensor_bytes.values())
    left = model.size - (of.size - stored)
    is_same = of.repo_id == model.repo_id and _name(of) == _name(model)
    if not is_same or stored <= 0 or left <= 0:
        return None

    def scaled(n_bytes: int) -> int:
        return n_bytes * left // stored

    quantization = model.quantization or facts.quantization
    return replace(
        facts,
        name=model.parts[0].path.rpartition("/")[2].removesuffix(".gguf"),
        quantization=quantization,
        weights_bytes=scaled(facts.weights_bytes),
        active_bytes=scaled(facts.active_bytes),
        tensor_bytes={quantization: left},
        layer_bytes=tuple(scaled(n_bytes) for n_bytes in facts.layer_bytes),
        output_bytes=scaled(facts.output_bytes),
        output_copy_bytes=scaled(facts.output_copy_bytes),
    )


def _name(model: RemoteModel) -> str:
    return name_without_quantization(model.parts[0].path)
