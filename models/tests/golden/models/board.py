"""What transformers computes and generates with the trained board checkpoint.

    python board.py OUT CHECKPOINT EXAMPLES

writes OUT/board.golden.safetensors and board.pixels.safetensors (see common.py; seed 21) and OUT/greedy.json with
greedy.safetensors: greedy continuations of ten recorded runs of EXAMPLES/runs.jsonl and their pictures. Versions as in
common.py; needs pillow as well.
"""

import argparse
import json
import os

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer, Qwen2VLImageProcessor, Qwen3VLForConditionalGeneration

from common import GRIDS, prompt
from golden import PAD, golden, meta


def patchify(image, patch):
    """[H, W, 3] u8 -> [patches, 3*2*patch*patch] u8, rows in merge-cell order, the frame twice."""
    h, w, _ = image.shape
    x = image.reshape(h // patch // 2, 2, patch, w // patch // 2, 2, patch, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    x = np.stack([x, x], axis=5)
    return torch.from_numpy(np.ascontiguousarray(x.reshape(-1, 3 * 2 * patch * patch)))


def open_rgb(path):
    from PIL import Image
    return np.asarray(Image.open(path).convert("RGB"))


def board(out, folder, examples):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    processor = Qwen2VLImageProcessor.from_pretrained(folder)
    patch = 8
    # Two unequal non-square cuts of real pictures, so that the trained tower sees what it knows.
    a = open_rgb(os.path.join(examples, "img/000-0.png"))[8:56, 0:80]
    b = open_rgb(os.path.join(examples, "img/001-0.png"))[16:80, 32:64]
    u8 = torch.cat([patchify(a, patch), patchify(b, patch)])
    ids = prompt(21, len(tokenizer) if len(tokenizer) < 1024 else 1024, GRIDS)
    model = golden(Qwen3VLForConditionalGeneration, folder, ids, (u8.float() - 127.5) / 127.5, GRIDS,
                   list(range(1, len(ids), 2)), os.path.join(out, "board.golden.safetensors"), 21)
    save_file({"pixels": u8}, os.path.join(out, "board.pixels.safetensors"))

    contexts, pictures = [], {}
    for n, line in enumerate(open(os.path.join(examples, "runs.jsonl"))):
        if len(contexts) == 10:
            break
        run = json.loads(line)
        turns = [i for i, m in enumerate(run["messages"]) if m["role"] == "assistant"]
        cut = turns[n % len(turns)]  # the first turn of run 0, the second of run 1, ...
        messages, names = [], []
        for m in run["messages"][:cut]:
            m = json.loads(json.dumps(m))
            if isinstance(m["content"], list):
                for part in m["content"]:
                    if part["type"] == "image_url":
                        names.append(part["image_url"]["url"])
            messages.append(m)
        text = tokenizer.apply_chat_template(messages, tools=run.get("tools"), tokenize=False, add_generation_prompt=True)
        images = [open_rgb(os.path.join(examples, f)) for f in names]
        px = processor(images=images, return_tensors="pt")
        mine = (torch.cat([patchify(i, patch) for i in images]).float() - 127.5) / 127.5
        assert (mine - px["pixel_values"]).abs().max() < 1e-6, "patchify here is not the processor's"
        for g in px["image_grid_thw"]:
            text = text.replace("<|image_pad|>", "<|hold|>" * (int(g.prod()) // 4), 1)
        ids = tokenizer(text.replace("<|hold|>", "<|image_pad|>"), return_tensors="pt")["input_ids"]
        with torch.no_grad():
            got = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=mine,
                                 image_grid_thw=px["image_grid_thw"], mm_token_type_ids=(ids == PAD).int(),
                                 do_sample=False, max_new_tokens=60, return_dict_in_generate=True, output_logits=True)
        new = got.sequences[0, ids.shape[1]:].tolist()
        tops = [l[0].topk(2).values for l in got.logits]
        gap = min(float(t[0] - t[1]) for t in tops)
        contexts.append(dict(run=run["id"], turn=cut, pictures=names, ids=ids[0].tolist(), generated=new, smallest_gap=gap))
        pictures |= {f: torch.from_numpy(i.copy()) for f, i in zip(names, images)}
        print(f"{run['id']} cut at {cut}: {ids.shape[1]} + {len(new)} tokens, smallest top-2 gap {gap:.4f}: {tokenizer.decode(new)[:90]!r}")
    json.dump(dict(meta(), max_new_tokens=60, eos=[2], contexts=contexts), open(os.path.join(out, "greedy.json"), "w"))
    save_file(pictures, os.path.join(out, "greedy.safetensors"), metadata=meta())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("out", "checkpoint", "examples"):
        parser.add_argument(name)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    board(args.out, args.checkpoint, args.examples)
