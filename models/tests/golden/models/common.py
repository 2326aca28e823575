"""What the scripts in this folder share: random checkpoints, files, and what transformers computes on them.

A script for each family writes, into OUT (which is models/tests/golden/FAMILY in the repository),
    NAME/                        config.json, generation_config.json and safetensors, in one of the styles in circulation
    NAME.golden.safetensors      one eager pass in f32: ids, positions, the state entering each text layer and the final norm,
                                 for pictures the tower's last block, merged features and deepstack features (and the
                                 interpolated table of learned positions), for experts the picks of every router, logits
    NAME.pixels.safetensors      u8 patches `[patches, channels * 2 * patch * patch]` in merge-cell order
    NAME.bf16.safetensors        logits of transformers' own bf16 (loaded as bfloat16, eager), widened to f32; not
                                 by `model.to(bfloat16)`, which would round the rotary frequencies too
Files state versions, seed, and distances: `f32_from_f64` is the largest difference of these f32 logits from the same model
as `.double()` (norms, softmax and angles stay f32 there, as transformers writes them), `bf16_from_f32` that of bf16 from f32,
and `bf16_weights_from_f32` where only the weights are rounded.
Made with transformers 5.24.0, torch 2.15.0, one thread: again gives the same tensors and facts, the order of the facts in the
headers aside. Needs torch, transformers, numpy, safetensors.
"""

import argparse
import contextlib
import json
import os

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from golden import PAD, VE, VS, golden, load

transformers.utils.logging.disable_progress_bar()

GRIDS = [(1, 6, 10), (1, 8, 4)]  # two unequal non-square pictures


def randomise(model, seed):
    """Every path matters: biases of 0.2, norm weights about 1, matrices that keep the scale, logits of std about 2."""
    g = torch.Generator().manual_seed(seed)
    for name, p in sorted(model.named_parameters()):
        r = torch.randn(p.shape, generator=g)
        fan_in = p[0].numel() if p.dim() > 1 else 1
        if ("norm" in name or "ln_q" in name) and name.endswith("weight"):
            p.data = 1 + 0.3 * r
        elif name.endswith("bias"):
            p.data = 0.2 * r
        elif "lm_head" in name or "embed_tokens" in name:
            p.data = r * 2 / p.shape[1] ** 0.5
        elif "pos_embed" in name:
            p.data = 0.7 * r
        elif "q_proj" in name or "k_proj" in name or "qkv" in name:
            p.data = r * 1.3 / fan_in ** 0.5
        elif "mlp.gate.weight" in name:
            p.data = r * 1.5 / fan_in ** 0.5  # routers that choose
        elif "experts" in name:
            p.data = r * 1.5 / p.shape[-1] ** 0.5  # held as [experts, out, in]
        else:
            p.data = r / fan_in ** 0.5


def prompt(seed, vocab, grids):
    """Text, picture, text, picture, text."""
    rng = np.random.default_rng(seed)
    words = lambda n: rng.integers(10, vocab, n).tolist()
    ids = words(5)
    for g in grids:
        ids += [VS] + [PAD] * (g[1] * g[2] // 4) + [VE] + words(6)
    return ids


def save(model, c, folder, tensors=None, config=None):
    """Weights by save_pretrained, then `tensors` (name, tensor -> pairs) and `config` (dict -> dict) bring them into style."""
    os.makedirs(folder, exist_ok=True)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    # Shards of 40 % of the whole come out as three files.
    model.save_pretrained(folder, max_shard_size=int(size * 0.4) if c.get("shards", 1) > 1 else "1GB")
    if tensors:
        restyle(folder, tensors)
    path = os.path.join(folder, "config.json")
    cfg = json.load(open(path))
    json.dump(config(cfg) if config else cfg, open(path, "w"), indent=1)


def restyle(folder, tensors):
    """Renames and reshapes in place; an index follows."""
    places = {}
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".safetensors")):
        path = os.path.join(folder, file)
        new = {k: v.contiguous() for name, t in sorted(load_file(path).items()) for k, v in tensors(name, t)}
        save_file(new, path, metadata={"format": "pt"})
        places |= dict.fromkeys(sorted(new), file)
    index = os.path.join(folder, "model.safetensors.index.json")
    if os.path.exists(index):
        old = json.load(open(index))
        json.dump(dict(metadata=old["metadata"], weight_map=places), open(index, "w"), indent=1)


def unchanged(model, loaded):
    """The files say what the random model is, in whatever style they say it."""
    weights = loaded.state_dict()
    assert all(torch.equal(v.float(), weights[k]) for k, v in model.state_dict().items())
    old, new = (m.config.get_text_config().rope_parameters for m in (model, loaded))
    assert all(new[k] == v for k, v in old.items()), (old, new)


def tiny(out, cls, name, c, config, tensors=None, style=None, prepare=None, definite=contextlib.nullcontext):
    """One random checkpoint and its golden files. `c` may hold grids (empty for text), stride of rows, dtype, bf16."""
    model = cls(config)
    randomise(model, c["seed"])
    if prepare:
        prepare(model)
    if c["tied"]:
        model.tie_weights()
    folder = os.path.join(out, name)
    model = model.to(getattr(torch, c.get("dtype", "float32")))
    save(model, c, folder, tensors, style)
    unchanged(model, load(cls, folder))
    rng = np.random.default_rng(c["seed"])
    grids, pixels, vocab = c.get("grids", GRIDS), None, config.get_text_config().vocab_size
    if grids:
        n = sum(g[1] * g[2] for g in grids)
        # Values on a u8 grid, as real pixels are; both temporal slices differ, so that the second one counts.
        u8 = torch.from_numpy(rng.integers(0, 256, (n, 3 * 2 * c["patch"] ** 2), dtype=np.uint8))
        save_file({"pixels": u8}, os.path.join(out, f"{name}.pixels.safetensors"))
        pixels = (u8.float() - 127.5) / 127.5
        ids = prompt(c["seed"], vocab, grids)
    else:
        ids = rng.integers(3, vocab, c.get("length", 40)).tolist()
    bf16 = os.path.join(out, f"{name}.bf16.safetensors") if c.get("bf16") else None
    path = os.path.join(out, f"{name}.golden.safetensors")
    golden(cls, folder, ids, pixels, grids, list(range(0, len(ids), c.get("stride", 1))), path, c["seed"], bf16, definite)


def output():
    """The folder named on the command line, made."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    return out
