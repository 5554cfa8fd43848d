"""Where weights, cache and working memory lie is read from llama.cpp's log, on any device."""

from __future__ import annotations

from engine.llama.buffers import by_device, counted_once, read_sizes
from engine.protocol import DeviceBuffers

MIB = 2**20
LOAD = """\
load_tensors: offloaded 33/33 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
load_tensors:        CUDA0 model buffer size =  2375.50 MiB
load_tensors:       CUDA10 model buffer size =     1.00 MiB
""".splitlines()
CONTEXT = """\
llama_context:  CUDA_Host  output buffer size =     0.50 MiB
llama_kv_cache:      CUDA0 KV buffer size =   448.00 MiB
llama_kv_cache: size =  448.00 MiB (  4096 cells,  28 layers,  1/1 seqs), K (f16):  224.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =    64.00 MiB
llama_memory_recurrent:        CPU RS buffer size =     2.25 MiB
sched_reserve:      CUDA0 compute buffer size =   256.50 MiB
sched_reserve:  CUDA_Host compute buffer size =    14.01 MiB
""".splitlines()


def test_what_lies_on_each_device_is_added_up() -> None:
    found = by_device(read_sizes(LOAD), read_sizes(CONTEXT), ["CUDA0", "CUDA10", "CUDA1", "CPU"])
    assert found == (
        DeviceBuffers("CUDA0", round(2375.5 * MIB), 512 * MIB, round(256.5 * MIB)),
        DeviceBuffers("CUDA10", MIB, 0, 0),
        DeviceBuffers("CPU", round(281.81 * MIB), round(2.25 * MIB), round(0.5 * MIB) + round(14.01 * MIB)),
    )


def test_a_log_that_says_nothing_gives_nothing() -> None:
    assert by_device(read_sizes([]), read_sizes(["llama_context: n_ctx = 512"]), ["CPU"]) == ()


def test_weights_that_were_rearranged_are_counted_once() -> None:
    log = """\
load_tensors:   CPU_Mapped model buffer size =   335.00 MiB
load_tensors:   CPU_REPACK model buffer size =   320.00 MiB
""".splitlines()
    sizes = counted_once(read_sizes(log), 350 * MIB)
    assert sizes.weights == {"CPU_REPACK": 320 * MIB, "CPU_Mapped": 30 * MIB}
    assert sizes.file_cache == {"CPU_Mapped": 305 * MIB}
    (on_cpu,) = by_device(sizes, read_sizes([]), ["CPU"])
    assert on_cpu == DeviceBuffers("CPU", 350 * MIB, 0, 0, file_cache=305 * MIB)
    assert on_cpu.weights + on_cpu.file_cache == (335 + 320) * MIB, "all that was allocated"
    assert counted_once(read_sizes(LOAD), 2000 * MIB) == read_sizes(LOAD), "nothing was rearranged"
