"""`weir plan`: will this model run here, with how much context, how fast, and why.

In: `PlanOptions`. Out: a table for people or one JSON object, and an exit status: 0 also where the model does
not fit, since that is the answer (`fits` of the JSON); 1 for a file that cannot be read or is damaged, and
for an audit that could not be done. This process never loads llama.cpp, and without --audit nothing loads the
model.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path

from app.cli.chat_session import EngineFactory
from app.cli.engine_events import real_engine
from app.cli.machine import Machine, read_machine
from app.cli.model_argument import failed, read_model
from app.cli.plan_arguments import PlanOptions
from app.cli.plan_audit import Audit, audit
from app.cli.plan_table import lines
from engine.dry_run import Refused, try_out
from engine.errors import KnownError, ModelFileError, ModelLoadError
from engine.memory.kv_math import can_quantize
from engine.memory.memory_plan import PROCESS_BYTES, ExactSizes, MemoryPlan, Verdict, Wishes
from engine.memory.planner import may_load, plan
from engine.models.model_facts import ModelFacts


def run_plan(options: PlanOptions, make_engine: EngineFactory | None = None) -> int:
    """Print the plan; returns the exit status. `make_engine` None takes the real engine."""
    try:
        facts = read_model(options.file)
    except ModelFileError as error:
        return failed(str(error), options.as_json)
    wishes = Wishes(options.n_ctx, options.kv_type, options.n_gpu_layers, options=options.load_options)
    try:
        machine = read_machine(_note)
        planned = make_plan(facts, Path(options.file), wishes, machine)
    except OSError as error:  # no more files, processes or threads are allowed
        return failed(f"This machine could not be asked: {error.strerror or error}.", options.as_json)
    audited: Audit | None = None
    status = 0
    if options.audits:
        try:
            audited = _audit(planned, options.file, wishes, make_engine or real_engine())
        except KnownError as error:
            status = _note(str(error))
        else:
            _learn(facts, machine, audited)
    if options.as_json:
        print(json.dumps(json_fields(planned, audited, options.audits), allow_nan=False))
    else:
        n_columns = shutil.get_terminal_size().columns
        print("\n".join(lines(facts, planned, audited, n_columns)))
    return status


def make_plan(facts: ModelFacts, path: Path, wishes: Wishes, machine: Machine) -> MemoryPlan:
    """The plan for the machine as it is now, with llama.cpp's own sizes where a dry run can tell them."""

    def count(exact: ExactSizes | None = None) -> MemoryPlan:
        return plan(facts, machine.hardware, wishes, exact=exact, calibrations=machine.calibrations)

    first = count()
    options = first.shape.options
    if not (facts.is_chat_model and can_quantize(facts, options.k_type, options.v_type)):
        return first  # llama.cpp would say the same, and no more
    exact = try_out(path, first.shape)
    if isinstance(exact, Refused):
        return replace(first, verdict=Verdict.CANNOT_CHAT, reasons=(exact.reason,))
    return count(exact) if exact else first


def _learn(facts: ModelFacts, machine: Machine, audited: Audit) -> None:
    if machine.learner and audited.stats:
        machine.learner.learn(facts, audited.info, machine.hardware, audited.stats)


def _audit(planned: MemoryPlan, path: str, wishes: Wishes, make_engine: EngineFactory) -> Audit:
    refusal = may_load(planned)
    if refusal is not None:
        raise ModelLoadError(f"It was not loaded. {refusal.message}")
    return audit(planned, path, wishes, make_engine)


def json_fields(planned: MemoryPlan, audited: Audit | None, with_audit: bool) -> dict[str, object]:
    """The fields of the JSON object; sizes in bytes.

    `n_ctx` is as llama.cpp makes it, `n_ctx_asked` as it was asked for. On top of `total_bytes` come
    `process_bytes`, the engine's process itself, and `file_cache_bytes`, which can be taken back.
    """
    options = planned.shape.options
    fields: dict[str, object] = {
        "verdict": planned.verdict,
        "fits": planned.fits,
        "reasons": planned.reasons,
        "n_ctx": planned.n_cells,
        "n_ctx_asked": planned.n_ctx,
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
        "file_cache_bytes": planned.file_cache_bytes,
        "total_bytes": planned.total_bytes,
        "available_bytes": planned.available_bytes,
        "predicted_tps": planned.predicted_tps,
        "predicted_full_tps": planned.predicted_full_tps,
        "limit_tps": planned.limit_tps,
        "limit_full_tps": planned.limit_full_tps,
        "is_speed_measured": planned.is_speed_measured,
        "is_exact": planned.is_exact,
        "devices": [asdict(device) | {"needed": device.needed} for device in planned.devices],
    }
    if with_audit:
        entries = audited and {name: asdict(one) for name, one in audited.entries.items()}
        fields |= {"audit": entries, "measured_tps": audited and audited.measured_tps}
    return fields


def _note(sentence: str) -> int:
    """Write the sentence to standard error; returns the exit status of a failure."""
    print(f"weir: {sentence}", file=sys.stderr)
    return 1
