"""Golden data for models/tests/qwen3_vl.rs: tiny random Qwen3-VL checkpoints and what transformers computes on them.

    python qwen3_vl.py OUT [--board CHECKPOINT --examples EXAMPLES]

writes OUT/<name>/ (config.json and safetensors by save_pretrained) and OUT/<name>.golden.safetensors for five random
checkpoints, and with --board OUT/board.golden.safetensors and OUT/greedy.json + OUT/greedy.safetensors.
All reference numbers are f32 with eager attention; the file's metadata holds versions, seed and the largest distance of
those f32 logits from the same model in f64. Made with transformers 5.24.0, torch 2.15.0, seeds below.
"""

import argparse
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
VS, VE, PAD, VIDEO = 3, 4, 5, 6  # vision start and end, image pad, video pad
GRIDS = [(1, 6, 10), (1, 8, 4)]  # two unequal non-square pictures

# name -> seed, text and vision dimensions, tied head, files, weight type, config style
CHECKPOINTS = {
    # head_dim is not hidden/heads, GQA 2, two taps that are not the first blocks
    "gqa2-untied": dict(seed=11, hidden=40, inter=48, layers=3, heads=4, kv=2, head_dim=16, section=[4, 2, 2], theta=10000.0,
                        depth=4, vhidden=16, vinter=40, vheads=2, patch=4, table=6, taps=[1, 2], tied=False, shards=1),
    # tied head, GQA 1, one tap, rows of the table fewer than the grid
    "gqa1-tied": dict(seed=12, hidden=36, inter=48, layers=2, heads=3, kv=3, head_dim=24, section=[4, 4, 4], theta=1000000.0,
                      depth=3, vhidden=24, vinter=48, vheads=2, patch=4, table=5, taps=[1], tied=True, shards=1),
    # GQA 4, three taps (the first block and the last among them), three files with an index
    "gqa4-sharded": dict(seed=13, hidden=32, inter=40, layers=3, heads=8, kv=2, head_dim=12, section=[2, 2, 2], theta=500.0,
                         depth=5, vhidden=16, vinter=36, vheads=4, patch=4, table=7, taps=[0, 2, 4], tied=False, shards=3),
    # as many taps as text layers, sections that the interleaving clips on both axes (early, where the pairs still turn), a config as transformers 4 wrote it
    "gqa2-tied-v4": dict(seed=14, hidden=32, inter=40, layers=3, heads=4, kv=2, head_dim=36, section=[14, 2, 2], theta=5000000.0,
                         depth=4, vhidden=16, vinter=40, vheads=2, patch=4, table=12, taps=[0, 1, 3], tied=True, shards=1, v4=True),
    # stored in bf16: loaded to f32 on both sides
    "gqa4-bf16": dict(seed=15, hidden=48, inter=64, layers=2, heads=4, kv=1, head_dim=16, section=[2, 3, 3], theta=20000.0,
                      depth=3, vhidden=24, vinter=32, vheads=2, patch=4, table=8, taps=[0, 2], tied=False, shards=1, bf16=True),
}


def config(c):
    return Qwen3VLConfig(
        text_config=dict(vocab_size=203, hidden_size=c["hidden"], intermediate_size=c["inter"], num_hidden_layers=c["layers"],
                         num_attention_heads=c["heads"], num_key_value_heads=c["kv"], head_dim=c["head_dim"], hidden_act="silu",
                         rms_norm_eps=1e-6, attention_bias=False, max_position_embeddings=4096, tie_word_embeddings=c["tied"],
                         rope_parameters=dict(rope_type="default", rope_theta=c["theta"], mrope_section=c["section"], mrope_interleaved=True)),
        vision_config=dict(depth=c["depth"], hidden_size=c["vhidden"], intermediate_size=c["vinter"], num_heads=c["vheads"],
                           patch_size=c["patch"], out_hidden_size=c["hidden"], num_position_embeddings=c["table"] ** 2,
                           deepstack_visual_indexes=c["taps"]),
        image_token_id=PAD, video_token_id=VIDEO, vision_start_token_id=VS, vision_end_token_id=VE, tie_word_embeddings=c["tied"])


def randomise(model, seed):
    """Every path matters: biases of 0.2, norm weights about 1, matrices that keep the scale, logits of std about 2."""
    g = torch.Generator().manual_seed(seed)
    for name, p in sorted(model.named_parameters()):
        r = torch.randn(p.shape, generator=g)
        fan_in = p[0].numel() if p.dim() > 1 else 1
        if "norm" in name and name.endswith("weight"):
            p.data = 1 + 0.3 * r
        elif name.endswith("bias"):
            p.data = 0.2 * r
        elif "lm_head" in name or "embed_tokens" in name:
            p.data = r * 2 / p.shape[1] ** 0.5
        elif "pos_embed" in name:
            p.data = 0.7 * r
        elif "q_proj" in name or "k_proj" in name or "qkv" in name:
            p.data = r * 1.3 / fan_in ** 0.5
        else:
            p.data = r / fan_in ** 0.5


def save(model, c, folder):
    os.makedirs(folder, exist_ok=True)
    model = model.to(torch.bfloat16) if c.get("bf16") else model
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    # Shards of 40 % of the whole come out as three files.
    model.save_pretrained(folder, max_shard_size=int(size * 0.4) if c["shards"] > 1 else "1GB")
    path = os.path.join(folder, "config.json")
    cfg = json.load(open(path))
    if c.get("v4"):
        rope = cfg["text_config"].pop("rope_parameters")
        cfg["text_config"]["rope_theta"] = rope["rope_theta"]
        cfg["text_config"]["rope_scaling"] = dict(mrope_interleaved=True, mrope_section=rope["mrope_section"], rope_type="default")
        cfg["vision_config"].pop("rope_parameters", None)
    json.dump(cfg, open(path, "w"), indent=1)


