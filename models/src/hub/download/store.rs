//! How is the cache written, so that Python finds its way in it?

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{HubCache, HubError, ModelId};
use super::blob::Etag;
use super::patience::Patience;

/// How often a lock that somebody else holds is tried.
const LOCK_TICK: Duration = Duration::from_millis(100);

/// The folders of one repository.
pub(super) struct Store {
    repo: PathBuf,
    locks: PathBuf,
}

impl Store {
    pub(super) fn new(cache: &HubCache, id: &ModelId) -> Self {
        Self {
            repo: cache.repo(id),
            locks: cache.root().join(".locks").join(id.folder()),
        }
    }

    /// The folder of a commit.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.repo.join("snapshots").join(commit)
    }

    /// Whether a commit has a file; a link whose blob is gone is none.
    pub(super) fn has(&self, commit: &str, file: &str) -> bool {
        self.snapshot(commit).join(file).is_file()
    }

    /// Where the content with this etag lies.
    pub(super) fn blob(&self, etag: &Etag) -> PathBuf {
        self.repo.join("blobs").join(etag.text())
    }

    /// Whether the content is there, whole.
    pub(super) fn has_blob(&self, etag: &Etag, size: Option<u64>) -> bool {
        let data = std::fs::metadata(self.blob(etag));
        data.is_ok_and(|data| data.is_file() && size.is_none_or(|size| size == data.len()))
    }

    /// Keeps other downloads of the same content away; waits for one that is under way. The lock goes with the file.
    pub(super) async fn lock(
        &self,
        etag: &Etag,
        patience: &Patience<'_>,
    ) -> Result<File, HubError> {
        let path = self.locks.join(format!("{}.lock", etag.text()));
        folder_of(&path)?;
        let file = File::create(&path).map_err(failed(&path, "locking"))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => patience.sleep(LOCK_TICK).await?,
                // A file system without locks: the checksum still guards the content.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                    return Ok(file);
                }
                Err(TryLockError::Error(error)) => return Err(failed(&path, "locking")(error)),
            }
        }
    }

    /// Makes a file of a commit stand for the content with this etag.
    pub(super) fn link(&self, commit: &str, file: &str, etag: &Etag) -> Result<(), HubError> {
        let path = self.snapshot(commit).join(file);
        folder_of(&path)?;
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&path, "replacing a broken link")(error)),
        }
        match self.point(&path, etag) {
            // Another download of the same commit was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            result => result.map_err(failed(&path, "linking")),
        }
    }

    #[cfg(unix)]
    fn point(&self, path: &Path, etag: &Etag) -> std::io::Result<()> {
        // Relative, so that a cache can be moved.
        let target = Path::new("../../blobs").join(etag.text());
        std::os::unix::fs::symlink(target, path)
    }

    #[cfg(not(unix))]
    fn point(&self, path: &Path, etag: &Etag) -> std::io::Result<()> {
        // Symbolic links need a privilege elsewhere.
        let blob = self.blob(etag);
        std::fs::hard_link(&blob, path).or_else(|_| std::fs::copy(&blob, path).map(drop))
    }

    /// Makes a revision stand for a commit.
    pub(super) fn write_ref(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        let path = self.repo.join("refs").join(revision);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == commit) {
            return Ok(());
        }
        folder_of(&path)?;
        // A reader must never see half a commit. No revision has a part that begins with a dot.
        let name = format!(".{}.{}", commit, std::process::id());
        let half = path.with_file_name(name);
        std::fs::write(&half, commit).map_err(failed(&half, "writing the revision"))?;
        std::fs::rename(&half, &path).map_err(failed(&path, "writing the revision"))
    }
}

/// Makes the folder that a file is to stand in.
pub(super) fn folder_of(path: &Path) -> Result<(), HubError> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(failed(folder, "creating the folder"))
}

pub(super) fn failed<'a>(
    path: &'a Path,
    action: &'static str,
) -> impl Fn(std::io::Error) -> HubError + 'a {
    move |source| HubError::Io {
        path: path.to_owned(),
        action,
        source,
    }
}
