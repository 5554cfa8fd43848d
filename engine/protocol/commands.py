"""What a front end asks of the worker process."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.bench import Bench
from engine.protocol.load_options import DEFAULT_SEQUENCES, KVType, LoadOptions
from engine.protocol.quantize import Quantize
from engine.protocol.values import CachePolicy, EnduranceRun, Message, Sampling, SavedKV, Shift

_VARIANT = "\x1f"  # in no chat's id


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load the model file at `path`; answered by `LoadProgress`..., then `ModelLoaded` or `Failed`.

    `n_ctx` None takes the trained context, at most 8,192. `chat_format` None takes the file's own
    template; else a name from `engine.chat.chat_template.FORMATS`. `n_gpu_layers` -1 means all.
    `n_seq_max` is how many sequences (chats, variants of a reply) may be decoded side by side; a model that
    keeps a state for each is given four at most. `n_threads` None follows the load of the machine. `saved_kv`
    None keeps no cells on disk. `draft_path`: a small model of the same vocabulary that proposes tokens.
    What of `kv_type` (that of K) and `options` does not go together is replaced, and told with `ModelLoaded`.
    """

    path: str
    n_ctx: int | None = None
    n_threads: int | None = None
    n_gpu_layers: int = -1
    n_seq_max: int = DEFAULT_SEQUENCES
    chat_format: str | None = None
    kv_type: KVType = KVType.F16
    options: LoadOptions = field(default_factory=LoadOptions)
    saved_kv: SavedKV | None = None
    draft_path: str | None = None


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer the last message of `messages`; if that is a reply, go on with it where it ends.

    What comes back of a reply that goes on, texts and counts, is only what is new.
    `chat_id` names the sequence whose cache is reused. `max_tokens` None goes on until the model
    ends its turn. Blank stop strings are ignored. With `ignore_eos` the model cannot end its turn.
    With `speculate` tokens may be drafted ahead where that pays; the text is the same without.

    Several replies to one message are several of these, one for each `variant_chat_id`, sent together:
    the prompt is read once.
    """

    request_id: int
    chat_id: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    cache: CachePolicy = field(default_factory=CachePolicy)
    speculate: bool = True


def variant_chat_id(chat_id: str, number: int) -> str:
    """The id of variant `number` of a chat's next reply, from 0 on; that of 0 is the chat's own."""
    return f"{chat_id}{_VARIANT}{number}" if number else chat_id


def chat_of_variant(chat_id: str) -> str:
    """The id of the chat that a variant belongs to; a chat's own is itself."""
    return chat_id.partition(_VARIANT)[0]


@dataclass(frozen=True, slots=True)
class LookAt:
    """Ask what the model sees of a chat, or will see with its next message; answered by `CacheView`."""

    chat_id: str
    messages: tuple[Message, ...]
    cache: CachePolicy = field(default_factory=CachePolicy)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a request within one slice or token; it still ends with `Finished` (cancelled)."""

    request_id: int


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Ask how many tokens a text is; answered by `TokenCount`, while replies go on being written.

    A question that waits is dropped, without an answer, when a newer one with its `key` comes.
    """

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Free the cells of a chat that was deleted, and what is saved of them; so for its variants."""

    chat_id: str


@dataclass(frozen=True, slots=True)
class Endure:
    """Stream `n_tokens` of a text through the model at `path`, as the first command instead of `LoadModel`.

    Answered by `LoadProgress`..., `EnduranceProgress`..., then `EnduranceReport` or `Failed`. `text_path`
    None takes the reference documentation that comes with Python. `n_ctx` is sinks and window together.
    Any `Cancel` ends the run within one slice, with the report of what was measured.
    """

    path: str
    n_ctx: int
    n_tokens: int = 20_000
    n_sinks: int = 4
    run: EnduranceRun = EnduranceRun.ENDLESS
    shift: Shift = Shift.LAZY
    kv_type: KVType = KVType.F16
    text_path: str | None = None
    n_threads: int | None = None


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the worker process."""


Command = LoadModel | Endure | Bench | Quantize | Generate | LookAt | CountTokens | Cancel | Forget | Shutdown
