//! The files of a target: text as it lies there, other formats by what a worker makes of them.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::Session;
use crate::error::{Error, Result};
use crate::extract::{Extract, Format};
use crate::gate::ObjectSize;
use crate::readers::{Sniffed, sniff};
use crate::source::{Object, Target};
use crate::tokens::estimate_tokens_of_bytes;

/// Bytes that tell a format.
const HEAD: u64 = 4_096;
/// Files whose text is kept.
const KEPT: usize = 2;

/// The files of a target, each with what its first bytes say.
pub(crate) struct Loaded {
    pub objects: Vec<(Object, Result<Sniffed>)>,
    pub skipped: Vec<(String, &'static str)>,
    pub size: ObjectSize,
    /// What a worker says of a file.
    pub notes: Vec<(String, String)>,
    /// What a worker could not read of a file.
    pub unread: Vec<(String, String)>,
}

/// How far a file is looked into.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Its first bytes.
    Head,
    /// Its text, by a worker where the bytes are none.
    Text,
}

impl Loaded {
    fn push(&mut self, object: Object, sniffed: Result<Sniffed>) {
        match &sniffed {
            Ok(sniffed) if sniffed.charset.is_ascii_superset() => {
                self.size.tokens += estimate_tokens_of_bytes(object.bytes, &sniffed.sample) as f64;
            }
            // Two bytes a letter instead of the one or three of the decoded sample.
            Ok(sniffed) => {
                let letters = sniffed.sample.chars().count().max(1);
                let wide = (sniffed.sample.len() / letters).max(1) as u64;
                self.size.tokens +=
                    estimate_tokens_of_bytes(object.bytes / 2 * wide, &sniffed.sample) as f64;
            }
            Err(_) => self.size.unreadable += 1,
        }
        self.objects.push((object, sniffed));
    }

    /// The parts of a file as objects.
    fn take(&mut self, object: &Object, extract: &Extract) {
        let of = |what: &str| {
            if what.is_empty() {
                object.path.clone()
            } else {
                format!("{} {what}", object.path)
            }
        };
        let notes = extract.notes.iter();
        self.notes
            .extend(notes.map(|note| (object.path.clone(), note.clone())));
        let unread = extract.unread.iter();
        self.unread
            .extend(unread.map(|(what, why)| (of(what), why.clone())));
        for part in &extract.parts {
            let part = object.part(part.clone());
            let sniffed = sniff(&part);
            self.push(part, sniffed);
        }
    }
}

impl Session {
    pub(crate) fn load(&self, path: &Path, depth: Depth) -> Result<Loaded> {
        let (objects, skipped) = match self.root.target(path, &self.limits)? {
            Target::File(object) => (vec![object], Vec::new()),
            Target::Folder(objects, skipped) => (objects, skipped),
        };
        let mut loaded = Loaded {
            objects: Vec::with_capacity(objects.len()),
            skipped,
            size: ObjectSize {
                tokens: 0.0,
                files: 0,
                unreadable: 0,
            },
            notes: Vec::new(),
            unread: Vec::new(),
        };
        for object in objects {
            match self.format(&object) {
                Ok(None) => {
                    let sniffed = sniff(&object);
                    loaded.push(object, sniffed);
                }
                Ok(Some(format)) if depth == Depth::Head => {
                    let found = format.name();
                    let path = object.path.clone().into();
                    loaded.push(object, Err(Error::Unsupported { path, found }));
                }
                Ok(Some(format)) => match self.extract(&object, format) {
                    Ok(extract) => loaded.take(&object, &extract),
                    Err(error) => loaded.push(object, Err(error)),
                },
                Err(error) => loaded.push(object, Err(error)),
            }
        }
        loaded.size.files = loaded.objects.len();
        Ok(loaded)
    }

    /// The format of the file at `path`, if it is one that a worker reads.
    pub fn format_at(&self, path: &Path) -> Option<Format> {
        self.format(&self.root.object(path).ok()?).ok().flatten()
    }

    /// The format of a file that a worker reads; none of text.
    pub(crate) fn format(&self, object: &Object) -> Result<Option<Format>> {
        Ok(Format::of(&object.read(0, HEAD)?, &object.extension()))
    }

    /// What a worker makes of a file; the last few are kept.
    pub(crate) fn extract(&self, object: &Object, format: Format) -> Result<Arc<Extract>> {
        let content = object.content_id()?;
        let kept = || self.extracts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, extract)) = kept().iter().find(|(known, _)| *known == content) {
            return Ok(extract.clone());
        }
        let extract = Arc::new(self.worker.extract(object, format, &self.limits)?);
        let mut kept = kept();
        kept.push_front((content, extract.clone()));
        kept.truncate(KEPT);
        Ok(extract)
    }

    /// The object that an anchor names: a file, or the part of one behind a `!`.
    pub(crate) fn object_at(&self, path: &str) -> Result<Object> {
        let whole = self.root.object(Path::new(path));
        let (object, name) = match whole {
            Ok(object) => (object, ""),
            Err(error) => {
                let cut = path.match_indices('!').find_map(|(at, _)| {
                    let object = self.root.object(Path::new(path.get(..at)?)).ok()?;
                    Some((object, path.get(at + 1..)?))
                });
                cut.ok_or(error)?
            }
        };
        let Some(format) = self.format(&object)? else {
            return Ok(object);
        };
        let extract = self.extract(&object, format)?;
        let part = extract.parts.iter().find(|part| part.name == name);
        part.map(|part| object.part(part.clone()))
            .ok_or_else(|| Error::Broken {
                path: object.path.clone().into(),
                found: format!("no part `{name}`"),
                expected: "a part that the anchor names".into(),
            })
    }
}
