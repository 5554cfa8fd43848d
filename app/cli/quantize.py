"""`weir quantize`: a smaller model of one in full or half precision, in a process that may be ended.

In: `QuantizeOptions`. Out: the path of the new file on standard output, what was and what will be with the
progress on standard error, and an exit status: 0; 1 if it cannot be done or failed; 130 after Ctrl+C.
Promises that nothing half is left in any of these cases. This process never loads llama.cpp.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from pathlib import Path

from app.cli.chat_session import EngineFactory
from app.cli.engine_events import next_event, real_engine
from app.cli.interrupts import INTERRUPTED, first_interrupt_calls
from app.cli.last_words import cause_in_words
from app.cli.machine import Machine, read_machine
from app.cli.model_argument import read_model
from app.cli.quantize_arguments import QuantizeOptions
from app.cli.quantize_output import Prospect, QuantizeOutput
from app.data.paths import quantized_dir
from app.data.provenance import note_quantized
from engine.errors import KnownError
from engine.memory.memory_plan import MemoryPlan, Wishes
from engine.memory.planner import plan
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts, facts_of
from engine.models.model_parts import headers_of
from engine.models.quantized_model import quantized_header, quantized_name
from engine.models.unfinished_file import sweep
from engine.protocol import Cancel, EngineDied, Event, Failed, Quantize, QuantizeFinished, QuantizeProgress

MachineReader = Callable[[Callable[[str], object]], Machine]


def run_quantize(
    options: QuantizeOptions,
    make_engine: EngineFactory | None = None,
    read_this_machine: MachineReader = read_machine,
) -> int:
    """Carry out one run; returns the exit status. `make_engine` None takes the real engine."""
    output = QuantizeOutput(as_json=options.as_json)
    try:
        facts = read_model(options.model)
        target = _target(options, facts)
        _show_prospects(options, facts, target, output, read_this_machine)
    except KnownError as error:
        output.show_end(str(error))
        return 1
    path = str(Path(options.model).absolute())
    command = Quantize(path, str(target), options.kind, options.n_threads, options.overwrites)
    try:
        status = _run(command, output, make_engine or real_engine())
    except KeyboardInterrupt:
        status = INTERRUPTED
    finally:
        output.clear()
        sweep(target.parent)  # the engine's process is gone
    if status == 0 and target.parent == quantized_dir():
        note_quantized(target, shown(facts.name))
    return status


def _target(options: QuantizeOptions, facts: ModelFacts) -> Path:
    """Where the new file will be. Raises KnownError when Weir has no folder."""
    name = quantized_name(facts.name, options.kind)
    if options.output is None:
        return quantized_dir() / name
    chosen = Path(options.output).absolute()
    return chosen / name if chosen.is_dir() else chosen


def _show_prospects(
    options: QuantizeOptions,
    facts: ModelFacts,
    target: Path,
    output: QuantizeOutput,
    read_this_machine: MachineReader,
) -> None:
    """Raises ModelFileError for a model that is not to be quantized."""
    headers = headers_of(Path(options.model))
    new = quantized_header(headers, options.kind, target)
    new_facts = facts_of((new,))
    try:
        machine: Machine | None = read_this_machine(output.note)
    except OSError:  # no more files or processes are allowed
        machine = None
    size = sum(header.file_size or header.required_size for header in headers)
    output.show_prospects(
        Prospect(facts.quantization, size, _plan(facts, machine)),
        Prospect(options.kind, new.required_size, _plan(new_facts, machine)),
    )


def _plan(facts: ModelFacts, machine: Machine | None) -> MemoryPlan | None:
    if machine is None:
        return None
    return plan(facts, machine.hardware, Wishes(), calibrations=machine.calibrations)


def _run(command: Quantize, output: QuantizeOutput, make_engine: EngineFactory) -> int:
    events: queue.SimpleQueue[Event | Cancel] = queue.SimpleQueue()
    with (
        contextlib.closing(make_engine(events.put)) as engine,
        first_interrupt_calls(lambda: events.put(Cancel(0))),
    ):
        try:
            engine.send(command)
        except KnownError as error:
            output.show_end(str(error))
            return 1
        while True:
            match event := next_event(events):
                case Cancel():
                    output.show_end("Stopped. Nothing half is left, and the model is as it was.")
                    return INTERRUPTED
                case QuantizeProgress():
                    output.show(event)
                case QuantizeFinished():
                    output.show_finished(event)
                    return 0
                case Failed():
                    output.show_end(event.error.message)
                    return 1
                case EngineDied():
                    output.show_end(
                        f"The engine died while it quantized ({cause_in_words(event)}). Nothing half is "
                        "left: the model file may be broken."
                    )
                    return 1
                case _:
                    pass
