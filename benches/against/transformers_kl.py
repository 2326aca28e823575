"""What a user would write instead: token-level reverse KL of a run's segments with transformers.

    python benches/against/transformers_kl.py FOLDER --plan PLAN --mode whole|cached --dtype bf16|f32 [--segments N] [--threads 2] --out FILE

PLAN holds the contexts that spare replayed (token ids, where the summary block goes, which tokens are each segment's); the pictures come
from FOLDER/*.png through transformers' own processor.

whole   two forwards over the whole context of each segment, pictures included, logits at the segment's rows only.
cached  one forward over the trunk keeps its KV cache; then the segments from the last to the first: the cache is cropped (never copied)
        to where the block goes, block and segment run behind it; the head runs on the segment's rows only, top 20 in f32.

Prints and writes seconds (towers, trunk, branches, head), tokens pushed and d_topk of every token. --segments N measures N segments
evenly spread and says so; `run` scales the rest.
"""

import argparse, json, pathlib, time

import torch, transformers
from PIL import Image
from transformers import DynamicCache, Qwen2VLImageProcessor, Qwen3VLForConditionalGeneration

torch.set_grad_enabled(False)
PAD = 151655
FLOOR = 1e-12


def memory() -> dict:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    of = lambda name: next(int(l.split()[1]) << 10 for l in lines if l.startswith(name))
    return {"now": of("VmRSS"), "peak": of("VmHWM")}


class Peer:
    def __init__(self, folder: pathlib.Path, plan: dict, dtype: torch.dtype):
        self.net = Qwen3VLForConditionalGeneration.from_pretrained(folder / "model", dtype=dtype).eval()
        processor = Qwen2VLImageProcessor.from_pretrained(folder / "model")
        self.trunk, self.block = plan["trunk"], plan["block"]
        start = time.perf_counter()
        images = [Image.open(folder / f"{i}.png").convert("RGB") for i in range(len(plan["pictures"]))]
        self.pixels = processor(images=images, return_tensors="pt")
        self.pixels["pixel_values"] = self.pixels["pixel_values"].to(dtype)
        self.seconds = {"preprocess": time.perf_counter() - start, "forward": 0.0, "trunk": 0.0, "head": 0.0}
        self.pushed = 0

    def positions(self, ids: list[int]) -> torch.Tensor:
        x = torch.tensor([ids])
        return self.net.model.get_rope_index(x, (x == PAD).int(), image_grid_thw=self.pixels["image_grid_thw"])[0]

    def read(self, ids: list[int], cache=None, key: str = "forward") -> torch.Tensor:
        """Hidden states of a whole context, pictures included."""
        start = time.perf_counter()
        x = torch.tensor([ids])
        out = self.net.model(
            input_ids=x, pixel_values=self.pixels["pixel_values"], image_grid_thw=self.pixels["image_grid_thw"], mm_token_type_ids=(x == PAD).int(),
            cache=cache, use_cache=cache is not None,
        )
        self.pushed += len(ids)
        self.seconds[key] += time.perf_counter() - start
        return out.last_hidden_state[0]

    def divergence(self, student: torch.Tensor, teacher: torch.Tensor) -> list[float]:
        start = time.perf_counter()
        p = self.net.lm_head(student).float().log_softmax(-1)
        q = self.net.lm_head(teacher).float().log_softmax(-1)
        top = p.topk(20, dim=-1)
        q = q.gather(-1, top.indices).clamp(min=torch.log(torch.tensor(FLOOR)))
        d = (top.values.exp() * (top.values - q)).sum(-1).clamp(min=0)
        self.seconds["head"] += time.perf_counter() - start
        return d.tolist()

    def teacher(self, branch: dict) -> list[int]:
        return self.trunk[: branch["at"]] + self.block + self.trunk[branch["at"] : branch["tokens"]["end"]]

    def whole(self, branch: dict) -> list[float]:
        first, end = branch["tokens"]["start"], branch["tokens"]["end"]
        student = self.read(self.trunk[:end])[first - 1 : end - 1]
        shift = len(self.block)
        teacher = self.read(self.teacher(branch))[first - 1 + shift : end - 1 + shift]
        return self.divergence(student, teacher)

    def cached(self, branches: list[dict]) -> list[list[float]]:
        cache = DynamicCache(config=self.net.config.get_text_config())
        trunk = self.read(self.trunk, cache, "trunk")
        rows = {b["segment"]: trunk[b["tokens"]["start"] - 1 : b["tokens"]["end"] - 1].clone() for b in branches}
        del trunk
        self.cache_bytes = sum(l.keys.nbytes + l.values.nbytes for l in cache.layers)
        found = []
        for branch in sorted(branches, key=lambda b: -b["at"]):
            ids, at = self.teacher(branch), branch["at"]
            n = branch["tokens"]["end"] - branch["tokens"]["start"]
            start = time.perf_counter()
            cache.crop(at - cache.get_seq_length())
            out = self.net.model.language_model(
                input_ids=torch.tensor([ids[at:]]), position_ids=self.positions(ids)[:, :, at:], cache=cache, use_cache=True
            ).last_hidden_state[0]
            self.pushed += len(ids) - at
            self.seconds["forward"] += time.perf_counter() - start
            found.append((branch["segment"], self.divergence(rows[branch["segment"]], out[-n - 1 : -1])))
        return [d for _, d in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--plan", type=pathlib.Path, required=True)
    parser.add_argument("--mode", choices=["whole", "cached", "prefill"], required=True)
    parser.add_argument("--dtype", choices=["bf16", "f32"], default="bf16")
    parser.add_argument("--segments", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    plan = json.loads(options.plan.read_text())
    dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[options.dtype]
    peer = Peer(options.folder, plan, dtype)
    # Weights that are still a mapped file would be read within the time measured, and count as memory of the event.
    for weight in peer.net.parameters():
        weight.data = weight.data.clone()
    report = {
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}",
        "mode": options.mode, "dtype": options.dtype, "threads": options.threads,
    }
    if options.mode == "prefill":
        report["tokens_per_second"] = {}
        for tokens in (256, 1024, 4096):
            start = time.perf_counter()
            peer.net.model.language_model(input_ids=torch.tensor([[i % 150000 for i in range(tokens)]]), use_cache=True)
            report["tokens_per_second"][tokens] = tokens / (time.perf_counter() - start)
        return write(options.out, report)
    branches = plan["branches"]
    chosen = branches
    if options.segments:
        chosen = [branches[(2 * i + 1) * len(branches) // (2 * options.segments)] for i in range(options.segments)]
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = memory()
    start = time.perf_counter()
    d = peer.cached(chosen) if options.mode == "cached" else [peer.whole(b) for b in chosen]
    seconds = time.perf_counter() - start
    report |= {
        "segments": [b["segment"] for b in chosen], "of": len(branches), "seconds": seconds, "parts": peer.seconds, "pushed": peer.pushed,
        "tokens_per_second": peer.pushed / seconds, "bytes_before": before["now"], "bytes_peak": memory()["peak"],
        "cache_bytes": getattr(peer, "cache_bytes", 0), "d_topk": d,
    }
    write(options.out, report)


def write(path: pathlib.Path, report: dict) -> None:
    path.write_text(json.dumps(report))
    print({k: v for k, v in report.items() if k != "d_topk"})


if __name__ == "__main__":
    main()
