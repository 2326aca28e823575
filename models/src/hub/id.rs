//! What is a well-formed name of a model?

use std::fmt;

use super::HubError;

const EXPECTED: &str = "owner/name or owner/name@revision, as in Qwen/Qwen3-VL-2B-Instruct@main";

/// Longest owner and longest name that the hub allows, in bytes.
const LONGEST: usize = 96;

/// A model repository of the hub at a revision. Its parts are safe to stand in paths and addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelId {
    owner: String,
    name: String,
    revision: String,
}

impl ModelId {
    /// Reads `owner/name[@revision]`; the revision is a branch, a tag or a commit, `main` where none is given.
    ///
    /// # Errors
    /// [`HubError::Id`] for anything that the hub would not allow as a name, above all for whatever leads out of a folder.
    pub fn parse(text: &str) -> Result<Self, HubError> {
        let refuse = |why: &str| HubError::Id {
            found: text.to_owned(),
            why: why.to_owned(),
            expected: EXPECTED,
        };
        let (repo, revision) = match text.split_once('@') {
            Some((repo, revision)) => (repo, revision),
            None => (text, "main"),
        };
        let (owner, name) = repo
            .split_once('/')
            .ok_or_else(|| refuse("it has no owner"))?;
        for part in [owner, name] {
            check_part(part).map_err(refuse)?;
        }
        check_revision(revision).map_err(refuse)?;
        Ok(Self {
            owner: owner.into(),
            name: name.into(),
            revision: match as_commit(revision) {
                Some(commit) => commit,
                None => revision.into(),
            },
        })
    }

    /// The user or organisation.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The repository's name without its owner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `owner/name`.
    pub fn repo(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Branch, tag or commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The revision, where it is a full commit: 40 hexadecimal digits.
    pub fn commit(&self) -> Option<&str> {
        as_commit(&self.revision).map(|_| self.revision.as_str())
    }

    /// The repository's folder in a cache.
    pub(super) fn folder(&self) -> String {
        format!("models--{}--{}", self.owner, self.name)
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.owner, self.name, self.revision)
    }
}

/// A full commit in lower case.
pub(super) fn as_commit(text: &str) -> Option<String> {
    is_hex(text, 40).then(|| text.to_ascii_lowercase())
}

pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The hub's own rule. It leaves no `--`, which separates owner and name in a cache folder.
fn check_part(part: &str) -> Result<(), &'static str> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let (Some(first), Some(last)) = (part.bytes().next(), part.bytes().last()) else {
        return Err("owner or name is empty");
    };
    if !part.bytes().all(|b| word(b) || b == b'-' || b == b'.') {
        return Err("owner and name hold letters, digits, `-`, `_` and `.` only");
    }
    if !word(first) || !word(last) {
        return Err("owner and name begin and end with a letter, a digit or `_`");
    }
    if part.contains("--") || part.contains("..") {
        return Err("owner and name hold neither `--` nor `..`");
    }
    if part.len() > LONGEST || part.ends_with(".git") {
        return Err("owner and name have at most 96 characters and no `.git` at the end");
    }
    Ok(())
}

/// What git allows in a reference, without what a path or an address could take for something else.
fn check_revision(revision: &str) -> Result<(), &'static str> {
    if revision.is_empty() || revision.len() > 255 {
        return Err("the revision has 1 to 255 characters");
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.+/".contains(&b);
    if !revision.bytes().all(plain) {
        return Err("a revision holds letters, digits, `-`, `_`, `.`, `+` and `/` only");
    }
    let sound = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.');
    if !revision.split('/').all(sound) || revision.contains("..") {
        return Err("no part of a revision is empty, begins or ends with `.` or holds `..`");
    }
    Ok(())
}
