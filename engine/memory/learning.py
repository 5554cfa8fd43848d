"""What one reply tells about a machine: how long a token of this model took, at this depth.

Facts, a loaded model and the numbers of a turn go in; the stores of what was measured are told. Promises:
few tokens, layers on several devices, or drafts of unknown gain teach nothing. Knows nothing about who asked
for the reply.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.memory.bandwidth import BandwidthStore
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import Device, Hardware
from engine.memory.token_work import works
from engine.models.model_facts import ModelFacts
from engine.protocol import FlashAttention, ModelInfo, TurnStats

FEWEST_TOKENS = 20
"""Shorter turns tell little."""


@dataclass(frozen=True, slots=True)
class Learner:
    """Owns nothing: the stores do."""

    calibrations: CalibrationStore
    bandwidths: BandwidthStore

    def learn(self, facts: ModelFacts, info: ModelInfo, hardware: Hardware, stats: TurnStats) -> None:
        """Remember the turn, if it tells enough; writes small files."""
        device = device_of(info, hardware)
        if device is None or not stats.decode_tps or stats.tokens_generated < FEWEST_TOKENS:
            return
        plain_tps = _plain_tps(stats)
        if plain_tps is None:
            return
        # The cache grew meanwhile: in the middle of the turn it was so large.
        n_cells = max(0.0, stats.kv_cells_used - stats.tokens_generated / 2)
        places = (device.name,) * (facts.n_layers + 1)
        options = info.options
        is_flash = options.flash_attention is not FlashAttention.OFF
        work = works(facts, places, n_cells, options.k_type, options.v_type, flash_attention=is_flash).get(
            device.name
        )
        if work is None:
            return
        self.calibrations.add(device, facts.quantization, work, 1 / plain_tps)
        if device.kind == "cpu":
            self.bandwidths.prove(hardware, work.bytes_read * plain_tps)


def _plain_tps(stats: TurnStats) -> float | None:
    """Tokens a second if a step had given one each; None where that is not known."""
    if not stats.decode_tps or not stats.tokens_drafted:
        return stats.decode_tps
    return stats.decode_tps / stats.draft_gain if stats.draft_gain else None


def device_of(info: ModelInfo, hardware: Hardware) -> Device | None:
    """The device that all layers lie on; None if they lie on several, or if that is not known."""
    names = {entry.device for entry in info.buffers if entry.kv}
    if len(names) != 1:
        return None
    name = names.pop()
    found = next((device for device in hardware.devices if device.name == name), None)
    host = next((device for device in hardware.devices if device.kind == "cpu"), None)
    return found or (host if name not in {card.name for card in info.devices} else None)
