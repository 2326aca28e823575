//! What can go wrong between a model's name and its folder, and what can be done about it?

use std::fmt;
use std::path::PathBuf;

use super::ModelId;

/// What was asked of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `owner/name`.
    pub repo: String,
    /// Branch, tag or commit.
    pub revision: String,
    /// The file; empty where it was the list of files.
    pub file: String,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.repo, self.revision)?;
        match self.file.as_str() {
            "" => f.write_str(": list of files"),
            file => write!(f, ": {file}"),
        }
    }
}

/// Everything that resolving a name can refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// No name of a model.
    #[error("model: found {found:?}: {why}; expected {expected}")]
    Id {
        /// What was given.
        found: String,
        /// The rule it breaks.
        why: String,
        /// What goes.
        expected: &'static str,
    },
    /// Nothing says where the cache is.
    #[error(
        "cache: found none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME, expected one of them"
    )]
    NoHome,
    /// A file of the cache could not be read or written.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A reference of the cache does not hold a commit.
    #[error("{}: found {found:?}, expected a commit of 40 hexadecimal digits; delete the file to have it looked up again", path.display())]
    Ref {
        /// The reference.
        path: PathBuf,
        /// What stands there.
        found: String,
    },
    /// An index of shards that is none.
    #[error("{}: {message}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The cache has no such snapshot, and nothing may be or can be downloaded.
    #[error("{id}: found no such snapshot in {}, and {}", root.display(), alone(*offline, id))]
    NotCached {
        /// The model.
        id: Box<ModelId>,
        /// The cache that was searched.
        root: PathBuf,
        /// Whether a download was forbidden; else this build has none.
        offline: bool,
    },
    /// The cache has a part of the snapshot, and nothing may be or can be downloaded.
    #[error("{id}: {} lacks {}, and {}", folder.display(), missing.join(", "), alone(*offline, id))]
    Incomplete {
        /// The model.
        id: Box<ModelId>,
        /// Its folder.
        folder: PathBuf,
        /// The files that are not there.
        missing: Vec<String>,
        /// Whether a download was forbidden; else this build has none.
        offline: bool,
    },
    /// The address of the hub is none.
    #[error(
        "hub: found the address {endpoint:?}: {message}; expected one such as https://huggingface.co (HF_ENDPOINT)"
    )]
    Endpoint {
        /// The address.
        endpoint: String,
        /// What is wrong with it.
        message: String,
    },
    /// The token cannot be sent.
    #[error(
        "token: found a character that no header may hold, expected visible ASCII (HF_TOKEN or the token file)"
    )]
    Token,
    /// 401, or 403 without a licence to accept: not for whoever asks.
    #[error("{asked}: status {status}{}: {}", said(message), unauthorized(*token))]
    Unauthorized {
        /// What was asked.
        asked: Box<Asked>,
        /// The status.
        status: u16,
        /// Whether a token was sent.
        token: bool,
        /// The hub's words.
        message: String,
    },
    /// 401 or 403 on a repository whose licence has to be accepted.
    #[error(
        "{asked}: status {status}: the repository is gated: accept its licence at {page} and give a token of that account (HF_TOKEN)"
    )]
    Gated {
        /// What was asked.
        asked: Box<Asked>,
        /// The status.
        status: u16,
        /// Where the licence is accepted.
        page: String,
    },
    /// 404.
    #[error(
        "{asked}: status 404: the hub has no such repository, revision or file; check the name, or give a token if it is private (HF_TOKEN)"
    )]
    NotFound {
        /// What was asked.
        asked: Box<Asked>,
    },
    /// 429, after all waiting.
    #[error("{asked}: status 429: too many requests after {attempts} attempts{}; wait, or give a token (HF_TOKEN)", asks(*asks_for))]
    RateLimited {
        /// What was asked.
        asked: Box<Asked>,
        /// How often.
        attempts: u32,
        /// Seconds that the hub wants to be left alone, where it said so.
        asks_for: Option<u64>,
    },
    /// Any other refusal.
    #[error("{asked}: status {status} after {attempts} attempts{}", said(message))]
    Status {
        /// What was asked.
        asked: Box<Asked>,
        /// The status.
        status: u16,
        /// How often.
        attempts: u32,
        /// The hub's words.
        message: String,
    },
    /// No connection, or one that broke.
    #[error(
        "{asked}: {attempts} attempts failed: {message}; check the network and HF_ENDPOINT, or set HF_HUB_OFFLINE=1 to use the cache alone"
    )]
    Unreachable {
        /// What was asked.
        asked: Box<Asked>,
        /// How often.
        attempts: u32,
        /// Why, innermost cause last.
        message: String,
    },
    /// The hub went silent.
    #[error(
        "{asked}: {attempts} attempts failed: nothing arrived for {seconds} s behind byte {done}; run it again to go on from there"
    )]
    Stalled {
        /// What was asked.
        asked: Box<Asked>,
        /// How often.
        attempts: u32,
        /// The longest silence allowed.
        seconds: f64,
        /// Bytes that have arrived.
        done: u64,
    },
    /// A body that is shorter or longer than announced, again and again.
    #[error(
        "{asked}: {attempts} attempts failed: found {found} bytes, expected {expected}: {message}; run it again to go on from there"
    )]
    Length {
        /// What was asked.
        asked: Box<Asked>,
        /// How often.
        attempts: u32,
        /// How the last one ended.
        message: String,
        /// Bytes that have arrived.
        found: u64,
        /// Bytes announced.
        expected: u64,
    },
    /// The content is not what the hub has announced. It has been removed.
    #[error(
        "{asked}: found {algorithm} {found}, expected {expected}; what arrived was removed: run it again, and if it happens again distrust the hub or a proxy on the way"
    )]
    Checksum {
        /// What was asked.
        asked: Box<Asked>,
        /// The kind of sum.
        algorithm: &'static str,
        /// Of what has arrived.
        found: String,
        /// What the hub has announced.
        expected: String,
    },
    /// An answer that no hub gives.
    #[error(
        "{asked}: {what}: found {found}, expected {expected}; is {endpoint} a Hugging Face hub?"
    )]
    Answer {
        /// What was asked.
        asked: Box<Asked>,
        /// The part of the answer.
        what: &'static str,
        /// What stands there.
        found: String,
        /// What has to.
        expected: &'static str,
        /// The hub's address.
        endpoint: String,
    },
    /// The repository holds no checkpoint that this crate reads.
    #[error("{id}: found no {}, expected a checkpoint in safetensors; the repository {}", missing.join(", "), holds(files))]
    NoCheckpoint {
        /// The model.
        id: Box<ModelId>,
        /// The files that it lacks.
        missing: Vec<String>,
        /// The files that it has: those in GGUF where it has such, else all.
        files: Vec<String>,
    },
    /// The caller's cancel flag was set.
    #[error("cancelled")]
    Cancelled,
}

