//! How does a model's name become a checkpoint folder?
//!
//! A name `owner/name[@revision]` stands for a repository of the Hugging Face Hub. What was fetched lies in a cache whose
//! layout is that of Python's huggingface_hub, so that both use the same files. Reading the cache needs no network and is
//! always built; feature `hub` adds the download. Nothing here reads the environment: [`Settings::from_env`] is given it.

mod cache;
#[cfg(feature = "hub")]
mod download;
mod error;
mod files;
mod id;
mod settings;
mod watch;

pub use cache::{CachedSnapshot, HubCache, Snapshot};
pub use error::{Asked, HubError};
pub use id::ModelId;
pub use settings::{Limits, Settings, Token};
pub use watch::{Transfer, Watch};

/// What a name has led to.
#[derive(Debug)]
pub struct Resolved {
    /// The checkpoint's folder and commit.
    pub snapshot: Snapshot,
    /// Why the hub did not answer, where the cache had to do without it: the revision may have moved since.
    pub unreachable: Option<HubError>,
}

/// The folder of a model, complete: from the cache, else downloaded into it.
///
/// Online, a revision that is no full commit is looked up first, so that `main` is today's; a hub that cannot be reached
/// is forgiven where the cache holds a complete snapshot. Offline, and in a build without feature `hub`, only the cache
/// counts.
///
/// # Errors
/// [`HubError::NotCached`] and [`HubError::Incomplete`] where the cache alone has to do; every refusal of the hub and
/// every failure of a transfer, with repository, file and what to do; [`HubError::Cancelled`].
pub fn resolve(id: &ModelId, settings: &Settings, watch: &Watch<'_>) -> Result<Resolved, HubError> {
    let cached = settings.cache.snapshot(id)?;
    let missing = cached.as_ref().map(Snapshot::missing).transpose()?;
    let complete = cached.clone().filter(|_| missing.as_deref() == Some(&[]));
    let from_cache = |snapshot| Resolved {
        snapshot,
        unreachable: None,
    };
    // A commit never changes: what is there is what the hub would send.
    if let (Some(_), Some(snapshot)) = (id.commit(), &complete) {
        return Ok(from_cache(snapshot.clone()));
    }
    #[cfg(feature = "hub")]
    if !settings.offline {
        return download::download(id, settings, watch, complete);
    }
    let _ = watch;
    match (complete, cached) {
        (Some(snapshot), _) => Ok(from_cache(snapshot)),
        (None, Some(snapshot)) => Err(HubError::Incomplete {
            id: Box::new(id.clone()),
            folder: snapshot.folder,
            missing: missing.unwrap_or_default(),
            offline: settings.offline,
        }),
        (None, None) => Err(HubError::NotCached {
            id: Box::new(id.clone()),
            root: settings.cache.root().to_owned(),
            offline: settings.offline,
        }),
    }
}
