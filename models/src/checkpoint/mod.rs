//! Which files make a checkpoint, and do they hold exactly what the model needs?

mod convert;
mod dtype;
mod fields;
mod file;
pub mod gguf;
mod inspect;
mod problem;
mod shards;
mod source;
mod weights;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

pub use dtype::WeightDtype;
pub(crate) use dtype::{Kept, Part, Stored};
pub(crate) use fields::Fields;
use file::Bytes;
use gguf::GgufCheckpoint;
pub use inspect::{Inspection, human_bytes};
pub use problem::WeightProblem;
use shards::Shard;
pub(crate) use weights::{Stack, Weights};

use crate::ModelError;

/// Name, shape and values of a tensor.
#[cfg(feature = "train")]
pub(crate) type NamedValues = (String, Vec<usize>, Vec<f32>);

/// The files of one checkpoint, opened but not yet checked against a model: config.json, the optional
/// generation_config.json and one or more safetensors files, or a GGUF file that says the same.
#[derive(Debug)]
pub struct Checkpoint {
    place: String,
    /// Where its companions are, unless they stand in the GGUF file or are in memory.
    folder: Option<PathBuf>,
    gguf: Option<GgufCheckpoint>,
    config: Vec<u8>,
    generation_config: Option<Vec<u8>>,
    shards: Vec<Shard>,
    /// Found while opening: missing shards and names that stand in two of them.
    problems: Vec<WeightProblem>,
    hash: OnceLock<[u8; 32]>,
}

impl Checkpoint {
    /// Opens a model folder or a GGUF file. Weights are mapped, not read.
    ///
    /// # Errors
    /// Where config.json or every form of weights is missing, or a file is unreadable or malformed. A shard that the
    /// index names and the folder lacks is reported with all other problems when the weights are loaded.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        if path.is_file() {
            return Self::open_gguf(path, None);
        }
        let folder = path;
        let Some(config) = read_optional(&folder.join("config.json"))? else {
            return Err(without_config(folder));
        };
        let generation_config = read_optional(&folder.join("generation_config.json"))?;
        let (shards, problems) = shards::open(folder)?;
        let mut checkpoint = Self::assemble(
            folder.display().to_string(),
            config,
            generation_config,
            shards,
        );
        checkpoint.problems.extend(problems);
        checkpoint.folder = Some(folder.to_path_buf());
        Ok(checkpoint)
    }

    /// Opens a GGUF file of a text model and, for a model that sees, the mmproj file with its tower.
    ///
    /// # Errors
    /// Those of [`gguf::open`].
    pub fn open_gguf(text: &Path, mmproj: Option<&Path>) -> Result<Self, ModelError> {
        let gguf = gguf::open(text, mmproj)?;
        let mut checkpoint = Self::assemble(
            text.display().to_string(),
            gguf.config().to_vec(),
            Some(gguf.generation_config().to_vec()),
            Vec::new(),
        );
        checkpoint.gguf = Some(gguf);
        Ok(checkpoint)
    }

    /// A checkpoint that is already in memory, such as one compiled in. `weights` are whole safetensors files.
    ///
    /// # Errors
    /// Where one of `weights` is not a safetensors file.
    pub fn from_bytes(
        config: &[u8],
        generation_config: Option<&[u8]>,
        weights: Vec<Cow<'static, [u8]>>,
    ) -> Result<Self, ModelError> {
        let shards = weights
            .into_iter()
            .enumerate()
            .map(|(i, bytes)| Shard::new(Bytes::memory(&format!("weights {i} in memory"), bytes)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::assemble(
            "checkpoint in memory".into(),
            config.to_vec(),
            generation_config.map(<[u8]>::to_vec),
            shards,
        ))
    }

    fn assemble(
        place: String,
        config: Vec<u8>,
        generation_config: Option<Vec<u8>>,
        shards: Vec<Shard>,
    ) -> Self {
        Self {
            place,
            folder: None,
            gguf: None,
            config,
            generation_config,
            problems: shards::duplicates(&shards),
            shards,
            hash: OnceLock::new(),
        }
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    pub(crate) fn gguf(&self) -> Option<&GgufCheckpoint> {
        self.gguf.as_ref()
    }

    /// Folder or description, for messages.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// config.json as fields.
    pub(crate) fn config(&self) -> Result<Fields, ModelError> {
        Fields::parse(format!("{}: config.json", self.place), &self.config)
    }

    /// generation_config.json as fields, where there is one.
    pub(crate) fn generation_config(&self) -> Result<Option<Fields>, ModelError> {
        let place = || format!("{}: generation_config.json", self.place);
        self.generation_config
            .as_ref()
            .map(|bytes| Fields::parse(place(), bytes))
            .transpose()
    }

    /// Every tensor in order of names, with its shape and its values in f32.
    #[cfg(feature = "train")]
    pub(crate) fn f32_tensors(&self) -> Result<Vec<NamedValues>, ModelError> {
        let mut out = Vec::new();
        for (name, source) in source::Source::all(self) {
            out.push((
                name.clone(),
                source.shape().to_vec(),
                source.raw()?.to_f32()?,
            ));
            source.release();
        }
        out.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(out)
    }

    /// SHA-256 over config.json (of a GGUF file: as it was read) and the weight files in the order of their names, each preceded by its length as a
    /// little-endian u64. Computed at the first call. A folder and the same files in memory hash alike.
    pub fn hash(&self) -> [u8; 32] {
        *self.hash.get_or_init(|| {
            let mut sha = Sha256::new();
            let gguf = self.gguf.iter().flat_map(|gguf| gguf.files());
            for part in std::iter::once(self.config.as_slice())
                .chain(self.shards.iter().map(|shard| shard.bytes()))
                .chain(gguf.map(|(_, bytes)| bytes))
            {
                sha.update((part.len() as u64).to_le_bytes());
                sha.update(part);
            }
            sha.finalize().into()
        })
    }
}

/// A folder without config.json; one of GGUF files is told from the others.
fn without_config(folder: &Path) -> ModelError {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut gguf: Vec<String> = names.filter(|name| name.ends_with(".gguf")).collect();
    gguf.sort();
    if gguf.is_empty() {
        return ModelError::MissingFile {
            folder: folder.to_path_buf(),
            expected: "config.json",
        };
    }
    ModelError::Format {
        file: folder.display().to_string(),
        message: format!(
            "found no config.json but {}, expected the path of one of them",
            gguf.join(", ")
        ),
    }
}

fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::Read {
            path: path.to_path_buf(),
            source,
        }),
    }
}
