"""The same reply by llama-cpp-python's own chat; run as a process of its own.

Takes a model file, threads, tokens and rounds; prints one JSON line of the tokens a second of each reply,
those after the first over the time since it came. One reply before does not count.
"""

from __future__ import annotations

import json
import sys
import time

PROMPT = "Write a long story about a river that runs through a town."


def main(path: str, n_threads: str, n_tokens: str, rounds: str) -> None:
    """Measure and print."""
    from llama_cpp import Llama

    model = Llama(path, n_ctx=2048, n_threads=int(n_threads), n_threads_batch=int(n_threads), verbose=False)
    rates = []
    for _ in range(int(rounds) + 1):
        arrived: list[float] = []
        pieces = model.create_chat_completion(
            [{"role": "user", "content": PROMPT}],
            max_tokens=int(n_tokens),
            temperature=0.0,
            stream=True,
        )
        for piece in pieces:
            if piece["choices"][0]["delta"].get("content"):
                arrived.append(time.perf_counter())
        rates.append((len(arrived) - 1) / (arrived[-1] - arrived[0]))
    print(json.dumps(rates[1:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
