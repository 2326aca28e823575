"""Gradients of PyTorch on two tiny random Qwen3-VL checkpoints, for the trainer.

    python gradients.py ../qwen3_vl ../train

writes ../train/NAME.safetensors for each NAME of CHECKPOINTS: the gradient of every tensor (f32, from a model in f64) and `loss`. Two sequences in one
batch: the golden prompt of NAME with both pictures, and its second half with the second picture. Token i of a sequence weighs 0, 1 or 5 by
i % 3, the first token never counts; the loss is the weighted sum of -log p over the sum of weights. No random numbers but those of NAME's own
files (seeds in qwen3_vl.py). Made with transformers 5.24.0, torch 2.15.0, eager attention.
"""

import argparse
import os

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3VLForConditionalGeneration

from golden import PAD, VS, arguments, load, meta

CHECKPOINTS = ["gqa2-untied", "gqa2-tied-v4"]
WEIGHTS = [0.0, 1.0, 5.0]


def sequences(golden, pixels):
    ids, grids = golden["ids"].tolist(), golden["grids"].reshape(-1, 3).tolist()
    first = grids[0][1] * grids[0][2]
    second = [i for i, id in enumerate(ids) if id == VS][1] - 2
    return [(ids, pixels, grids), (ids[second:], pixels[first:], grids[1:])]


def gradients(folder, name):
    golden = load_file(os.path.join(folder, f"{name}.golden.safetensors"))
    u8 = load_file(os.path.join(folder, f"{name}.pixels.safetensors"))["pixels"]
    pixels = (u8.double() - 127.5) / 127.5
    model = load(Qwen3VLForConditionalGeneration, os.path.join(folder, name)).double()
    total, weight = 0, 0
    for ids, px, grids in sequences(golden, pixels):
        logits = model(**arguments(True, ids, px, grids)).logits[0, :-1]
        w = torch.tensor([WEIGHTS[i % 3] for i in range(1, len(ids))], dtype=torch.float64)
        nll = torch.nn.functional.cross_entropy(logits.double(), torch.tensor(ids[1:]), reduction="none")
        total, weight = total + (nll * w).sum(), weight + w.sum()
    loss = total / weight
    loss.backward()
    out = {n: p.grad.float().contiguous() for n, p in model.named_parameters() if p.grad is not None}
    assert len(out) == len(list(model.named_parameters())), "a tensor without a gradient"
    return out | dict(loss=loss.detach().float().reshape(1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name in CHECKPOINTS:
        out = gradients(args.folder, name)
        save_file(out, os.path.join(args.out, f"{name}.safetensors"), metadata=meta())
        print(name, len(out), "tensors, loss", float(out["loss"]))
