"""Tiny random Qwen2.5-VL checkpoints and what transformers computes on them.

    python qwen2_5_vl.py OUT

See common.py for what is written and with which versions, CHECKPOINTS for the seeds. `blocks` in the golden files is in the window
order that the tower works in, `merged` in that of the picture.
"""

from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from common import output, tiny
from golden import PAD, VE, VIDEO, VS
from styles import flat, inner_names, mixed

# name -> seed, text and tower dimensions (head_dim is hidden / heads), window in pixels, blocks with full attention, pictures
CHECKPOINTS = {
    # as released: flat config, type mrope. Windows of 2 x 2 cells: 5 x 7 cells make 3 x 4 with both edges ragged, 4 x 2 divide.
    "window2-flat": dict(seed=31, hidden=32, inter=40, layers=2, heads=4, kv=2, section=[1, 1, 2], theta=1000.0, depth=4, vhidden=16,
                         vinter=16, vheads=2, patch=2, window=8, full=[1, 3], grids=[(1, 10, 14), (1, 8, 4)], tied=False,
                         style=flat, bf16=True),
    # transformers 5, inner names, tied. Windows of 4 x 4 cells as in the released models: 9 x 11 cells make 3 x 3.
    "window4-tied-nested": dict(seed=32, hidden=36, inter=32, layers=2, heads=3, kv=3, section=[3, 2, 1], theta=10000.0, depth=3,
                                vhidden=16, vinter=20, vheads=1, patch=2, window=16, full=[1], grids=[(1, 18, 22), (1, 4, 12)],
                                tied=True, tensors=inner_names, stride=3, bf16=True),
    # late transformers 4, bf16 in three files, GQA 4. Windows of 3 x 3 cells: 7 x 8 cells make 3 x 3, 3 x 6 divide both ways.
    "window3-bf16-sharded": dict(seed=33, hidden=48, inter=40, layers=2, heads=4, kv=1, section=[1, 2, 3], theta=1000000.0, depth=3,
                                 vhidden=16, vinter=28, vheads=4, patch=2, window=12, full=[0, 2], grids=[(1, 14, 16), (1, 6, 12)],
                                 tied=False, style=mixed, dtype="bfloat16", shards=3, stride=2, bf16=True),
    # f16, tied, flat; full attention in the last block only, the first picture smaller than a window
    "window4-f16-tied": dict(seed=34, hidden=48, inter=40, layers=2, heads=4, kv=2, section=[2, 2, 2], theta=500.0, depth=2,
                             vhidden=16, vinter=36, vheads=2, patch=4, window=32, full=[1], grids=[(1, 4, 6), (1, 10, 12)],
                             tied=True, style=flat, dtype="float16"),
}


def config(c):
    return Qwen2_5_VLConfig(
        text_config=dict(vocab_size=89, hidden_size=c["hidden"], intermediate_size=c["inter"], num_hidden_layers=c["layers"],
                         num_attention_heads=c["heads"], num_key_value_heads=c["kv"], rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2,
                         rope_parameters=dict(rope_type="default", rope_theta=c["theta"], mrope_section=c["section"])),
        vision_config=dict(depth=c["depth"], hidden_size=c["vhidden"], out_hidden_size=c["hidden"], intermediate_size=c["vinter"],
                           num_heads=c["vheads"], patch_size=c["patch"], window_size=c["window"], fullatt_block_indexes=c["full"],
                           tokens_per_second=2),
        image_token_id=PAD, video_token_id=VIDEO, vision_start_token_id=VS, vision_end_token_id=VE, tie_word_embeddings=c["tied"])


if __name__ == "__main__":
    out = output()
    for name, c in CHECKPOINTS.items():
        tiny(out, Qwen2_5_VLForConditionalGeneration, name, c, config(c), tensors=c.get("tensors"), style=c.get("style"))
