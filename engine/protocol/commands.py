"""What a front end asks of the worker process."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.bench import Bench
from engine.protocol.load_options import KVType, LoadOptions
from engine.protocol.values import CachePolicy, EnduranceRun, Message, Sampling, Shift


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load the model file at `path`; answered by `LoadProgress`..., then `ModelLoaded` or `Failed`.

    `n_ctx` None takes the trained context, at most 8,192. `chat_format` None takes the file's own
    template; else a name from `engine.chat.chat_template.FORMATS`. `n_gpu_layers` -1 means all.
    `n_seq_max` is how many sequences (chats) may be decoded side by side. What of `kv_type` (that of K) and
    `options` does not go together is replaced, and told with `ModelLoaded`.
    """

    path: str
    n_ctx: int | None = None
    n_threads: int | None = None
    n_gpu_layers: int = -1
    n_seq_max: int = 4
    chat_format: str | None = None
    kv_type: KVType = KVType.F16
    options: LoadOptions = field(default_factory=LoadOptions)


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer the last message of `messages`; if that is a reply, go on with it where it ends.

    What comes back of a reply that goes on, texts and counts, is only what is new.
    `chat_id` names the sequence whose cache is reused. `max_tokens` None goes on until the model
    ends its turn. Blank stop strings are ignored. With `ignore_eos` the model cannot end its turn.
    """

    request_id: int
    chat_id: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    cache: CachePolicy = field(default_factory=CachePolicy)


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
    """Free the cache of a chat that was deleted."""

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


Command = LoadModel | Endure | Bench | Generate | LookAt | CountTokens | Cancel | Forget | Shutdown
