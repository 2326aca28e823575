"""What does transformers compute on a checkpoint, and how near is that to the truth?

Used by the scripts of the families; common.py describes the files.
"""

import contextlib
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import transformers
from safetensors.torch import save_file

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

VS, VE, PAD, VIDEO = 3, 4, 5, 6  # vision start and end, image pad, video pad
EXACT, NEAR_TIE = 5e-5, 1e-4  # f32 has to be this near to f64; router probabilities this far from changing a pick


def arguments(visual, ids, pixels, grids):
    ids = torch.tensor([ids])
    more = dict(pixel_values=pixels, image_grid_thw=torch.tensor(grids), mm_token_type_ids=(ids == PAD).int()) if visual else {}
    return dict(input_ids=ids, use_cache=False, **more)


def run(model, ids, pixels, grids):
    with torch.no_grad():
        return model(**arguments(pixels is not None, ids, pixels, grids)).logits[0]


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
    """What the tower made of the pictures; `blocks` in the order in which the tower works (windows in Qwen2.5-VL)."""
    out = dict(merged=torch.cat(vision["out"].pooler_output), blocks=vision["out"].last_hidden_state)
    if hasattr(visual, "pos_embed"):
        from transformers.vision_utils import get_vision_interpolation_indices_and_weights as taps
        index, weight = taps(grid, num_grid_per_side=visual.num_grid_per_side, mode="bilinear", align_corners=True, spatial_merge_size=2)
        out["table"] = (visual.pos_embed(index) * weight[:, :, None].to(pixels.dtype)).sum(1)
        if pixels.dtype != torch.bfloat16:
            assert torch.equal(vision["patch"] + out["table"], vision["block0"]), "the table's output is not what block 0 got"
    for k, feature in enumerate(getattr(vision["out"], "deepstack_features", None) or []):
        out[f"deepstack.{k}"] = torch.cat(feature)
    return out


def meta(**more):
    return dict(transformers=transformers.__version__, torch=torch.__version__, dtype="float32", attention="eager",
                **{k: str(v) for k, v in more.items()})


def load(cls, folder, dtype=torch.float32):
    """The checkpoint as transformers reads it, every tensor used."""
    more = dict(experts_implementation="eager") if "Moe" in cls.__name__ else {}
    model, info = cls.from_pretrained(folder, dtype=dtype, attn_implementation="eager", output_loading_info=True, **more)
    assert not any(info.values()), info
    return model.eval()


def router_gap(logits, top, definite):
    """How far the router that is nearest to another pick is from it; ties to the bit do not count where they are decided."""
    best = [l.softmax(-1).topk(top + 1).values for l in logits.values()]
    gaps = torch.cat([b[:, top - 1] - b[:, top] for b in best])
    return (gaps[gaps > 0] if definite else gaps).min().item()


def other_picks(a, b):
    """Tokens whose picked experts differ, whatever their order."""
    return (a.sort(-1).values != b.sort(-1).values).any(-1).sum().item()


def golden(cls, folder, ids, pixels, grids, rows, path, seed, bf16=None, definite=contextlib.nullcontext):
    """`definite` is what the golden passes run in, where the model's own choice depends on the machine."""
    model = load(cls, folder)
    to = lambda dtype: pixels if pixels is None else pixels.to(dtype)
    facts = dict(seed=seed)
    with definite():
        out, routers = record(model, ids, pixels, grids, rows)
        exact, _ = record(model.double(), ids, to(torch.float64), grids, rows)
    if routers:
        decided = definite is not contextlib.nullcontext
        facts["router_gap"] = router_gap(routers, model.config.text_config.num_experts_per_tok, decided)
        assert facts["router_gap"] > NEAR_TIE, f"{path}: {facts}"
        unused = [set(range(l.shape[1])) - set(out[f"router.{i}"].flatten().tolist()) for i, l in routers.items()]
        assert not any(unused), f"{path}: experts that no token picks: {unused}"
        if decided:
            own, _ = record(model.float(), ids, pixels, grids, rows)
            own = {f"topk_{k}": v for k, v in own.items() if k == "logits" or k.startswith("router")}
            out |= own
            other = [other_picks(out[k], own["topk_" + k]) for k in list(out) if k.startswith("router")]
            facts |= dict(topk_picks_others=other, topk_logits_differ=(out["logits"] - own["topk_logits"]).abs().max().item())
    inner = {k: (out[k].double() - v).abs().max().item() for k, v in exact.items() if v.is_floating_point()}
    facts["f32_from_f64"] = inner["logits"]
    assert facts["f32_from_f64"] < EXACT, f"{path}: {facts}"
    every_tensor_matters(model.float(), out["logits"], ids, pixels, grids, rows)
    out |= dict(ids=torch.tensor(ids).int(), grids=torch.tensor(grids).int().reshape(-1, 3), rows=torch.tensor(rows).int())
    save_file(out, path, metadata=meta(**facts))
    if bf16:
        half = load(cls, folder, torch.bfloat16)
        frequencies = {b.dtype for n, b in half.named_buffers() if "inv_freq" in n}
        assert frequencies == {torch.float32}, frequencies
        rounded, _ = record(half, ids, to(torch.bfloat16), grids, rows)
        # Where bf16 picked other experts its distance would bound nothing.
        assert not any(other_picks(v, out[k]) for k, v in rounded.items() if k.startswith("router")), path
        logits = [rounded["logits"].float(), run(half.float(), ids, pixels, grids)[rows]]
        apart = [(l - out["logits"]).abs().max().item() for l in logits]
        facts |= dict(bf16_from_f32=apart[0], bf16_weights_from_f32=apart[1])
        more = dict(seed=seed, bf16_from_f32=apart[0], bf16_weights_from_f32=apart[1])
        save_file(dict(logits_bf16=logits[0]), bf16, metadata=meta(**more) | dict(dtype="bfloat16"))
    print(f"{path}: {len(ids)} tokens, logit std {out['logits'].std():.2f}, {facts}, inner states f32 from f64 {max(inner.values()):.1e}")
    return load(cls, folder)


def every_tensor_matters(model, logits, ids, pixels, grids, rows):
    """A tensor read wrongly shows: each one with its rows moved by one moves the logits by far more than a test allows."""
    for name, p in model.named_parameters():
        whole = p.data
        p.data = whole.roll(1, 0)
        moved = (run(model, ids, pixels, grids)[rows] - logits).abs().max()
        p.data = whole
        assert moved > 1e-2, f"{name}: {moved}"
