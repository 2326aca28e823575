"""Tiny random dense Qwen3-VL checkpoints and what transformers computes on them.

    python qwen3_vl.py OUT

Five random checkpoints; see common.py for what is written and with which versions, CHECKPOINTS for the seeds.
"""

from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from common import output, tiny
from golden import PAD, VE, VIDEO, VS

# name -> seed, text and vision dimensions, tied head, files, weight type, config style, bf16 logits
CHECKPOINTS = {
    # head_dim is not hidden/heads, GQA 2, two taps that are not the first blocks
    "gqa2-untied": dict(seed=11, hidden=40, inter=48, layers=3, heads=4, kv=2, head_dim=16, section=[4, 2, 2], theta=10000.0,
                        depth=4, vhidden=16, vinter=40, vheads=2, patch=4, table=6, taps=[1, 2], tied=False, shards=1),
    # tied head, GQA 1, one tap, rows of the table fewer than the grid
    "gqa1-tied": dict(seed=12, hidden=36, inter=48, layers=2, heads=3, kv=3, head_dim=24, section=[4, 4, 4], theta=1000000.0,
                      depth=3, vhidden=24, vinter=48, vheads=2, patch=4, table=5, taps=[1], tied=True, shards=1),
    # GQA 4, three taps (the first block and the last among them), three files with an index
    "gqa4-sharded": dict(seed=13, hidden=32, inter=40, layers=3, heads=8, kv=2, head_dim=12, section=[2, 2, 2], theta=500.0,
                         depth=5, vhidden=16, vinter=36, vheads=4, patch=4, table=7, taps=[0, 2, 4], tied=False, shards=3, bf16=True),
    # as many taps as text layers, sections that the interleaving clips on both axes (early, where the pairs still turn), a config as transformers 4 wrote it
    "gqa2-tied-v4": dict(seed=14, hidden=32, inter=40, layers=3, heads=4, kv=2, head_dim=36, section=[14, 2, 2], theta=5000000.0,
                         depth=4, vhidden=16, vinter=40, vheads=2, patch=4, table=12, taps=[0, 1, 3], tied=True, shards=1, v4=True, bf16=True),
    # stored in bf16: loaded to f32 on both sides
    "gqa4-bf16": dict(seed=15, hidden=48, inter=64, layers=2, heads=4, kv=1, head_dim=16, section=[2, 3, 3], theta=20000.0,
                      depth=3, vhidden=24, vinter=32, vheads=2, patch=4, table=8, taps=[0, 2], tied=False, shards=1, dtype="bfloat16", bf16=True),
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


def v4(cfg):
    """A config as transformers 4 wrote it."""
    rope = cfg["text_config"].pop("rope_parameters")
    cfg["text_config"]["rope_theta"] = rope["rope_theta"]
    cfg["text_config"]["rope_scaling"] = dict(mrope_interleaved=True, mrope_section=rope["mrope_section"], rope_type="default")
    cfg["vision_config"].pop("rope_parameters", None)
    return cfg


if __name__ == "__main__":
    out = output()
    for name, c in CHECKPOINTS.items():
        tiny(out, Qwen3VLForConditionalGeneration, name, c, config(c), style=v4 if c.get("v4") else None)
