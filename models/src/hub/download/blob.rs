//! Is what has arrived what the hub has announced, and how does the next attempt go on from it?

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::super::HubError;
use super::super::id::is_hex;
use super::store::{failed, folder_of};

/// Names the content of a file: what the hub calls its etag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Etag {
    /// SHA-256 of the content: files in large file storage.
    Sha256(String),
    /// The object id of a git blob, a SHA-1 over a header and the content: all other files.
    GitBlob(String),
}

impl Etag {
    /// None for anything else: it could not be checked, and it would become a file name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
        let lower = plain.to_ascii_lowercase();
        match plain {
            plain if is_hex(plain, 64) => Some(Etag::Sha256(lower)),
            plain if is_hex(plain, 40) => Some(Etag::GitBlob(lower)),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> &str {
        let (Etag::Sha256(text) | Etag::GitBlob(text)) = self;
        text
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Etag::Sha256(_) => "sha256",
            Etag::GitBlob(_) => "git blob sha1",
        }
    }
}

/// A blob that is not whole yet: `blobs/{etag}.incomplete`. It outlives the process, and the next download goes on from it.
pub(super) struct Partial {
    path: PathBuf,
    blob: PathBuf,
    etag: Etag,
    file: File,
    /// Over all bytes in the file; the large ones are not read a second time for it.
    sha256: Sha256,
    done: u64,
    reached: u64,
    /// `reached` when it was last asked for.
    marked: u64,
}

impl Partial {
    /// Opens what an earlier download has left of `blob`, or nothing where that cannot be gone on from.
    pub(super) fn open(blob: PathBuf, etag: &Etag, size: Option<u64>) -> Result<Self, HubError> {
        let mut path = blob.clone().into_os_string();
        path.push(".incomplete");
        let path = PathBuf::from(path);
        folder_of(&path)?;
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(failed(&path, "opening what has been downloaded"))?;
        let (sha256, done) = read(&mut file, &path)?;
        let mut partial = Self {
            path,
            blob,
            etag: etag.clone(),
            file,
            sha256,
            done,
            reached: done,
            marked: done,
        };
        // Without a size nothing says which bytes are still to come.
        if size.is_none_or(|size| partial.done > size) {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Bytes in the file.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), HubError> {
        self.file
            .write_all(bytes)
            .map_err(failed(&self.path, "writing"))?;
        self.sha256.update(bytes);
        self.done += bytes.len() as u64;
        self.reached = self.reached.max(self.done);
        Ok(())
    }

    /// Begins at nothing.
    pub(super) fn restart(&mut self) -> Result<(), HubError> {
        self.file
            .set_len(0)
            .map_err(failed(&self.path, "emptying"))?;
        self.sha256 = Sha256::new();
        self.done = 0;
        Ok(())
    }

    /// Whether more has arrived than ever before since the last call.
    pub(super) fn advanced(&mut self) -> bool {
        let advanced = self.reached > self.marked;
        self.marked = self.reached;
        advanced
    }

    /// The sum of the content, where it is not the announced one.
    pub(super) fn wrong(&self) -> Result<Option<String>, HubError> {
        let found = match &self.etag {
            Etag::Sha256(_) => hex(&self.sha256.clone().finalize()),
            Etag::GitBlob(_) => {
                let content = std::fs::read(&self.path).map_err(failed(&self.path, "reading"))?;
                let header = format!("blob {}\0", content.len());
                let sum = Sha1::new().chain_update(header).chain_update(content);
                hex(&sum.finalize())
            }
        };
        Ok((found != self.etag.text()).then_some(found))
    }

    /// Puts the whole content in its place.
    pub(super) fn keep(self) -> Result<(), HubError> {
        self.file
            .sync_all()
            .map_err(failed(&self.path, "writing"))?;
        std::fs::rename(&self.path, &self.blob).map_err(failed(&self.blob, "moving into place"))
    }

    pub(super) fn remove(self) -> Result<(), HubError> {
        std::fs::remove_file(&self.path).map_err(failed(&self.path, "removing"))
    }
}

fn read(file: &mut File, path: &Path) -> Result<(Sha256, u64), HubError> {
    let (mut sum, mut done) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((sum, done)),
            Ok(count) => {
                sum.update(buffer.get(..count).unwrap_or_default());
                done += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(path, "reading what has been downloaded")(error)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
