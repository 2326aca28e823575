//! Which tokens does a GGUF file have, and which of them mean something?

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::bytes::shown;
use super::metadata::Metadata;
use super::value::Value;
use crate::ModelError;

const TOKENS: &str = "tokenizer.ggml.tokens";
/// Twice the largest vocabulary known.
const MAX_TOKENS: usize = 1 << 19;
const KINDS: &str = "tokenizer.ggml.token_type";

/// What a token is, as numbered by the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Made by merges.
    Normal,
    /// Found whole in a text where special tokens count.
    Special,
    /// Found whole in any text.
    UserDefined,
    /// Fills the table up to the rows of the embedding; stands for nothing.
    Unused,
}

/// The vocabulary; ids are indexes.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    pub(super) texts: Vec<&'a str>,
    pub(super) kinds: Vec<Kind>,
    ids: HashMap<&'a str, u32>,
}

impl<'a> Tokens<'a> {
    /// # Errors
    /// Where the arrays are missing, of different lengths, or hold a token twice.
    pub(super) fn read(metadata: &Metadata<'a>) -> Result<Self, ModelError> {
        let expected = format!("an array of at most {MAX_TOKENS} strings");
        let array = metadata.array(TOKENS)?;
        let array = metadata.need(TOKENS, &expected, array)?;
        let texts = array.texts();
        let texts: Vec<&str> = match texts {
            Some(texts) if array.len() <= MAX_TOKENS => texts.collect(),
            _ => {
                let found = format!("an array of {}", array.len());
                return Err(metadata.refuse(TOKENS, found, expected));
            }
        };
        let kinds = kinds(metadata, texts.len())?;
        let mut ids = HashMap::with_capacity(texts.len());
        for ((id, text), kind) in (0u32..).zip(&texts).zip(&kinds) {
            if *kind == Kind::Unused {
                continue;
            }
            if let Some(first) = ids.insert(*text, id) {
                let found = format!("{} as token {first} and as token {id}", shown(text));
                return Err(metadata.refuse(TOKENS, found, "each token once"));
            }
        }
        Ok(Self { texts, kinds, ids })
    }

    /// Id of a token; unused ones have none.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(super) fn text(&self, id: u32) -> Option<&'a str> {
        self.texts.get(usize::try_from(id).ok()?).copied()
    }

    /// Tokens that are not unused, with their ids.
    pub(super) fn used(&self) -> impl Iterator<Item = (u32, &'a str, Kind)> {
        let all = (0u32..).zip(&self.texts).zip(&self.kinds);
        all.map(|((id, text), kind)| (id, *text, *kind))
            .filter(|(.., kind)| *kind != Kind::Unused)
    }

    /// The id that a key names, checked against the vocabulary.
    pub(super) fn named(
        &self,
        metadata: &Metadata<'_>,
        name: &str,
    ) -> Result<Option<u32>, ModelError> {
        let key = format!("tokenizer.ggml.{name}");
        let id = metadata.optional_id(&key)?;
        match id {
            Some(id) if self.text(id).is_none() => {
                let expected = format!("an id below {}, the number of tokens", self.texts.len());
                Err(metadata.refuse(&key, id, expected))
            }
            id => Ok(id),
        }
    }
}

fn kinds(metadata: &Metadata<'_>, count: usize) -> Result<Vec<Kind>, ModelError> {
    let expected = format!("an array of {count} token types from 1 to 6");
    let array = metadata.array(KINDS)?;
    let array = metadata.need(KINDS, &expected, array)?;
    let kind = |value| match value {
        Value::Integer(1 | 6) => Some(Kind::Normal),
        Value::Integer(2 | 3) => Some(Kind::Special),
        Value::Integer(4) => Some(Kind::UserDefined),
        Value::Integer(5) => Some(Kind::Unused),
        _ => None,
    };
    let right = (array.len() == count).then_some(array);
    let kinds: Option<Vec<Kind>> = right.and_then(|array| array.iter().map(kind).collect());
    kinds.ok_or_else(|| metadata.refuse(KINDS, format!("an array of {}", array.len()), expected))
}

/// Names of the tokens that both formats name, in transformers and in GGUF.
const NAMED: [(&str, &str); 4] = [
    ("bos", "bos_token_id"),
    ("eos", "eos_token_id"),
    ("pad", "padding_token_id"),
    ("unk", "unknown_token_id"),
];

/// Tokens that end a turn beside `eos`.
const ENDS: [&str; 2] = ["eot_token_id", "eom_token_id"];

/// generation_config.json: ids of the tokens that begin, end and pad. Only those that the file names: llama.cpp also
/// stops at tokens that look like an end.
pub(super) fn generation_config(
    metadata: &Metadata<'_>,
    tokens: &Tokens<'_>,
) -> Result<Json, ModelError> {
    let mut ends = Vec::new();
    let mut config = Map::new();
    for (name, key) in NAMED {
        match (name, tokens.named(metadata, key)?) {
            ("eos", Some(id)) => ends.push(id),
            ("bos" | "pad", Some(id)) => {
                config.insert(format!("{name}_token_id"), json!(id));
            }
            _ => {}
        }
    }
    for key in ENDS {
        let end = tokens.named(metadata, key)?;
        ends.extend(end.filter(|id| !ends.contains(id)));
    }
    config.insert("eos_token_id".into(), json!(ends));
    Ok(Json::Object(config))
}

/// tokenizer_config.json: the named tokens as texts, for the template.
pub(super) fn tokenizer_config(
    metadata: &Metadata<'_>,
    tokens: &Tokens<'_>,
    add_bos: bool,
) -> Result<Json, ModelError> {
    let mut config = Map::new();
    config.insert("add_bos_token".into(), json!(add_bos));
    for (name, key) in NAMED {
        let text = tokens.named(metadata, key)?.and_then(|id| tokens.text(id));
        if let Some(text) = text {
            config.insert(format!("{name}_token"), json!(text));
        }
    }
    Ok(Json::Object(config))
}

/// The fields of config.json that name the tokens around a picture.
pub(super) fn pictures(
    metadata: &Metadata<'_>,
    tokens: &Tokens<'_>,
) -> Result<Map<String, Json>, ModelError> {
    let mut fields = Map::new();
    for (field, text) in [
        ("image_token_id", "<|image_pad|>"),
        ("video_token_id", "<|video_pad|>"),
        ("vision_start_token_id", "<|vision_start|>"),
        ("vision_end_token_id", "<|vision_end|>"),
    ] {
        let id = tokens.id(text);
        let id = id.ok_or_else(|| {
            metadata.refuse(TOKENS, format!("no {text}"), "the tokens around a picture")
        })?;
        fields.insert(field.into(), json!(id));
    }
    Ok(fields)
}
