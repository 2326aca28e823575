//! A file below a root, or the text of a part of one: its bytes, its content hash.

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Root;
use crate::error::{Error, Result};
use crate::extract::Part;

/// A regular file below a root.
#[derive(Debug, Clone)]
pub struct Object {
    pub(super) root: Root,
    /// Relative to the root, with `/`.
    pub path: String,
    /// Length when it was found; of a part, the length of its text.
    pub bytes: u64,
    /// The text of a part of a file whose bytes are no text.
    pub(crate) part: Option<Arc<Part>>,
}

/// Where bytes come from.
enum Stream {
    File(cap_std::fs::File),
    Part(Cursor<Text>),
}

/// The text of a part as bytes.
struct Text(Arc<Part>);

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.text.as_bytes()
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.read(into),
            Self::Part(part) => part.read(into),
        }
    }
}

impl Seek for Stream {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Part(part) => part.seek(to),
        }
    }
}

impl Object {
    /// Opens the file; every call may see other bytes than the one before.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(&self) -> Result<impl Read + Seek + use<>> {
        Ok(match &self.part {
            Some(part) => Stream::Part(Cursor::new(Text(part.clone()))),
            None => Stream::File(self.root.open_file(Path::new(&self.path))?),
        })
    }

    /// A part of the file, as an object of its own.
    pub(crate) fn part(&self, part: Part) -> Self {
        Self {
            root: self.root.clone(),
            path: if part.name.is_empty() {
                self.path.clone()
            } else {
                format!("{}!{}", self.path, part.name)
            },
            bytes: part.text.len() as u64,
            part: Some(Arc::new(part)),
        }
    }

    /// The path of the file itself.
    pub(crate) fn file(&self) -> &str {
        let name = self.part.as_ref().map_or("", |part| part.name.as_str());
        let cut = self.path.strip_suffix(name).filter(|_| !name.is_empty());
        cut.and_then(|path| path.strip_suffix('!'))
            .unwrap_or(&self.path)
    }

    /// The opened file, for the standard input of a worker.
    pub(crate) fn stdio(&self) -> Result<std::process::Stdio> {
        let file = self.root.open_file(Path::new(&self.path))?;
        Ok(std::process::Stdio::from(file.into_std()))
    }

    /// The bytes of a range; fewer where the file ends.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, start: u64, length: u64) -> Result<Vec<u8>> {
        let mut file = self.open()?;
        let io = |action| move |source| self.root.io(Path::new(&self.path), action, source);
        file.seek(SeekFrom::Start(start)).map_err(io("seek"))?;
        let mut bytes = Vec::with_capacity(length.min(self.bytes) as usize);
        file.take(length)
            .read_to_end(&mut bytes)
            .map_err(io("read"))?;
        Ok(bytes)
    }

    /// All bytes, if they are at most `limit`.
    ///
    /// # Errors
    /// A longer file, or what the system says.
    pub fn read_all(&self, limit: u64) -> Result<Vec<u8>> {
        let bytes = self.read(0, limit.saturating_add(1))?;
        if bytes.len() as u64 > limit {
            return Err(Error::TooLarge {
                path: PathBuf::from(&self.path),
                found: self.bytes,
                limit,
                unit: "bytes",
            });
        }
        Ok(bytes)
    }

    /// The content hash: the first 16 hexadecimal digits of BLAKE3 over all bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn content_id(&self) -> Result<String> {
        let mut hasher = blake3::Hasher::new();
        let file = self.open()?;
        hasher
            .update_reader(file)
            .map_err(|source| self.root.io(Path::new(&self.path), "read", source))?;
        Ok(hasher.finalize().to_hex().chars().take(16).collect())
    }

    /// Lower-case file name extension; of a part, of what it is.
    pub fn extension(&self) -> String {
        Path::new(&self.path)
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase())
            .unwrap_or_default()
    }
}
