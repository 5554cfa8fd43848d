"""The least that decoding can cost in Python: `llama_decode` and `llama_sampler_sample` in a loop."""

from __future__ import annotations

import ctypes
import time
from multiprocessing.connection import Connection

N_PROMPT = 64


def serve(connection: Connection, path: str, n_ctx: int, n_threads: int, n_tokens: int) -> None:
    """For each thing received, decode `n_tokens` greedily after a prompt; answers tokens a second."""
    import llama_cpp.llama_cpp as llama

    llama.llama_log_set(_silent := llama.llama_log_callback(lambda *_: None), ctypes.c_void_p(0))
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    params = llama.llama_context_default_params()
    params.n_ctx, params.n_threads, params.n_threads_batch = n_ctx, n_threads, n_threads
    params.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED  # as Weir does on a processor
    context = llama.llama_init_from_model(model, params)
    sampler = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
    llama.llama_sampler_chain_add(sampler, llama.llama_sampler_init_greedy())
    prompt = (llama.llama_token * N_PROMPT)(*range(1000, 1000 + N_PROMPT))
    token = (llama.llama_token * 1)()
    connection.send("ready")
    while connection.recv():
        llama.llama_memory_clear(llama.llama_get_memory(context), True)
        llama.llama_decode(context, llama.llama_batch_get_one(prompt, N_PROMPT))
        token[0] = llama.llama_sampler_sample(sampler, context, -1)
        started = time.perf_counter()
        for _ in range(n_tokens):
            llama.llama_decode(context, llama.llama_batch_get_one(token, 1))
            token[0] = llama.llama_sampler_sample(sampler, context, -1)
        connection.send(n_tokens / (time.perf_counter() - started))
