"""A benchmark's results against what this machine could do: the rows of the report.

A `BenchResult` goes in with its model's facts and the machine; a `BenchRecord` comes out, with the speed that
was to be expected before. `learn` then remembers what was measured, so that the next row, and every plan,
expects more exactly. Arithmetic: `engine.memory.memory_wall`. Knows nothing about how anything was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.data.bench_record import BenchRecord
from app.data.bench_warnings import MOST_OTHER_LOAD_PCT
from engine.memory.calibration import CalibrationStore, expected_speed
from engine.memory.hardware import Device, Hardware
from engine.memory.memory_wall import compute_share, seconds_of
from engine.memory.token_work import TokenWork, works
from engine.models.model_facts import ModelFacts
from engine.protocol import BenchCase, BenchKind, BenchResult, FlashAttention
from engine.version import VERSION

_FLASH_ATTENTION = {FlashAttention.AUTO: -1, FlashAttention.OFF: 0, FlashAttention.ON: 1}
_FEWEST_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Machine:
    """What results are compared with: `hardware` has its bandwidths, where they are known."""

    hardware: Hardware
    calibrations: CalibrationStore | None = None

    def device(self, name: str | None) -> Device | None:
        """By llama.cpp's name."""
        return next((device for device in self.hardware.devices if device.name == name), None)


def rated(result: BenchResult, facts: ModelFacts, machine: Machine) -> BenchRecord:
    """The row of this result. What is not known of facts or machine is None."""
    case, device = result.case, machine.device(result.device)
    decodes = result.kind in (BenchKind.GENERATION, BenchKind.CHAT)
    work = token_work(facts, case) if decodes else None
    return BenchRecord(
        build_commit=result.machine.build_commit,
        build_number=result.machine.build_number,
        cpu_info=result.machine.cpu_info,
        gpu_info=result.machine.gpu_info,
        backends=result.machine.backends,
        model_filename=result.model.path,
        model_type=result.model.type,
        model_size=result.model.size,
        model_n_params=result.model.n_params,
        n_batch=case.n_batch,
        n_ubatch=case.n_ubatch,
        n_threads=case.n_threads or 1,
        type_k=case.k_type.value,
        type_v=(case.v_type or case.k_type).value,
        n_gpu_layers=case.n_gpu_layers,
        flash_attn=_FLASH_ATTENTION[case.flash_attention],
        n_prompt=case.n_prompt,
        n_gen=case.n_gen,
        n_depth=case.n_depth,
        test_time=result.test_time,
        samples_ns=result.samples_ns,
        load_mode=result.load_mode,
        test_kind=result.kind.value,
        model_name=facts.name,
        ttft_ms=result.whole_path.ttft_ms,
        prompt_ts=result.whole_path.prompt_ts,
        decode_ts=result.whole_path.decode_ts,
        load_ms=result.whole_path.load_ms,
        eviction_ms=result.whole_path.eviction_ms,
        restore_ms=result.whole_path.restore_ms,
        reevaluation_ms=result.whole_path.reevaluation_ms,
        n_restored=result.whole_path.n_restored,
        kv_bytes=result.kv_bytes,
        peak_rss_bytes=result.peak_rss_bytes,
        vram_bytes=result.vram_bytes,
        bytes_per_token=round(work.bytes_read) if work else None,
        bandwidth_gbs=device.bandwidth / 1e9 if device and device.bandwidth else None,
        predicted_ts=_predicted(work, facts, device, machine) if work else None,
        compute_used_pct=_compute_used(result, facts),
        power_source=result.noise.power_source,
        other_load_pct=result.noise.other_load_pct,
        throttled=result.noise.throttled,
        aborted=result.aborted,
        weir_version=VERSION,
    )


def learn(record: BenchRecord, result: BenchResult, facts: ModelFacts, machine: Machine) -> None:
    """Remember how fast tokens came, for what is expected later; of a quiet machine alone."""
    device, rate = machine.device(result.device), record.decode_rate
    is_quiet = (record.other_load_pct or 0.0) <= MOST_OTHER_LOAD_PCT and not record.throttled
    if machine.calibrations is None or device is None or result.kind is not BenchKind.GENERATION:
        return
    if rate and is_quiet and record.n_gen >= _FEWEST_TOKENS:
        work = token_work(facts, result.case)
        machine.calibrations.add(device, facts.quantization, work, 1 / rate)


def token_work(facts: ModelFacts, case: BenchCase) -> TokenWork:
    """What a token in the middle of the case's reply makes the one device do that all layers lie on."""
    cells = case.n_depth + case.n_prompt + case.n_gen / 2
    places = ("all",) * (facts.n_layers + 1)
    is_flash = case.flash_attention is not FlashAttention.OFF
    return works(facts, places, cells, case.k_type, case.v_type, flash_attention=is_flash)["all"]


def _predicted(work: TokenWork, facts: ModelFacts, device: Device | None, machine: Machine) -> float | None:
    speed = expected_speed(device, facts.quantization, machine.calibrations) if device else None
    return 1 / seconds_of(work, speed) if speed else None


def _compute_used(result: BenchResult, facts: ModelFacts) -> float | None:
    """Percent of the operations that the threads reach; of all tokens, read or written."""
    n_tokens = (result.case.n_prompt + result.case.n_gen) * len(result.samples_ns)
    seconds = sum(result.samples_ns) / 1e9
    if not result.peak_operations or not seconds:
        return None
    return 100 * compute_share(facts.n_active_params, n_tokens / seconds, result.peak_operations)
