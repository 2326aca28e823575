"""Tiny random Qwen3-VL-MoE checkpoints and what transformers computes on them.

    python qwen3_vl_moe.py OUT

See common.py for what is written and with which versions, CHECKPOINTS for the seeds. Experts run as the class writes them down
(`experts_implementation="eager"`). `released` comes in three layouts of the same weights, OUT/released (`[experts, hidden, 2 inner]`
and `[experts, inner, hidden]`), OUT/released-held (`[experts, 2 inner, hidden]` and `[experts, hidden, inner]`, as transformers 5
holds and saves them, with its config) and OUT/released-apart (a matrix for each projection of each expert); the golden file of the
first is that of all three.

`ties` has experts whose router rows are equal, so their probabilities are equal to the bit. torch.topk picks one of them, which one
depends on sizes and values. Its golden numbers are those of transformers with the pick made definite: of equal probabilities the
lower expert, by a stable descending sort in place of torch.topk. What torch.topk itself picked and gave is kept as `topk_router.N` and
`topk_logits`; the file's metadata counts the picks in which the two differ.
"""

import contextlib
import os

import torch
from safetensors.torch import load_file
from transformers import Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration

from common import output, save, tiny, unchanged
from golden import PAD, VE, VIDEO, VS, load
from styles import v4_rope

# name -> seed, text and tower dimensions, experts, picks, layers that are dense, storage, style, bf16 logits
CHECKPOINTS = {
    # as released, bf16, GQA 4; two taps on two layers of experts
    "released": dict(seed=933, hidden=32, inter=40, layers=2, heads=4, kv=1, head_dim=16, section=[4, 2, 2], theta=5000.0, experts=6,
                     picks=2, moe=12, patch=2, vhidden=16, depth=3, taps=[0, 2], table=6, tied=False, dtype="bfloat16", released=True, bf16=True),
    # experts in every second layer only, f16 in three files, GQA 2, tied, one pick.
    "step2-f16-sharded": dict(seed=677, hidden=40, inter=28, layers=4, heads=4, kv=2, head_dim=12, section=[2, 2, 2], theta=10000.0,
                              experts=5, picks=1, moe=16, step=2, patch=2, vhidden=8, depth=2, taps=[1], table=5, tied=True, dtype="float16", shards=3,
                              released=True, bf16=True),
    # f32 as transformers 5 saves it, no head sharing; the first layer dense by name
    "dense-first": dict(seed=499, hidden=28, inter=36, layers=3, heads=3, kv=3, head_dim=8, section=[2, 1, 1], theta=1000.0, experts=5,
                        picks=3, moe=12, dense=[0], patch=2, vhidden=8, depth=2, taps=[0, 1], table=7, tied=False, bf16=True),
    # equal rows in every router: three of eight and two of eight
    "ties": dict(seed=439, hidden=24, inter=28, layers=3, heads=4, kv=2, head_dim=8, section=[2, 1, 1], theta=1000.0, experts=8, picks=3,
                 moe=8, dense=[1], patch=2, vhidden=8, depth=2, taps=[1], table=6, tied=False, equal=[(1, 4, 6), (2, 7)]),
}


def config(c):
    return Qwen3VLMoeConfig(
        text_config=dict(vocab_size=89, hidden_size=c["hidden"], intermediate_size=c["inter"], num_hidden_layers=c["layers"],
                         num_attention_heads=c["heads"], num_key_value_heads=c["kv"], head_dim=c["head_dim"], rms_norm_eps=1e-6,
                         num_experts=c["experts"], num_experts_per_tok=c["picks"], moe_intermediate_size=c["moe"],
                         decoder_sparse_step=c.get("step", 1), mlp_only_layers=c.get("dense", []), tie_word_embeddings=c["tied"],
                         rope_parameters=dict(rope_type="default", rope_theta=c["theta"], mrope_section=c["section"], mrope_interleaved=True)),
        vision_config=dict(depth=c["depth"], hidden_size=c["vhidden"], intermediate_size=28, num_heads=2, patch_size=c["patch"], out_hidden_size=c["hidden"],
                           num_position_embeddings=c["table"] ** 2, deepstack_visual_indexes=c["taps"]),
        image_token_id=PAD, video_token_id=VIDEO, vision_start_token_id=VS, vision_end_token_id=VE, tie_word_embeddings=c["tied"])


