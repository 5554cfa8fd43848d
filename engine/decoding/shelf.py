"""The shelf: cells of chats that had to leave the cache, kept on disk until their chat goes on.

A sequence is put there by copying its cells, which takes milliseconds; the file is written by a thread. Until
it is, the copy itself answers. What is not kept, or is lost, is evaluated again and nothing else happens.
"""

from __future__ import annotations

import queue
import threading
from pathlib import Path

from engine.decoding.kv_store import KVKey, KVStore, SavedSequence, fingerprint
from engine.decoding.sequence import Sequence
from engine.errors import ModelFileError
from engine.llama import backend
from engine.protocol import FlashAttention, ModelInfo, SavedKV, chat_of_variant

_WORTH_KEEPING = 64  # tokens; fewer are evaluated about as quickly as they are read


class Shelf:
    """The saved cells of one model's chats."""

    def __init__(self, store: KVStore, key: KVKey) -> None:
        self._store = store
        self._key = key
        self._lock = threading.Lock()
        self._unwritten: dict[str, SavedSequence] = {}
        self._chat_ids: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        # A daemon: a disk that hangs must not keep the process; `close` waits for what can be written.
        self._writer = threading.Thread(target=self._write, name="weir-shelf", daemon=True)
        self._writer.start()

    def put(self, sequence: Sequence) -> None:
        """Keep the cells of a sequence as they are now."""
        ledger = sequence.ledger
        if ledger.n_resident < _WORTH_KEEPING or sequence.state_bytes > self._store.budget_bytes:
            self.forget(sequence.chat_id)  # what lies there is older
            return
        saved = SavedSequence(
            chat_id=sequence.chat_id,
            ids=tuple(ledger.ids),
            spans=tuple(ledger.spans),
            runs=tuple(ledger.runs),
            seen=dict(sequence.seen),
            pins=sequence.pins,
            half_character=sequence.half_character,
            state=sequence.state(),
        )
        with self._lock:
            self._unwritten[sequence.chat_id] = saved
        self._chat_ids.put(sequence.chat_id)

    def get(self, chat_id: str) -> SavedSequence | None:
        """What is kept of a chat, None if nothing is."""
        if chat_id != chat_of_variant(chat_id):
            return None
        with self._lock:
            waiting = self._unwritten.get(chat_id)
        return waiting or self._store.load(self._key, chat_id)

    def forget(self, chat_id: str) -> None:
        """Remove what is kept of a chat."""
        with self._lock:
            self._unwritten.pop(chat_id, None)
            self._store.forget(chat_id)

    def close(self) -> None:
        """Wait until all is written."""
        self._chat_ids.put(None)
        self._writer.join()

    def _write(self) -> None:
        while (chat_id := self._chat_ids.get()) is not None:
            with self._lock:
                saved = self._unwritten.get(chat_id)
            if saved is None:
                continue  # forgotten, or written with an older request
            self._store.save(self._key, saved)
            with self._lock:
                if self._unwritten.get(chat_id) is saved:
                    del self._unwritten[chat_id]
                elif chat_id not in self._unwritten:
                    self._store.forget(chat_id)  # it was forgotten while it was written


def open_shelf(saved: SavedKV | None, n_ctx: int, info: ModelInfo) -> Shelf | None:
    """The shelf of a loaded model with `n_ctx` cells; None if nothing is saved, or if its file is gone."""
    if saved is None:
        return None
    try:
        model = fingerprint(Path(info.path))
    except ModelFileError:
        return None
    options = info.options
    cards = (device.name for device in info.devices)
    key = KVKey(
        model=model,
        architecture=info.architecture,
        build=f"{backend.version()} {backend.system_info()}",
        k_type=options.k_type,
        v_type=options.v_type,
        flash_attention=options.flash_attention is not FlashAttention.OFF,
        swa_full=True,
        n_ctx=n_ctx,
        chat_format=info.chat_format,
        layout=f"{[(b.device, b.weights, b.kv) for b in info.buffers]} {[*cards]} {options.n_ubatch}",
    )
    return Shelf(KVStore(Path(saved.folder), saved.budget_bytes), key)
