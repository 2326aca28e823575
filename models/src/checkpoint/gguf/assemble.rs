//! What do a text file and its mmproj say together?

use serde_json::{Map, Value as Json, json};

use super::super::file::Bytes;
use super::bytes::shown;
use super::entry::Entries;
use super::family::{self, Family};
use super::header::Header;
use super::metadata::Metadata;
use super::tokens::{self, Tokens};
use super::tower_config::{self, Tower};
use super::{GgufCheckpoint, config, names, tokenizer, tower_names};
use crate::ModelError;

/// What the two files say together.
pub(super) fn assemble(text: Bytes, mmproj: Option<Bytes>) -> Result<GgufCheckpoint, ModelError> {
    let header = Header::parse(&text.name, text.as_slice())?;
    let metadata = Metadata {
        file: &text.name,
        header: &header,
    };
    let tower_header = match &mmproj {
        Some(file) => Some(Header::parse(&file.name, file.as_slice())?),
        None => None,
    };
    let tower = match (&mmproj, &tower_header) {
        (Some(file), Some(header)) => Some(Metadata {
            file: &file.name,
            header,
        }),
        _ => None,
    };
    let (family, architecture) = which(&metadata, tower.as_ref())?;
    let tokens = Tokens::read(&metadata)?;
    let (config, cuts) = config::text(&metadata, family, architecture, &tokens, text.as_slice())?;
    let mut entries = Entries::default();
    names::text(family, cuts, 0, header.tensors(), &mut entries);
    let (config, preprocessor) = match tower {
        None => (with_architecture(family, config), None),
        Some(tower) => {
            let read = tower_config::tower(&tower, family)?;
            agree(&metadata, &tower, architecture, &config, &read)?;
            let tensors = tower.header.tensors();
            tower_names::tower(family, &read.taps, read.hidden, 1, tensors, &mut entries);
            let pictures = tokens::pictures(&metadata, &tokens)?;
            let preprocessor = read.preprocessor.to_string();
            (seeing(family, config, read, pictures), Some(preprocessor))
        }
    };
    if !entries.problems.is_empty() {
        return Err(ModelError::Weights {
            place: text.name,
            problems: entries.problems,
        });
    }
    let made = tokenizer::made(&metadata, &tokens)?;
    let generation_config = tokens::generation_config(&metadata, &tokens)?;
    let tokenizer_config = tokens::tokenizer_config(&metadata, &tokens, made.add_bos)?;
    let template = metadata.optional_text("tokenizer.chat_template")?;
    Ok(GgufCheckpoint {
        entries: entries.by_name,
        config: config.to_string().into(),
        generation_config: generation_config.to_string().into(),
        tokenizer: made.json,
        tokenizer_config: tokenizer_config.to_string().into(),
        template: template.map(str::to_owned),
        preprocessor,
        files: [text].into_iter().chain(mmproj).collect(),
    })
}

/// The family that the text file and the mmproj make together, and the architecture's name.
fn which<'a>(
    metadata: &Metadata<'a>,
    tower: Option<&Metadata<'_>>,
) -> Result<(Family, &'a str), ModelError> {
    if let Some(count) = metadata.optional_count("split.count")?
        && count > 1
    {
        let expected = "a model in one file; llama.cpp's gguf-split merges the parts";
        return Err(metadata.refuse("split.count", count, expected));
    }
    let key = "general.architecture";
    let architecture = metadata.text(key)?;
    let Some(projectors) = Family::projectors(architecture) else {
        return Err(ModelError::Architecture {
            place: metadata.file.into(),
            found: shown(architecture),
            known: family::ARCHITECTURES.into(),
        });
    };
    let projector = tower.map(tower_config::projector).transpose()?;
    if let Some(family) = Family::of(architecture, projector) {
        return Ok((family, architecture));
    }
    Err(match (tower, projector) {
        (Some(tower), Some(projector)) => {
            let found = format!(
                "{} beside an architecture {architecture:?}",
                shown(projector)
            );
            let expected = match projectors {
                [] => "no mmproj: this model does not see".into(),
                some => format!("one of {}", some.join(", ")),
            };
            tower.refuse("clip.projector_type", found, expected)
        }
        _ => {
            let found = format!("{architecture:?} without an mmproj");
            let expected = format!("its mmproj file ({}) as well", projectors.join(" or "));
            metadata.refuse(key, found, expected)
        }
    })
}

fn with_architecture(family: Family, mut config: Map<String, Json>) -> Json {
    let (architecture, _) = family.names();
    config.insert("architectures".into(), json!([architecture]));
    Json::Object(config)
}

/// config.json of a model that sees, from its three parts.
fn seeing(
    family: Family,
    mut text: Map<String, Json>,
    tower: Tower,
    pictures: Map<String, Json>,
) -> Json {
    let (_, model_type) = family.names();
    let tied = text.get("tie_word_embeddings").cloned();
    let mut vision = tower.config;
    text.insert("model_type".into(), json!(format!("{model_type}_text")));
    vision["model_type"] = json!(format!("{model_type}_vision"));
    let mut config = pictures;
    config.insert("model_type".into(), json!(model_type));
    config.insert("tie_word_embeddings".into(), json!(tied));
    config.insert("text_config".into(), Json::Object(text));
    config.insert("vision_config".into(), vision);
    with_architecture(family, config)
}

/// The two files have to be of one model.
fn agree(
    metadata: &Metadata<'_>,
    tower: &Metadata<'_>,
    architecture: &str,
    config: &Map<String, Json>,
    read: &Tower,
) -> Result<(), ModelError> {
    let hidden = config.get("hidden_size");
    if hidden != Some(&json!(read.out)) {
        let expected = format!(
            "the width of {}, {}",
            metadata.file,
            hidden.map(Json::to_string).unwrap_or_default()
        );
        return Err(tower.refuse("clip.vision.projection_dim", read.out, expected));
    }
    let key = format!("{architecture}.n_deepstack_layers");
    match metadata.optional_count(&key)? {
        Some(count) if count != read.taps.len() => {
            let expected = format!("{}, the taps of {}", read.taps.len(), tower.file);
            Err(metadata.refuse(&key, count, expected))
        }
        _ => Ok(()),
    }
}
