//! Writing OUT and its receipt: whole or not at all. Both grow under another name and get their own when everything is written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// A file that appears when it is finished; dropped before that, it leaves nothing.
pub(crate) struct Output {
    path: PathBuf,
    partial: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Starts `path`. The bytes go to a file beside it until [`Output::finish`].
    pub fn create(path: &Path) -> Result<Self, Error> {
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        if name.is_empty() || path.is_dir() {
            let found = format!("`{}`", path.display());
            return Err(Error::Option {
                option: "-o",
                found,
                expected: "the path of a file".into(),
            });
        }
        let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        let file = File::create(&partial).map_err(|source| Error::Io {
            path: path.to_owned(),
            action: "creating",
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: Some(BufWriter::new(file)),
        })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.file {
            Some(file) => file
                .write_all(bytes)
                .map_err(|source| self.error("writing", source)),
            None => Ok(()),
        }
    }

    /// Gives the file its name; a file of that name is replaced.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(file) = self.file.take() {
            let file = file
                .into_inner()
                .map_err(|e| self.error("writing", e.into_error()))?;
            file.sync_all()
                .map_err(|source| self.error("writing", source))?;
        }
        fs::rename(&self.partial, &self.path).map_err(|source| self.error("renaming", source))
    }

    fn error(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            action,
            source,
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // After `finish` the partial file is gone already.
        let _ = fs::remove_file(&self.partial);
    }
}

/// Writes to standard output; a closed pipe comes back as an error that ends the program quietly.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|source| Error::Io {
            path: "-".into(),
            action: "writing standard output",
            source,
        })
}

/// Whether two paths name the same file.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
