//! How does a checkpoint get from the hub into the cache?
//!
//! hf-hub asks for the repository's files and streams their bytes. What it does not do stands here: resuming and checking
//! (`blob`), patience (`patience`), and the metadata of large files, which hf-hub 1.0 loses behind a redirect (`client`).

mod blob;
mod client;
mod patience;
mod refusal;
mod store;

use futures_util::StreamExt;

use blob::Partial;
use client::{Client, Metadata};
use patience::{Failure, Why};
use refusal::{chain, words};
use store::Store;

use super::{HubError, ModelId, Resolved, Settings, Snapshot, Transfer, Watch, files};

/// Downloads what the cache lacks of a model. `cached` answers where the hub cannot be asked.
pub(super) fn download(
    id: &ModelId,
    settings: &Settings,
    watch: &Watch<'_>,
    cached: Option<Snapshot>,
) -> Result<Resolved, HubError> {
    // A thread of its own: a runtime must not be started on a thread that may belong to one.
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| HubError::Io {
                path: settings.cache.root().to_owned(),
                action: "starting the download",
                source,
            })?;
        let result = runtime.block_on(resolve(id, settings, watch, cached));
        // A name that is still being resolved must not hold up the caller.
        runtime.shutdown_background();
        result
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        // Only the caller's own callback can have panicked.
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

async fn resolve(
    id: &ModelId,
    settings: &Settings,
    watch: &Watch<'_>,
    cached: Option<Snapshot>,
) -> Result<Resolved, HubError> {
    let client = Client::new(id, settings, watch)?;
    // With a complete snapshot at hand nobody waits for a hub that does not answer.
    let attempts = match cached {
        Some(_) => 1,
        None => settings.limits.attempts,
    };
    let (commit, names) = match client.list(attempts).await {
        Ok(listing) => listing,
        Err(error) => match cached {
            Some(snapshot) if error.is_unreachable() => {
                return Ok(Resolved {
                    snapshot,
                    unreachable: Some(error),
                });
            }
            _ => return Err(error),
        },
    };
    let download = Download {
        store: Store::new(&settings.cache, id),
        client,
        commit,
    };
    Ok(Resolved {
        snapshot: download.run(&names).await?,
        unreachable: None,
    })
}

struct Download<'a> {
    client: Client<'a>,
    store: Store,
    commit: String,
}

/// Bytes of all files, for the report.
#[derive(Default)]
struct Count {
    done: u64,
    total: u64,
}

