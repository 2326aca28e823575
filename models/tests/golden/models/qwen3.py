"""Tiny random Qwen3 text checkpoints and what transformers computes on them.

    python qwen3.py OUT

See common.py for what is written and with which versions, CHECKPOINTS for the seeds. In every one head_dim is not hidden / heads.
"""

from transformers import Qwen3Config, Qwen3ForCausalLM

from common import output, tiny
from styles import v4_rope

# name -> seed, dimensions, base of the rotary angles, storage, config of transformers 4, bf16 logits
CHECKPOINTS = {
    # as released: rope_theta beside a null rope_scaling, bf16, GQA 2, untied
    "gqa2-bf16-v4": dict(seed=51, hidden=40, inter=56, layers=3, heads=4, kv=2, head_dim=16, theta=1000000.0, tied=False,
                         dtype="bfloat16", v4=True, bf16=True),
    # rope_parameters, tied, no head sharing, f32; a small base, so that no pair stands still over a short prompt
    "gqa1-tied": dict(seed=52, hidden=36, inter=44, layers=2, heads=3, kv=3, head_dim=20, theta=100.0, tied=True, bf16=True),
    # f16 in three files with an index, GQA 4, untied; heads wider than the model
    "gqa4-f16-sharded": dict(seed=53, hidden=32, inter=48, layers=4, heads=8, kv=2, head_dim=12, theta=5000.0, tied=False,
                             dtype="float16", shards=3, bf16=True),
}


def config(c):
    return Qwen3Config(vocab_size=89, hidden_size=c["hidden"], intermediate_size=c["inter"], num_hidden_layers=c["layers"],
                       num_attention_heads=c["heads"], num_key_value_heads=c["kv"], head_dim=c["head_dim"], rms_norm_eps=1e-6,
                       max_position_embeddings=4096, tie_word_embeddings=c["tied"], bos_token_id=1, eos_token_id=2,
                       rope_parameters=dict(rope_type="default", rope_theta=c["theta"]))


def v4(cfg):
    """Sliding windows are off, so their width has no effect."""
    cfg.pop("layer_types")
    cfg["torch_dtype"] = cfg.pop("dtype")
    return v4_rope(cfg) | dict(use_sliding_window=False, sliding_window=8, max_window_layers=1)


if __name__ == "__main__":
    out = output()
    for name, c in CHECKPOINTS.items():
        tiny(out, Qwen3ForCausalLM, name, dict(c, grids=[]), config(c), style=v4 if c.get("v4") else None)
