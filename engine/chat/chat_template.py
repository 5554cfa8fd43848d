"""A chat's messages become the one text that the model was trained to read.

    messages --mark control texts--> template, in its own process --> text with marks

The template is the model file's own where that can be used, else one of the named FORMATS, with the
reason in a sentence. Rendering is bounded in time and memory (`template_process`), and the result's
marks tell `control_text.split` which text came from a message and must not become a control token.

Nothing here knows token ids or the vocabulary beyond the control texts. Where the template puts
`bos_token` it is in the text: whoever tokenizes sees that only one BOS comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.chat.chat_formats import FORMATS, best_format
from engine.chat.control_text import ControlTexts, keep_whole_marks, mark
from engine.chat.template_process import RENDER_LIMIT_S, Outcome, RenderError, TemplateProcess
from engine.errors import BadRequest, TemplateError
from engine.protocol import Message, Role

__all__ = ["FORMATS", "ChatFormat", "NotText", "TemplateContext", "TemplateSource", "open_chat_format"]

TEMPLATE_LIMIT_CHARACTERS = 1_000_000
_PROBE = (Message(Role.SYSTEM, "You are helpful."), Message(Role.USER, "Hello"))


@dataclass(frozen=True, slots=True)
class TemplateContext:
    """What templates may ask of the vocabulary. The tokens are texts, "" where there is none."""

    bos_token: str
    eos_token: str
    control_texts: ControlTexts


@dataclass(frozen=True, slots=True)
class NotText:
    """The file's template is metadata of another type; `stored_as` names it: "an array"."""

    stored_as: str


TemplateSource = str | bytes | NotText | None
"""`tokenizer.chat_template` as the file holds it; bytes are UTF-8; None where it is missing."""


class ChatFormat:
    """Renders chats in one format. Made by `open_chat_format`; call `close` when done.

    `name` is "template" for the file's own template or a name from FORMATS. `reason` is a sentence
    on why the file's own template is not used, None where it is, or where the user chose.
    """

    def __init__(
        self, name: str, source: str, context: TemplateContext, process: TemplateProcess, reason: str | None
    ) -> None:
        self.name = name
        self.reason = reason
        self._source = source
        self._context = context
        self._process = process

    def render(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        """The chat as text, with the marks of `control_text`; ask for a reply if `add_generation_prompt`.

        A template that refuses the messages gets them once more without a system role and with
        the roles taking turns. Raises TemplateError.
        """
        try:
            return self._rendered(messages, add_generation_prompt)
        except RenderError as error:
            raise TemplateError(f"{_complaint(error)} Nothing was lost: try another chat format.") from error

    def marked(self, content: str) -> str:
        """A content as `render` puts it into the chat: encodable, with the marks of `control_text`."""
        return mark(_encodable(content), self._context.control_texts)

    def close(self) -> None:
        """End the template process."""
        self._process.close()

    def _rendered(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        try:
            return self._render_once(messages, add_generation_prompt)
        except RenderError as error:
            simpler = _taking_turns(messages)
            if error.outcome is not Outcome.REFUSED or simpler == list(messages):
                raise
        return self._render_once(simpler, add_generation_prompt)

    def _render_once(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        rendered = self._process.render(
            self._source,
            {
                "messages": [
                    {"role": message.role, "content": self.marked(message.content)} for message in messages
                ],
                "add_generation_prompt": add_generation_prompt,
                "bos_token": self._context.bos_token,
                "eos_token": self._context.eos_token,
                # Hugging Face always passes these, so templates ask `tools is not none`.
                "tools": None,
                "documents": None,
            },
        )
        return keep_whole_marks(rendered, self._context.control_texts)


def open_chat_format(
    template: TemplateSource,
    context: TemplateContext,
    chosen: str | None,
    process: TemplateProcess | None = None,
) -> ChatFormat:
    """The format to render with: the user's choice, else the file's own template, else a fallback.

    `chosen` is a name from FORMATS, or None for the file's own. The fallback is told by the
    vocabulary's control texts. `process` may be starting already; the format closes it. Raises BadRequest
    for a name that is not in FORMATS.
    """
    if chosen is not None and chosen not in FORMATS:
        raise BadRequest(f"There is no chat format {chosen!r}. Choose one of: {', '.join(FORMATS)}.")
    process = process or TemplateProcess()
    if chosen is not None:
        return ChatFormat(chosen, FORMATS[chosen], context, process, None)
    source, problem = _source_text(template)
    if problem is None:
        own = ChatFormat("template", source, context, process, None)
        problem = _trouble_with(own)
        if problem is None:
            return own
    name = best_format(context.control_texts)
    reason = f"{problem} The {name} format is used instead; another can be chosen."
    return ChatFormat(name, FORMATS[name], context, process, reason)


def _source_text(template: TemplateSource) -> tuple[str, str | None]:
    """The template's source and None, or "" and a sentence on why there is none."""
    if isinstance(template, NotText):
        return "", f"The model file's chat template is stored as {template.stored_as}, not as text."
    if isinstance(template, bytes):
        try:
            template = template.decode("utf-8")
        except UnicodeDecodeError:
            return "", "The model file's chat template is not valid UTF-8."
    if template is None or not template.strip():
        return "", "The model file has no chat template."
    if len(template) > TEMPLATE_LIMIT_CHARACTERS:
        return "", (
            f"The model file's chat template is too large: {len(template):,} characters, "
            f"at most {TEMPLATE_LIMIT_CHARACTERS:,} are accepted."
        )
    return template, None


def _trouble_with(own: ChatFormat) -> str | None:
    """A sentence on why the file's own template cannot be used, None if it renders a small chat."""
    try:
        rendered = own._rendered(_PROBE, True)
    except RenderError as error:
        return _complaint(error)
    return None if rendered.strip() else "The model file's chat template gives no text."


def _complaint(error: RenderError) -> str:
    what = {
        Outcome.SYNTAX: "has a syntax error",
        Outcome.REFUSED: "refuses to run",
        Outcome.FORBIDDEN: "tried something that is not allowed",
        Outcome.MEMORY: "wants too much memory",
        Outcome.SLOW: f"is too slow: it was stopped after {RENDER_LIMIT_S:.0f} seconds",
        Outcome.DIED: "could not be rendered",
    }[error.outcome]
    words = f": {error.detail}" if error.detail else ""
    return f"The chat template {what}{words}".rstrip(".") + "."


def _taking_turns(messages: Sequence[Message]) -> list[Message]:
    """The same chat for stricter templates.

    System messages become the user's, and neighbours of one role become one message, so that the
    system prompt begins the first user message.
    """
    turns: list[Message] = []
    for message in messages:
        role = Role.USER if message.role is Role.SYSTEM else message.role
        if turns and turns[-1].role is role:
            turns[-1] = Message(role, f"{turns[-1].content}\n\n{message.content}")
        else:
            turns.append(Message(role, message.content))
    return turns


def _encodable(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, which UTF-8 and the tokenizer cannot take."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins the surrogates that do make a pair.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
