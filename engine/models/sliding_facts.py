"""Which layers see a sliding window only, and how wide it is: what llama.cpp decides by architecture.

A model's numbers go in, a width and one switch for each layer come out. The table follows
`load_arch_hparams` of each architecture in llama.cpp's src/models/*.cpp, and how a pattern becomes layers
is `llama_hparams::set_swa_pattern` in src/llama-hparams.cpp. An architecture that is not in the table has
no sliding window for llama.cpp, whatever its file says (phi3 is one).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.models.metadata_facts import LayerMetadata

_WINDOW = "attention.sliding_window"
_PATTERN = "attention.sliding_window_pattern"


@dataclass(frozen=True, slots=True)
class _Rule:
    """Every `period`-th layer sees all: the first of each period if `full_first`, else the last.

    The file may name another period, or list the layers; `period` 1 leaves it to that list. `window`: the
    width where the file names none; `is_fixed`: it is used instead of the file's.
    """

    period: int = 1
    full_first: bool = False
    window: int = 0
    is_fixed: bool = False


_LISTED = _Rule()
_RULES = {
    "afmoe": _Rule(4),
    "cohere2": _Rule(4),
    "cohere2moe": _Rule(4, full_first=True),
    "exaone-moe": _Rule(4, window=128),
    "exaone4": _Rule(4, window=4096),
    "gemma2": _Rule(2, window=4096),
    "gemma3": _Rule(6),
    "gemma3n": _Rule(5),
    "gemma4": _LISTED,
    "gpt-oss": _Rule(2),
    "granite_swa": _LISTED,
    "laguna": _Rule(4, full_first=True),
    "llama4": _Rule(4, window=8192, is_fixed=True),
    "maple": _LISTED,
    "mellum": _Rule(4),
    "mimo2": _LISTED,
    "muse-glimmer": _Rule(4),
    "olmo2": _Rule(4),
    "plamo3": _Rule(8),
    "smallthinker": _Rule(4, full_first=True, window=4096, is_fixed=True),
    "spark2_5": _LISTED,
    "step35": _LISTED,
}
_EXAONE4_LAYERS = 64  # only the 32B model slides


def sliding_window(metadata: LayerMetadata) -> int:
    """How many tokens the sliding layers see; 0 where none slides."""
    architecture, in_file = metadata.architecture, metadata.count(_WINDOW)
    if architecture == "lfm2":
        return in_file
    rule = _RULES.get(architecture)
    if rule is None or (architecture == "exaone4" and metadata.n_trunk != _EXAONE4_LAYERS):
        return 0
    # These two take a width of their own, but not where the file switches the window off.
    if rule.is_fixed:
        is_on = in_file > 0 or (architecture == "llama4" and not metadata.has(_WINDOW))
        return rule.window if is_on else 0
    return metadata.count(_WINDOW, rule.window)


def sliding_layers(metadata: LayerMetadata, recurrent: tuple[bool, ...]) -> tuple[bool, ...]:
    """For each layer whether it slides; `recurrent` says which have a state instead of a cache.

    Raises ModelFileError for a list that cannot be one of layers.
    """
    n_layers = metadata.n_layers
    if not sliding_window(metadata):
        return (False,) * n_layers
    if metadata.architecture == "lfm2":
        return tuple(not is_recurrent for is_recurrent in recurrent)
    if metadata.is_array(_PATTERN):
        listed = tuple(map(bool, metadata.items(_PATTERN)))[:n_layers]
        return listed + (False,) * (n_layers - len(listed))
    rule = _RULES[metadata.architecture]
    period = metadata.count(_PATTERN, rule.period)
    full_at = 0 if rule.full_first else period - 1
    return tuple(
        layer < metadata.n_trunk and (period == 0 or layer % period != full_at) for layer in range(n_layers)
    )
