"""`weir plan`: will this model run here, with how much context, how fast, and why.

In: `PlanOptions`. Out: a table for people or one JSON object, and an exit status: 0 also where the model does
not fit, since that is the answer; 1 for a file that cannot be read or is damaged, and for an audit that
could not be done. This process never loads llama.cpp, and without --audit nothing loads the model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from app.cli.chat_session import EngineFactory
from app.cli.plan_arguments import PlanOptions
from app.cli.plan_audit import AuditEntry, audit
from app.cli.plan_table import lines
from app.data.message_text import clean_text
from app.data.paths import bandwidth_path, calibrations_path
from engine.client import probe_backend
from engine.dry_run import Refused, try_out
from engine.errors import EngineGone, KnownError, ModelFileError, ModelLoadError
from engine.memory.bandwidth import BandwidthStore, with_bandwidth
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import Hardware, read_hardware
from engine.memory.memory_plan import PROCESS_BYTES, MemoryPlan, Verdict, Wishes
from engine.memory.planner import may_load, plan
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts, read_facts


def run_plan(options: PlanOptions, make_engine: EngineFactory | None = None) -> int:
    """Print the plan; returns the exit status. `make_engine` None takes the real engine."""
    path = Path(options.file)
    if path.is_dir():
        return _note(f"{shown(clean_text(options.file))} is a folder. Name one of the model files in it.")
    try:
        facts = read_facts(path)
    except ModelFileError as error:
        return _note(str(error))
    wishes = Wishes(options.n_ctx, options.kv_type, options.n_gpu_layers, options=options.load_options)
    planned = make_plan(facts, path, wishes)
    audited: dict[str, AuditEntry] | None = None
    status = 0
    if options.audits:
        try:
            audited = _audit(planned, options.file, wishes, make_engine or _real_engine())
        except KnownError as error:
            status = _note(str(error))
    if options.as_json:
        print(json.dumps(json_fields(planned, audited, options.audits), allow_nan=False))
    else:
        print("\n".join(lines(facts, planned, audited)))
    return status


def make_plan(facts: ModelFacts, path: Path, wishes: Wishes) -> MemoryPlan:
    """The plan for this machine as it is now, with llama.cpp's own sizes where a dry run can tell them."""
    hardware, calibrations = _this_machine()
    first = plan(facts, hardware, wishes, calibrations=calibrations)
    if not facts.is_chat_model:
        return first
    exact = try_out(path, first.shape)
    if isinstance(exact, Refused):
        return replace(first, verdict=Verdict.CANNOT_CHAT, reasons=(exact.reason,))
    return plan(facts, hardware, wishes, exact=exact, calibrations=calibrations) if exact else first


def _this_machine() -> tuple[Hardware, CalibrationStore | None]:
    try:
        devices = probe_backend().devices
    except EngineGone as error:
        _note(f"{error} The plan knows of no graphics card.")
        devices = ()
    hardware = read_hardware(devices)
    try:
        stored = BandwidthStore(bandwidth_path()).stored(hardware)
        return with_bandwidth(hardware, stored), CalibrationStore(calibrations_path())
    except KnownError:  # no folder to keep such things in: nothing was measured then
        return hardware, None


def _audit(
    planned: MemoryPlan, path: str, wishes: Wishes, make_engine: EngineFactory
) -> dict[str, AuditEntry]:
    refusal = may_load(planned)
    if refusal is not None:
        raise ModelLoadError(f"It was not loaded. {refusal.message}")
    return audit(planned, path, wishes, make_engine)


def json_fields(
    planned: MemoryPlan, audited: Mapping[str, AuditEntry] | None, with_audit: bool
) -> dict[str, object]:
    """The fields of the JSON object; sizes in bytes. `process_bytes`: the engine's process itself, on top."""
    options = planned.shape.options
    fields: dict[str, object] = {
        "verdict": planned.verdict,
        "fits": planned.fits,
        "reasons": planned.reasons,
        "n_ctx": planned.n_ctx,
        "n_ctx_fitting": planned.n_ctx_fitting,
        "n_gpu_layers": planned.n_gpu_layers,
        "kv_type": planned.kv_type,
        "v_type": options.v_type,
        "flash_attention": options.flash_attention,
        "n_batch": options.n_batch,
        "n_ubatch": options.n_ubatch,
        "weights_bytes": planned.weights_bytes,
        "kv_bytes": planned.kv_bytes,
        "state_bytes": planned.state_bytes,
        "compute_bytes": planned.compute_bytes,
        "engine_bytes": planned.engine_bytes,
        "process_bytes": PROCESS_BYTES,
        "total_bytes": planned.total_bytes,
        "available_bytes": planned.available_bytes,
        "predicted_tps": planned.predicted_tps,
        "limit_tps": planned.limit_tps,
        "is_exact": planned.is_exact,
        "devices": [asdict(device) | {"needed": device.needed} for device in planned.devices],
    }
    if with_audit:
        fields["audit"] = None if audited is None else {name: asdict(one) for name, one in audited.items()}
    return fields


def _note(sentence: str) -> int:
    """Write the sentence to standard error; returns the exit status of a failure."""
    print(f"weir: {sentence}", file=sys.stderr)
    return 1


def _real_engine() -> EngineFactory:
    from engine.client import EngineClient

    return EngineClient
