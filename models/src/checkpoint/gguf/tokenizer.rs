//! What would the tokenizer.json of this model say?
//!
//! Byte-level BPE (`gpt2`) is carried over exactly. A SentencePiece vocabulary (`llama`) is refused: the file holds
//! neither its merges nor whether a space goes in front of each piece of a text or of the first alone, so ids would be a
//! guess.
//!
//! Where the original calls a token like `<|fim_prefix|>` an ordinary added one, a GGUF file calls it a control token;
//! it is then special, as in llama.cpp.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use super::bytes::shown;
use super::metadata::Metadata;
use super::splits::{self, Splitting};
use super::tokens::{Kind, Tokens};
use crate::ModelError;

const MERGES: &str = "tokenizer.ggml.merges";

/// Twice the most known.
const MAX_MERGES: usize = 1 << 20;

/// The tokenizer of a GGUF file in the form of transformers.
#[derive(Debug)]
pub(super) struct Made {
    /// tokenizer.json.
    pub(super) json: Vec<u8>,
    /// Whether it puts the beginning-of-text token in front of a text that no template made.
    pub(super) add_bos: bool,
}

#[derive(Serialize)]
struct File<'a> {
    version: &'a str,
    truncation: Json,
    padding: Json,
    added_tokens: Vec<Added<'a>>,
    normalizer: Json,
    pre_tokenizer: Json,
    post_processor: Json,
    decoder: Json,
    model: Model<'a>,
}

#[derive(Serialize)]
struct Added<'a> {
    id: u32,
    content: &'a str,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

#[derive(Serialize)]
struct Model<'a> {
    r#type: &'a str,
    dropout: Json,
    unk_token: Json,
    continuing_subword_prefix: Json,
    end_of_word_suffix: Json,
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
    vocab: Vocabulary<'a>,
    merges: Merges<'a>,
}

/// Token -> id, written without a map in between.
struct Vocabulary<'a>(&'a Tokens<'a>);

impl Serialize for Vocabulary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.used().map(|(id, text, _)| (text, id)))
    }
}

struct Merges<'a>(Vec<(&'a str, &'a str)>);

impl Serialize for Merges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (left, right) in &self.0 {
            list.serialize_element(&[left, right])?;
        }
        list.end()
    }
}

pub(super) fn made(metadata: &Metadata<'_>, tokens: &Tokens<'_>) -> Result<Made, ModelError> {
    let key = "tokenizer.ggml.model";
    match metadata.text(key)? {
        "gpt2" => {}
        "llama" => {
            let expected = "\"gpt2\" (byte-level BPE); a SentencePiece vocabulary lacks what its exact ids need";
            return Err(metadata.refuse(key, "\"llama\"", expected));
        }
        other => {
            return Err(metadata.refuse(key, shown(other), "\"gpt2\" (byte-level BPE)"));
        }
    }
    let splitting = splitting(metadata)?;
    let add_bos = metadata.flag("tokenizer.ggml.add_bos_token")?;
    let add_bos = add_bos.unwrap_or(splitting.add_bos);
    let add_eos = metadata.flag("tokenizer.ggml.add_eos_token")? == Some(true);
    let bos = around(metadata, tokens, add_bos, "bos_token_id")?;
    let eos = around(metadata, tokens, add_eos, "eos_token_id")?;
    let added = tokens.used().filter(|(.., kind)| *kind != Kind::Normal);
    let file = File {
        version: "1.0",
        truncation: Json::Null,
        padding: Json::Null,
        added_tokens: added
            .map(|(id, text, kind)| added_token(id, text, kind))
            .collect(),
        normalizer: splitting.normalizer,
        pre_tokenizer: splitting.pre_tokenizer,
        post_processor: post_processor(bos, eos),
        decoder: json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
        model: Model {
            r#type: "BPE",
            dropout: Json::Null,
            unk_token: Json::Null,
            continuing_subword_prefix: Json::Null,
            end_of_word_suffix: Json::Null,
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges: splitting.ignore_merges,
            vocab: Vocabulary(tokens),
            merges: Merges(merges(metadata, tokens)?),
        },
    };
    let json = serde_json::to_vec(&file).map_err(|source| ModelError::Json {
        place: format!("{}: tokenizer", metadata.file),
        source,
    })?;
    Ok(Made { json, add_bos })
}

fn splitting(metadata: &Metadata<'_>) -> Result<Splitting, ModelError> {
    let key = "tokenizer.ggml.pre";
    let name = metadata.text(key)?;
    let expected = || format!("one of {}", splits::KNOWN);
    splits::of(name).ok_or_else(|| metadata.refuse(key, shown(name), expected()))
}

fn added_token(id: u32, content: &str, kind: Kind) -> Added<'_> {
    Added {
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: kind == Kind::Special,
    }
}

/// A token that goes around every text where `add` is set.
fn around<'a>(
    metadata: &Metadata<'_>,
    tokens: &Tokens<'a>,
    add: bool,
    name: &str,
) -> Result<Option<(u32, &'a str)>, ModelError> {
    if !add {
        return Ok(None);
    }
    let id = tokens.named(metadata, name)?;
    let token = id.and_then(|id| Some((id, tokens.text(id)?)));
    let expected = "an id, as it is put around each text";
    let key = format!("tokenizer.ggml.{name}");
    metadata.need(&key, expected, token).map(Some)
}

fn post_processor(bos: Option<(u32, &str)>, eos: Option<(u32, &str)>) -> Json {
    if bos.is_none() && eos.is_none() {
        return Json::Null;
    }
    let around = |sequence: &str, type_id: u32| {
        let special = |token: Option<(u32, &str)>| {
            token.map(|(_, text)| json!({"SpecialToken": {"id": text, "type_id": type_id}}))
        };
        let text = json!({"Sequence": {"id": sequence, "type_id": type_id}});
        [special(bos), Some(text), special(eos)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let special: serde_json::Map<String, Json> = [bos, eos]
        .into_iter()
        .flatten()
        .map(|(id, text)| {
            let token = json!({"id": text, "ids": [id], "tokens": [text]});
            (text.to_owned(), token)
        })
        .collect();
    let pair = [around("A", 0), around("B", 1)].concat();
    json!({
        "type": "TemplateProcessing",
        "single": around("A", 0),
        "pair": pair,
        "special_tokens": special,
    })
}

/// The pairs in order, each checked against the vocabulary.
fn merges<'a>(
    metadata: &Metadata<'a>,
    tokens: &Tokens<'_>,
) -> Result<Vec<(&'a str, &'a str)>, ModelError> {
    let expected = format!(
        "an array of at most {MAX_MERGES} strings, each two tokens that join to a token and a space between them"
    );
    let array = metadata.array(MERGES)?;
    let array = metadata.need(MERGES, &expected, array)?;
    let Some(texts) = array.texts().filter(|_| array.len() <= MAX_MERGES) else {
        let found = format!("an array of {}", array.len());
        return Err(metadata.refuse(MERGES, found, expected));
    };
    let mut merges = Vec::with_capacity(array.len());
    let mut joined = String::new();
    for (i, text) in texts.enumerate() {
        let pair = text.split_once(' ').filter(|(left, right)| {
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            [*left, *right, &joined]
                .iter()
                .all(|token| tokens.id(token).is_some())
        });
        let Some(pair) = pair else {
            return Err(metadata.refuse(MERGES, format!("{} as merge {i}", shown(text)), expected));
        };
        merges.push(pair);
    }
    Ok(merges)
}
