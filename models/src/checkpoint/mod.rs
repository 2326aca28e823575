//! Which files make a checkpoint, and do they hold exactly what the model needs?

mod convert;
mod dtype;
mod fields;
pub mod gguf;
mod inspect;
mod problem;
mod shards;
mod weights;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

pub use dtype::WeightDtype;
pub(crate) use dtype::{Kept, Part, Stored};
pub(crate) use fields::Fields;
pub use inspect::{Inspection, human_bytes};
pub use problem::WeightProblem;
use shards::Shard;
pub(crate) use weights::{Stack, Weights};

use crate::ModelError;

/// The files of one checkpoint, opened but not yet checked against a model: config.json, the optional
/// generation_config.json, and one or more safetensors files.
#[derive(Debug)]
pub struct Checkpoint {
    place: String,
    config: Vec<u8>,
    generation_config: Option<Vec<u8>>,
    shards: Vec<Shard>,
    /// Found while opening: missing shards and names that stand in two of them.
    problems: Vec<WeightProblem>,
    hash: OnceLock<[u8; 32]>,
}

impl Checkpoint {
    /// Opens a model folder. Weights are mapped, not read.
    ///
    /// # Errors
    /// Where config.json or every form of weights is missing, or a file is unreadable or malformed. A shard that the
    /// index names and the folder lacks is reported with all other problems when the weights are loaded.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let config = read_optional(&folder.join("config.json"))?;
        let config = config.ok_or_else(|| ModelError::MissingFile {
            folder: folder.to_path_buf(),
            expected: "config.json",
        })?;
        let generation_config = read_optional(&folder.join("generation_config.json"))?;
        let (shards, problems) = shards::open(folder)?;
        Self::assemble(
            folder.display().to_string(),
            config,
            generation_config,
            shards,
            problems,
        )
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
            .map(|(i, bytes)| Shard::from_bytes(format!("weights {i} in memory"), bytes))
            .collect::<Result<Vec<_>, _>>()?;
        let generation_config = generation_config.map(<[u8]>::to_vec);
        Self::assemble(
            "checkpoint in memory".into(),
            config.to_vec(),
            generation_config,
            shards,
            Vec::new(),
        )
    }

    fn assemble(
        place: String,
        config: Vec<u8>,
        generation_config: Option<Vec<u8>>,
        shards: Vec<Shard>,
        mut problems: Vec<WeightProblem>,
    ) -> Result<Self, ModelError> {
        problems.extend(shards::duplicates(&shards));
        Ok(Self {
            place,
            config,
            generation_config,
            shards,
            problems,
            hash: OnceLock::new(),
        })
    }

    /// Whether a model that sees may come without its tower: in a GGUF file, where the tower is a file of its own.
    pub(crate) fn tower_optional(&self) -> bool {
        false
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

    /// SHA-256 over config.json and the weight files in the order of their names, each preceded by its length as a
    /// little-endian u64. Computed at the first call. A folder and the same files in memory hash alike.
    pub fn hash(&self) -> [u8; 32] {
        *self.hash.get_or_init(|| {
            let mut sha = Sha256::new();
            for part in std::iter::once(self.config.as_slice())
                .chain(self.shards.iter().map(|shard| shard.bytes()))
            {
                sha.update((part.len() as u64).to_le_bytes());
                sha.update(part);
            }
            sha.finalize().into()
        })
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