def record(model, ids, pixels, grids, rows):
    """One eager forward pass with everything that the Rust side compares."""
    states, vision = {}, {}
    hooks = []
    visual, text = model.model.visual, model.model.language_model
    for i, layer in enumerate(text.layers):
        hooks.append(layer.register_forward_pre_hook(lambda m, a, i=i: states.__setitem__(i, a[0].detach())))
    hooks.append(text.norm.register_forward_pre_hook(lambda m, a: states.__setitem__(len(text.layers), a[0].detach())))
    # The table's output is what block 0 gets on top of the patch embedding.
    hooks.append(visual.patch_embed.register_forward_hook(lambda m, a, o: vision.__setitem__("patch", o.detach())))
    hooks.append(visual.blocks[0].register_forward_pre_hook(lambda m, a: vision.__setitem__("block0", a[0].detach())))
    hooks.append(visual.register_forward_hook(lambda m, a, o: vision.__setitem__("out", o)))
    ids = torch.tensor([ids])
    types = (ids == PAD).int()
    grid = torch.tensor(grids)
    with torch.no_grad():
        logits = model(input_ids=ids, pixel_values=pixels, image_grid_thw=grid, mm_token_type_ids=types, use_cache=False).logits[0]
        positions, delta = model.model.get_rope_index(ids, types, grid)
        from transformers.vision_utils import get_vision_interpolation_indices_and_weights as taps
        index, weight = taps(grid, num_grid_per_side=visual.num_grid_per_side, mode="bilinear", align_corners=True, spatial_merge_size=2)
        table = (visual.pos_embed(index) * weight[:, :, None].to(pixels.dtype)).sum(1)
    for h in hooks:
        h.remove()
    assert torch.equal(vision["patch"] + table, vision["block0"]), "the table's output is not what block 0 got"
    out = dict(positions=positions[:, 0].int(), delta=delta.flatten().int(), table=table, merged=torch.cat(vision["out"].pooler_output),
               blocks=vision["out"].last_hidden_state, logits=logits[rows])
    for k, feature in enumerate(vision["out"].deepstack_features):
        out[f"deepstack.{k}"] = torch.cat(feature)
    for i, s in states.items():
        out[f"state.{i}"] = s[0][rows]
    return {k: v.detach().contiguous().clone() for k, v in out.items()}


def prompt(seed, vocab, grids):
    """Text, picture, text, picture, text."""
    rng = np.random.default_rng(seed)
    words = lambda n: rng.integers(10, vocab, n).tolist()
    ids = words(5)
    for g in grids:
        ids += [VS] + [PAD] * (g[1] * g[2] // 4) + [VE] + words(6)
    return ids


def meta(**more):
    return dict(transformers=transformers.__version__, torch=torch.__version__, dtype="float32", attention="eager",
                **{k: str(v) for k, v in more.items()})


def golden(folder, ids, pixels, grids, rows, path, seed):
    model = Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    out = record(model, ids, pixels, grids, rows)
    exact = record(model.double(), ids, pixels.double(), grids, rows)["logits"]
    distance = (out["logits"].double() - exact).abs().max().item()
    out |= dict(ids=torch.tensor(ids).int(), grids=torch.tensor(grids).int(), rows=torch.tensor(rows).int())
    save_file(out, path, metadata=meta(seed=seed, f32_from_f64=distance))
    print(f"{path}: {len(ids)} tokens, logit std {out['logits'].std():.2f}, f32 from f64 {distance:.1e}")
    return model.float()


def tiny(out):
    for name, c in CHECKPOINTS.items():
        model = Qwen3VLForConditionalGeneration(config(c))
        randomise(model, c["seed"])
        if c["tied"]:
            model.tie_weights()
        folder = os.path.join(out, name)
        save(model, c, folder)
        rng = np.random.default_rng(c["seed"])
        n = sum(g[1] * g[2] for g in GRIDS)
        # Values on a u8 grid, as real pixels are; both temporal slices differ, so that the second one counts.
        u8 = torch.from_numpy(rng.integers(0, 256, (n, 3 * 2 * c["patch"] ** 2), dtype=np.uint8))
        pixels = (u8.float() - 127.5) / 127.5
        ids = prompt(c["seed"], 203, GRIDS)
        path = os.path.join(out, f"{name}.golden.safetensors")
        golden(folder, ids, pixels, GRIDS, list(range(len(ids))), path, c["seed"])
        save_file({"pixels": u8}, os.path.join(out, f"{name}.pixels.safetensors"))


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
    from transformers import AutoTokenizer, Qwen2VLImageProcessor
    tokenizer = AutoTokenizer.from_pretrained(folder)
    processor = Qwen2VLImageProcessor.from_pretrained(folder)
    patch = 8
    # Two unequal non-square cuts of real pictures, so that the trained tower sees what it knows.
    a = open_rgb(os.path.join(examples, "img/000-0.png"))[8:56, 0:80]
    b = open_rgb(os.path.join(examples, "img/001-0.png"))[16:80, 32:64]
    u8 = torch.cat([patchify(a, patch), patchify(b, patch)])
    ids = prompt(21, len(tokenizer) if len(tokenizer) < 1024 else 1024, GRIDS)
    model = golden(folder, ids, (u8.float() - 127.5) / 127.5, GRIDS, list(range(1, len(ids), 2)),
                   os.path.join(out, "board.golden.safetensors"), 21)
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
    parser.add_argument("out")
    parser.add_argument("--board")
    parser.add_argument("--examples")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    tiny(args.out)
    if args.board:
        board(args.out, args.board, args.examples)
    sys.exit(0)
