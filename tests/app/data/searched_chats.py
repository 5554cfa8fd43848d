"""Chats to be searched, and what a search found, for the tests of search and of its index."""

from app.data import chat_search
from app.data.chat_store import ChatStore
from app.data.stored_message import Found, StoredMessage


def write(store: ChatStore, *texts: str, title: str = "A chat") -> list[StoredMessage]:
    chat = store.create_chat(title)
    return [store.add_user_message(chat.id, text) for text in texts]


def places(found: list[Found]) -> list[str | int | None]:
    """Ids of messages, and titles of chats."""
    return [hit.chat.title if hit.message_id is None else hit.message_id for hit in found]


def indexed(store: ChatStore) -> bool:
    """Bring the index up to date, and say whether it is."""
    for _ in range(3):
        chat_search.bring_up_to_date(store._connection)
    n_queued: int = store._connection.execute("SELECT count(*) FROM search_queue").fetchone()[0]
    return n_queued == 0