def released_config(cfg):
    """As released: num_experts, norm_topk_prob, rope_scaling."""
    text = v4_rope(cfg["text_config"])
    text["num_experts"] = text.pop("num_local_experts")
    text["norm_topk_prob"] = True  # the class renormalises whatever this says
    text.pop("tie_word_embeddings")
    cfg["vision_config"].pop("rope_parameters")
    return cfg


def released(name, tensor):
    """[experts, out, in] -> [experts, in, out]."""
    return [(name, tensor.transpose(1, 2) if ".experts." in name else tensor)]


def apart(name, tensor):
    """[experts, out, in] -> a matrix [out, in] for each projection of each expert."""
    if ".experts." not in name:
        return [(name, tensor)]
    stem, part = name.rsplit(".", 1)
    if part == "down_proj":
        return [(f"{stem}.{e}.down_proj.weight", w.clone()) for e, w in enumerate(tensor)]
    return [(f"{stem}.{e}.{half}_proj.weight", w.clone()) for e, both in enumerate(tensor) for half, w in zip(("gate", "up"), both.chunk(2))]


def equal_rows(model, groups):
    for layer in model.model.language_model.layers:
        for first, *others in groups if hasattr(layer.mlp, "gate") else []:
            layer.mlp.gate.weight.data[others] = layer.mlp.gate.weight.data[first].clone()


@contextlib.contextmanager
def lower_first():
    """torch.topk that takes the lower of equal values."""
    plain = torch.topk

    def topk(x, k, dim=-1):
        values, indices = torch.sort(x, dim=dim, descending=True, stable=True)
        return values.narrow(dim, 0, k), indices.narrow(dim, 0, k)
    torch.topk = topk
    try:
        yield
    finally:
        torch.topk = plain


def layouts(out, c):
    """The weights of `released` in the other two layouts, checked to be the same."""
    first = load(Qwen3VLMoeForConditionalGeneration, os.path.join(out, "released"))
    cast = lambda: load(Qwen3VLMoeForConditionalGeneration, os.path.join(out, "released")).to(getattr(torch, c["dtype"]))
    save(cast(), c, os.path.join(out, "released-held"))
    unchanged(first, load(Qwen3VLMoeForConditionalGeneration, os.path.join(out, "released-held")))
    folder = os.path.join(out, "released-apart")
    save(cast(), c, folder, tensors=apart, config=released_config)
    held, single = (load_file(os.path.join(out, f"released-{x}", "model.safetensors")) for x in ("held", "apart"))
    for name in [n for n in held if n.endswith("gate_up_proj")]:
        stem = name.rsplit(".", 1)[0]
        parts = lambda part: torch.stack([single[f"{stem}.{e}.{part}_proj.weight"] for e in range(c["experts"])])
        assert torch.equal(torch.cat([parts("gate"), parts("up")], 1), held[name])
        assert torch.equal(parts("down"), held[stem + ".down_proj"])


if __name__ == "__main__":
    out = output()
    for name, c in CHECKPOINTS.items():
        tensors, style = (released, released_config) if c.get("released") else (None, None)
        equal = c.get("equal")
        tiny(out, Qwen3VLMoeForConditionalGeneration, name, c, config(c), tensors=tensors, style=style,
             prepare=(lambda model: equal_rows(model, equal)) if equal else None, definite=lower_first if equal else contextlib.nullcontext)
    layouts(out, CHECKPOINTS["released"])
