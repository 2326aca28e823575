"""Golden scores of the board runs, in float64, independent of this project's code.

    python tests/golden/score.py          writes tests/golden/score.json

Contexts are made by transformers alone: its chat template, its tokenizer's offsets, its image processor. The student reads the history before the
event up to the segment's last token; the teacher the same with one user message around the summary before the turn's header.
Deterministic: no sampling, no seed. Versions are written into the file. torch 2.15.0, transformers 5.24.0, pillow 12 made the committed one.
"""
import hashlib, json, pathlib, platform
import torch, transformers
from PIL import Image
from transformers import AutoTokenizer, Qwen2VLImageProcessor, Qwen3VLForConditionalGeneration

torch.set_grad_enabled(False)
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/pretrained/board"
RUNS = ROOT / "examples/board/runs.jsonl"
K = 20
tok = AutoTokenizer.from_pretrained(MODEL)
net = Qwen3VLForConditionalGeneration.from_pretrained(MODEL, dtype=torch.float32).double().eval()
proc = Qwen2VLImageProcessor.from_pretrained(MODEL)
PAD = tok.convert_tokens_to_ids("<|image_pad|>")
IM_START = tok.convert_tokens_to_ids("<|im_start|>")
GIVEN = "Question: which digits? Evidence: red circle = 5, blue square = 12. The purple diamond is at (2, 2)."


def pictures(messages):
    urls = [p["image_url"]["url"] for m in messages if isinstance(m["content"], list) for p in m["content"] if p["type"] == "image_url"]
    return [Image.open(RUNS.parent / u) for u in urls]


def render(messages, tools, generation=False):
    return tok.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=generation)


def encode(text, counts):
    """ids and character spans in `text`; each image pad expanded, all copies carrying the placeholder's span."""
    out = tok(text, return_offsets_mapping=True, add_special_tokens=False)
    ids, spans, counts = [], [], list(counts)
    for i, s in zip(out.input_ids, out.offset_mapping):
        n = counts.pop(0) if i == PAD else 1
        ids += [i] * n
        spans += [s] * n
    return ids, spans


def logprobs(ids, pixels):
    """[len(ids), vocab] float64; only the pictures whose pads are in `ids`."""
    n, k = ids.count(PAD), 0
    while sum(int(g.prod()) // 4 for g in pixels["image_grid_thw"][:k]) < n:
        k += 1
    grids = pixels["image_grid_thw"][:k]
    rows = int(sum(int(g.prod()) for g in grids))
    x = torch.tensor([ids])
    out = net(input_ids=x, pixel_values=pixels["pixel_values"][:rows].double(), image_grid_thw=grids, mm_token_type_ids=(x == PAD).int(), use_cache=False)
    assert out.logits.dtype == torch.float64
    return out.logits[0].log_softmax(-1)


def digest(ids):
    return hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest()


def event(run, summary):
    messages, tools = run["messages"], run.get("tools")
    at = next(i for i, m in enumerate(messages) for c in m.get("tool_calls", []) if c["function"]["name"] == "summarize_the_task")
    sigma = summary or json.loads(messages[at]["tool_calls"][0]["function"]["arguments"])["summary"]
    pixels = proc(images=pictures(messages[:at]), return_tensors="pt")
    counts = [int(g.prod()) // 4 for g in pixels["image_grid_thw"]]
    ids, spans = encode(render(messages[:at], tools), counts)
    block, _ = encode(render([{"role": "user", "content": f"<task_state>\n{sigma}\n</task_state>"}], None), [])
    student_all = logprobs(ids, pixels)
    segments = []
    for i in [i for i, m in enumerate(messages[:at]) if m.get("reasoning_content")]:
        start = len(render(messages[:i], tools, True) + "<think>\n")
        end = start + len(messages[i]["reasoning_content"])
        own = [t for t, (a, b) in enumerate(spans) if a < end and b > start]
        first, last = own[0], own[-1] + 1
        header = max(t for t in range(first) if ids[t] == IM_START)
        teacher_ids = ids[:header] + block + ids[header:last]
        p = student_all[first - 1:last - 1]
        q = logprobs(teacher_ids, pixels)[first - 1 + len(block):last - 1 + len(block)]
        top, which = p.topk(K + 1)
        lp, lq = top[:, :K], q.gather(1, which[:, :K]).clamp(min=torch.log(torch.tensor(1e-12, dtype=torch.float64)))
        x = torch.tensor(ids[first:last])[:, None]
        rows = {
            "d_topk": (lp.exp() * (lp - lq)).sum(-1).clamp(min=0),
            "d_full": (p.exp() * (p - q)).sum(-1),
            "logp": p.gather(1, x)[:, 0],
            "logq": q.gather(1, x)[:, 0],
            "kth_gap": top[:, K - 1] - top[:, K],
        }
        segments.append({
            "message": i, "token_ids": ids[first:last], "student": digest(ids[:last]), "teacher": digest(teacher_ids),
            **{k: [round(float(v), 9) for v in vs] for k, vs in rows.items()},
        })
    return {"summary": summary, "segments": segments}


runs = [json.loads(line) for line in open(RUNS)]
events = [{"record": r, **event(run, s)} for s in [None, GIVEN] for r, run in enumerate(runs)]
mean = [sum(s["d_topk"]) / len(s["d_topk"]) for e in events for s in e["segments"]]
out = {
    "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__},
    "top_k": K, "given": GIVEN, "events": events,
}
(ROOT / "tests/golden/score.json").write_text(json.dumps(out, separators=(",", ":")).replace('{"record"', '\n{"record"') + "\n")
print(len(events), "events", len(mean), "segments; mean d_topk of segments from", min(mean), "to", max(mean))
