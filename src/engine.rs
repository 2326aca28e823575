//! A loaded model with everything that turns a run into its input. Send + Sync, immutable after loading, shared by sessions.

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use spare_models::image::{self, Pixels, Preprocessor};
use spare_models::prompt::{Prompter, SpecialTokens};
use spare_models::{Companions, Device, Qwen3Vl, WeightDtype};

use crate::error::{Error, PictureProblem};
use crate::plan::{ModelCard, hex};
use crate::replay::{PictureRoot, picture_error};
use crate::trajectory::Picture;

/// Model, tokenizer, chat template and picture preprocessing of one checkpoint.
pub struct Engine {
    pub(crate) model: Qwen3Vl,
    pub(crate) prompter: Prompter,
    pub(crate) preprocessor: Preprocessor,
    name: String,
    revision: Option<String>,
}

/// A picture ready for the tower.
pub(crate) struct ReadyPicture {
    /// SHA-256 over the decoded pixels and the preprocessing.
    pub key: [u8; 32],
    /// Tokens in the prompt.
    pub tokens: usize,
    pub pixels: Pixels,
}

impl Engine {
    /// A checkpoint folder as Hugging Face writes it: config.json, safetensors, tokenizer.json, chat template, preprocessor_config.json.
    pub fn load(dir: &Path, dtype: WeightDtype) -> Result<Self, Error> {
        let model = spare_models::load(dir, dtype, &Device::Cpu)?;
        let name = dir.file_name().map_or_else(
            || dir.display().to_string(),
            |n| n.to_string_lossy().into_owned(),
        );
        Self::assemble(name, model, &Companions::read(dir)?)
    }

    /// The small checkpoint that is compiled in. It knows the board world only.
    #[cfg(feature = "embedded-model")]
    pub fn board() -> Result<Self, Error> {
        Self::board_as(WeightDtype::Auto)
    }

    /// The same with its weights in a chosen type.
    #[cfg(feature = "embedded-model")]
    pub fn board_as(dtype: WeightDtype) -> Result<Self, Error> {
        let (model, companions) = spare_models::embedded::board(dtype)?;
        Self::assemble("board".into(), model, &companions)
    }

    fn assemble(name: String, model: Qwen3Vl, files: &Companions) -> Result<Self, Error> {
        let special = SpecialTokens::from_config(&files.tokenizer_config)?;
        let prompter = Prompter::new(&files.tokenizer, &files.template, &special)?;
        let preprocessor = Preprocessor::from_json(&files.preprocessor)?;
        Ok(Self {
            model,
            prompter,
            preprocessor,
            name,
            revision: None,
        })
    }

    /// Names where the checkpoint comes from, for receipts: a repository `owner/name` and its commit.
    #[must_use]
    pub fn with_source(mut self, repo: impl Into<String>, commit: impl Into<String>) -> Self {
        self.name = repo.into();
        self.revision = Some(commit.into());
        self
    }

    /// What receipts say of the model.
    pub fn card(&self) -> ModelCard {
        ModelCard {
            name: self.name.clone(),
            revision: self.revision.clone(),
            weights: hex(&self.model.weights_hash()),
            template: self.prompter.template().hash().to_owned(),
            dtype: format!("{:?}", self.model.describe().dtype).to_lowercase(),
            resizer: self.preprocessor.resizer().name().to_owned(),
        }
    }

    /// Architecture, parameters and weight type in one line.
    pub fn describe(&self) -> String {
        self.model.describe().to_string()
    }

    /// Tokens of a text in the middle of a prompt.
    pub fn count(&self, text: &str) -> usize {
        // Encoding plain text does not fail with a tokenizer that has loaded; bytes are a safe upper bound.
        self.prompter.count(text).unwrap_or(text.len())
    }

    pub(crate) fn ready(
        &self,
        root: &PictureRoot,
        picture: &Picture,
    ) -> Result<ReadyPicture, Error> {
        let bytes: Arc<[u8]> = root.open(picture)?;
        let of = |error: image::ImageError| picture_error(picture, PictureProblem::Image(error));
        let rgb = image::decode(&bytes).map_err(of)?;
        let pixels = self.preprocessor.process(&rgb).map_err(of)?;
        let mut hash = Sha256::new();
        for value in &pixels.values {
            hash.update(value.to_le_bytes());
        }
        hash.update(format!("{:?}", pixels.grid));
        let tokens = pixels.grid.tokens(self.preprocessor.merge_size());
        Ok(ReadyPicture {
            key: hash.finalize().into(),
            tokens,
            pixels,
        })
    }
}
