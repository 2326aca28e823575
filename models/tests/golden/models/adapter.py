"""Logits of transformers with peft on adapters that the trainer exported.

    cargo test --release --features spare/train,spare-models/train --test train -- --ignored export
    python adapter.py ../qwen3_vl ../train

The first line writes ../train/adapter (adapter_model.safetensors, adapter_config.json: twelve steps on the tiny checkpoint gqa2-untied). The
second loads both as anybody would (PeftModel.from_pretrained) and writes ../train/adapter.safetensors: `logits` of the golden prompt with its
pictures, f32 from a model in f64, and how far the adapters move them at most. Made with peft 0.21.2, transformers 5.24.0, torch 2.15.0.
"""

import argparse
import os

from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import Qwen3VLForConditionalGeneration

from golden import load, meta, run

CHECKPOINT = "gqa2-untied"

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out")
    args = parser.parse_args()
    golden = load_file(os.path.join(args.folder, f"{CHECKPOINT}.golden.safetensors"))
    pixels = (load_file(os.path.join(args.folder, f"{CHECKPOINT}.pixels.safetensors"))["pixels"].double() - 127.5) / 127.5
    ids, grids = golden["ids"].tolist(), golden["grids"].reshape(-1, 3).tolist()
    model = load(Qwen3VLForConditionalGeneration, os.path.join(args.folder, CHECKPOINT)).double()
    plain = run(model, ids, pixels, grids)
    adapted = PeftModel.from_pretrained(model, os.path.join(args.out, "adapter")).double().eval()
    layers = [n for n, m in adapted.named_modules() if hasattr(m, "lora_A")]
    assert len(layers) == 3 * model.config.text_config.num_hidden_layers, layers
    assert not any("visual" in n for n in layers), layers
    logits = run(adapted, ids, pixels, grids)
    moved = float((logits - plain).abs().max())
    assert moved > 1e-2, "the adapters change nothing"
    save_file(dict(logits=logits.float().contiguous()), os.path.join(args.out, "adapter.safetensors"), metadata=meta())
    print(len(layers), "layers adapted, logits moved by at most", moved)
