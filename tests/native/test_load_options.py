"""llama.cpp really takes the options of a load, and the plan is as exact with them as without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import gguf
import numpy as np
import psutil
import pytest

from engine.dry_run import dry_run
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.memory.compute_plan import graph_bytes, logits_bytes
from engine.memory.hardware import Hardware, read_hardware
from engine.memory.kv_math import kv_sizes
from engine.memory.memory_plan import LoadShape, Wishes
from engine.memory.planner import plan
from engine.models.model_facts import read_facts
from engine.protocol import EffectiveOptions, Failed, Finished, FlashAttention, KVType, LoadOptions
from tests import model_files, synthetic_caches
from tests.model_files import TokenizerFields
from tests.native.harness import RemoteEngine, loaded, user

MIB = 2**20
LOG_STEP = 0.01 * MIB
OFF, ON = FlashAttention.OFF, FlashAttention.ON
Q8_0, Q4_0, F16 = KVType.Q8_0, KVType.Q4_0, KVType.F16


@pytest.fixture(scope="module")
def models(
    model_folder: Path, tokenizer_fields: TokenizerFields, starter_model: Path, gemma3_model: Path
) -> Mapping[str, Path]:
    networks = {
        "heads by layer": synthetic_caches.openelm(tokenizer_fields.n_vocab),
        "latent": synthetic_caches.deepseek2(tokenizer_fields.n_vocab),
    }
    written = {
        kind: model_files.write_network(model_folder / f"options-{kind}.gguf", network, tokenizer_fields)
        for kind, network in networks.items()
    }
    return written | {"starter": starter_model, "sliding": gemma3_model}


@pytest.fixture(scope="module")
def rearranged_model(model_folder: Path, starter_model: Path) -> Path:
    """The starter model with its large matrices as Q4_0, which llama.cpp rearranges for the processor."""
    return _as_q4_0(starter_model, model_folder / "rearranged.gguf")


@pytest.fixture(scope="module")
def here() -> Hardware:
    return read_hardware(())


@contextmanager
def made(model: Model, params: ContextParams) -> Iterator[tuple[Context, str]]:
    """A context and what llama.cpp said about it."""
    context = Context(model, params)
    try:
        yield context, "\n".join(model.backend.log)
    finally:
        context.close()


def _says(log: str, name: str, value: str) -> bool:
    return any(line.split() == f"llama_context: {name} = {value}".split() for line in log.splitlines())


def test_batches_are_those_of_the_context(starter: Model) -> None:
    with made(starter, ContextParams(1024, n_batch=256, n_ubatch=64)) as (context, log):
        assert context.n_batch == 256
        assert _says(log, "n_batch", "256") and _says(log, "n_ubatch", "64")


@pytest.mark.parametrize(
    ("flash_attention", "said"), [(FlashAttention.AUTO, "auto"), (ON, "enabled"), (OFF, "disabled")]
)
def test_flash_attention_is_what_was_chosen(
    starter: Model, flash_attention: FlashAttention, said: str
) -> None:
    with made(starter, ContextParams(256, flash_attention=flash_attention)) as (_, log):
        assert _says(log, "flash_attn", said)


def test_keys_and_values_have_their_own_types(starter: Model) -> None:
    with made(starter, ContextParams(256, kv_type=Q8_0, v_type=Q4_0)) as (_, log):
        assert "K (q8_0):" in log and "V (q4_0):" in log


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (EffectiveOptions(), "(load_mode = mmap)"),
        (EffectiveOptions(mmap=True), "(load_mode = mmap)"),
        (EffectiveOptions(mmap=False), "(load_mode = none)"),
        (EffectiveOptions(mmap=False, mlock=True), "(load_mode = mlock)"),
    ],
)
def test_file_is_read_as_was_chosen(starter: Model, options: EffectiveOptions, said: str) -> None:
    model = Model(starter.backend, starter.path, options=options)
    log = "\n".join(starter.backend.log)
    model.close()
    assert said in log


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("starter", (F16, F16)),
        ("starter", (Q8_0, F16)),
        ("heads by layer", (F16, F16)),
        ("heads by layer", (Q8_0, F16)),
        ("sliding", (Q4_0, F16)),
        ("latent", (F16, F16)),
    ],
)
def test_cache_without_flash_attention_is_as_large_as_counted(
    models: Mapping[str, Path], kind: str, types: tuple[KVType, KVType]
) -> None:
    facts = read_facts(models[kind])
    sizes = kv_sizes(facts, 32_768, types[0], 4, v_type=types[1], flash_attention=False)
    params = ContextParams(32_768, 4, n_batch=64, kv_type=types[0], v_type=types[1], flash_attention=OFF)
    with loaded(models[kind]) as model, made(model, params) as (context, _):
        assert context.kv_bytes == pytest.approx(sizes.kv_bytes, abs=2 * LOG_STEP)


@pytest.mark.parametrize(
    ("kv_type", "options"),
    [
        (F16, LoadOptions(flash_attention=OFF)),
        (Q8_0, LoadOptions(flash_attention=OFF)),
        (Q8_0, LoadOptions(v_type=Q4_0)),
        (F16, LoadOptions(v_type=Q8_0, flash_attention=ON)),
        (F16, LoadOptions(n_batch=1024, n_ubatch=1024)),
        (F16, LoadOptions(n_batch=64, flash_attention=OFF)),
        (F16, LoadOptions(mmap=False)),
        (F16, LoadOptions(mlock=True, main_device="CUDA7")),
    ],
)
def test_load_allocates_what_was_planned(
    starter_model: Path, here: Hardware, engine: RemoteEngine, kv_type: KVType, options: LoadOptions
) -> None:
    wishes, facts = Wishes(1536, kv_type, options=options), read_facts(starter_model)
    exact = dry_run(starter_model, plan(facts, here, wishes).shape)
    assert exact is not None
    planned = plan(facts, here, wishes, exact=exact)
    assert planned.is_exact
    info = engine.load(starter_model, n_ctx=1536, kv_type=kv_type, options=options).info
    (allocated,) = info.buffers
    assert info.options == planned.shape.options
    assert planned.weights_bytes == info.size_bytes
    assert planned.weights_bytes == pytest.approx(allocated.weights, abs=LOG_STEP)
    assert planned.kv_bytes == pytest.approx(allocated.kv, abs=2 * LOG_STEP)
    assert planned.compute_bytes == allocated.compute


def test_what_does_not_go_together_is_told_with_the_model(starter_model: Path, engine: RemoteEngine) -> None:
    options = LoadOptions(flash_attention=OFF)
    info = engine.load(starter_model, n_ctx=256, kv_type=Q8_0, options=options).info
    assert (info.options.k_type, info.options.v_type) == (Q8_0, F16)
    assert info.notices == (
        "V can be quantized only with flash attention, which is off: it is stored as f16.",
    )
    assert engine.ask([user("Name a river.")], max_tokens=4).stats.tokens_generated > 0


def test_four_chats_go_on_in_the_smallest_batch(starter_model: Path, engine: RemoteEngine) -> None:
    options = LoadOptions(n_batch=1, n_ubatch=1)
    # f16 sums would depend on what lies beside them.
    info = engine.load(starter_model, n_ctx=512, options=options, n_seq_max=4, kv_type=Q8_0).info
    assert info.options.n_batch == info.n_seq_max == 4
    alone = engine.ask([user("Name a river.")], chat="alone", max_tokens=6).text
    for number in range(4):
        engine.generate([user("Name a river.")], chat=str(number), max_tokens=6)
    replies = [engine.next(Finished, Failed) for _ in range(4)]
    assert [reply.text for reply in replies if isinstance(reply, Finished)] == [alone] * 4


def test_weights_that_the_system_does_not_lock_are_noticed(starter: Model) -> None:
    warning = "warning: failed to mlock 96571392-byte buffer (after previously locking 0 bytes): no memory"

    def refused(_fraction: float) -> None:
        starter.backend.log.append(warning)

    model = Model(starter.backend, starter.path, options=EffectiveOptions(mlock=True), on_progress=refused)
    model.close()
    assert model.is_unlocked
    assert not starter.is_unlocked


@pytest.mark.parametrize("n_ctx", [512, 2048, 8192])
@pytest.mark.parametrize("n_ubatch", [128, 1024])
def test_formula_without_flash_attention_is_near(starter_model: Path, n_ctx: int, n_ubatch: int) -> None:
    options = EffectiveOptions(flash_attention=OFF, n_batch=n_ubatch, n_ubatch=n_ubatch)
    shape, facts = LoadShape(n_ctx, 0, 4, options), read_facts(starter_model)
    exact = dry_run(starter_model, shape)
    assert exact is not None
    estimated = graph_bytes(facts, shape) + logits_bytes(facts, shape)
    assert estimated == pytest.approx(exact.compute_bytes["CPU"], rel=0.02)


def test_rearranged_weights_lie_in_memory_once(rearranged_model: Path, engine: RemoteEngine) -> None:
    assert engine.client.pid is not None
    process = psutil.Process(engine.client.pid)
    info = engine.load(rearranged_model, n_ctx=256).info
    mapped = sum(
        entry.rss for entry in process.memory_maps() if Path(entry.path).name == rearranged_model.name
    )
    (allocated,) = info.buffers
    assert info.options.mmap is False
    assert mapped == 0
    assert allocated.weights == pytest.approx(info.size_bytes, abs=0.1 * MIB)


def _as_q4_0(source: Path, path: Path) -> Path:
    reader, writer = gguf.GGUFReader(source), gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            item_type = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], item_type)
    for tensor in reader.tensors:
        if tensor.name.startswith("blk.") and len(tensor.shape) == 2 and tensor.shape[1] > 1:
            values = gguf.dequantize(tensor.data, tensor.tensor_type)
            q4_0 = gguf.GGMLQuantizationType.Q4_0
            writer.add_tensor(tensor.name, gguf.quantize(values, q4_0), raw_dtype=q4_0)
        else:
            writer.add_tensor(tensor.name, np.asarray(tensor.data), raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
