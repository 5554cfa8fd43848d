"""Which architectures llama.cpp is known to have: those in the package `gguf`, and newer ones.

A name goes in, a yes or a no comes out. The package is older than the llama.cpp that Weir is built with; what
that has besides is listed here.
"""

from __future__ import annotations

import functools

from engine.models.gguf_constants import gguf_constants

# LLM_ARCH_NAMES in src/llama-arch.cpp of the llama.cpp in llama-cpp-python 0.3.36, without those of `gguf`.
_NEWER = frozenset(
    {
        "bailingmoe3",
        "cohere2moe",
        "deepseek32",
        "deepseek4",
        "dflash",
        "dots3note",
        "eagle3",
        "gemma4-assistant",
        "glm5-next",
        "granite_swa",
        "graniteswitch",
        "hrm_text",
        "hy_v3",
        "hy_v4",
        "kimi-k3",
        "laguna",
        "maple",
        "mellum",
        "minimax-01",
        "minimax-m3",
        "muse-glimmer",
        "nanbeige",
        "pockettts",
        "qwen3tts",
        "qwen4exp",
        "spark2_5",
        "talkie",
    }
)


def is_known(architecture: str) -> bool:
    """Whether models of this architecture are loaded without a doubt about that."""
    return architecture in _names()


@functools.cache
def _names() -> frozenset[str]:
    return _NEWER | frozenset(gguf_constants().MODEL_ARCH_NAMES.values())
