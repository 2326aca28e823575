//! Which safetensors files are there, and what stands in their headers?

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use super::{Fields, WeightProblem, read_optional};
use crate::ModelError;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// One safetensors file, mapped or in memory.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) name: String,
    data: Bytes,
    pub(super) tensors: BTreeMap<String, Entry>,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Memory(Cow<'static, [u8]>),
}

/// Where a tensor stands in its file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    start: usize,
    end: usize,
}

impl Shard {
    fn new(name: String, data: Bytes) -> Result<Self, ModelError> {
        let malformed = |e: safetensors::SafeTensorError| ModelError::Format {
            file: name.clone(),
            message: format!("not a safetensors file: {e}"),
        };
        let bytes = data.as_slice();
        let (header, meta) = SafeTensors::read_metadata(bytes).map_err(malformed)?;
        // Offsets count from the end of the header, which follows its own eight length bytes.
        let base = header + 8;
        let tensors = meta
            .tensors()
            .into_iter()
            .map(|(name, info)| {
                let entry = Entry {
                    dtype: info.dtype,
                    shape: info.shape.clone(),
                    start: base + info.data_offsets.0,
                    end: base + info.data_offsets.1,
                };
                (name, entry)
            })
            .collect();
        Ok(Self {
            name,
            data,
            tensors,
        })
    }

    pub(super) fn from_bytes(name: String, bytes: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        Self::new(name, Bytes::Memory(bytes))
    }

    fn map(path: PathBuf) -> Result<Self, ModelError> {
        let read = |source| ModelError::Read {
            path: path.clone(),
            source,
        };
        let file = File::open(&path).map_err(read)?;
        // SAFETY: the map is only read. A file that another process cuts short while it is mapped would fault, as with
        // every mapped checkpoint; folders are not written to while a model is loaded from them.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(read)?;
        Self::new(path.display().to_string(), Bytes::Mapped(map))
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// The bytes of one tensor.
    pub(super) fn tensor(&self, entry: &Entry) -> &[u8] {
        // read_metadata has checked that every range lies inside the file.
        self.bytes().get(entry.start..entry.end).unwrap_or_default()
    }
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

/// Opens model.safetensors, or every file of the index, in the order of their names.
pub(super) fn open(folder: &Path) -> Result<(Vec<Shard>, Vec<WeightProblem>), ModelError> {
    let single = folder.join(SINGLE);
    if single.is_file() {
        return Ok((vec![Shard::map(single)?], Vec::new()));
    }
    let Some(index) = read_optional(&folder.join(INDEX))? else {
        return Err(ModelError::MissingFile {
            folder: folder.to_path_buf(),
            expected: "model.safetensors or model.safetensors.index.json",
        });
    };
    let index = Fields::parse(folder.join(INDEX).display().to_string(), &index)?;
    let map = index.object("weight_map")?;
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (tensor, file) in map.entries() {
        // A plain file name only: an index must not make us open files elsewhere.
        match file.as_str() {
            Some(file) if !file.contains(['/', '\\']) && file != ".." => {
                *files.entry(file.into()).or_default() += 1;
            }
            _ => return Err(map.refuse(tensor, file, "a file name without folders")),
        }
    }
    let (mut shards, mut problems) = (Vec::new(), Vec::new());
    for (file, tensors) in files {
        let path = folder.join(&file);
        if path.is_file() {
            shards.push(Shard::map(path)?);
        } else {
            problems.push(WeightProblem::MissingShard { file, tensors });
        }
    }
    Ok((shards, problems))
}

/// Names that stand in more than one shard.
pub(super) fn duplicates(shards: &[Shard]) -> Vec<WeightProblem> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for shard in shards {
        for name in shard.tensors.keys() {
            if let Some(first) = seen.insert(name, &shard.name) {
                problems.push(WeightProblem::Duplicate {
                    name: name.clone(),
                    first: first.into(),
                    second: shard.name.clone(),
                });
            }
        }
    }
    problems
}
