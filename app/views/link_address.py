"""Where a link leads, in words that cannot deceive, and whether it may leave Weir.

An address goes in as it was written; host and address come out with look-alike names in punycode and with
characters that are invisible or turn the direction of text spelled out. Knows nothing about widgets.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

from PySide6.QtCore import QUrl

_SCHEMES = frozenset({"http", "https", "mailto"})
_SHOWN = 1_000
_BREAKS = re.compile(r"([/?&=#;,]|[^/?&=#;,]{40})")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """`host`: the web server's name, or the mail address, "" without one.

    `spelled`: the host in its own letters. `address`: all of it, for reading. `opens`: whether a click
    may open it.
    """

    host: str
    spelled: str
    address: str
    opens: bool


def may_open(url: QUrl) -> bool:
    """Whether a link may leave Weir: web and mail addresses only, never files or scripts."""
    return url.isValid() and url.scheme().lower() in _SCHEMES


def link_target(url: QUrl) -> LinkTarget:
    """Where `url` leads."""
    encoded = url.host(QUrl.ComponentFormattingOption.FullyEncoded)
    spelled = url.host(QUrl.ComponentFormattingOption.FullyDecoded)
    address = url.toString()
    for name in filter(None, (url.host(), spelled)):
        address = address.replace(name, encoded, 1)
    host = url.path() if url.scheme().lower() == "mailto" else encoded
    return LinkTarget(
        spelled_out(host), spelled_out(_unicode(encoded)), _shortened(spelled_out(address)), may_open(url)
    )


def spelled_out(text: str) -> str:
    """`text` with characters that are invisible, or turn the direction of others, written as `\\u202e`."""
    return "".join(
        f"\\u{ord(letter):04x}"
        if unicodedata.category(letter) in {"Cf", "Cc", "Zl", "Zp", "Co", "Cn"}
        else letter
        for letter in text
    )


def breakable(address: str) -> str:
    """`address` with places where a line may break, for showing."""
    return _BREAKS.sub("\\1\N{ZERO WIDTH SPACE}", address)


def link_tip(address: str) -> str:
    """What a tool tip over a link to `address` says, as rich text in which nothing of it is markup."""
    return f"<p>{html.escape(breakable(link_target(QUrl(address)).address))}</p>"


def _unicode(encoded: str) -> str:
    """A host name in its own letters."""
    labels = []
    for label in encoded.split("."):
        try:
            labels.append(label[4:].encode().decode("punycode") if label.startswith("xn--") else label)
        except (UnicodeError, ValueError):
            labels.append(label)
    return ".".join(labels)


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN // 2]} \N{HORIZONTAL ELLIPSIS} {text[-_SHOWN // 2 :]}"
