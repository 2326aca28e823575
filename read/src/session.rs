//! One reading conversation: a root, readers, a gate, a state. Preview, then read; verify and raw replay anchors.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::extract::{Extract, Format, Picture, PictureJob, Worker};
use crate::gate::{Decision, Gate, ObjectSize};
use crate::intent::{Action, Intent};
use crate::limits::Limits;
use crate::preview::{Card, FilePreview, Preview};
use crate::readers::{Registry, Sniffed, sniff};
use crate::source::{Object, Root, Target};
use crate::state::EvidenceState;
use crate::tokens::estimate_tokens_of_bytes;
use crate::visible::make_visible;

/// Bytes that tell a format.
const HEAD: u64 = 4_096;
/// Files whose text is kept.
const KEPT: usize = 2;

/// Files of a folder that a preview outlines.
const OUTLINED: usize = 12;

/// What a read asks for.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// The macro action.
    pub action: Action,
    /// The intent.
    pub intent: Intent,
    /// Most tokens of the answer.
    pub budget_tokens: usize,
    /// Read sparsely whatever the gate says.
    pub force: bool,
}

impl ReadRequest {
    /// Focus on one question, in 1,200 tokens.
    pub fn question(question: impl Into<String>) -> Self {
        Self {
            action: Action::Focus,
            intent: Intent::question(question),
            budget_tokens: 1_200,
            force: false,
        }
    }
}

/// A reading conversation.
pub struct Session {
    pub(crate) root: Root,
    pub(crate) limits: Limits,
    pub(crate) registry: Registry,
    pub(crate) gate: Gate,
    /// What was found out so far.
    pub state: EvidenceState,
    pub(crate) worker: Worker,
    /// The last files that a worker turned into text, by their content.
    extracts: Mutex<VecDeque<(String, Arc<Extract>)>>,
    /// Most rounds before reading natively is advised.
    pub round_limit: usize,
}

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
    /// A conversation about what lies below a root.
    pub fn new(root: Root) -> Self {
        Self {
            root,
            limits: Limits::default(),
            registry: Registry::default(),
            gate: Gate::default(),
            state: EvidenceState::default(),
            worker: Worker::default(),
            extracts: Mutex::default(),
            round_limit: 4,
        }
    }

    /// What it reads in.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with a worker for formats whose bytes are not their text; without one they are not read.
    #[must_use]
    pub fn with_worker(mut self, worker: Worker) -> Self {
        self.worker = worker;
        self
    }

    /// Other limits from the next call on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The same with another gate.
    #[must_use]
    pub fn with_gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// The readers; register more before reading.
    pub fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

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

    /// What the object is. Costs a pass over the bytes of text, a look at the first bytes of the rest.
    ///
    /// # Errors
    /// A path that leads out or cannot be read. A file that no reader reads is no error: the preview says so.
    pub fn preview(&self, path: &Path) -> Result<Preview> {
        let loaded = self.load(path, Depth::Text)?;
        let mut preview = Preview {
            tokens: loaded.size.tokens as u64,
            bytes: loaded.objects.iter().map(|(object, _)| object.bytes).sum(),
            file_count: loaded.objects.len(),
            files: Vec::new(),
            notes: loaded.notes,
            unread: loaded.unread,
            skipped: loaded.skipped,
            size: loaded.size,
        };
        let single = loaded.objects.len() == 1;
        for (object, sniffed) in loaded.objects.into_iter().take(if single { 1 } else { 60 }) {
            let file = FilePreview {
                path: object.path.clone(),
                bytes: object.bytes,
                kind: None,
                problem: None,
                encoding: None,
                outline: None,
            };
            let file = match sniffed {
                Err(error) => FilePreview {
                    problem: Some(error.to_string()),
                    ..file
                },
                Ok(sniffed) => {
                    let outline = (single || preview.files.len() < OUTLINED)
                        .then(|| self.outline(&object, &sniffed))
                        .transpose();
                    let encoding = Some(sniffed.charset.name()).filter(|name| *name != "UTF-8");
                    match outline {
                        Ok(outline) => FilePreview {
                            kind: Some(sniffed.kind),
                            encoding,
                            outline: outline
                                .map(|outline| if single { outline } else { outline.short() }),
                            ..file
                        },
                        Err(error) => FilePreview {
                            kind: Some(sniffed.kind),
                            encoding,
                            problem: Some(error.to_string()),
                            ..file
                        },
                    }
                }
            };
            preview.files.push(file);
        }
        preview.skipped.truncate(20);
        for texts in [&mut preview.notes, &mut preview.unread] {
            texts.truncate(20);
            for (path, text) in texts {
                *path = make_visible(path);
                *text = make_visible(text);
            }
        }
        Ok(preview)
    }

    /// A picture or a page, or a part of it, as a PNG file of at most `side` pixels. `area` is left, top, width and height: pixels of a picture, points of a page.
    ///
    /// # Errors
    /// As [`Session::preview`]; another format, a page or a box that is not there.
    pub fn picture(
        &self,
        path: &Path,
        page: u32,
        area: Option<[f64; 4]>,
        side: u32,
    ) -> Result<Picture> {
        let object = self.root.object(path)?;
        let format = self.format(&object)?.ok_or_else(|| Error::Broken {
            path: object.path.clone().into(),
            found: "text".into(),
            expected: "a picture or a PDF document".into(),
        })?;
        let job = PictureJob { page, area, side };
        self.worker.picture(&object, format, job, &self.limits)
    }

    /// What and how large the object is, from its first bytes alone.
    ///
    /// # Errors
    /// As [`Session::preview`].
    pub fn card(&self, path: &Path) -> Result<Card> {
        let loaded = self.load(path, Depth::Head)?;
        let kind = match loaded.objects.as_slice() {
            [(_, Ok(sniffed))] => Some(sniffed.kind),
            _ => None,
        };
        Ok(Card {
            kind,
            bytes: loaded.objects.iter().map(|(object, _)| object.bytes).sum(),
            files: loaded.objects.len(),
            tokens: loaded.size.tokens as u64,
        })
    }

    fn outline(&self, object: &Object, sniffed: &Sniffed) -> Result<crate::readers::Outline> {
        let reader = self
            .registry
            .route(sniffed.kind, Action::Scout, &Intent::default());
        let reader = reader.ok_or_else(|| Error::Unsupported {
            path: object.path.clone().into(),
            found: "a kind without a reader",
        })?;
        reader
            .outline(object, sniffed, &self.limits)
            .map(crate::readers::Outline::shown)
            .or_else(|error| match self.registry.fallback() {
                Some(text) => {
                    let mut outline = text.outline(object, sniffed, &self.limits)?.shown();
                    outline.notes.push(error.to_string());
                    Ok(outline)
                }
                None => Err(error),
            })
    }

    /// What the gate says about reading `path` for an intent.
    ///
    /// # Errors
    /// As [`Session::preview`].
    pub fn decide(&self, path: &Path, intent: &Intent) -> Result<Decision> {
        Ok(self.gate.decide(self.load(path, Depth::Head)?.size, intent))
    }
}
