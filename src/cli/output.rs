//! Writing OUT and its receipt: whole or not at all. Both grow under another name and get their own when everything is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::compression::{Compression, Writer};
use crate::Error;

/// A file that appears when it is finished.
pub(crate) struct Output {
    path: PathBuf,
    partial: PathBuf,
    /// Whether the partial file stays when the program ends before [`Output::finish`]. Such a file is not compressed before that.
    stays: bool,
    file: Option<Writer>,
}

impl Output {
    /// Starts `path`, compressed as its suffix says. The bytes go to a file beside it until [`Output::finish`]; dropped before that, it leaves nothing.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let partial = beside(path, &format!("{}.partial", std::process::id()))?;
        let file = File::create(&partial)
            .and_then(|file| Compression::of(path).writer(file))
            .map_err(|source| error(path, "creating", source))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            stays: false,
            file: Some(file),
        })
    }

    /// Goes on behind the first `keep` bytes of a partial file that stays (see [`Output::partial`]).
    pub fn resume(path: &Path, keep: u64) -> Result<Self, Error> {
        let partial = Self::partial(path)?;
        let open = || {
            let mut options = OpenOptions::new();
            let mut file = options
                .create(true)
                .truncate(false)
                .write(true)
                .open(&partial)?;
            file.set_len(keep)?;
            file.seek(SeekFrom::End(0))?;
            Compression::None.writer(file)
        };
        let file = open().map_err(|source| error(path, "creating", source))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            stays: true,
            file: Some(file),
        })
    }

    /// The partial file of `path` that stays.
    pub fn partial(path: &Path) -> Result<PathBuf, Error> {
        beside(path, "partial")
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.file {
            Some(file) => file
                .write_all(bytes)
                .map_err(|source| error(&self.path, "writing", source)),
            None => Ok(()),
        }
    }

    /// Hands a partial file that stays to the system, so that only the machine can lose what was written.
    pub fn record_done(&mut self) -> Result<(), Error> {
        match &mut self.file {
            Some(file) if self.stays => file
                .flush()
                .map_err(|source| error(&self.path, "writing", source)),
            _ => Ok(()),
        }
    }

    /// Gives the file its name; a file of that name is replaced.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(file) = self.file.take() {
            file.finish()
                .map_err(|source| error(&self.path, "writing", source))?;
        }
        if self.stays && Compression::of(&self.path) != Compression::None {
            let mut whole = Self::create(&self.path)?;
            let from = File::open(&self.partial);
            let copied = from.and_then(|mut from| match &mut whole.file {
                Some(to) => io::copy(&mut from, to),
                None => Ok(0),
            });
            copied.map_err(|source| error(&self.path, "writing", source))?;
            whole.finish()?;
            return fs::remove_file(&self.partial)
                .map_err(|source| error(&self.partial, "removing", source));
        }
        fs::rename(&self.partial, &self.path)
            .map_err(|source| error(&self.path, "renaming", source))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // After `finish` the partial file is gone already.
        if !self.stays {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// A hidden file beside `path`.
pub(crate) fn beside(path: &Path, suffix: &str) -> Result<PathBuf, Error> {
    let name = path.file_name().map(|n| n.to_string_lossy());
    match name.filter(|_| !path.is_dir()) {
        Some(name) => Ok(path.with_file_name(format!(".{name}.{suffix}"))),
        None => Err(Error::Option {
            option: "-o",
            found: format!("`{}`", path.display()),
            expected: "the path of a file".into(),
        }),
    }
}

fn error(path: &Path, action: &'static str, source: io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        action,
        source,
    }
}

/// Writes to standard output; a closed pipe comes back as an error that ends the program quietly.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|source| error(Path::new("-"), "writing standard output", source))
}

/// Whether two paths name the same file.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
