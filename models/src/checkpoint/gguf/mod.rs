//! What would the folder of transformers hold that this GGUF file was made from?
//!
//! [`open`] reads a text file of llama.cpp, and for a model that sees its mmproj file, and says the same as a model folder:
//! config.json, generation_config.json, tokenizer, template, preprocessing, and every weight under its name in
//! transformers ([`Entry`]), quantised or widened ([`GgufCheckpoint::f32`], [`GgufCheckpoint::qtensor`]).
//!
//! What a file does not say is taken from the released models or llama.cpp's code, in one place each: the pixel budget, the
//! merge size and the window of a tower (`tower_config.rs`), the base of rotary frequencies of Llama 2 and the parameters of
//! Llama 3.1's (`rope.rs`), how a text is split (`splits.rs`). What is not understood is refused by name.

mod assemble;
mod bytes;
mod config;
mod dequantise;
mod entry;
mod family;
mod header;
mod metadata;
mod names;
mod rope;
mod splits;
mod table;
mod tokenizer;
mod tokens;
mod tower_config;
mod tower_names;
mod types;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Error};

use super::file::Bytes;
pub(super) use dequantise::{numbers, storage};
pub use entry::{Entry, Part, Transform};
pub use header::Header;
pub use table::TensorInfo;
pub use value::{Array, Value};

use crate::ModelError;

/// A GGUF file and its mmproj, said in the words of a model folder.
#[derive(Debug)]
pub struct GgufCheckpoint {
    files: Vec<Bytes>,
    entries: BTreeMap<String, Entry>,
    config: Vec<u8>,
    generation_config: Vec<u8>,
    tokenizer: Vec<u8>,
    tokenizer_config: Vec<u8>,
    template: Option<String>,
    preprocessor: Option<String>,
}

/// Opens a text GGUF file and, for a model that sees, its mmproj. Weights are mapped, not read.
///
/// # Errors
/// [`ModelError::Read`]; [`ModelError::Format`] for a malformed header; [`ModelError::Architecture`] and
/// [`ModelError::Config`] for what is not understood, with the file and the key; [`ModelError::Weights`] with every tensor
/// that has no place in the model.
pub fn open(text: &Path, mmproj: Option<&Path>) -> Result<GgufCheckpoint, ModelError> {
    let mmproj = mmproj.map(Bytes::map).transpose()?;
    assemble::assemble(Bytes::map(text)?, mmproj)
}

impl GgufCheckpoint {
    /// Whole files in memory; messages call them by what they are.
    ///
    /// # Errors
    /// Those of [`open`], without [`ModelError::Read`].
    pub fn from_bytes(
        text: Cow<'static, [u8]>,
        mmproj: Option<Cow<'static, [u8]>>,
    ) -> Result<Self, ModelError> {
        let mmproj = mmproj.map(|bytes| Bytes::memory("mmproj in memory", bytes));
        assemble::assemble(Bytes::memory("GGUF in memory", text), mmproj)
    }

    /// config.json.
    pub fn config(&self) -> &[u8] {
        &self.config
    }

    /// generation_config.json.
    pub fn generation_config(&self) -> &[u8] {
        &self.generation_config
    }

    /// tokenizer.json.
    pub fn tokenizer(&self) -> &[u8] {
        &self.tokenizer
    }

    /// tokenizer_config.json: the named tokens.
    pub fn tokenizer_config(&self) -> &[u8] {
        &self.tokenizer_config
    }

    /// The chat template, where the file has one.
    pub fn template(&self) -> Option<&str> {
        self.template.as_deref()
    }

    /// preprocessor_config.json, where there is an mmproj.
    pub fn preprocessor(&self) -> Option<&str> {
        self.preprocessor.as_deref()
    }

    /// The weights by their names in transformers.
    pub fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// The whole files with their names: the text file, then the mmproj.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.files.iter();
        files.map(|file| (file.name.as_str(), file.as_slice()))
    }

    /// The values of an entry in f32, row-major: exactly for F32, F16 and BF16, dequantised for the others.
    ///
    /// # Errors
    /// What candle says.
    pub fn f32(&self, entry: &Entry) -> Result<Vec<f32>, Error> {
        dequantise::f32(entry, &self.parts(entry))
    }

    /// A matrix in the type that the file holds it in, for candle's quantised products. Those round the other side to
    /// eight bits, so they are no [`GgufCheckpoint::f32`] times a matrix.
    ///
    /// # Errors
    /// Where the entry is no matrix or its parts are of different types, and what candle says.
    pub fn qtensor(&self, entry: &Entry, device: &Device) -> Result<QTensor, Error> {
        dequantise::qtensor(entry, self.parts(entry), device)
    }

    /// The bytes of an entry as they stand under its name, and their type. Parts of several types become f32.
    pub(super) fn bytes(&self, entry: &Entry) -> Result<(Cow<'_, [u8]>, GgmlDType), Error> {
        dequantise::bytes(entry, self.parts(entry))
    }

    /// Gives the pages of an entry that has been read back to the system.
    pub(super) fn release(&self, entry: &Entry) {
        for part in &entry.parts {
            if let Some(file) = self.files.get(part.file) {
                file.release(part.bytes.clone());
            }
        }
    }

    fn parts(&self, entry: &Entry) -> Vec<&[u8]> {
        let part = |part: &Part| {
            let file = self.files.get(part.file)?;
            file.as_slice().get(part.bytes.clone())
        };
        // The table was held against the file when it was opened.
        let parts = entry.parts.iter();
        parts.map(|p| part(p).unwrap_or_default()).collect()
    }
}
