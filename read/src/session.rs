//! One reading conversation: a root, readers, a gate, a state. Preview, then read; verify and raw replay anchors.

use std::path::Path;

use crate::error::{Error, Result};
use crate::gate::{Decision, Gate, ObjectSize};
use crate::intent::{Action, Intent};
use crate::limits::Limits;
use crate::preview::{FilePreview, Preview};
use crate::readers::{Registry, Sniffed, sniff};
use crate::source::{Object, Root, Target};
use crate::state::EvidenceState;
use crate::tokens::estimate_tokens_of_bytes;

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
    /// Most rounds before reading natively is advised.
    pub round_limit: usize,
}

/// The files of a target, each with what its first bytes say.
pub(crate) struct Loaded {
    pub objects: Vec<(Object, Result<Sniffed>)>,
    pub skipped: Vec<(String, &'static str)>,
    pub size: ObjectSize,
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
            round_limit: 4,
        }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
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

    pub(crate) fn load(&self, path: &Path) -> Result<Loaded> {
        let (objects, skipped) = match self.root.target(path, &self.limits)? {
            Target::File(object) => (vec![object], Vec::new()),
            Target::Folder(objects, skipped) => (objects, skipped),
        };
        let mut size = ObjectSize {
            tokens: 0.0,
            files: objects.len(),
            unreadable: 0,
        };
        let mut loaded = Vec::with_capacity(objects.len());
        for object in objects {
            let sniffed = sniff(&object);
            match &sniffed {
                Ok(sniffed) if sniffed.charset.is_ascii_superset() => {
                    size.tokens += estimate_tokens_of_bytes(object.bytes, &sniffed.sample) as f64
                }
                // Two bytes a letter instead of the one or three of the decoded sample.
                Ok(sniffed) => {
                    size.tokens += estimate_tokens_of_bytes(
                        object.bytes / 2
                            * (sniffed.sample.len() / sniffed.sample.chars().count().max(1)).max(1)
                                as u64,
                        &sniffed.sample,
                    ) as f64
                }
                Err(_) => size.unreadable += 1,
            }
            loaded.push((object, sniffed));
        }
        Ok(Loaded {
            objects: loaded,
            skipped,
            size,
        })
    }

    /// What the object is. Costs a pass over the bytes of text, a look at the first bytes of the rest.
    ///
    /// # Errors
    /// A path that leads out or cannot be read. A file that no reader reads is no error: the preview says so.
    pub fn preview(&self, path: &Path) -> Result<Preview> {
        let loaded = self.load(path)?;
        let mut preview = Preview {
            tokens: loaded.size.tokens as u64,
            bytes: loaded.objects.iter().map(|(object, _)| object.bytes).sum(),
            file_count: loaded.objects.len(),
            files: Vec::new(),
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
        Ok(preview)
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
        Ok(self.gate.decide(self.load(path)?.size, intent))
    }
}
