"""Long runs: text that would overflow the tokenizer's stack, cut where it cannot.

llama.cpp splits text into words by regular expressions before it merges their bytes. Many vocabularies'
expressions run through `std::regex`, which recurses for each character of a match: one word, or white
space, of some ten thousand characters ends the process. So a run without any border between words and white
space is cut every thousand characters; text that has such borders stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator

_BLOCK = 1000  # a run is then shorter than two blocks, which fits into a stack of 1 MiB


def without_long_runs(text: str) -> Iterator[str]:
    """`text` in pieces, each without a run of 2,000 characters that are all white space or all not."""
    start = 0
    for end in range(_BLOCK, len(text), _BLOCK):
        if _is_one_run(text[end - _BLOCK : end]):
            yield text[start:end]
            start = end
    yield text[start:]


def _is_one_run(block: str) -> bool:
    is_word = not block[0].isspace() and not block[-1].isspace() and len(block.split(None, 1)) == 1
    return is_word or block.isspace()
