//! How is a text split before merges apply?
//!
//! A GGUF file only names the way (`tokenizer.ggml.pre`). What stands here is what the tokenizer.json of the models
//! behind a name says.

use serde_json::{Value as Json, json};

/// What a name of `tokenizer.ggml.pre` stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Splitting {
    pub(super) normalizer: Json,
    pub(super) pre_tokenizer: Json,
    /// A piece that is a token is that token, whatever the merges give.
    pub(super) ignore_merges: bool,
    /// Whether the tokenizer puts the beginning-of-text token first where the file does not say.
    pub(super) add_bos: bool,
}

/// Names that are known, for messages.
pub(super) const KNOWN: &str = "gpt-2, llama-bpe, llama3, llama-v3, qwen2, smollm";

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(super) fn of(name: &str) -> Option<Splitting> {
    let plain = |pre_tokenizer| Splitting {
        normalizer: Json::Null,
        pre_tokenizer,
        ignore_merges: false,
        add_bos: false,
    };
    Some(match name {
        "gpt-2" => plain(bytes(true)),
        "smollm" => plain(sequence(
            json!({"type": "Digits", "individual_digits": true}),
            true,
        )),
        "qwen2" => Splitting {
            normalizer: json!({"type": "NFC"}),
            ..plain(sequence(regex(QWEN2), false))
        },
        "llama-bpe" | "llama3" | "llama-v3" => Splitting {
            ignore_merges: true,
            add_bos: true,
            ..plain(sequence(regex(LLAMA3), false))
        },
        _ => return None,
    })
}

fn sequence(first: Json, regex: bool) -> Json {
    json!({"type": "Sequence", "pretokenizers": [first, bytes(regex)]})
}

/// To the alphabet of bytes, after the splitting of GPT-2 where `regex` is set.
fn bytes(regex: bool) -> Json {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex})
}

fn regex(pattern: &str) -> Json {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}
