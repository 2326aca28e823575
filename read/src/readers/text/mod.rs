//! Prose, Markdown and logs: sentences within blocks, under headings. Streams; an object of any size is scanned in memory of a few blocks.

mod blocks;
mod opening;

use super::{ALL, Capability, Kind, Outline, Reader, Sniffed, each_block};
use crate::collect::Collector;
use crate::error::Result;
use crate::limits::Limits;
use crate::source::Object;
use blocks::State;
use opening::heading_level;

/// The reader of text of any kind.
pub struct Text;

impl Reader for Text {
    fn capability(&self) -> Capability {
        use Kind::{C, Go, Java, Json, Jsonl, Python, Rust, Table, Text, TypeScript, Xml, Yaml};
        let kinds = [
            Text, Table, Json, Jsonl, Yaml, Xml, Rust, Python, TypeScript, Go, Java, C,
        ]
        .into();
        Capability {
            name: "text",
            kinds,
            actions: ALL,
            specificity: 1,
            cost: 2.0,
        }
    }

    fn outline(&self, object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<Outline> {
        let mut outline = Outline {
            unit: "lines",
            ..Outline::default()
        };
        let mut last_feed = true;
        each_block(object, sniffed.charset, limits, |_, bytes| {
            outline.units += memchr::memchr_iter(b'\n', bytes).count() as u64;
            last_feed = bytes.ends_with(b"\n") || bytes.ends_with(b"\n\0");
            for at in memchr::memmem::find_iter(bytes, b"\n#") {
                let rest = bytes
                    .get(at + 1..(at + 121).min(bytes.len()))
                    .unwrap_or_default();
                let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let text = String::from_utf8_lossy(line);
                if heading_level(&text).is_none() {
                    continue;
                }
                if outline.parts.len() < 24 {
                    outline.parts.push(text.trim().to_owned())
                } else {
                    outline.more += 1
                }
            }
            Ok(true)
        })?;
        outline.units += u64::from(!last_feed);
        if let Some(first) = sniffed
            .sample
            .lines()
            .next()
            .filter(|line| heading_level(line).is_some())
        {
            outline.parts.insert(0, first.trim().to_owned());
        }
        outline.samples = sniffed
            .sample
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(3)
            .map(|line| shortened(line, 160))
            .collect();
        Ok(outline)
    }

    fn scan(
        &self,
        object: &Object,
        sniffed: &Sniffed,
        limits: &Limits,
        sink: &mut Collector<'_>,
    ) -> Result<()> {
        let mut state = State::new();
        each_block(object, sniffed.charset, limits, |offset, bytes| {
            let decoded = sniffed.charset.decode(bytes);
            state.scan(&decoded, offset, sink);
            sink.scanned += bytes.len() as u64;
            if sink.is_late() {
                sink.skipped
                    .push((object.path.clone(), "time limit".into()));
                return Ok(false);
            }
            Ok(true)
        })
    }
}

/// A text cut to about `most` bytes.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
