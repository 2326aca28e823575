"""Float64 PyTorch reference of the divergence head.

Writes reverse_kl.json beside itself: the parameters of every case and the results. Inputs are not stored;
this script and tests/common/mod.rs make the same f32 values from splitmix64. Run: python reverse_kl.py
"""

import json
import pathlib

import numpy as np
import torch


def splitmix64(seed, count):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(seed, rows, columns, spread):
    """f32 integers in [-r, r] times 2^-s; r <= 2^24, so every value is exact."""
    r, s = spread
    whole = (splitmix64(seed, rows * columns) % np.uint64(2 * r + 1)).astype(np.int64) - r
    return (whole.astype(np.float32) * np.float32(2.0**-s)).reshape(rows, columns)


def inputs(case):
    n, hidden, vocab, seed = case["n"], case["hidden"], case["vocab"], case["seed"]
    student = uniform(seed, n, hidden, case["state"])
    teacher = student + uniform(seed + 1, n, hidden, case["delta"])
    weight = uniform(seed + 2, vocab, hidden, case["weight"])
    if case["ties"]:
        # Rows of a triple differ only where the student is 0: equal student logits, other teacher logits.
        student[:, 0] = 0
        first = weight[:, 0].copy()
        weight = weight[np.arange(vocab) // 3 * 3].copy()
        weight[:, 0] = first
    weight = torch.from_numpy(weight)
    if case["dtype"] == "bf16":
        weight = weight.bfloat16()
    recorded = (splitmix64(seed + 3, n) % np.uint64(vocab)).astype(np.int64)
    recorded[0], recorded[-1] = vocab - 1, 0
    return torch.from_numpy(student).double(), torch.from_numpy(teacher).double(), weight.double(), recorded


def reference(case):
    student, teacher, weight, recorded = inputs(case)
    z = student @ weight.T
    logp, logq = torch.log_softmax(z, -1), torch.log_softmax(teacher @ weight.T, -1)
    p = logp.exp()
    k = min(case["top_k"], case["vocab"])
    order = torch.sort(z, dim=-1, descending=True, stable=True)  # stable: ties to the lower id
    top = order.indices[:, :k]
    floored = logq.exp().clamp_min(case["floor"]).log() if case["floor"] > 0 else logq
    d_topk = (p * (logp - floored)).gather(1, top).sum(-1).clamp_min(0)
    d_full = (p * (logp - logq)).sum(-1)
    at = torch.from_numpy(recorded)[:, None]
    gap = order.values[:, k - 1] - order.values[:, k] if k < case["vocab"] else None
    if case["ties"]:
        assert (gap == 0).all(), "the support must cut through a tie"
        other = torch.sort(z.flip(-1), dim=-1, descending=True, stable=True).indices[:, :k]
        d_other = (p * (logp - floored)).flip(-1).gather(1, other).sum(-1)
        assert (d_other - d_topk).abs().min() > 1e-3, "the choice among ties must matter"
    if case["floored"]:
        assert (logq.gather(1, top).min(-1).values < np.log(case["floor"]) - 10).all(), "the floor must bind"
    result = {
        "recorded": recorded.tolist(),
        "d_topk": d_topk.tolist(),
        "d_full": d_full.tolist(),
        "logp": logp.gather(1, at)[:, 0].tolist(),
        "logq": logq.gather(1, at)[:, 0].tolist(),
        "kth_gap": None if gap is None else gap.tolist(),
    }
    print(f"{case['name']:16} std {z.std():8.3f}  d_topk {d_topk.mean():.4f}  d_full {d_full.mean():.4f}")
    return case | result


def case(name, n, hidden, vocab, state, delta, weight, top_k=20, floor=1e-12, dtype="f32", ties=False, floored=False):
    seed = int.from_bytes(name.encode()[:6], "big")
    return dict(name=name, seed=seed, n=n, hidden=hidden, vocab=vocab, top_k=top_k, floor=floor, dtype=dtype,
                state=state, delta=delta, weight=weight, ties=ties, floored=floored)


FULL = 1 << 23  # 24 significant bits: the products fill 48 of the 53 of f64
CASES = [
    case("flat", 6, 64, 1000, (FULL, 22), (FULL, 24), (FULL // 8, 23)),
    case("wide", 4, 2048, 4096, (FULL, 22), (FULL // 2, 24), (FULL // 3 * 2, 24)),
    case("wide-bf16", 4, 2048, 4096, (FULL, 22), (FULL, 24), (FULL // 3 * 2, 24), dtype="bf16"),
    case("vocab-151936", 3, 16, 151936, (FULL, 22), (FULL // 2, 23), (FULL // 2, 22)),
    case("ties", 5, 24, 333, (64, 5), (64, 5), (16, 5), ties=True),
    case("ties-bf16", 5, 24, 333, (64, 5), (64, 5), (16, 5), dtype="bf16", top_k=4, ties=True),
    case("small-vocab", 4, 8, 7, (FULL, 22), (FULL, 23), (FULL, 23)),
    case("vocab-1", 2, 3, 1, (FULL, 22), (FULL, 23), (FULL, 23)),
    case("one-column", 3, 1, 50, (FULL, 22), (FULL, 23), (FULL, 22)),
    case("top-1", 5, 32, 257, (FULL, 22), (FULL, 23), (FULL, 23), top_k=1),
    case("top-all", 5, 32, 257, (FULL, 22), (FULL, 23), (FULL, 23), top_k=257, floor=0.0),
    case("floor-binds", 4, 32, 500, (FULL, 21), (FULL, 20), (FULL, 21), floored=True),
    case("no-floor", 4, 32, 500, (FULL, 21), (FULL, 20), (FULL, 21), floor=0.0),
    case("huge-logits", 4, 32, 500, (FULL, 19), (FULL, 18), (FULL, 19), floored=True),
    case("same", 4, 32, 500, (FULL, 22), (0, 0), (FULL, 23)),
    case("nearly-same", 4, 64, 500, (FULL, 22), (FULL, 35), (FULL, 24)),
]

if __name__ == "__main__":
    torch.set_num_threads(1)
    header = {"torch": torch.__version__, "numpy": np.__version__, "dtype": "float64"}
    out = pathlib.Path(__file__).with_suffix(".json")
    out.write_text(json.dumps({"made_with": header, "cases": [reference(c) for c in CASES]}, indent=1) + "\n")
