//! One reading conversation: a root, readers, a gate, a state. Preview, then read; verify and raw replay anchors.

mod load;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};
use crate::extract::{Extract, Picture, PictureJob, Worker};
use crate::gate::{Decision, Gate};
use crate::intent::{Action, Intent};
use crate::limits::Limits;
use crate::preview::{Card, FilePreview, Preview};
use crate::readers::{Registry, Sniffed};
use crate::source::{Object, Root};
use crate::state::EvidenceState;
use crate::visible::make_visible;

pub(crate) use load::{Depth, Loaded};

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