impl Download<'_> {
    async fn run(&self, names: &[String]) -> Result<Snapshot, HubError> {
        let has = |name: &str| names.iter().any(|n| n == name);
        let missing = files::missing(has);
        if !missing.is_empty() {
            let gguf: Vec<String> = names
                .iter()
                .filter(|n| n.ends_with(".gguf"))
                .cloned()
                .collect();
            return Err(HubError::NoCheckpoint {
                id: Box::new(self.client.id.clone()),
                missing,
                files: if gguf.is_empty() {
                    names.to_vec()
                } else {
                    gguf
                },
            });
        }
        let mut first: Vec<String> = files::REQUIRED
            .iter()
            .chain(&files::OPTIONAL)
            .filter(|name| has(name))
            .map(|name| (*name).to_owned())
            .collect();
        let single = has(files::SINGLE);
        if !single {
            first.push(files::INDEX.to_owned());
        }
        let mut count = Count::default();
        self.fetch(&first, &mut count).await?;
        let snapshot = Snapshot {
            repo: self.client.id.repo(),
            commit: self.commit.clone(),
            folder: self.store.snapshot(&self.commit),
        };
        let weights = match single {
            true => vec![files::SINGLE.to_owned()],
            false => snapshot.shards()?,
        };
        self.fetch(&weights, &mut count).await?;
        // Last, so that an interrupted update leaves the revision where it was.
        if self.client.id.commit().is_none() {
            self.store
                .write_ref(self.client.id.revision(), &self.commit)?;
        }
        Ok(snapshot)
    }

    /// Fetches what is not in the snapshot yet.
    async fn fetch(&self, names: &[String], count: &mut Count) -> Result<(), HubError> {
        let mut lacking = Vec::new();
        for name in names.iter().filter(|n| !self.store.has(&self.commit, n)) {
            let metadata = self.client.metadata(&self.commit, name).await?;
            count.total += metadata.size.unwrap_or(0);
            lacking.push((name, metadata));
        }
        for (name, metadata) in &lacking {
            let Metadata { etag, size, .. } = metadata;
            if !self.store.has_blob(etag, *size) {
                let _lock = self.store.lock(etag, &self.client.patience).await?;
                // Whoever held the lock may have brought it.
                if !self.store.has_blob(etag, *size) {
                    self.bring(name, metadata, count).await?;
                }
            }
            self.store.link(&self.commit, name, etag)?;
            count.done += size.unwrap_or(0);
        }
        Ok(())
    }

    /// Downloads one blob, checks it and puts it in its place.
    async fn bring(&self, name: &str, metadata: &Metadata, count: &Count) -> Result<(), HubError> {
        let Metadata { etag, size, .. } = metadata;
        let mut partial = Partial::open(self.store.blob(etag), etag, *size)?;
        // What an earlier run has left may be damaged: then a second try begins at nothing.
        let mut resumed = partial.done() > 0;
        loop {
            let attempts = self.client.patience.limits.attempts;
            let attempt = async || match self.body(name, metadata, &mut partial, count).await {
                Err(Failure::Passing(mut passing)) => {
                    passing.advanced = partial.advanced();
                    Err(Failure::Passing(passing))
                }
                result => result,
            };
            self.client.patience.retrying(attempts, attempt).await?;
            match partial.wrong()? {
                None => return partial.keep(),
                Some(_) if resumed => partial.restart()?,
                Some(found) => {
                    partial.remove()?;
                    return Err(HubError::Checksum {
                        asked: Box::new(self.client.asked(&self.commit, name)),
                        algorithm: etag.algorithm(),
                        found,
                        expected: etag.text().to_owned(),
                    });
                }
            }
            resumed = false;
        }
    }

    /// One attempt to bring what `partial` lacks.
    async fn body(
        &self,
        name: &str,
        metadata: &Metadata,
        partial: &mut Partial,
        count: &Count,
    ) -> Result<(), Failure> {
        let asked = || self.client.asked(&self.commit, name);
        let Metadata { size, foreign, .. } = *metadata;
        if size == Some(partial.done()) {
            return Ok(());
        }
        let range = match size.filter(|_| partial.done() > 0) {
            Some(size) => Some(partial.done()..size),
            None => {
                partial.restart()?;
                None
            }
        };
        let resumes = range.is_some();
        let (length, mut body) = self
            .client
            .stream(&self.commit, name, foreign, range)
            .await?;
        // The whole file where a part was asked for.
        if resumes && length == size {
            partial.restart()?;
        }
        let short = |partial: &Partial, expected, message: String| {
            let found = partial.done();
            let why = Why::Length {
                found,
                expected,
                message,
            };
            Failure::passing(asked(), why)
        };
        loop {
            let patience = &self.client.patience;
            let piece = match patience.within(body.next()).await {
                Ok(None) => break,
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => {
                    let message = words(&chain(&error));
                    return Err(match size {
                        Some(size) => short(partial, size, message),
                        None => self.client.asker.of(asked(), error),
                    });
                }
                Err(by) => return Err(patience.interrupted(asked(), by, partial.done())),
            };
            partial.write(&piece)?;
            if let Some(size) = size.filter(|size| partial.done() > *size) {
                let failure = short(partial, size, "the body does not end there".into());
                partial.restart()?;
                return Err(failure);
            }
            patience.watch.report(Transfer {
                file: name,
                done: count.done + partial.done(),
                total: count.total.max(count.done + partial.done()),
            });
        }
        match size.filter(|size| partial.done() < *size) {
            Some(size) => Err(short(partial, size, "the body ends there".into())),
            None => Ok(()),
        }
    }
}
