//! Which files beside the weights does a checkpoint bring: tokenizer, chat template, picture preprocessing?

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use crate::{Checkpoint, ModelError};

/// The contents of a checkpoint's files that are not weights.
#[derive(Debug, Clone)]
pub struct Companions {
    /// tokenizer.json.
    pub tokenizer: Cow<'static, [u8]>,
    /// tokenizer_config.json.
    pub tokenizer_config: Cow<'static, [u8]>,
    /// The chat template's source.
    pub template: Cow<'static, str>,
    /// preprocessor_config.json; `None` for a model that cannot see.
    pub preprocessor: Option<Cow<'static, str>>,
}

impl Companions {
    /// Those of an opened checkpoint. `sees`: whether the model needs preprocessing.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); [`ModelError::Format`] for a GGUF file without a chat template.
    pub fn of(checkpoint: &Checkpoint, sees: bool) -> Result<Self, ModelError> {
        let Some(gguf) = checkpoint.gguf() else {
            let folder = checkpoint.folder().unwrap_or(Path::new(checkpoint.place()));
            return Self::read(folder, sees);
        };
        let template = gguf.template().ok_or_else(|| ModelError::Format {
            file: checkpoint.place().into(),
            message: "tokenizer.chat_template: found nothing, expected a chat template".into(),
        })?;
        Ok(Self {
            tokenizer: gguf.tokenizer().to_vec().into(),
            tokenizer_config: gguf.tokenizer_config().to_vec().into(),
            template: template.to_owned().into(),
            preprocessor: gguf.preprocessor().map(|text| text.to_owned().into()),
        })
    }

    /// Reads them from a model folder. The template is `chat_template.jinja`, else `chat_template.json`, else the
    /// entry `chat_template` of tokenizer_config.json (of several, the one called `default`). `sees`: whether the model needs
    /// preprocessor_config.json.
    ///
    /// # Errors
    /// [`ModelError::MissingFile`] and [`ModelError::Read`] with the file's name.
    pub fn read(folder: &Path, sees: bool) -> Result<Self, ModelError> {
        let tokenizer = required(folder, "tokenizer.json")?;
        let tokenizer_config =
            optional(folder, "tokenizer_config.json")?.unwrap_or_else(|| b"{}".to_vec());
        const PREPROCESSOR: &str = "preprocessor_config.json";
        let preprocessor = sees
            .then(|| text(folder, PREPROCESSOR, required(folder, PREPROCESSOR)?))
            .transpose()?;
        let template = match optional(folder, "chat_template.jinja")? {
            Some(bytes) => Some(text(folder, "chat_template.jinja", bytes)?),
            None => {
                let json = optional(folder, "chat_template.json")?;
                json.as_deref()
                    .and_then(template_of)
                    .or_else(|| template_of(&tokenizer_config))
            }
        };
        let template = template.ok_or_else(|| ModelError::MissingFile {
            folder: folder.to_path_buf(),
            expected: "chat_template.jinja",
        })?;
        Ok(Self {
            tokenizer: tokenizer.into(),
            tokenizer_config: tokenizer_config.into(),
            template: template.into(),
            preprocessor: preprocessor.map(Cow::Owned),
        })
    }
}

fn template_of(json: &[u8]) -> Option<String> {
    let json: Value = serde_json::from_slice(json).ok()?;
    match json.get("chat_template")? {
        Value::String(template) => Some(template.clone()),
        Value::Array(named) => {
            let is_default =
                |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some("default");
            let entry = named.iter().find(is_default)?;
            entry.get("template")?.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

fn optional(folder: &Path, name: &'static str) -> Result<Option<Vec<u8>>, ModelError> {
    let path = folder.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::Read { path, source }),
    }
}

fn required(folder: &Path, name: &'static str) -> Result<Vec<u8>, ModelError> {
    optional(folder, name)?.ok_or_else(|| ModelError::MissingFile {
        folder: folder.to_path_buf(),
        expected: name,
    })
}

fn text(folder: &Path, name: &str, bytes: Vec<u8>) -> Result<String, ModelError> {
    String::from_utf8(bytes).map_err(|error| ModelError::Read {
        path: folder.join(name),
        source: std::io::Error::new(std::io::ErrorKind::InvalidData, error),
    })
}
