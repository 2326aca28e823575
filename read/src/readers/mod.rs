//! Readers: each says what it can read, outlines it for the preview, and scans it for a query.

#[cfg(feature = "code")]
mod code;
mod kind;
mod sentences;
mod table;
mod text;
mod tree;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::collect::Collector;
use crate::encoding::Charset;
use crate::error::Result;
use crate::intent::{Action, Intent};
use crate::limits::Limits;
use crate::source::Object;

pub use kind::{Kind, Sniffed, sniff};

/// What a reader registers.
#[derive(Debug, Clone)]
pub struct Capability {
    /// Its name.
    pub name: &'static str,
    /// The kinds of objects it reads.
    pub kinds: BTreeSet<Kind>,
    /// The actions it supports.
    pub actions: &'static [Action],
    /// How closely it fits a kind: the most specific reader is taken.
    pub specificity: u8,
    /// Profiled cost: nanoseconds a byte; the cheaper reader breaks a tie.
    pub cost: f64,
}

/// The shape of an object, for the preview.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outline {
    /// Lines, rows, records or symbols, and what they are called.
    pub units: u64,
    /// Their name.
    pub unit: &'static str,
    /// Headings, columns with types, keys or symbols.
    pub parts: Vec<String>,
    /// Parts that were left out.
    pub more: usize,
    /// A few pieces as they stand.
    pub samples: Vec<String>,
    /// What a reader should know: dialect, damage, size.
    pub notes: Vec<String>,
}

impl Outline {
    /// With secrets and hidden characters marked: it is text of the object too.
    pub(crate) fn shown(mut self) -> Self {
        for text in self.parts.iter_mut().chain(&mut self.samples) {
            *text = crate::redact::redact(&crate::visible::make_visible(text)).0;
        }
        self
    }

    /// As one file among many.
    pub(crate) fn short(mut self) -> Self {
        self.more += self.parts.len().saturating_sub(6);
        self.parts.truncate(6);
        self.samples.truncate(1);
        self
    }
}

/// Reads one class of objects.
pub trait Reader: Send + Sync {
    /// What it can read.
    fn capability(&self) -> Capability;

    /// The shape of the object.
    ///
    /// # Errors
    /// What the system says, or content that is not of this kind.
    fn outline(&self, object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<Outline>;

    /// Offers every unit of the object to the collector.
    ///
    /// # Errors
    /// What the system says, or content that is not of this kind.
    fn scan(
        &self,
        object: &Object,
        sniffed: &Sniffed,
        limits: &Limits,
        sink: &mut Collector<'_>,
    ) -> Result<()>;
}

/// All readers; the router picks one.
pub struct Registry {
    readers: Vec<Box<dyn Reader>>,
}

impl Default for Registry {
    fn default() -> Self {
        let mut registry = Self {
            readers: Vec::new(),
        };
        registry.register(Box::new(text::Text));
        registry.register(Box::new(table::Table));
        registry.register(Box::new(tree::Tree));
        #[cfg(feature = "code")]
        registry.register(Box::new(code::Code));

        registry
    }
}

impl Registry {
    /// Adds a reader.
    pub fn register(&mut self, reader: Box<dyn Reader>) {
        self.readers.push(reader);
    }

    /// The router of the paper: readers that cannot handle the object or the action drop out, the most specific remains, cost breaks ties.
    pub fn route(&self, kind: Kind, action: Action, _intent: &Intent) -> Option<&dyn Reader> {
        let able = self
            .readers
            .iter()
            .map(|reader| (reader.capability(), reader))
            .filter(|(capability, _)| {
                capability.kinds.contains(&kind) && capability.actions.contains(&action)
            });
        let best = able.max_by(|(one, _), (other, _)| {
            one.specificity
                .cmp(&other.specificity)
                .then(other.cost.total_cmp(&one.cost))
                .then(other.name.cmp(one.name))
        });
        best.map(|(_, reader)| reader.as_ref())
    }

    /// The reader for any text, where a specific one gave up.
    pub fn fallback(&self) -> Option<&dyn Reader> {
        self.route(Kind::Text, Action::Focus, &Intent::default())
    }
}

/// All five actions.
pub(crate) const ALL: &[Action] = &[
    Action::Scout,
    Action::Focus,
    Action::Collect,
    Action::Refine,
    Action::Verify,
];

/// Bytes that are decoded at once.
const BLOCK: usize = 4 << 20;

/// Reads an object in blocks that end at lines, and hands on each with its offset; stops where the callback says false.
pub(crate) fn each_block(
    object: &Object,
    charset: Charset,
    limits: &Limits,
    mut take: impl FnMut(u64, &[u8]) -> Result<bool>,
) -> Result<()> {
    use std::io::Read;
    let mut file = object.open()?;
    let mut held: Vec<u8> = Vec::new();
    let mut offset = 0_u64;
    let mut first = true;
    let mut left = limits.scanned_bytes;
    loop {
        let wanted = (BLOCK.saturating_sub(held.len()).max(BLOCK / 2) as u64).min(left);
        let before = held.len();
        let read = (&mut file)
            .take(wanted)
            .read_to_end(&mut held)
            .map_err(|source| crate::Error::Io {
                path: object.path.clone().into(),
                action: "read",
                source,
            })?;
        left -= read as u64;
        debug_assert_eq!(held.len(), before + read);
        let last = (read as u64) < wanted || left == 0;
        if std::mem::take(&mut first) && charset.mark > 0 {
            held.drain(..charset.mark.min(held.len()));
            offset += charset.mark as u64;
        }
        let cut = if last { held.len() } else { charset.cut(&held) };
        let Some(block) = held.get(..cut).filter(|block| !block.is_empty()) else {
            return Ok(());
        };
        if !take(offset, block)? || last {
            return Ok(());
        }
        held.drain(..cut);
        offset += cut as u64;
    }
}