impl HubError {
    /// Whether the hub could not be asked at all, so that the cache may answer for it.
    pub fn is_unreachable(&self) -> bool {
        match self {
            HubError::Unreachable { .. }
            | HubError::Stalled { .. }
            | HubError::Length { .. }
            | HubError::RateLimited { .. } => true,
            HubError::Status { status, .. } => *status >= 500,
            _ => false,
        }
    }
}

fn alone(offline: bool, id: &ModelId) -> String {
    let why = match offline {
        true => "the network may not be used (HF_HUB_OFFLINE)",
        false => "this build cannot download (it has no feature `hub`)",
    };
    let (repo, revision) = (id.repo(), id.revision());
    format!("{why}; fetch it with `hf download {repo} --revision {revision}`")
}

fn said(message: &str) -> String {
    match message {
        "" => String::new(),
        words => format!(" ({words})"),
    }
}

fn unauthorized(token: bool) -> &'static str {
    match token {
        true => {
            "the hub refuses the token: give one that may read this repository (HF_TOKEN), and check the name"
        }
        false => {
            "the repository is private, gated or does not exist: give a token (HF_TOKEN, or `hf auth login`), and check the name"
        }
    }
}

fn asks(seconds: Option<u64>) -> String {
    seconds.map_or_else(String::new, |s| format!(", it asks for {s} s"))
}

/// At most this many names are printed; the error value holds all of them.
const PRINTED: usize = 12;

fn holds(files: &[String]) -> String {
    if files.is_empty() {
        return "is empty".into();
    }
    let kind = match files.iter().all(|f| f.ends_with(".gguf")) {
        true => "holds GGUF files, which this version does not read: ",
        false => "holds ",
    };
    let names: Vec<&str> = files.iter().take(PRINTED).map(String::as_str).collect();
    let more = match files.len().saturating_sub(PRINTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{kind}{}{more}", names.join(", "))
}
