//! A loaded model with everything that turns a run into its input. Send + Sync, immutable after loading, shared by sessions.

use std::borrow::Cow;
use std::path::Path;

use sha2::{Digest, Sha256};
use spare_models::image::{self, Pixels, Preprocessor};
use spare_models::prompt::{Prompter, SpecialTokens};
use spare_models::{Checkpoint, Companions, Device, Model, WeightDtype, available_memory};

use crate::error::{Error, PictureProblem};
use crate::plan::{ModelCard, hex};
use crate::replay::picture_error;
use crate::trajectory::{Picture, Trajectory};

/// What a model that cannot see reads in place of a picture.
const PLACEHOLDER: &str = "[image]";

/// Tokens of context that the memory estimate before loading counts with.
const ESTIMATED_CONTEXT: usize = 4096;

/// Model, tokenizer, chat template and picture preprocessing of one checkpoint.
pub struct Engine {
    pub(crate) model: Model,
    pub(crate) prompter: Prompter,
    /// `None` for a model without a tower.
    pub(crate) preprocessor: Option<Preprocessor>,
    name: String,
    /// Whether pictures are read as text.
    blind: bool,
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
    /// A checkpoint folder as Hugging Face writes it: config.json, safetensors, tokenizer.json, chat template and, for a model that sees,
    /// preprocessor_config.json. Or a GGUF file, which holds all of it. Refuses a model that does not fit into the memory there is.
    pub fn load(path: &Path, dtype: WeightDtype) -> Result<Self, Error> {
        Self::from_checkpoint(Checkpoint::open(path)?, dtype, &Device::Cpu)
    }

    /// An opened checkpoint on a device. On another one than the CPU its memory is not asked for beforehand.
    pub fn from_checkpoint(
        checkpoint: Checkpoint,
        dtype: WeightDtype,
        device: &Device,
    ) -> Result<Self, Error> {
        let about = checkpoint.inspect()?;
        if let Some(available) = available_memory().filter(|_| device.is_cpu()) {
            about.fits(dtype, ESTIMATED_CONTEXT, available)?;
        }
        let companions = Companions::of(&checkpoint, about.sees)?;
        let place = Path::new(checkpoint.place());
        let name = place.file_name().map_or_else(
            || checkpoint.place().to_owned(),
            |n| n.to_string_lossy().into_owned(),
        );
        let model = Model::load(checkpoint, dtype, device)?;
        Self::assemble(name, model, &companions)
    }

    /// The same engine reading every picture as the text `[image]`: for models that cannot see.
    #[must_use]
    pub fn with_placeholders(mut self) -> Self {
        self.blind = true;
        self
    }

    /// Whether pictures are read as text.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// A run as this engine reads it. Errors where it has pictures and the model no tower.
    pub(crate) fn view<'a>(
        &self,
        run: &'a Trajectory,
        end: usize,
    ) -> Result<Cow<'a, Trajectory>, Error> {
        if !self.blind && self.model.sees() {
            return Ok(Cow::Borrowed(run));
        }
        let mut pictures = run.messages.iter().take(end).flat_map(|m| m.pictures());
        if !self.blind
            && let Some(picture) = pictures.next()
        {
            return Err(Error::Blind {
                pointer: picture.pointer.clone(),
                family: self.model.describe().family.to_string(),
            });
        }
        Ok(Cow::Owned(run.with_pictures_as(PLACEHOLDER)))
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

    fn assemble(name: String, model: Model, files: &Companions) -> Result<Self, Error> {
        let mut special = SpecialTokens::from_config(&files.tokenizer_config)?;
        if !model.sees() {
            special = special.without_pictures();
        }
        let prompter = Prompter::new(&files.tokenizer, &files.template, &special)?;
        let preprocessor = files.preprocessor.as_deref();
        let preprocessor = preprocessor.map(Preprocessor::from_json).transpose()?;
        Ok(Self {
            model,
            prompter,
            preprocessor,
            name,
            blind: false,
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

    /// The model itself: sizes, and counters of what it did.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What receipts say of the model.
    pub fn card(&self) -> ModelCard {
        ModelCard {
            name: self.name.clone(),
            revision: self.revision.clone(),
            weights: hex(&self.model.weights_hash()),
            template: self.prompter.template().hash().to_owned(),
            dtype: self.model.describe().dtype,
            resizer: match &self.preprocessor {
                Some(preprocessor) => preprocessor.resizer().name().to_owned(),
                None => "none".into(),
            },
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

    /// Decodes and preprocesses the encoded `bytes` of a picture.
    pub(crate) fn ready(&self, picture: &Picture, bytes: &[u8]) -> Result<ReadyPicture, Error> {
        let Some(preprocessor) = &self.preprocessor else {
            return Err(Error::Blind {
                pointer: picture.pointer.clone(),
                family: self.model.describe().family.to_string(),
            });
        };
        let of = |error: image::ImageError| picture_error(picture, PictureProblem::Image(error));
        let rgb = image::decode(bytes).map_err(of)?;
        let pixels = preprocessor.process(&rgb).map_err(of)?;
        let mut hash = Sha256::new();
        for value in &pixels.values {
            hash.update(value.to_le_bytes());
        }
        hash.update(format!("{:?}", pixels.grid));
        let tokens = pixels.grid.tokens(preprocessor.merge_size());
        Ok(ReadyPicture {
            key: hash.finalize().into(),
            tokens,
            pixels,
        })
    }
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replay::PictureRoot;
    use crate::trajectory::PictureSource;

    /// A 64 by 64 bitmap, grey but for `pixel`.
    fn bitmap(pixel: u8) -> Picture {
        const SIDE: u32 = 64;
        let mut bytes = b"BM".to_vec();
        for word in [
            54 + 3 * SIDE * SIDE,
            0,
            54,
            40,
            SIDE,
            SIDE,
            1 | 24 << 16,
            0,
            0,
            0,
            0,
            0,
            0,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.resize(54 + 3 * (SIDE * SIDE) as usize, 128);
        bytes[54 + 3 * 777] = pixel;
        Picture {
            source: PictureSource::Bytes(bytes.into()),
            pointer: "picture in memory".into(),
        }
    }

    #[test]
    fn one_pixel_makes_another_key() {
        let engine = Engine::board().unwrap();
        let root = PictureRoot::new(".");
        let key = |pixel| {
            let picture = bitmap(pixel);
            let bytes = root.open(&picture).unwrap();
            engine.ready(&picture, &bytes).unwrap().key
        };
        assert_eq!(key(128), key(128));
        assert_ne!(key(128), key(129));
    }
}
