"""A small saved chat and the key that it is saved with, for the tests of saved KV."""

from engine.decoding.kv_key import KVKey
from engine.decoding.ledger import Run, Span
from engine.decoding.saved_sequence import SavedSequence
from engine.decoding.sequence import Pins
from engine.protocol import KVType, Message, Role

KEY = KVKey(
    model="ab" * 32,
    architecture="llama",
    build="b9000 AVX2",
    k_type=KVType.F16,
    v_type=KVType.F16,
    flash_attention=False,
    swa_full=True,
    n_ctx=8192,
)


def saved_chat(chat_id: str = "chat-1", state: bytes = bytes(range(256)) * 8) -> SavedSequence:
    """Two messages and a reply, of which the middle was evicted."""
    return SavedSequence(
        chat_id=chat_id,
        ids=tuple(range(100, 140)),
        spans=(
            Span(0, -1, is_sink=True),
            Span(4, 0, starts_turn=True),
            Span(30, 1, text_end=40),
        ),
        runs=(Run(0, 4, 0), Run(20, 40, 20)),
        state=state,
        seen={
            0: Message(Role.USER, "half a pair: \ud83d, \N{GRINNING FACE}\0", pinned=True),
            1: Message(Role.ASSISTANT, "yes"),
        },
        pins=Pins(frozenset({0}), frozenset({3})),
        half_character=b"\xf0\x9f",
    )
