"""What the scripts in this folder share: random checkpoints, files, and what transformers computes on them.

A script for each family writes, into OUT (which is models/tests/golden/FAMILY in the repository),
    NAME/                        config.json, generation_config.json and safetensors, in one of the styles in circulation
    NAME.golden.safetensors      one eager pass in f32: ids, positions, the state entering each text layer and the final norm,
                                 for pictures the tower's last block, merged features and deepstack features (and the
                                 interpolated table of learned positions), for experts the picks of every router, logits
    NAME.pixels.safetensors      u8 patches `[patches, channels * 2 * patch * patch]` in merge-cell order
    NAME.bf16.safetensors        logits of transformers' own bf16 (`model.to(bfloat16)`, eager), widened to f32
Files state versions, seed, and distances: `f32_from_f64` is the largest difference of these f32 logits from the same model
as `.double()` (norms, softmax and angles stay f32 there, as transformers writes them), `bf16_from_f32` that of bf16 from f32.
Made with transformers 5.24.0, torch 2.15.0, one thread: again gives the same tensors and facts, the order of the facts in the
headers aside. Needs torch, transformers, numpy, safetensors.
"""

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
transformers.utils.logging.disable_progress_bar()

VS, VE, PAD, VIDEO = 3, 4, 5, 6  # vision start and end, image pad, video pad
GRIDS = [(1, 6, 10), (1, 8, 4)]  # two unequal non-square pictures
EXACT, NEAR_TIE = 5e-5, 1e-4  # f32 has to be this near to f64; router probabilities this far from changing a pick


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


def arguments(visual, ids, pixels, grids):
    ids = torch.tensor([ids])
    more = dict(pixel_values=pixels, image_grid_thw=torch.tensor(grids), mm_token_type_ids=(ids == PAD).int()) if visual else {}
    return dict(input_ids=ids, use_cache=False, **more)


def record(model, ids, pixels, grids, rows):
    """One eager forward pass with everything that the Rust side compares."""
    states, vision, routers, hooks = {}, {}, {}, []
    visual = getattr(model.model, "visual", None)
    text = model.model.language_model if visual else model.model
    for i, layer in enumerate(text.layers):
        hooks.append(layer.register_forward_pre_hook(lambda m, a, i=i: states.__setitem__(i, a[0].detach())))
        if hasattr(layer.mlp, "gate"):
            hooks.append(layer.mlp.gate.register_forward_hook(lambda m, a, o, i=i: routers.__setitem__(i, (o[0].detach(), o[2]))))
    hooks.append(text.norm.register_forward_pre_hook(lambda m, a: states.__setitem__(len(text.layers), a[0].detach())))
    inputs = arguments(visual, ids, pixels, grids)
    ids = inputs["input_ids"]
    if visual:
        # The table's output is what block 0 gets on top of the patch embedding.
        hooks.append(visual.patch_embed.register_forward_hook(lambda m, a, o: vision.__setitem__("patch", o.detach())))
        hooks.append(visual.blocks[0].register_forward_pre_hook(lambda m, a: vision.__setitem__("block0", a[0].detach())))
        hooks.append(visual.register_forward_hook(lambda m, a, o: vision.__setitem__("out", o)))
    with torch.no_grad():
        logits = model(**inputs).logits[0]
        if visual:
            types, grid = inputs["mm_token_type_ids"], inputs["image_grid_thw"]
            positions, delta = model.model.get_rope_index(ids, types, grid)
            out = dict(positions=positions[:, 0].int(), delta=delta.flatten().int()) | pictures(visual, vision, grid, pixels)
        else:
            out = dict(positions=torch.arange(ids.shape[1]).expand(3, -1).int(), delta=torch.zeros(1).int())
    for h in hooks:
        h.remove()
    out["logits"] = logits[rows]
    for i, s in states.items():
        out[f"state.{i}"] = s[0][rows]
    for i, (_, picks) in routers.items():
        out[f"router.{i}"] = picks[rows].int()
    return {k: v.detach().contiguous().clone() for k, v in out.items()}, {i: l for i, (l, _) in routers.items()}


