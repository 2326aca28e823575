//! How does a file come into memory?

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::ModelError;

/// One file with its name.
#[derive(Debug)]
pub(super) struct Bytes {
    pub(super) name: String,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Mapped(Mmap),
    Memory(Cow<'static, [u8]>),
}

impl Bytes {
    pub(super) fn map(path: &Path) -> Result<Self, ModelError> {
        let read = |source| ModelError::Read {
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(read)?;
        // SAFETY: the map is only read. A file that another process cuts short while it is mapped would fault, as with
        // every mapped checkpoint; files are not written to while a model is loaded from them.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(read)?;
        Ok(Self {
            name: path.display().to_string(),
            data: Data::Mapped(map),
        })
    }

    pub(super) fn memory(name: &str, bytes: Cow<'static, [u8]>) -> Self {
        Self {
            name: name.into(),
            data: Data::Memory(bytes),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match &self.data {
            Data::Mapped(map) => map,
            Data::Memory(bytes) => bytes,
        }
    }
}
