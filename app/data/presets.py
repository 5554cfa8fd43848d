"""System prompts with a name, to choose from.

What stood in the settings file goes in, `Preset`s come out. Knows nothing about where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.data import settings_parsing as parsing


@dataclass(frozen=True, slots=True)
class Preset:
    """A system prompt and its name, which no other one has."""

    name: str
    text: str


EXAMPLES = (
    Preset(
        "Concise",
        "Answer in as few words as the question allows. Leave out greetings, repetitions and summaries.",
    ),
    Preset(
        "Explain step by step",
        "Explain step by step, in plain words. Say what a technical term means where it first appears, "
        "and end each step with what it was good for.",
    ),
    Preset(
        "Translator",
        "Translate each message into English, or into Spanish if it is English. Keep its tone and its "
        "layout. Answer with the translation alone.",
    ),
)
"""What the list begins with at the first start."""


def parse_presets(value: object) -> tuple[Preset, ...]:
    """A list of objects with a name and a text; of two with the same name, the first one.

    Raises ValueError for anything else.
    """
    if not isinstance(value, list):
        raise ValueError
    presets: dict[str, Preset] = {}
    for item in value:
        if not isinstance(item, dict):
            raise ValueError
        preset = Preset(parsing.text(item.get("name")).strip(), parsing.text(item.get("text")))
        if not preset.name:
            raise ValueError
        presets.setdefault(preset.name, preset)
    return tuple(presets.values())
