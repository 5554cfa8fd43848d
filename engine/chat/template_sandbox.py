"""jinja2 as chat templates expect it, and nothing a template could harm.

A template's source and the chat go in, the rendered text or the kind of failure comes out. The
whitespace rules, the tags and the functions are those of Hugging Face's `apply_chat_template`. The
immutable sandbox keeps a template from reaching Python (abetlen/llama-cpp-python#1462); time and
memory it does not bound: that is `template_process`, whose child alone imports this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.chat.template_process import Outcome


class _Generation(Extension):
    """`{% generation %}` marks what a training loop learns from; here it is just its body."""

    tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements up to `{% endgeneration %}`."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise_exception(message: object) -> NoReturn:
    raise jinja2.TemplateError(str(message))


def _strftime_now(time_format: str) -> str:
    return datetime.now().strftime(time_format)


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """jinja2's own filter escapes for HTML, which the model would read."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@lru_cache(maxsize=1)
def _compiled(source: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment.from_string(source)


def render(source: str, context: Mapping[str, Any]) -> tuple[Outcome, str]:
    """(TEXT, the rendered chat), or another outcome and the words for it."""
    try:
        return Outcome.TEXT, _compiled(source).render(context)
    except TemplateSyntaxError as error:
        return Outcome.SYNTAX, f"line {error.lineno}: {error.message}"
    except SecurityError as error:
        return Outcome.FORBIDDEN, str(error)
    except jinja2.TemplateError as error:
        return Outcome.REFUSED, str(error)
    except MemoryError:
        return Outcome.MEMORY, ""
    except Exception as error:  # a template can make any expression fail in any way
        return Outcome.REFUSED, f"{type(error).__name__}: {error}"
