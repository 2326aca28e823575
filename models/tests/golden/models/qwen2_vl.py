"""Tiny random Qwen2-VL checkpoints and what transformers computes on them.

    python qwen2_vl.py OUT

See common.py for what is written and with which versions, CHECKPOINTS for the seeds. save_pretrained still names this family's
weights as it released them (`model.layers`, `visual`); the nested style here uses the names of the classes
(`model.language_model`, `model.visual`), which occur too.
"""

from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

from common import output, tiny
from golden import PAD, VE, VIDEO, VS
from styles import flat, inner_names, mixed

# name -> seed, text and tower dimensions (head_dim is hidden / heads in this family), storage, style, bf16 logits
CHECKPOINTS = {
    # as released: flat config, rope_scaling of type mrope, GQA 2, untied
    "gqa2-flat": dict(seed=21, hidden=32, inter=40, layers=2, heads=4, kv=2, section=[1, 1, 2], theta=1000.0, depth=2, embed=16,
                      ratio=3, vheads=2, patch=2, tied=False, style=flat, bf16=True),
    # transformers 5: nested config, rope_parameters, inner names; tied, no head sharing, an odd number of heads
    "gqa1-tied-nested": dict(seed=22, hidden=36, inter=32, layers=2, heads=3, kv=3, section=[3, 2, 1], theta=10000.0, depth=2,
                             embed=16, ratio=2, vheads=1, patch=2, tied=True, tensors=inner_names, bf16=True),
    # as late transformers 4 saved again: text fields at the top and nested; bf16 in three files, GQA 4
    "gqa4-bf16-sharded": dict(seed=23, hidden=48, inter=40, layers=3, heads=4, kv=1, section=[1, 2, 3], theta=1000000.0, depth=3,
                              embed=16, ratio=4, vheads=4, patch=2, tied=False, style=mixed, dtype="bfloat16", shards=3, bf16=True),
    # stored in f16, tied, flat
    "gqa2-f16-tied": dict(seed=24, hidden=48, inter=48, layers=2, heads=4, kv=2, section=[2, 2, 2], theta=500.0, depth=2, embed=16,
                          ratio=4, vheads=2, patch=4, tied=True, style=flat, dtype="float16"),
}


def config(c):
    return Qwen2VLConfig(
        text_config=dict(vocab_size=89, hidden_size=c["hidden"], intermediate_size=c["inter"], num_hidden_layers=c["layers"],
                         num_attention_heads=c["heads"], num_key_value_heads=c["kv"], rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2,
                         rope_parameters=dict(rope_type="default", rope_theta=c["theta"], mrope_section=c["section"])),
        # hidden_size of the tower is the width of the text model; embed_dim is its own.
        vision_config=dict(depth=c["depth"], embed_dim=c["embed"], hidden_size=c["hidden"], mlp_ratio=c["ratio"],
                           num_heads=c["vheads"], patch_size=c["patch"]),
        image_token_id=PAD, video_token_id=VIDEO, vision_start_token_id=VS, vision_end_token_id=VE, tie_word_embeddings=c["tied"])


if __name__ == "__main__":
    out = output()
    for name, c in CHECKPOINTS.items():
        tiny(out, Qwen2VLForConditionalGeneration, name, c, config(c), tensors=c.get("tensors"), style=c.get("style"))
