"""Every error that Weir raises on purpose.

    WeirError                 one clear sentence for a person: what happened, what is safe, what to do
    ├── KnownError            the environment's or the input's fault; shown as it is
    │   ├── ModelFileError    the file is missing, cut short, not a GGUF, or not a chat model
    │   ├── ModelLoadError    llama.cpp refused the file, or died of it
    │   ├── TemplateError     the chat template is missing, broken or too slow
    │   ├── PromptTooLong     the system prompt or the message cannot fit into the context
    │   ├── ContextFull       the chat has filled the context, and the policy is to stop there
    │   ├── BadRequest        a command whose values make no sense
    │   ├── HubError          the Hub, or the way to it, refused; subclasses say what would help
    │   ├── DownloadError     a file could not be fetched whole; subclasses say whether to try again
    │   └── EngineGone        the engine process is not there (any more)
    └── BugError              a promise inside Weir was broken; please report it

An error that crosses the process boundary travels as `protocol.ErrorReport`.
"""

from __future__ import annotations


class WeirError(Exception):
    """Base of all; `str(error)` is the sentence that a person reads."""


class KnownError(WeirError):
    """The fault lies outside Weir's code and the sentence says where."""


class ModelFileError(KnownError):
    """The file cannot be a chat model; the sentence names the file and the cause."""


class ModelLoadError(KnownError):
    """llama.cpp could not load the model or make its context."""


class TemplateError(KnownError):
    """The chat template could not be rendered within its bounds."""


class PromptTooLong(KnownError):
    """What must stay in the context is larger than the context.

    Attributes: `n_tokens`, what was asked to fit; `n_free`, the tokens that can hold it.
    """

    def __init__(self, what: str, n_tokens: int, n_free: int) -> None:
        super().__init__(
            f"{what} has {n_tokens:,} tokens, but only {n_free:,} fit into this context. "
            "Nothing was lost: shorten it, or load the model with a larger context."
        )
        self.n_tokens = n_tokens
        self.n_free = n_free


class ContextFull(KnownError):
    """The policy `stop` ends the chat where the context does."""

    def __init__(self, n_messages: int, n_cells: int) -> None:
        super().__init__(
            f"This chat of {n_messages:,} messages has filled its context of {n_cells:,} tokens, and its "
            "policy is to stop there. Nothing was lost: choose the endless policy to go on."
        )


class BadRequest(KnownError):
    """A command or setting is outside what is possible; the sentence says what is."""


class HubError(KnownError):
    """The Hub could not be asked, or refused; subclasses are in `engine.hub.hub_errors`."""


class DownloadError(KnownError):
    """A file could not be fetched whole; subclasses are in `engine.download.download_errors`."""


class EngineGone(KnownError):
    """The engine process has ended; the next message starts a new one."""


class BugError(WeirError):
    """A state that Weir's own code promised would never be."""
