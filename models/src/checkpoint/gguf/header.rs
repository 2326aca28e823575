//! What does the header of a GGUF file say, and can all of it be true?
//!
//! Versions 2 and 3, little-endian. Every count and length is held against the bytes that are left before anything is
//! made of it, and nothing but the two tables is copied, so a hostile header costs no more than reading it.

use super::bytes::{Cursor, Malformed, malformed, shown};
use super::table::{self, TensorInfo};
use super::value::Value;
use crate::ModelError;

/// The longest header that is read, twice as long as those of the largest vocabularies.
const MAX_HEADER: usize = 32 << 20;
const MAX_ENTRIES: u64 = 1 << 16;
const MAX_TENSORS: u64 = 1 << 16;
const MAX_KEY: u64 = 65_535;
const DEFAULT_ALIGNMENT: u64 = 32;
const MAX_ALIGNMENT: u64 = 1 << 16;

/// The header of one GGUF file: metadata and the table of tensors.
#[derive(Debug, Clone)]
pub struct Header<'a> {
    version: u32,
    /// By key.
    entries: Vec<(&'a str, Value<'a>)>,
    tensors: Vec<TensorInfo<'a>>,
}

impl<'a> Header<'a> {
    /// Reads the header of a whole file; `file` is its name for messages.
    ///
    /// # Errors
    /// [`ModelError::Format`] with the first thing that is malformed: where, what was found, what was expected.
    pub fn parse(file: &str, bytes: &'a [u8]) -> Result<Self, ModelError> {
        read(bytes).map_err(|malformed| ModelError::Format {
            file: file.into(),
            message: malformed.to_string(),
        })
    }

    /// Version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Metadata, sorted by key.
    pub fn entries(&self) -> &[(&'a str, Value<'a>)] {
        &self.entries
    }

    /// The value of a metadata key.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let at = self.entries.binary_search_by(|(k, _)| (*k).cmp(key)).ok()?;
        self.entries.get(at).map(|(_, value)| *value)
    }

    /// The tensors in the order of the table.
    pub fn tensors(&self) -> &[TensorInfo<'a>] {
        &self.tensors
    }

    /// A tensor by name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo<'a>> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}

fn read(bytes: &[u8]) -> Result<Header<'_>, Malformed> {
    let mut cursor = match bytes.get(..MAX_HEADER) {
        Some(front) => Cursor::new(front, "the first 32 MiB, to which a header is held"),
        None => Cursor::new(bytes, "the file"),
    };
    let version = version(&mut cursor)?;
    // A tensor takes a name of one letter, one dimension, a type and an offset; an entry a key, a type and a byte.
    let tensors = cursor.count("tensors", 33, MAX_TENSORS);
    let tensors = tensors.map_err(|fault| fault.at("tensor count"))?;
    let entries = cursor.count("metadata entries", 14, MAX_ENTRIES);
    let entries = metadata(
        &mut cursor,
        entries.map_err(|fault| fault.at("metadata count"))?,
    )?;
    let mut header = Header {
        version,
        entries,
        tensors: Vec::new(),
    };
    let alignment = alignment(&header)?;
    header.tensors = table::read(&mut cursor, tensors, alignment, bytes.len())?;
    Ok(header)
}

fn version(cursor: &mut Cursor<'_>) -> Result<u32, Malformed> {
    let magic: [u8; 4] = cursor.array().map_err(|fault| fault.at("magic"))?;
    if &magic != b"GGUF" {
        let found = format!("\"{}\"", magic.escape_ascii());
        return Err(malformed("magic", found, "\"GGUF\""));
    }
    let version = cursor.u32().map_err(|fault| fault.at("version"))?;
    let expected = "version 2 or 3, little-endian";
    match version {
        2 | 3 => Ok(version),
        // The magic is written alike in both orders, so the version tells them apart.
        other if (1..=3).contains(&other.swap_bytes()) => {
            let found = format!("version {}, big-endian", other.swap_bytes());
            Err(malformed("version", found, expected))
        }
        other => Err(malformed("version", format!("version {other}"), expected)),
    }
}

fn metadata<'a>(
    cursor: &mut Cursor<'a>,
    count: u64,
) -> Result<Vec<(&'a str, Value<'a>)>, Malformed> {
    let mut entries: Vec<(&str, Value<'_>)> = Vec::new();
    for i in 0..count {
        let key = cursor.string(1..=MAX_KEY);
        let key = key.map_err(|fault| fault.at(format!("key of metadata entry {i}")))?;
        let value = Value::read(cursor);
        let value = value.map_err(|fault| fault.at(format!("metadata {}", shown(key))))?;
        entries.push((key, value));
    }
    entries.sort_by_key(|(key, _)| *key);
    for pair in entries.windows(2) {
        if let [(first, _), (second, _)] = pair
            && first == second
        {
            let place = format!("metadata {}", shown(first));
            return Err(malformed(place, "it twice", "each key once"));
        }
    }
    Ok(entries)
}

fn alignment(header: &Header<'_>) -> Result<u64, Malformed> {
    let found = match header.get("general.alignment") {
        None => return Ok(DEFAULT_ALIGNMENT),
        Some(Value::Integer(n)) => match u64::try_from(n) {
            Ok(n) if n.is_power_of_two() && (8..=MAX_ALIGNMENT).contains(&n) => return Ok(n),
            _ => n.to_string(),
        },
        Some(_) => "no whole number".into(),
    };
    let expected = format!("a power of two from 8 to {MAX_ALIGNMENT}");
    Err(malformed("metadata \"general.alignment\"", found, expected))
}
