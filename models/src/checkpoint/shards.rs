//! Which safetensors files are there, and what stands in their headers?

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::Metadata;

use super::file::Bytes;
use super::{Fields, Stored, WeightProblem, read_optional};
use crate::ModelError;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Longest header that is read, as in the safetensors crate.
const LONGEST_HEADER: u64 = 100_000_000;

/// One safetensors file, mapped or in memory.
#[derive(Debug)]
pub(super) struct Shard {
    data: Bytes,
    pub(super) tensors: BTreeMap<String, Entry>,
    /// False for a file that ends with its header: enough to say what the model is, not to load it.
    pub(super) has_data: bool,
}

/// Where a tensor stands in its file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) stored: Stored,
    pub(super) shape: Vec<usize>,
    start: usize,
    end: usize,
}

impl Shard {
    pub(super) fn new(data: Bytes) -> Result<Self, ModelError> {
        let name = data.name.clone();
        let malformed = |message: String| ModelError::Format {
            file: name.clone(),
            message: format!("not a safetensors file: {message}"),
        };
        let bytes = data.as_slice();
        let (length, rest) = bytes
            .split_first_chunk::<8>()
            .ok_or_else(|| malformed(format!("found {} bytes, expected a header", bytes.len())))?;
        let length = u64::from_le_bytes(*length);
        let header = usize::try_from(length.min(LONGEST_HEADER + 1)).ok();
        let header = header
            .filter(|_| length <= LONGEST_HEADER)
            .and_then(|n| rest.get(..n));
        let header = header.ok_or_else(|| {
            let most = LONGEST_HEADER.min(rest.len() as u64);
            malformed(format!(
                "found a header of {length} bytes, expected at most {most}"
            ))
        })?;
        let meta: Metadata =
            serde_json::from_slice(header).map_err(|e| malformed(format!("header: {e}")))?;
        // The library has checked that the ranges are those of the shapes and follow on one another from 0.
        let base = 8 + header.len();
        let held = bytes.len() - base;
        if held != meta.data_len() && held != 0 {
            let expected = meta.data_len();
            return Err(malformed(format!(
                "found {held} bytes of tensors, expected {expected} as the header says"
            )));
        }
        let tensors = meta
            .tensors()
            .into_iter()
            .map(|(name, info)| {
                let entry = Entry {
                    stored: Stored::from(info.dtype),
                    shape: info.shape.clone(),
                    start: base + info.data_offsets.0,
                    end: base + info.data_offsets.1,
                };
                (name, entry)
            })
            .collect();
        Ok(Self {
            has_data: held == meta.data_len(),
            data,
            tensors,
        })
    }

    /// The file's name.
    pub(super) fn name(&self) -> &str {
        &self.data.name
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// The bytes of one tensor; none where the file ends with its header.
    pub(super) fn tensor(&self, entry: &Entry) -> &[u8] {
        self.bytes().get(entry.start..entry.end).unwrap_or_default()
    }

    /// Gives the pages of a tensor that has been read back to the system, so that a mapped file does not fill the memory.
    pub(super) fn release(&self, entry: &Entry) {
        self.data.release(entry.start..entry.end);
    }
}

/// Opens model.safetensors, or every file of the index, in the order of their names.
pub(super) fn open(folder: &Path) -> Result<(Vec<Shard>, Vec<WeightProblem>), ModelError> {
    let single = folder.join(SINGLE);
    if single.is_file() {
        return Ok((vec![Shard::new(Bytes::map(&single)?)?], Vec::new()));
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
            shards.push(Shard::new(Bytes::map(&path)?)?);
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
            if let Some(first) = seen.insert(name, shard.name()) {
                problems.push(WeightProblem::Duplicate {
                    name: name.clone(),
                    first: first.into(),
                    second: shard.name().into(),
                });
            }
        }
    }
    problems
}
