"""The checkpoint and the run that `benches/against` measures on: weights of Qwen3-VL-2B's shape drawn at random, and one synthetic run.

    python benches/against/checkpoint.py FOLDER [--layers 28] [--tower 24] [--segments 24] [--trunk 4096] [--seed 1]

FOLDER/model gets bf16 weights with the vocabulary of Qwen3 (4.3 GB at 28 layers; tokenizer from .ci/fetch-tokenizer), FOLDER/run.json a run in
OpenAI chat form with six pictures, `segments` thoughts of 100 tokens and a summary of 160 tokens. Embeddings have a standard deviation
of 0.06, so that distributions are as sharp as a trained model's; the rest has 0.02.
"""

import argparse, json, pathlib, random, shutil

import numpy, torch
from PIL import Image
from tokenizers import Tokenizer
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

HERE = pathlib.Path(__file__).resolve().parent
TOKENIZER = HERE.parents[1] / "target/qwen3-tokenizer"


def weights(folder: pathlib.Path, layers: int, tower: int, seed: int) -> None:
    config = Qwen3VLConfig(
        text_config=dict(
            vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=layers, num_attention_heads=16,
            num_key_value_heads=8, head_dim=128, rms_norm_eps=1e-6, max_position_embeddings=262144, tie_word_embeddings=True,
            rope_parameters=dict(rope_type="default", rope_theta=5e6, mrope_section=[24, 20, 20], mrope_interleaved=True),
        ),
        vision_config=dict(
            depth=tower, hidden_size=1024, num_heads=16, intermediate_size=4096, patch_size=16, temporal_patch_size=2, spatial_merge_size=2,
            num_position_embeddings=2304, out_hidden_size=2048, deepstack_visual_indexes=[i for i in (5, 11, 17) if i < tower],
        ),
        image_token_id=151655, video_token_id=151656, vision_start_token_id=151652, vision_end_token_id=151653, tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.bfloat16)
    model = Qwen3VLForConditionalGeneration(config)
    torch.nn.init.normal_(model.get_input_embeddings().weight, std=0.06)
    model.generation_config.eos_token_id = 151645
    model.save_pretrained(folder)


def words(tokenizer: Tokenizer) -> list[str]:
    """Words that are one token in the middle of a text, and stay one behind any other of them."""
    known = tokenizer.get_vocab()
    plain = sorted(w[1:] for w in known if w.startswith("Ġ") and w[1:].isalpha() and w[1:].isascii() and w[1:].islower() and 3 < len(w) < 8)
    return plain[:4000]


def run(folder: pathlib.Path, tokenizer: Tokenizer, segments: int, seed: int) -> dict:
    draw = random.Random(seed)
    vocabulary = words(tokenizer)
    text = lambda n: "The" + "".join(" " + draw.choice(vocabulary) for _ in range(n - 1))
    pixels = numpy.random.default_rng(seed)
    pictures = []
    for i in range(6):
        # Squares of one colour each: compresses well, decodes to the same pixels everywhere.
        image = numpy.repeat(numpy.repeat(pixels.integers(0, 256, (8, 10, 3), dtype=numpy.uint8), 32, 0), 32, 1)
        Image.fromarray(image).save(folder / f"{i}.png")
        pictures.append({"type": "image_url", "image_url": {"url": f"{i}.png"}})
    call = lambda i, name, argument: [{"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(argument)}}]
    messages = [{"role": "user", "content": pictures + [{"type": "text", "text": text(40)}]}]
    for i in range(segments):
        messages.append({"role": "assistant", "content": "", "reasoning_content": text(100), "tool_calls": call(i, "look", {"at": i})})
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": text(3)})
    messages.append({"role": "assistant", "content": "", "tool_calls": call(segments, "summarize_the_task", {"summary": text(160)})})
    return {"messages": messages, "text": text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=28)
    parser.add_argument("--tower", type=int, default=24)
    parser.add_argument("--segments", type=int, default=24)
    parser.add_argument("--trunk", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    model = options.folder / "model"
    model.mkdir(parents=True, exist_ok=True)
    stamp = {"layers": options.layers, "tower": options.tower, "seed": options.seed}
    made_of = options.folder / "checkpoint.json"
    if not made_of.exists() or json.loads(made_of.read_text()) != stamp:
        made_of.unlink(missing_ok=True)
        weights(model, options.layers, options.tower, options.seed)
        made_of.write_text(json.dumps(stamp))
    tokenizer = Tokenizer.from_file(str(TOKENIZER / "tokenizer.json"))
    shutil.copy(TOKENIZER / "tokenizer.json", model)
    shutil.copy(HERE / "chat_template.jinja", model)
    known = json.loads((TOKENIZER / "tokenizer_config.json").read_text())
    known.pop("chat_template", None)
    (model / "tokenizer_config.json").write_text(json.dumps(known))
    (model / "preprocessor_config.json").write_text(json.dumps(dict(
        image_processor_type="Qwen2VLImageProcessorFast", size=dict(shortest_edge=65536, longest_edge=16777216), patch_size=16,
        temporal_patch_size=2, merge_size=2, image_mean=[0.5] * 3, image_std=[0.5] * 3,
    )))
    made = run(options.folder, tokenizer, options.segments, options.seed)
    text = made.pop("text")
    # Tokens of the history before the summary turn, with this template, to fill the system text up.
    from transformers import AutoTokenizer

    auto = AutoTokenizer.from_pretrained(model)
    grids = 6 * 8 * 10
    history = made["messages"][:-1]
    count = lambda messages: len(auto(auto.apply_chat_template(messages, tokenize=False), add_special_tokens=False).input_ids) + grids - 6
    empty = count([{"role": "system", "content": "The"}] + history)
    if empty > options.trunk:
        raise SystemExit(f"{options.segments} segments need a trunk of at least {empty} tokens, --trunk is {options.trunk}")
    made["messages"].insert(0, {"role": "system", "content": text(options.trunk - empty + 1)})
    print("trunk:", count(made["messages"][:-1]), "tokens")
    (options.folder / "run.json").write_text(json.dumps(made))


if __name__ == "__main__":
    main()