def pictures(visual, vision, grid, pixels):
    """What the tower made of the pictures, every row in the order of its input."""
    out = dict(merged=torch.cat(vision["out"].pooler_output), blocks=vision["out"].last_hidden_state)
    if hasattr(visual, "window_size"):
        # Blocks of this family run in window order: back to merge-cell order.
        from transformers.vision_utils import get_vision_window_index
        order, _ = get_vision_window_index(grid, visual.spatial_merge_size, visual.window_size, visual.patch_size)
        cells = out["blocks"].reshape(len(order), visual.spatial_merge_unit, -1)
        out["blocks"] = cells[torch.argsort(order)].flatten(0, 1)
    if hasattr(visual, "pos_embed"):
        from transformers.vision_utils import get_vision_interpolation_indices_and_weights as taps
        index, weight = taps(grid, num_grid_per_side=visual.num_grid_per_side, mode="bilinear", align_corners=True, spatial_merge_size=2)
        out["table"] = (visual.pos_embed(index) * weight[:, :, None].to(pixels.dtype)).sum(1)
        assert torch.equal(vision["patch"] + out["table"], vision["block0"]), "the table's output is not what block 0 got"
    for k, feature in enumerate(getattr(vision["out"], "deepstack_features", None) or []):
        out[f"deepstack.{k}"] = torch.cat(feature)
    return out


def meta(**more):
    return dict(transformers=transformers.__version__, torch=torch.__version__, dtype="float32", attention="eager",
                **{k: str(v) for k, v in more.items()})


def load(cls, folder):
    """The checkpoint as transformers reads it, every tensor used."""
    more = dict(experts_implementation="eager") if "Moe" in cls.__name__ else {}
    model, info = cls.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **more)
    assert not any(info.values()), info
    return model.eval()


def router_gap(logits, top):
    """How far the router that is nearest to another pick is from it."""
    gaps = [(v[:, top - 1] - v[:, top]).min().item() for v in (l.softmax(-1).topk(top + 1).values for l in logits.values())]
    return min(gaps)


def golden(cls, folder, ids, pixels, grids, rows, path, seed, bf16=None, more=lambda *_: {}):
    model = load(cls, folder)
    out, routers = record(model, ids, pixels, grids, rows)
    facts = dict(seed=seed)
    if routers and not (ties := more(model, out, ids, pixels, grids, rows)):
        facts["router_gap"] = router_gap(routers, model.config.text_config.num_experts_per_tok)
        assert facts["router_gap"] > NEAR_TIE, f"{path}: {facts}"
    elif routers:
        facts |= ties
    exact, _ = record(model.double(), ids, pixels if pixels is None else pixels.double(), grids, rows)
    facts["f32_from_f64"] = (out["logits"].double() - exact["logits"]).abs().max().item()
    assert facts["f32_from_f64"] < EXACT, f"{path}: {facts}"
    out |= dict(ids=torch.tensor(ids).int(), grids=torch.tensor(grids).int().reshape(-1, 3), rows=torch.tensor(rows).int())
    save_file(out, path, metadata=meta(**facts))
    if bf16:
        with torch.no_grad():
            half = load(cls, folder).bfloat16()(**arguments(pixels is not None, ids, pixels, grids))
        logits = half.logits[0][rows].float()
        facts["bf16_from_f32"] = (logits - out["logits"]).abs().max().item()
        save_file(dict(logits_bf16=logits), bf16, metadata=meta(seed=seed, bf16_from_f32=facts["bf16_from_f32"]) | dict(dtype="bfloat16"))
    print(f"{path}: {len(ids)} tokens, logit std {out['logits'].std():.2f}, {facts}")
    return model.float()


def tiny(out, cls, name, c, config, tensors=None, style=None, prepare=None, more=lambda *_: {}):
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
    golden(cls, folder, ids, pixels, grids, list(range(0, len(ids), c.get("stride", 1))), path, c["seed"], bf16, more)


def output():
    """The folder named on the command line, made."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    return out


def v4_rope(text):
    """rope_parameters as transformers 4 wrote them: the base beside rope_scaling, which is null where nothing is scaled."""
    rope = text.pop("rope_parameters")
    text["rope_theta"] = rope.pop("rope_theta")
    text["rope_scaling"] = rope if set(rope) - {"rope_type"} else None
    return text
