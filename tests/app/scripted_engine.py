"""An engine that says what a test tells it to, in place of the worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.errors import EngineGone
from engine.protocol import (
    CacheView,
    Command,
    DeviceMemory,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    LoadModel,
    LookAt,
    ModelInfo,
    ModelLoaded,
    TextDelta,
    TurnStats,
)

STATS = TurnStats(
    tokens_prompt=30,
    tokens_reused=0,
    tokens_prefilled=30,
    tokens_generated=12,
    tokens_evicted=0,
    ttft_ms=210.0,
    prefill_tps=380.0,
    decode_tps=41.2,
    kv_cells_used=42,
    kv_cells=8192,
)


def model_info(path: str) -> ModelInfo:
    return ModelInfo(
        path=path,
        name=Path(path).stem,
        description="llama 135M Q4_1",
        size_bytes=98_000_000,
        n_params=134_515_008,
        n_ctx=8192,
        n_ctx_train=8192,
        n_seq_max=4,
        n_threads=2,
        kv_bytes=188_743_680,
        chat_format="template",
        chat_format_reason=None,
        devices=(),
    )


@dataclass
class ScriptedClient:
    """Stands in for one `EngineClient`; `say` is what its worker says."""

    say: Callable[[Event], None]
    sent: list[Command] = field(default_factory=list)
    closed: bool = False
    dead: bool = False
    pid: int | None = None
    answers: bool = True
    """Whether each `LookAt` is answered at once, with the whole chat in sight; else by `see`."""
    seen_devices: tuple[DeviceMemory, ...] = ()
    """What its worker says of the machine when it starts."""

    def devices(self) -> tuple[DeviceMemory, ...]:
        return self.seen_devices

    def send(self, command: Command) -> None:
        if self.dead or self.closed:
            raise EngineGone("The engine has stopped.")
        self.sent.append(command)
        if isinstance(command, LookAt) and self.answers:
            n_messages = len(command.messages)
            first = 0 if n_messages else None
            self.say(CacheView(command.chat_id, n_messages, first, False, (), (), 0, 0, 8192, True))

    def close(self) -> None:
        self.closed = True

    @property
    def load_command(self) -> LoadModel:
        command = self.sent[0]
        assert isinstance(command, LoadModel)
        return command

    @property
    def requests(self) -> list[Generate]:
        return [command for command in self.sent if isinstance(command, Generate)]

    @property
    def questions(self) -> list[LookAt]:
        return [command for command in self.sent if isinstance(command, LookAt)]

    def see(self, first_seen: int | None, **facts: object) -> None:
        """Tell what is seen: the answer to the newest question, or by itself if a request came later."""
        asked = next(c for c in reversed(self.sent) if isinstance(c, LookAt | Generate) and c.chat_id)
        n_messages = len(asked.messages) + isinstance(asked, Generate)
        is_forecast = isinstance(asked, LookAt)
        view = CacheView(asked.chat_id, n_messages, first_seen, False, (), (), 42, 210, 8192, is_forecast)
        self.say(replace(view, **facts))  # type: ignore[arg-type]

    def load(self, **facts: object) -> None:
        self.say(ModelLoaded(replace(model_info(self.load_command.path), **facts), 100.0))  # type: ignore[arg-type]

    def refuse(self, message: str) -> None:
        self.say(Failed(None, ErrorReport(ErrorCode.MODEL_FILE, message)))

    def die(self, cause: str = "GGML_ASSERT") -> None:
        self.dead = True
        self.say(EngineDied(-6, cause))

    def write(self, text: str, request: Generate | None = None) -> None:
        """More text for a request, else for the newest one."""
        self.say(TextDelta((request or self.requests[-1]).request_id, text, 1))

    def finish(
        self,
        text: str,
        reason: FinishReason = FinishReason.STOP,
        request: Generate | None = None,
        **numbers: Any,
    ) -> None:
        stats = replace(STATS, **numbers)
        self.say(Finished((request or self.requests[-1]).request_id, reason, text, stats))

    def fail(
        self,
        message: str,
        code: ErrorCode = ErrorCode.PROMPT_TOO_LONG,
        request: Generate | None = None,
    ) -> None:
        self.say(Failed((request or self.requests[-1]).request_id, ErrorReport(code, message)))


class ScriptedEngine:
    """Makes the clients; `clients[-1]` is the newest."""

    def __init__(self) -> None:
        self.clients: list[ScriptedClient] = []
        self.devices: tuple[DeviceMemory, ...] = ()

    def __call__(self, on_event: Callable[[Event], None]) -> ScriptedClient:
        client = ScriptedClient(on_event, seen_devices=self.devices)
        self.clients.append(client)
        return client

    @property
    def newest(self) -> ScriptedClient:
        return self.clients[-1]
