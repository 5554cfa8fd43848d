"""One worker process with its model, as the loader keeps track of it. It knows nothing about others."""

from __future__ import annotations

from dataclasses import dataclass

from app.data.settings import LoadSettings
from app.services.engine_bridge import EngineBridge
from engine.protocol import LoadModel, ModelInfo


@dataclass(slots=True)
class ModelEngine:
    """The worker behind `bridge`, told to load with `command`; `info` and `load_ms` once it has."""

    bridge: EngineBridge
    command: LoadModel
    restarted: bool = False
    info: ModelInfo | None = None
    load_ms: float | None = None

    @property
    def path(self) -> str:
        """Where the model's file is."""
        return self.command.path


def load_command(path: str, how: LoadSettings, chat_format: str | None) -> LoadModel:
    """What the worker is told; `chat_format` None is the file's own."""
    return LoadModel(
        path,
        n_ctx=how.n_ctx,
        n_threads=how.n_threads,
        n_gpu_layers=how.n_gpu_layers,
        chat_format=chat_format,
        kv_type=how.kv_type,
    )


def load_settings(command: LoadModel) -> LoadSettings:
    """What a worker was told to load its model with."""
    return LoadSettings(command.n_ctx, command.kv_type, command.n_gpu_layers, command.n_threads)
