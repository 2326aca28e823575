"""The peer's rate: torch's matmul on the shapes of benches/gemm.rs, best of several rounds.

    python kernels/benches/torch_rate.py [--threads 2] [--rounds 15]

Prints GFLOP/s of `activations [rows, in] @ weight [out, in]^T` in bf16 and f32, with torch's version and the
CPU. Run it right before or after `cargo bench -p spare-kernels --bench gemm` on the same idle machine.
"""

import argparse
import platform
import time

import torch

SHAPES = [(512, 2048, 6144), (512, 1024, 3072), (512, 6144, 2048), (1, 2048, 6144), (1, 1024, 3072)]


def cpu() -> str:
    with open("/proc/cpuinfo") as lines:
        names = {line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")}
    return ", ".join(sorted(names)) or platform.processor()


def rate(rows: int, wide: int, out: int, dtype: torch.dtype, rounds: int) -> tuple[float, float]:
    """Best and median GFLOP/s; weights of 256 MB in all are passed in turn, so that none stays in a cache."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(rows, wide, generator=generator).to(dtype)
    copies = max(1, 256_000_000 // (wide * out * states.element_size())) if rows == 1 else 1
    weights = [torch.randn(out, wide, generator=generator).to(dtype) for _ in range(copies)]
    work = 2e-9 * rows * wide * out
    # About 0.2 s a round.
    calls = max(1, int(0.2 / (work / 100)))
    seconds = []
    with torch.inference_mode():
        for _ in range(rounds + 1):
            start = time.perf_counter()
            for call in range(calls):
                torch.nn.functional.linear(states, weights[call % copies])
            seconds.append((time.perf_counter() - start) / calls)
    seconds = sorted(seconds[1:])
    return work / seconds[0], work / seconds[len(seconds) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads, {torch.backends.cpu.get_cpu_capability()}, {cpu()}")
    for dtype in (torch.bfloat16, torch.float32):
        for rows, wide, out in SHAPES:
            best, median = rate(rows, wide, out, dtype, options.rounds)
            print(f"{str(dtype)[6:]:9} {rows:4} x {wide} x {out}: best {best:7.1f} GFLOP/s, median {median:7.1f}")


if __name__ == "__main__":
    main()
