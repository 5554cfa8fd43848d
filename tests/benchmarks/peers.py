"""Weir beside its peers on this machine: llama.cpp's benchmarks, llama-cpp-python's chat. Prints a table.

Runs alternate, so that both see the same neighbours, and each pair gives one ratio; their median counts.
Run by `make bench-peers`, which builds `llama-bench` first.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from engine.client import EngineClient
from engine.models.starter import starter_model_path
from engine.protocol import Finished, Generate, LoadModel, Message, ModelLoaded, Role, Sampling, TextDelta
from tests.benchmarks.peer_chat import PROMPT

ROOT = Path(__file__).parents[2]
LLAMA_BENCH = (
    ROOT / "build" / "llama-bench" / "bin" / ("llama-bench.exe" if os.name == "nt" else "llama-bench")
)
# A short reply and one of usual length: what llama-cpp-python does for a token grows with it.
_CHATS = {"chat 128": 128, "chat 512": 512}
_LEAST = {"pp": 0.98, "tg": 0.97, "8 at once": 0.95, **dict.fromkeys(_CHATS, 1.15)}
_AT_ONCE, _BATCHED_TOKENS = 8, 96

Rates = Mapping[str, float]


def main() -> int:
    """Measure and print; 0 if every bound is kept, else 1."""
    parser = argparse.ArgumentParser(description="Compare Weir's speed with its peers'.")
    parser.add_argument("--llama-bench", type=Path, default=LLAMA_BENCH)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default=str(starter_model_path()))
    parser.add_argument("-p", default="512")
    parser.add_argument("-n", default="128")
    asked = parser.parse_args()
    n_threads = str(psutil.cpu_count(logical=False) or 1)
    # Left to them, Weir does without flash attention on a processor and llama.cpp uses it.
    words = [asked.model, "-p", asked.p, "-n", asked.n, "-r", "3", "-t", n_threads, "-fa", "0", "-o", "jsonl"]
    with tempfile.TemporaryDirectory(prefix="weir-peers-") as home:
        env = {**os.environ, "WEIR_HOME": home}
        weir = [sys.executable, "-m", "app", "bench", *words, "--no-chat"]
        pairs = _alternate(
            lambda: _rates(weir, env),
            lambda: _rates([str(asked.llama_bench), "-m", *words], env),
            asked.rounds,
        )
    batched_bench = asked.llama_bench.with_name(asked.llama_bench.name.replace("bench", "batched-bench"))
    _rate, n_prompt = _weir_batch(asked.model, int(n_threads))
    batches = _alternate(
        lambda: {"8 at once": _weir_batch(asked.model, int(n_threads))[0]},
        lambda: {"8 at once": _peer_batch(batched_bench, asked.model, n_threads, n_prompt)},
        asked.rounds,
    )
    chats = _alternate(
        lambda: {test: _weir_chat(asked.model, int(n_threads), n) for test, n in _CHATS.items()},
        lambda: {
            test: _peer_chat(asked.llama_bench.parent, asked.model, n_threads, str(n))
            for test, n in _CHATS.items()
        },
        asked.rounds,
    )
    return _print(
        [
            *_ratios(pairs, "llama-bench"),
            *_ratios(batches, "batched-bench"),
            *_ratios(chats, "llama-cpp-python"),
        ]
    )


def _alternate(
    ours: Callable[[], Rates], theirs: Callable[[], Rates], rounds: int
) -> list[tuple[Rates, Rates]]:
    """Pairs of (ours, theirs); the order changes from one to the next."""
    pairs = []
    for index in range(rounds):
        if index % 2:
            second = theirs()
            pairs.append((ours(), second))
        else:
            first = ours()
            pairs.append((first, theirs()))
    return pairs


def _rates(command: Sequence[str], env: Mapping[str, str]) -> Rates:
    """The median speed of each test that such a program prints as lines of JSON."""
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {"pp" if row["n_prompt"] else "tg": statistics.median(row["samples_ts"]) for row in rows}


def _weir_chat(path: str, n_threads: int, n_tokens: int) -> float:
    """Tokens a second of a streamed reply, seen from outside the worker; the second of two."""
    events: queue.SimpleQueue[object] = queue.SimpleQueue()
    client = EngineClient(events.put)
    try:
        client.send(LoadModel(path, n_ctx=2048, n_threads=n_threads, n_seq_max=1))
        while not isinstance(events.get(), ModelLoaded):
            pass
        rate = 0.0
        for request_id in range(2):
            client.send(
                Generate(
                    request_id,
                    str(request_id),
                    (Message(Role.USER, PROMPT),),
                    Sampling(temperature=0.0),
                    max_tokens=n_tokens,
                )
            )
            started, n_first = 0.0, 0
            while not isinstance(event := events.get(), Finished):
                if isinstance(event, TextDelta) and not started:
                    started, n_first = time.perf_counter(), event.n_generated
            rate = (event.stats.tokens_generated - n_first) / (time.perf_counter() - started)
        return rate
    finally:
        client.close()


def _weir_batch(path: str, n_threads: int) -> tuple[float, int]:
    """Tokens a second of eight replies together, seen from outside the worker; tokens of each prompt."""
    events: queue.SimpleQueue[object] = queue.SimpleQueue()
    client = EngineClient(events.put)
    try:
        client.send(LoadModel(path, n_ctx=2048, n_threads=n_threads))
        while not isinstance(events.get(), ModelLoaded):
            pass
        for number in range(_AT_ONCE):
            client.send(
                Generate(
                    number,
                    str(number),
                    (Message(Role.USER, f"Tell me about river number {number}."),),
                    Sampling(temperature=0.0),
                    max_tokens=_BATCHED_TOKENS,
                    ignore_eos=True,
                    speculate=False,
                )
            )
        seen: dict[int, int] = {}  # tokens of each reply, as far as they have come
        started, n_begun = 0.0, 0
        while not isinstance(event := events.get(), Finished):
            if isinstance(event, TextDelta):
                seen[event.request_id] = event.n_generated
                if not started and len(seen) == _AT_ONCE:
                    started, n_begun = time.perf_counter(), sum(seen.values())
        rate = (sum(seen.values()) - n_begun) / (time.perf_counter() - started)
        return rate, event.stats.tokens_prompt
    finally:
        client.close()


def _peer_batch(program: Path, path: str, n_threads: str, n_prompt: int) -> float:
    words = ["-npp", str(n_prompt), "-ntg", str(_BATCHED_TOKENS), "-npl", str(_AT_ONCE), "-fa", "off", "-kvu"]
    command = [str(program), "-m", path, "-c", "2048", "-t", n_threads, *words, "--output-format", "jsonl"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    row = next(line for line in ran.stdout.splitlines() if line.startswith("{"))
    return float(json.loads(row)["speed_tg"])


def _peer_chat(libraries: Path, path: str, n_threads: str, n_tokens: str) -> float:
    """llama-cpp-python with llama.cpp as it comes: what is in `.venv` was made for Weir."""
    command = [sys.executable, "-m", "tests.benchmarks.peer_chat", path, n_threads, n_tokens, "1"]
    env = {**os.environ, "LLAMA_CPP_LIB_PATH": str(libraries)}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return float(statistics.median(json.loads(ran.stdout)))


def _ratios(pairs: Sequence[tuple[Rates, Rates]], peer: str) -> list[tuple[str, str, float, float, float]]:
    """For each test: its name, the peer, both median speeds, and the median of the ratios."""
    rows = []
    for test in pairs[0][0]:
        ours, theirs = [pair[0][test] for pair in pairs], [pair[1][test] for pair in pairs]
        ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
        rows.append((test, peer, statistics.median(ours), statistics.median(theirs), ratio))
    return rows


def _print(rows: Sequence[tuple[str, str, float, float, float]]) -> int:
    print("| test      | peer             | Weir t/s | peer t/s | ratio | at least |")
    print("|-----------|------------------|---------:|---------:|------:|---------:|")
    for test, peer, ours, theirs, ratio in rows:
        least = _LEAST[test]
        print(f"| {test:<9} | {peer:<16} | {ours:8.2f} | {theirs:8.2f} | {ratio:5.3f} | {least:8.2f} |")
    return int(any(ratio < _LEAST[test] for test, *_figures, ratio in rows))


if __name__ == "__main__":
    sys.exit(main())
