//! What lies in the cache, without a network?
//!
//! `models--{owner}--{name}/` holds `refs/{revision}` (a commit), `snapshots/{commit}/{file}` (links) and `blobs/{etag}`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::id::as_commit;
use super::{HubError, ModelId, files};

/// A cache folder; it need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubCache {
    root: PathBuf,
}

/// A repository at one commit, in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// `owner/name`.
    pub repo: String,
    /// 40 hexadecimal digits.
    pub commit: String,
    /// The folder with the files.
    pub folder: PathBuf,
}

/// A snapshot with what a list of the cache says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedSnapshot {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Branches and tags that stood at this commit when they were last looked up.
    pub refs: Vec<String>,
    /// Bytes of its files; snapshots of one repository may share some.
    pub bytes: u64,
}

impl HubCache {
    /// The cache in `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The snapshot of a model, complete or not; none where the revision or its commit is not there.
    ///
    /// # Errors
    /// [`HubError::Ref`] for a reference that holds no commit, [`HubError::Io`] for one that cannot be read.
    pub fn snapshot(&self, id: &ModelId) -> Result<Option<Snapshot>, HubError> {
        let repo = self.root.join(id.folder());
        let commit = match id.commit() {
            Some(commit) => commit.to_owned(),
            None => match read_ref(&repo.join("refs").join(id.revision()))? {
                Some(commit) => commit,
                None => return Ok(None),
            },
        };
        let folder = repo.join("snapshots").join(&commit);
        Ok(folder.is_dir().then(|| Snapshot {
            repo: id.repo(),
            commit,
            folder,
        }))
    }

    /// Every snapshot of a model, ordered by repository and commit; empty where there is no cache yet. References that hold
    /// no commit are left out.
    ///
    /// # Errors
    /// [`HubError::Io`] for a folder or file that cannot be read.
    pub fn list(&self) -> Result<Vec<CachedSnapshot>, HubError> {
        let mut out = Vec::new();
        for (name, folder) in entries(&self.root)? {
            let Some(repo) = name.strip_prefix("models--") else {
                continue;
            };
            let mut refs: BTreeMap<String, Vec<String>> = BTreeMap::new();
            collect_refs(&folder.join("refs"), "", &mut refs)?;
            for (commit, snapshot) in entries(&folder.join("snapshots"))? {
                if as_commit(&commit).is_none() || !snapshot.is_dir() {
                    continue;
                }
                out.push(CachedSnapshot {
                    refs: refs.remove(&commit).unwrap_or_default(),
                    bytes: bytes(&snapshot)?,
                    snapshot: Snapshot {
                        repo: repo.replacen("--", "/", 1),
                        commit,
                        folder: snapshot,
                    },
                });
            }
        }
        Ok(out)
    }

    #[cfg(feature = "hub")]
    pub(super) fn repo(&self, id: &ModelId) -> PathBuf {
        self.root.join(id.folder())
    }
}

impl Snapshot {
    /// The names of files without which it cannot be loaded; empty where it is complete.
    ///
    /// # Errors
    /// [`HubError::Index`] for an index of shards that is none, [`HubError::Io`] for one that cannot be read.
    pub fn missing(&self) -> Result<Vec<String>, HubError> {
        let has = |name: &str| self.folder.join(name).is_file();
        let mut missing = files::missing(has);
        if !has(files::SINGLE) && has(files::INDEX) {
            missing.extend(self.shards()?.into_iter().filter(|name| !has(name)));
        }
        Ok(missing)
    }

    /// The shards that its index names.
    pub(super) fn shards(&self) -> Result<Vec<String>, HubError> {
        let path = self.folder.join(files::INDEX);
        let bytes = std::fs::read(&path).map_err(|source| HubError::Io {
            path: path.clone(),
            action: "reading the index of shards",
            source,
        })?;
        files::shards(&bytes).map_err(|message| HubError::Index { path, message })
    }
}

fn read_ref(path: &Path) -> Result<Option<String>, HubError> {
    // A revision may be the first part of another one's name, and then is a folder.
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(reading(path))?;
    as_commit(text.trim())
        .map(Some)
        .ok_or_else(|| HubError::Ref {
            path: path.to_owned(),
            found: text.chars().take(60).collect(),
        })
}

fn collect_refs(
    folder: &Path,
    before: &str,
    out: &mut BTreeMap<String, Vec<String>>,
) -> Result<(), HubError> {
    for (name, path) in entries(folder)? {
        let name = format!("{before}{name}");
        if path.is_dir() {
            collect_refs(&path, &format!("{name}/"), out)?;
            continue;
        }
        match read_ref(&path) {
            Ok(Some(commit)) => out.entry(commit).or_default().push(name),
            Ok(None) | Err(HubError::Ref { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes of the files below a folder, links followed. A link whose blob is gone counts nothing.
fn bytes(folder: &Path) -> Result<u64, HubError> {
    let mut sum = 0;
    for (_, path) in entries(folder)? {
        match std::fs::metadata(&path) {
            Ok(data) if data.is_dir() => sum += bytes(&path)?,
            Ok(data) => sum += data.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(reading(&path)(source)),
        }
    }
    Ok(sum)
}

/// Names and paths in order; none where the folder is not there. Names that are no text are nobody's model.
fn entries(folder: &Path) -> Result<BTreeMap<String, PathBuf>, HubError> {
    let reader = match std::fs::read_dir(folder) {
        Ok(reader) => reader,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        Err(source) => return Err(reading(folder)(source)),
    };
    let mut out = BTreeMap::new();
    for entry in reader {
        let entry = entry.map_err(reading(folder))?;
        if let Ok(name) = entry.file_name().into_string() {
            out.insert(name, entry.path());
        }
    }
    Ok(out)
}

fn reading(path: &Path) -> impl Fn(std::io::Error) -> HubError + '_ {
    move |source| HubError::Io {
        path: path.to_owned(),
        action: "reading the cache",
        source,
    }
}
