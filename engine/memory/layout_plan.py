"""Which device gets which layers, and how many bytes that makes there.

Facts, hardware and a `LoadShape` go in, a `DevicePlan` for each device used comes out, the CPU's last, as
llama.cpp places things: token embeddings stay in RAM, the last layers and the output go to the cards, in
the proportion of their free memory; keys and values lie where their layer lies. Source: `load_tensors` in
llama.cpp's src/llama-model.cpp. Whether it fits is not judged here.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from engine.memory.compute_plan import borrowed_bytes, graph_bytes, input_bytes, logits_bytes
from engine.memory.hardware import Device, Hardware
from engine.memory.kv_math import KvSizes, kv_sizes, padded_cells
from engine.memory.load_options import usable_cards
from engine.memory.memory_plan import DevicePlan, ExactSizes, LoadShape
from engine.models.model_facts import ModelFacts
from engine.protocol import EffectiveOptions, FlashAttention

CPU = "CPU"
# Measured at vocabularies of 2,048 to 262,144 tokens, and after llama_kv_cells in src/llama-kv-cells.h.
_BYTES_A_TOKEN_OF_VOCABULARY = 170
_BYTES_A_CELL = 48
_ENGINE_BYTES = 2**20


class Layouts:
    """Counts what loads of one model, on one machine, put where.

    `options` say which cards take part. `freed`: bytes by device that will be free by then. `exact` corrects
    what is only fitted; it is None again if it was of another model, of another machine or of other cards.
    """

    def __init__(
        self,
        facts: ModelFacts,
        hardware: Hardware,
        options: EffectiveOptions,
        freed: Mapping[str, int],
        exact: ExactSizes | None,
    ) -> None:
        self._facts = facts
        self._options = options
        sharing = [device.name for device in hardware.devices if device.shares_ram]
        self._freed = {**freed, CPU: sum(freed.get(name, 0) for name in (CPU, *sharing))}
        self.cards = _cards_of(hardware, options.devices)
        cpu = next((device for device in hardware.devices if device.kind == "cpu"), None)
        self._cpu = Device(
            name=CPU,
            description=hardware.cpu_name,
            kind="cpu",
            total=hardware.ram_total,
            free=hardware.ram_available,
            used_by_others=None if cpu is None else cpu.used_by_others,
        )
        self._kv_factor = 1.0
        self._compute_correction: dict[str, int] = {}
        self.exact = exact if exact is not None and self._is_of_this_load(exact) else None
        if self.exact is not None:
            self._correct_by(self.exact)

    @property
    def all_layers(self) -> int:
        """The `n_gpu_layers` with which everything that can is on the cards."""
        return self._facts.n_layers + 1

    def devices(self, shape: LoadShape) -> tuple[DevicePlan, ...]:
        """What a load of this shape puts on each device that gets anything."""
        places = self.places(shape.n_gpu_layers)
        weights, compute = self._weights(places), self._compute(shape, places)
        kv, state = self._caches(shape, places)
        for name, more in self._compute_correction.items():
            compute[name] = max(0, compute[name] + more) if compute[name] else 0
        return tuple(
            DevicePlan(
                device=device.name,
                weights=weights[device.name],
                kv=kv[device.name],
                state=state[device.name],
                compute=compute[device.name],
                total=device.total,
                free=self._free(device),
                used_by_others=device.used_by_others,
                engine=self._engine_bytes(shape) if device is self._cpu else 0,
            )
            for device in (*self.cards, self._cpu)
            if device is self._cpu or weights[device.name] or compute[device.name]
        )

    def places(self, n_gpu_layers: int) -> tuple[str, ...]:
        """The device of each layer, then that of the output."""
        if self.exact is not None and self.exact.shape.n_gpu_layers == n_gpu_layers:
            return self.exact.layer_devices
        n_on_cards = min(n_gpu_layers, self.all_layers) if self.cards else 0
        on_cards = _spread([card.name for card in self.cards], self._shares(), n_on_cards)
        return (CPU,) * (self.all_layers - n_on_cards) + tuple(on_cards)

    def _is_of_this_load(self, exact: ExactSizes) -> bool:
        names = {CPU, *(card.name for card in self.cards)}
        cards_differ = exact.shape.options.devices != self._options.devices
        is_of_model = len(exact.layer_devices) == self.all_layers and names.issuperset(exact.layer_devices)
        return is_of_model and not cards_differ

    def _shares(self) -> list[float]:
        # A card that does not tell its memory counts as if it had the machine's, as in llama.cpp.
        frees = [self._free(card) for card in self.cards]
        return [float(self._free(self._cpu) or 0 if free is None else free) for free in frees]

    def _free(self, device: Device) -> int | None:
        if device.free is None:
            return None
        free = device.free + self._freed.get(device.name, 0)
        return free if device.total is None else min(free, device.total)

    def _weights(self, places: Sequence[str]) -> Counter[str]:
        facts = self._facts
        layers = facts.layer_bytes
        weights = Counter[str]()
        for place, n_bytes in zip(places, layers, strict=False):
            weights[place] += n_bytes
        weights[places[-1]] += facts.output_bytes
        weights[CPU] += facts.weights_bytes - sum(layers) - facts.output_bytes
        if places[-1] != CPU:
            weights[places[-1]] += facts.output_copy_bytes
        return weights

    def _caches(self, shape: LoadShape, places: Sequence[str]) -> tuple[Counter[str], Counter[str]]:
        """Keys and values, and states: each where its layer is, of looped models at each pass."""
        kv, state = Counter[str](), Counter[str]()
        sizes = self._kv_sizes(shape)
        of_layers = itertools.cycle(places[:-1] or [CPU])
        for place, of_kv, of_state in zip(of_layers, sizes.kv_by_layer, sizes.state_by_layer, strict=False):
            kv[place] += round(of_kv * self._kv_factor)
            state[place] += of_state
        return kv, state

    def _kv_sizes(self, shape: LoadShape) -> KvSizes:
        options = shape.options
        return kv_sizes(
            self._facts,
            shape.n_ctx,
            options.k_type,
            shape.n_seq_max,
            v_type=options.v_type,
            flash_attention=options.flash_attention is not FlashAttention.OFF,
            n_ubatch=options.n_ubatch,
        )

    def _compute(self, shape: LoadShape, places: Sequence[str]) -> Counter[str]:
        facts, n_on_cpu = self._facts, places.count(CPU)
        uses_cards = n_on_cpu < len(places)  # Weir loads without cards where no layer goes to them
        compute = Counter[str]()
        for card in self.cards:
            if card.name in places:
                compute[card.name] = graph_bytes(facts, shape)
        if n_on_cpu and uses_cards:
            # The first card computes long prompts also through the layers that lie in RAM.
            first = self.cards[0].name
            compute[first] = graph_bytes(facts, shape) + borrowed_bytes(facts, n_on_cpu)
        in_ram = graph_bytes(facts, shape) if n_on_cpu else input_bytes(facts, shape)
        compute[CPU] = in_ram + logits_bytes(facts, shape)
        return compute

    def _engine_bytes(self, shape: LoadShape) -> int:
        vocabulary = (self._facts.n_vocab or 0) * _BYTES_A_TOKEN_OF_VOCABULARY
        return _ENGINE_BYTES + vocabulary + padded_cells(shape.n_ctx) * _BYTES_A_CELL

    def _correct_by(self, exact: ExactSizes) -> None:
        """Take what llama.cpp said of one shape for a correction of what is counted for all."""
        counted = self._compute(exact.shape, exact.layer_devices)
        names = set(counted) | set(exact.compute_bytes)
        self._compute_correction = {name: exact.compute_bytes.get(name, 0) - counted[name] for name in names}
        kv_bytes = self._kv_sizes(exact.shape).kv_bytes
        if not self._facts.is_cache_exact and kv_bytes:
            self._kv_factor = exact.kv_bytes / kv_bytes


def _cards_of(hardware: Hardware, names: Sequence[str] | None) -> tuple[Device, ...]:
    """The cards that are called so, None are those that llama.cpp chooses."""
    if names is None:
        return usable_cards(hardware.devices)
    return tuple(device for device in hardware.devices if device.name in names)


def _spread(names: Sequence[str], shares: Sequence[float], n_layers: int) -> Iterator[str]:
    """The device of each of `n_layers`, in the proportion of `shares`."""
    total = sum(shares)
    if total <= 0:
        shares, total = [1.0] * len(names), float(len(names))
    borders = [border / total for border in itertools.accumulate(shares)]
    for layer in range(n_layers):
        yield names[min(len(names) - 1, bisect.bisect_right(borders, layer / n_layers))]
