"""Tiny random Llama checkpoints and what transformers computes on them.

    python llama.py OUT

See common.py for what is written and with which versions, CHECKPOINTS for the seeds. No checkpoint that Meta released has biases,
and none does here. Scaled angles are from an original context of 32, below the 40 tokens of the prompt, and all three bands of the
llama3 scaling (untouched, blended, divided) hold pairs; that the scaling moves the logits is asserted.
"""

import os

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from common import output, tiny
from golden import load
from styles import v4_rope

LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)

# name -> seed, dimensions, base and scaling of the rotary angles, storage, style, bf16 logits
CHECKPOINTS = {
    # Llama 2: f16, no head sharing; rope_theta (10000), head_dim and the bias flags absent, the angles saved along as buffers
    "plain-f16": dict(seed=61, hidden=36, inter=48, layers=3, heads=3, kv=3, theta=10000.0, tied=False, dtype="float16", style="old",
                      bf16=True),
    # Llama 3.2: bf16, tied, GQA 4, rope_scaling of rope_type llama3 beside rope_theta, head_dim given
    "llama3-bf16-tied": dict(seed=62, hidden=48, inter=56, layers=3, heads=4, kv=1, head_dim=12, theta=500.0, tied=True, scaling=LLAMA3,
                             dtype="bfloat16", style="v4", bf16=True),
    # llama3 scaling inside rope_parameters, f32 in three files, GQA 2, head_dim that is not hidden / heads
    "llama3-sharded-v5": dict(seed=63, hidden=32, inter=40, layers=2, heads=4, kv=2, head_dim=16, theta=300.0, tied=False,
                              scaling=dict(LLAMA3, factor=4.0, high_freq_factor=3.0), shards=3, bf16=True),
    # rope_scaling {"type": "linear"} as early transformers 4 wrote it
    "linear": dict(seed=64, hidden=32, inter=40, layers=2, heads=4, kv=2, theta=100.0, tied=False, style="type",
                   scaling=dict(rope_type="linear", factor=4.0)),
}


def config(c):
    rope = dict(rope_theta=c["theta"]) | c.get("scaling", dict(rope_type="default"))
    return LlamaConfig(vocab_size=89, hidden_size=c["hidden"], intermediate_size=c["inter"], num_hidden_layers=c["layers"],
                       num_attention_heads=c["heads"], num_key_value_heads=c["kv"], head_dim=c.get("head_dim"), rms_norm_eps=1e-5,
                       max_position_embeddings=256, tie_word_embeddings=c["tied"], bos_token_id=1, eos_token_id=2, rope_parameters=rope)


def v4(kind):
    def style(cfg):
        cfg["torch_dtype"] = cfg.pop("dtype")
        v4_rope(cfg)
        if kind == "type":
            cfg["rope_scaling"] = dict(type=cfg["rope_scaling"]["rope_type"], factor=cfg["rope_scaling"]["factor"])
        if kind != "v4":
            cfg.pop("head_dim")
        if kind == "old":
            for name in ("rope_theta", "attention_bias", "mlp_bias", "attention_dropout"):
                cfg.pop(name)
        return cfg
    return style


def with_buffers(c):
    """Early Llama 2 files hold the angles of every layer too."""
    dim = c["hidden"] // c["heads"]
    angles = 1.0 / c["theta"] ** (torch.arange(0, dim, 2).float() / dim)

    def tensors(name, tensor):
        if not name.endswith("self_attn.o_proj.weight"):
            return [(name, tensor)]
        return [(name, tensor), (name.replace("o_proj.weight", "rotary_emb.inv_freq"), angles.clone())]
    return tensors


def bands(model, c):
    """Pairs left alone, blended and divided by the scaling."""
    dim = model.config.head_dim
    plain = 1.0 / c["theta"] ** (torch.arange(0, dim, 2).float() / dim)
    ratio = plain / model.model.rotary_emb.inv_freq
    factor = c["scaling"]["factor"]
    return [(ratio < 1.001).sum().item(), ((ratio > 1.001) & (ratio < factor - 0.001)).sum().item(), (ratio > factor - 0.001).sum().item()]


if __name__ == "__main__":
    out = output()
    for name, c in CHECKPOINTS.items():
        style = c.get("style")
        tiny(out, LlamaForCausalLM, name, dict(c, grids=[]), config(c), tensors=with_buffers(c) if style == "old" else None,
             style=v4(style) if style else None)
        if "scaling" in c:
            model = load(LlamaForCausalLM, os.path.join(out, name))
            ids = torch.arange(10, 50)[None]
            with torch.no_grad():
                scaled = model(ids).logits
                model.model.rotary_emb.inv_freq = 1.0 / c["theta"] ** (torch.arange(0, model.config.head_dim, 2).float() / model.config.head_dim)
                moved = (model(ids).logits - scaled).abs().max().item()
            assert moved > 0.1, moved
            print(f"{name}: scaling moves logits by {moved:.2f}")
            if c["scaling"]["rope_type"] == "llama3":
                assert all(bands(load(LlamaForCausalLM, os.path.join(out, name)), c)), name
