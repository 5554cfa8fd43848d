"""The chat formats that Weir knows by name, for files without a usable template of their own.

Each is a jinja template, written as models of that family were trained, and rendered like a file's
own. Which one fits is told by the control tokens of the vocabulary. Nothing here renders.
"""

from __future__ import annotations

from engine.chat.control_text import ControlTexts

_CHATML = """\
{% for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

_LLAMA3 = """\
{{ bos_token }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
{{- message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""

# Gemma and Mistral have no system role: the first user message begins with the system prompt.
_FOLDED_SYSTEM = """\
{{ bos_token }}
{%- set chat = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set chat.system = chat.system + message.content | trim + '\\n\\n' %}
"""

_GEMMA = (
    _FOLDED_SYSTEM
    + """\
    {%- elif message.role == 'user' %}
        {{- '<start_of_turn>user\\n' + chat.system + message.content | trim + '<end_of_turn>\\n' }}
        {%- set chat.system = '' %}
    {%- else %}
        {{- '<start_of_turn>model\\n' + message.content | trim + '<end_of_turn>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""
)

_MISTRAL = (
    _FOLDED_SYSTEM
    + """\
    {%- elif message.role == 'user' %}
        {{- '[INST] ' + chat.system + message.content | trim + ' [/INST]' }}
        {%- set chat.system = '' %}
    {%- else %}
        {{- ' ' + message.content | trim + eos_token }}
    {%- endif %}
{%- endfor %}
"""
)

_PLAIN = """\
{% for message in messages %}
    {%- if message.role == 'user' %}
        {{- 'User: ' + message.content | trim + '\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- 'Assistant: ' + message.content | trim + '\\n' }}
    {%- else %}
        {{- message.content | trim + '\\n\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}
"""

FORMATS: dict[str, str] = {
    "chatml": _CHATML,
    "llama3": _LLAMA3,
    "gemma": _GEMMA,
    "mistral": _MISTRAL,
    "plain": _PLAIN,
}
"""Name of each format, as a person chooses it, to its jinja source."""

_TELLTALES = {
    "<|im_start|>": "chatml",
    "<|start_header_id|>": "llama3",
    "<start_of_turn>": "gemma",
    "[INST]": "mistral",
}


def best_format(control_texts: ControlTexts) -> str:
    """The name of the format whose control token is in the vocabulary, else "plain"."""
    return next((name for text, name in _TELLTALES.items() if text in control_texts), "plain")
