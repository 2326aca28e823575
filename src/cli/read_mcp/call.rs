//! What a tool answers: compact JSON, and what went wrong in the words of the library.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ContentBlock;
use serde_json::{Map, Value, json};
use spare_read::extract::Format;
use spare_read::{Anchor, Error, EvidenceState, Intent, Limits, Mode, Root, Session, Stop};

use super::arguments::{Look, Raw, Read, parse};

/// Pixels of the longer side: of a small view, and of what was asked for.
const OVERVIEW: u32 = 512;
const SIDE: u32 = 1_024;
/// Objects whose state is kept.
const OBJECTS: usize = 64;

/// The conversation of a process: a state for every object that was asked.
pub(super) struct Conversation {
    session: Session,
    /// States with the number of the call that used them last.
    states: HashMap<PathBuf, (u64, EvidenceState)>,
    calls: u64,
}

impl Conversation {
    pub fn new(root: Root) -> Self {
        Self {
            session: Session::new(root).with_worker(super::super::read::worker()),
            states: HashMap::new(),
            calls: 0,
        }
    }

    pub fn call(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
        stop: Stop,
    ) -> Result<Vec<ContentBlock>, Error> {
        self.calls += 1;
        self.session.set_limits(Limits {
            stop,
            ..Limits::default()
        });
        let text = match tool {
            "sro_preview" => return self.preview(&parse::<Look>("sro_preview", arguments)?.path),
            "sro_card" => self.card(&parse::<Look>("sro_card", arguments)?.path)?,
            "sro_raw" => return self.raw(&parse("sro_raw", arguments)?),
            _ => self.read(parse("sro_read", arguments)?)?,
        };
        Ok(vec![ContentBlock::text(text)])
    }

    fn preview(&self, path: &str) -> Result<Vec<ContentBlock>, Error> {
        let path = Path::new(path);
        let mut content = vec![ContentBlock::text(line(&self.session.preview(path)?))];
        if self.session.format_at(path) == Some(Format::Picture) {
            content.extend(self.picture(path, 1, None, OVERVIEW)?);
        }
        Ok(content)
    }

    /// How large it is, and the picture.
    fn picture(
        &self,
        path: &Path,
        page: u32,
        area: Option<[f64; 4]>,
        side: u32,
    ) -> Result<[ContentBlock; 2], Error> {
        let picture = self.session.picture(path, page, area, side)?;
        let size = line(&json!({"shown": picture.size, "of": picture.of}));
        let png = STANDARD.encode(&picture.png);
        Ok([
            ContentBlock::text(size),
            ContentBlock::image(png, "image/png"),
        ])
    }

    /// One round about an object, with the state of its rounds before.
    fn read(&mut self, read: Read) -> Result<String, Error> {
        let path = PathBuf::from(&read.path);
        let path = match path.strip_prefix(self.session.root().path()) {
            Ok(inner) => inner.to_owned(),
            Err(_) => path,
        };
        let state = self.states.remove(&path).map(|(_, state)| state);
        self.session.state = state.unwrap_or_default();
        let answer = self.session.read(&path, &read.request());
        let state = std::mem::take(&mut self.session.state);
        if self.states.len() >= OBJECTS {
            let oldest = self.states.iter().min_by_key(|(_, (call, _))| *call);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                self.states.remove(&oldest);
            }
        }
        self.states.insert(path, (self.calls, state));
        answer.map(|pack| pack.to_json())
    }

    fn raw(&self, raw: &Raw) -> Result<Vec<ContentBlock>, Error> {
        if let Some(path) = &raw.path {
            let shown = self.picture(Path::new(path), raw.page, raw.area, SIDE)?;
            return Ok(shown.into());
        }
        let missing = || Error::Intent {
            field: "sro_raw",
            found: "neither".into(),
            expected: "an anchor or a path",
        };
        let anchor: Anchor = raw.anchor.as_ref().ok_or_else(missing)?.parse()?;
        let text = match &raw.claim {
            Some(claim) => line(&self.session.verify(&anchor, claim)?),
            None => line(&json!({"untrusted_text": self.session.raw(&anchor)?})),
        };
        Ok(vec![ContentBlock::text(text)])
    }

    /// The reference's file card: whether reading sparsely pays, without an outline.
    fn card(&self, path: &str) -> Result<String, Error> {
        let card = self.session.card(Path::new(path))?;
        let gate = self
            .session
            .decide(Path::new(path), &Intent::question("file"))?;
        let sparse = matches!(gate.mode, Mode::Force | Mode::Advisory);
        Ok(line(&json!({
            "path": path,
            "type": card.kind,
            "size_bytes": card.bytes,
            "files": card.files,
            "estimated_tokens": card.tokens,
            "sparse_recommended": sparse,
            "recommended_mode": if sparse { "focus" } else { "native" },
            "reason": gate.reason,
        })))
    }
}

fn line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
