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
from engine.memory.engine_plan import engine_bytes
from engine.memory.hardware import Device, Hardware
from engine.memory.kv_math import KvSizes, kv_sizes
from engine.memory.load_options import usable_cards
from engine.memory.memory_plan import DevicePlan, ExactSizes, LoadShape
from engine.models.model_facts import ModelFacts
from engine.protocol import EffectiveOptions, FlashAttention, KVType

CPU = "CPU"

# Context, types of K and V, sequences, flash attention.
_KvShape = tuple[int, KVType, KVType, int, bool]


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
            total=hardware.ram_total or None,
            free=hardware.ram_available if hardware.ram_total else None,
            used_by_others=None if cpu is None else cpu.used_by_others,
        )
        self._n_threads = hardware.n_physical_cores
        self._kv_factor = 1.0
        self._known_kv: dict[_KvShape, KvSizes] = {}
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
        file_cache = self._rearrange(weights, shape, places)
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
                engine=engine_bytes(self._facts, shape, self._n_threads) if device is self._cpu else 0,
                file_cache=file_cache if device is self._cpu else 0,
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
        weights = _by_place(places, layers)
        weights[places[-1]] += facts.output_bytes
        weights[CPU] += facts.weights_bytes - sum(layers) - facts.output_bytes
        if places[-1] != CPU:
            weights[places[-1]] += facts.output_copy_bytes
        return weights

    def _rearrange(self, weights: Counter[str], shape: LoadShape, places: Sequence[str]) -> int:
        """Add what lies twice once it is rearranged; returns what of the mapped file is not read again."""
        facts, options = self._facts, shape.options
        if options.devices != () or any(place != CPU for place in places):
            return 0
        weights[CPU] += facts.rearranged.copies
        return 0 if options.mmap is False else facts.rearranged.file_cache(facts.weights_bytes)

    def _caches(self, shape: LoadShape, places: Sequence[str]) -> tuple[Counter[str], Counter[str]]:
        """Keys and values, and states: each where its layer is, of looped models at each pass."""
        sizes = self._kv_sizes(shape)
        of_layers = places[:-1] or (CPU,)
        return _by_place(of_layers, sizes.kv_by_layer), _by_place(of_layers, sizes.state_by_layer)

    def _kv_sizes(self, shape: LoadShape) -> KvSizes:
        """Counted once: trying how many layers have room asks for the same again and again."""
        options = shape.options
        is_flash = options.flash_attention is not FlashAttention.OFF
        key = (shape.n_ctx, options.k_type, options.v_type, shape.n_seq_max, is_flash)
        if key not in self._known_kv:
            counted = kv_sizes(
                self._facts,
                shape.n_ctx,
                options.k_type,
                shape.n_seq_max,
                v_type=options.v_type,
                flash_attention=is_flash,
            )
            by_layer = tuple(round(of_kv * self._kv_factor) for of_kv in counted.kv_by_layer)
            self._known_kv[key] = KvSizes(by_layer, counted.state_by_layer)
        return self._known_kv[key]

    def _compute(self, shape: LoadShape, places: Sequence[str]) -> Counter[str]:
        facts, n_on_cpu = self._facts, places.count(CPU)
        uses_cards = n_on_cpu < len(places)  # Weir loads without cards where no layer goes to them
        compute, of_graph = Counter[str](), graph_bytes(facts, shape)
        for card in self.cards:
            if card.name in places:
                compute[card.name] = of_graph
        if n_on_cpu and uses_cards:
            # The first card computes long prompts also through the layers that lie in RAM.
            first = self.cards[0].name
            compute[first] = of_graph + borrowed_bytes(facts, n_on_cpu)
        in_ram = of_graph if n_on_cpu else input_bytes(facts, shape)
        compute[CPU] = in_ram + logits_bytes(facts, shape)
        return compute

    def _correct_by(self, exact: ExactSizes) -> None:
        """Take what llama.cpp said of one shape for a correction of what is counted for all."""
        counted = self._compute(exact.shape, exact.layer_devices)
        names = set(counted) | set(exact.compute_bytes)
        self._compute_correction = {name: exact.compute_bytes.get(name, 0) - counted[name] for name in names}
        kv_bytes = self._kv_sizes(exact.shape).kv_bytes
        if not self._facts.is_cache_exact and kv_bytes:
            self._kv_factor = exact.kv_bytes / kv_bytes
            self._known_kv.clear()


def _cards_of(hardware: Hardware, names: Sequence[str] | None) -> tuple[Device, ...]:
    """The cards that are called so, None are those that llama.cpp chooses."""
    if names is None:
        return usable_cards(hardware.devices)
    return tuple(device for device in hardware.devices if device.name in names)


def _by_place(places: Sequence[str], sizes: Sequence[int]) -> Counter[str]:
    """The sums, each run of layers at once; layers beyond the places begin again with the first."""
    sums, start = Counter[str](), 0
    for place, run in itertools.groupby(itertools.islice(itertools.cycle(places), len(sizes))):
        end = start + sum(1 for _ in run)
        sums[place] += sum(sizes[start:end])
        start = end
    return sums


def _spread(names: Sequence[str], shares: Sequence[float], n_layers: int) -> Iterator[str]:
    """The device of each of `n_layers`, in the proportion of `shares`."""
    total = sum(shares)
    if total <= 0:
        shares, total = [1.0] * len(names), float(len(names))
    borders = [border / total for border in itertools.accumulate(shares)]
    for layer in range(n_layers):
        yield names[min(len(names) - 1, bisect.bisect_right(borders, layer / n_layers))]
