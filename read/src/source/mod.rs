//! Where bytes come from: a root that nothing leads out of, and objects below it. Opened beneath the root by the system, so that a link or a rename between check and use changes nothing.

mod object;

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::error::{Error, Result};
use crate::ignored::{IGNORED, Ignored};
use crate::limits::Limits;
use crate::redact::holds_credentials;

pub use object::Object;

/// Bytes of a `.gitignore` that count.
const RULES: u64 = 64 << 10;

/// The folder that all reading stays in.
#[derive(Debug, Clone)]
pub struct Root {
    dir: Arc<Dir>,
    path: PathBuf,
}

/// What a path names.
#[derive(Debug, Clone)]
pub enum Target {
    /// One file.
    File(Object),
    /// The files of a folder, sorted by path, and what was left out with the reason.
    Folder(Vec<Object>, Vec<(String, &'static str)>),
}

impl Root {
    /// Opens a folder as the root.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|source| Error::Io {
            path: path.to_owned(),
            action: "open folder",
            source,
        })?;
        Ok(Self {
            dir: Arc::new(dir),
            path: path.to_owned(),
        })
    }

    /// The root for reading `path` alone, and the path relative to it: a folder is its own root, a file has its folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(path: &Path) -> Result<(Self, PathBuf)> {
        let metadata = std::fs::metadata(path).map_err(|source| Error::Io {
            path: path.to_owned(),
            action: "look up",
            source,
        })?;
        if metadata.is_dir() {
            return Ok((Self::open(path)?, PathBuf::from(".")));
        }
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let name = path.file_name().ok_or_else(|| Error::NotAFile {
            path: path.to_owned(),
            found: "a path without a name",
        })?;
        Ok((Self::open(parent)?, PathBuf::from(name)))
    }

    /// Where the root is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `path` names below the root.
    ///
    /// # Errors
    /// A path that leads out, a special file, a file of credentials, or what the system says.
    pub fn target(&self, path: &Path, limits: &Limits) -> Result<Target> {
        let relative = self.relative(path)?;
        let metadata = self
            .dir
            .metadata(&relative)
            .map_err(|source| self.io(&relative, "look up", source))?;
        if metadata.is_dir() {
            let mut files = Vec::new();
            let mut skipped = Vec::new();
            let mut ignored = Ignored::default();
            self.walk(&relative, 0, limits, &mut ignored, &mut files, &mut skipped)?;
            files.sort_by(|one, other| one.path.cmp(&other.path));
            skipped.sort();
            return Ok(Target::Folder(files, skipped));
        }
        Ok(Target::File(self.object(&relative)?))
    }

    /// The regular file at `path`.
    ///
    /// # Errors
    /// As [`Root::target`]; a folder is an error too.
    pub fn object(&self, path: &Path) -> Result<Object> {
        let relative = self.relative(path)?;
        if holds_credentials(&relative) {
            return Err(Error::Denied { path: relative });
        }
        let file = self.open_file(&relative)?;
        let metadata = file
            .metadata()
            .map_err(|source| self.io(&relative, "look up", source))?;
        Ok(Object {
            root: self.clone(),
            path: slashed(&relative),
            bytes: metadata.len(),
            part: None,
        })
    }

    fn relative(&self, path: &Path) -> Result<PathBuf> {
        let outside = || Error::Outside {
            path: path.to_owned(),
            root: self.path.clone(),
        };
        let inner = if path.is_absolute() {
            path.strip_prefix(&self.path).map_err(|_| outside())?
        } else {
            path
        };
        let mut relative = PathBuf::new();
        for part in inner.components() {
            match part {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        Ok(if relative.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            relative
        })
    }

    fn open_file(&self, relative: &Path) -> Result<cap_std::fs::File> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            // A pipe without a writer must not hold us up.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = self.dir.open_with(relative, &options).map_err(|source| {
            let escapes = source.kind() == std::io::ErrorKind::PermissionDenied
                && source.raw_os_error().is_none();
            if escapes {
                Error::Outside {
                    path: relative.to_owned(),
                    root: self.path.clone(),
                }
            } else {
                self.io(relative, "open", source)
            }
        })?;
        let kind = file
            .metadata()
            .map_err(|source| self.io(relative, "look up", source))?
            .file_type();
        if !kind.is_file() {
            return Err(Error::NotAFile {
                path: relative.to_owned(),
                found: if kind.is_dir() {
                    "a folder"
                } else {
                    "a special file"
                },
            });
        }
        Ok(file)
    }

    fn walk(
        &self,
        folder: &Path,
        depth: usize,
        limits: &Limits,
        ignored: &mut Ignored,
        files: &mut Vec<Object>,
        skipped: &mut Vec<(String, &'static str)>,
    ) -> Result<()> {
        if depth > limits.depth {
            skipped.push((slashed(folder), "nested too deeply"));
            return Ok(());
        }
        let entries = self
            .dir
            .read_dir(folder)
            .map_err(|source| self.io(folder, "list", source))?;
        let level = ignored.enter(folder, self.rules(folder));
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| self.io(folder, "list", source))?;
            let kind = entry
                .file_type()
                .map_err(|source| self.io(folder, "list", source))?;
            names.push((entry.file_name(), kind));
        }
        names.sort_by(|one, other| one.0.cmp(&other.0));
        for (name, kind) in names {
            let path = if folder == Path::new(".") {
                PathBuf::from(&name)
            } else {
                folder.join(&name)
            };
            let text = name.to_string_lossy();
            if ignored.is(&path, kind.is_dir()) {
                skipped.push((slashed(&path), IGNORED));
            } else if kind.is_symlink() {
                skipped.push((slashed(&path), "symbolic link"));
            } else if kind.is_dir() {
                if [
                    ".git",
                    ".hg",
                    ".svn",
                    "node_modules",
                    "target",
                    "__pycache__",
                    ".venv",
                    ".cache",
                    ".mypy_cache",
                    ".ssh",
                    ".aws",
                    ".gnupg",
                ]
                .contains(&text.as_ref())
                {
                    skipped.push((slashed(&path), "not source"));
                } else {
                    self.walk(&path, depth + 1, limits, ignored, files, skipped)?;
                }
            } else if !kind.is_file() {
                skipped.push((slashed(&path), "special file"));
            } else if holds_credentials(&path) {
                skipped.push((slashed(&path), "credentials"));
            } else if files.len() >= limits.files {
                skipped.push((slashed(&path), "too many files"));
            } else {
                match self.object(&path) {
                    Ok(object) => files.push(object),
                    Err(_) => skipped.push((slashed(&path), "cannot be opened")),
                }
            }
        }
        ignored.leave(level);
        Ok(())
    }

    /// The text of a folder's `.gitignore`; nothing where there is none that can be read.
    fn rules(&self, folder: &Path) -> Option<String> {
        let file = self.open_file(&folder.join(".gitignore")).ok()?;
        let mut bytes = Vec::new();
        file.take(RULES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn io(&self, path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::Io {
            path: self.path.join(path),
            action,
            source,
        }
    }
}

fn slashed(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
