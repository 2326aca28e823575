//! How does a file come into memory?

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use crate::ModelError;

/// At least a page on every system that has them.
#[cfg(unix)]
const PAGE: usize = 1 << 16;

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

    /// Gives whole pages of a range that has been read back to the system, so that a mapped file does not fill the memory.
    pub(super) fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Data::Mapped(map) = &self.data {
            // The first and the last page may hold parts of other tensors, which would be read again.
            let start = range.start.next_multiple_of(PAGE);
            let end = range.end / PAGE * PAGE;
            if start < end {
                // SAFETY: the map is read-only and backed by a file, so dropped pages come back with the same bytes.
                #[allow(unsafe_code)]
                let _ = unsafe {
                    map.unchecked_advise_range(
                        memmap2::UncheckedAdvice::DontNeed,
                        start,
                        end - start,
                    )
                };
            }
        }
        #[cfg(not(unix))]
        let _ = range;
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match &self.data {
            Data::Mapped(map) => map,
            Data::Memory(bytes) => bytes,
        }
    }
}
