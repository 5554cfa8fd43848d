"""The words of the command line: what may be typed, and the values that it becomes.

In: `argv`. Out: a namespace with `command` (a subcommand's name or None), and for the chat one frozen
`ChatOptions`. Wrong words end the process with status 2 and the usage, as argparse does.
Imported at every start, so it imports nothing heavy.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from app.cli import (
    models_arguments,
    plan_arguments,
    pull_arguments,
    quantize_arguments,
    search_arguments,
)
from app.cli.bench_arguments import DESCRIPTION as BENCH_DESCRIPTION
from app.cli.bench_arguments import add_bench
from app.cli.endure_arguments import DESCRIPTION, add_endure
from app.cli.load_arguments import add_load_options, add_speculation, kv_type, load_options, whole
from app.data.message_text import clean_text
from engine.errors import BadRequest
from engine.protocol import (
    CachePolicy,
    KVType,
    LoadModel,
    LoadOptions,
    Policy,
    Sampling,
    Shift,
    max_sinks,
    real_n_ctx,
)
from engine.version import VERSION


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """One terminal chat as it was asked for; `model` None leaves the choice to Weir."""

    model: str | None = None
    n_ctx: int | None = None
    n_threads: int | None = None
    chat_format: str | None = None
    system: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    cache: CachePolicy = field(default_factory=CachePolicy)
    kv_type: KVType = KVType.F16
    n_gpu_layers: int = -1
    load_options: LoadOptions = field(default_factory=LoadOptions)
    draft: str | None = None
    speculate: bool = True
    as_json: bool = False

    def load_command(self, path: str) -> LoadModel:
        """The command that loads the model file at `path` as these options say."""
        return LoadModel(
            path=path,
            n_ctx=self.n_ctx,
            n_threads=self.n_threads,
            n_seq_max=1,
            chat_format=self.chat_format,
            kv_type=self.kv_type,
            n_gpu_layers=self.n_gpu_layers,
            options=self.load_options,
            draft_path=self.draft if self.speculate else None,
        )


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="weir", description="Chat with a model on your own machine. Without a command: the window."
    )
    parser.add_argument("--version", action="version", version=f"weir {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_chat(commands.add_parser("chat", help="chat in the terminal", description=_CHAT_DESCRIPTION))
    endure = commands.add_parser("endure", help="prove endless chat on a long text", description=DESCRIPTION)
    add_endure(endure, _positive)
    add_bench(commands.add_parser("bench", help="measure how fast models are", description=BENCH_DESCRIPTION))
    inspect = commands.add_parser("inspect", help="show what a model file is and what it will keep in memory")
    inspect.add_argument("file", metavar="FILE", help="a GGUF file; of a split model the first part")
    inspect.add_argument("--json", action="store_true", dest="as_json", help="one JSON object")
    words = plan_arguments.DESCRIPTION
    plan = commands.add_parser("plan", help="tell whether a model will run here", description=words)
    plan_arguments.add_plan(plan, _positive)
    _add_library(commands)
    doctor = commands.add_parser("doctor", help="show versions, devices and what is missing")
    doctor.add_argument("--json", action="store_true", dest="as_json", help="one JSON object")
    doctor.add_argument(
        "--bandwidth", action="store_true", help="measure how fast memory is read, and keep it"
    )
    return parser


def _add_library(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """What finds, fetches, makes, lists and deletes models."""
    search = commands.add_parser(
        "search", help="find models on Hugging Face", description=search_arguments.DESCRIPTION
    )
    search_arguments.add_search(search, _positive)
    pull = commands.add_parser(
        "pull", help="download a model from Hugging Face", description=pull_arguments.DESCRIPTION
    )
    pull_arguments.add_pull(pull)
    quantize = commands.add_parser(
        "quantize", help="make a smaller model of one in F16", description=quantize_arguments.DESCRIPTION
    )
    quantize_arguments.add_quantize(quantize, _positive)
    models_arguments.add_models(commands.add_parser("models", help="list the models that are there"))
    rm = commands.add_parser("rm", help="delete a model", description=models_arguments.RM_DESCRIPTION)
    models_arguments.add_rm(rm)


_CHAT_DESCRIPTION = "Each line of standard input is one message of one chat; blank lines are skipped."


def _add_chat(chat: argparse.ArgumentParser) -> None:
    chat.add_argument(
        "model", nargs="?", metavar="MODEL", help="a GGUF file; else the last one or the starter"
    )
    chat.add_argument("--ctx", type=_positive, metavar="N", help="context in tokens")
    _add_sampling(chat)
    chat.add_argument("--max-tokens", type=_positive, metavar="N", help="longest reply in tokens")
    chat.add_argument("--stop", action="append", default=[], metavar="TEXT", help="end a reply before TEXT")
    chat.add_argument("--ignore-eos", action="store_true", help="the model cannot end its turn")
    chat.add_argument("--system", metavar="TEXT", help="the system prompt")
    chat.add_argument("--threads", type=_positive, metavar="N", help="CPU threads")
    chat.add_argument(
        "-ngl",
        "--gpu-layers",
        type=plan_arguments.layers,
        default=-1,
        metavar="N",
        help="layers on the GPU, the output as one (default: all)",
    )
    _add_cache(chat)
    add_load_options(chat)
    add_speculation(chat)
    chat.add_argument("--chat-format", metavar="NAME", help="a named format instead of the file's template")
    chat.add_argument("--json", action="store_true", dest="as_json", help="one JSON object a line")


def _add_sampling(chat: argparse.ArgumentParser) -> None:
    default = Sampling()
    for option, value, text in (
        ("--temp", default.temperature, "0 is greedy"),
        ("--top-p", default.top_p, "1 switches it off"),
        ("--min-p", default.min_p, "0 switches it off"),
        ("--repeat-penalty", default.repeat_penalty, "1 switches it off"),
    ):
        chat.add_argument(option, type=float, default=value, metavar="X", help=f"{text} (default {value})")
    chat.add_argument("--top-k", type=int, default=default.top_k, metavar="N", help="0 switches it off")
    chat.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same replies")


def _add_cache(chat: argparse.ArgumentParser) -> None:
    default = CachePolicy()
    policies = "when the context is full: turns leave, what remains is read again, or the reply ends"
    chat.add_argument(
        "--policy",
        choices=[policy.value for policy in Policy],
        default=default.policy.value,
        help=f"{policies} (default {default.policy})",
    )
    chat.add_argument(
        "--shift",
        choices=[shift.value for shift in Shift],
        default=default.shift.value,
        help=f"when positions close the gap (default {default.shift})",
    )
    chat.add_argument(
        "--sinks",
        type=int,
        default=default.n_sinks,
        metavar="N",
        help=f"first tokens that always stay, at most half of the context (default {default.n_sinks})",
    )
    chat.add_argument(
        "--pin-system",
        action=argparse.BooleanOptionalAction,
        default=default.pin_system,
        help="keep the whole system prompt in the model's view (default: yes)",
    )
    chat.add_argument(
        "--kv-type",
        type=kv_type,
        default=KVType.F16,
        metavar="NAME",
        help=f"{', '.join(KVType)}: how the KV cache is stored (default {KVType.F16})",
    )


def _positive(text: str) -> int:
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


def chat_options(arguments: argparse.Namespace) -> ChatOptions:
    """The options of `weir chat`; bytes in texts that are not UTF-8 become U+FFFD.

    Raises BadRequest for a sampling value outside its range, or for sinks that leave too little window.
    """
    cache = CachePolicy(
        Policy(arguments.policy), Shift(arguments.shift), arguments.sinks, arguments.pin_system
    )
    n_ctx = real_n_ctx(arguments.ctx or 0)
    if n_ctx and cache.n_sinks > max_sinks(n_ctx):
        raise BadRequest(
            f"The number of sinks must be between 0 and {max_sinks(n_ctx):,}, half of the context of "
            f"{n_ctx:,} tokens, not {cache.n_sinks:,}."
        )
    return ChatOptions(
        model=arguments.model,
        n_ctx=arguments.ctx,
        n_threads=arguments.threads,
        chat_format=arguments.chat_format,
        system=None if arguments.system is None else clean_text(arguments.system),
        sampling=Sampling(
            temperature=arguments.temp,
            top_k=arguments.top_k,
            top_p=arguments.top_p,
            min_p=arguments.min_p,
            repeat_penalty=arguments.repeat_penalty,
            seed=arguments.seed,
        ),
        max_tokens=arguments.max_tokens,
        stop=tuple(clean_text(text) for text in arguments.stop),
        ignore_eos=arguments.ignore_eos,
        cache=cache,
        kv_type=arguments.kv_type,
        n_gpu_layers=arguments.gpu_layers,
        load_options=load_options(arguments),
        draft=arguments.draft,
        speculate=arguments.speculation,
        as_json=arguments.as_json,
    )
