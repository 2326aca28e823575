//! Source code: an outline of symbols; every line is a unit that inherits the symbols around it and the roles of its names: defined here, called here, given a value here.

mod embedded;
mod languages;
mod names;

use std::collections::BTreeMap;

use super::text::shortened;
use super::{ALL, Capability, Kind, Outline, Reader, Sniffed};
use crate::collect::{Collector, Piece};
use crate::error::Result;
use crate::limits::Limits;
use crate::query::Mask;
use crate::source::Object;
use names::names;

/// Longest line that is shown.
const LINE: usize = 400;

/// The reader of source code.
pub struct Code;

impl Reader for Code {
    fn capability(&self) -> Capability {
        let kinds = [
            Kind::Rust,
            Kind::Python,
            Kind::TypeScript,
            Kind::Go,
            Kind::Java,
            Kind::C,
        ]
        .into();
        Capability {
            name: "code",
            kinds,
            actions: ALL,
            specificity: 5,
            cost: 100.0,
        }
    }

    fn outline(&self, object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<Outline> {
        let text = text(object, sniffed, limits)?;
        let names = names(object, sniffed.kind, &text)?;
        let mut outline = Outline {
            unit: "lines",
            units: text.lines().count() as u64,
            ..Outline::default()
        };
        let mut line = 1;
        let mut from = 0;
        let listed = names.symbols.iter().filter(|symbol| {
            symbol.depth < 2
                && !matches!(
                    symbol.kind,
                    "field" | "variant" | "variable" | "declaration"
                )
        });
        for symbol in listed {
            line += memchr::memchr_iter(
                b'\n',
                text.as_bytes()
                    .get(from..symbol.name_at)
                    .unwrap_or_default(),
            )
            .count();
            from = symbol.name_at.max(from);
            if outline.parts.len() < 60 {
                outline.parts.push(format!(
                    "{}{line}: {} {}",
                    "  ".repeat(symbol.depth),
                    symbol.kind,
                    shortened(&symbol.name, 80)
                ));
            } else {
                outline.more += 1;
            }
        }
        names.outline(&text, &mut outline);
        Ok(outline)
    }

    fn scan(
        &self,
        object: &Object,
        sniffed: &Sniffed,
        limits: &Limits,
        sink: &mut Collector<'_>,
    ) -> Result<()> {
        let bytes = object.read_all(limits.held_bytes)?;
        let decoded = sniffed
            .charset
            .decode(bytes.get(sniffed.charset.mark..).unwrap_or_default());
        let source: &str = &decoded.text;
        let names = names(object, sniffed.kind, source)?;
        sink.scanned += bytes.len() as u64;
        let mut hits = Vec::new();
        sink.query.hits(source, &mut hits);
        let mut by_line: BTreeMap<usize, Mask> = BTreeMap::new();
        let line_start = |at: usize| {
            memchr::memrchr(b'\n', source.as_bytes().get(..at).unwrap_or_default())
                .map_or(0, |feed| feed + 1)
        };
        for hit in &hits {
            *by_line.entry(line_start(hit.start)).or_default() |= 1 << hit.term;
        }
        let total = memchr::memchr_iter(b'\n', source.as_bytes()).count() as u64 + 1;
        sink.count_empty(total.saturating_sub(by_line.len() as u64));
        let mut line = 1_u64;
        let mut from = 0;
        for (start, own) in by_line {
            if sink.is_late() {
                sink.skipped
                    .push((object.path.clone(), "time limit".into()));
                break;
            }
            line += memchr::memchr_iter(
                b'\n',
                source.as_bytes().get(from..start).unwrap_or_default(),
            )
            .count() as u64;
            from = start;
            let end = memchr::memchr(b'\n', source.as_bytes().get(start..).unwrap_or_default())
                .map_or(source.len(), |at| start + at);
            sink.count(own);
            let (inherited, symbols, defined) = names.around(start..end, sink.query);
            let quality = if defined { 1.0 } else { 0.3 };
            sink.offer(own, inherited, quality, || {
                let raw = source.get(start..end).unwrap_or_default().trim_end();
                let lead = raw.len() - raw.trim_start().len();
                let shown = raw.trim_start();
                let cut = (0..=shown.len().min(LINE))
                    .rev()
                    .find(|at| shown.is_char_boundary(*at))
                    .unwrap_or(0);
                let byte = |place: usize| (sniffed.charset.mark + decoded.byte(place)) as u64;
                Piece {
                    file: 0,
                    bytes: byte(start + lead)..byte(start + lead + cut),
                    lines: (line, line),
                    at: Some(symbols.last().cloned().unwrap_or_default())
                        .filter(|symbol| !symbol.is_empty()),
                    context: symbols.join(" > "),
                    core: shown.to_owned(),
                    text: shown.get(..cut).unwrap_or_default().to_owned(),
                }
            });
        }
        Ok(())
    }
}

fn text(object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<String> {
    let bytes = object.read_all(limits.held_bytes)?;
    Ok(sniffed
        .charset
        .decode(bytes.get(sniffed.charset.mark..).unwrap_or_default())
        .text
        .into_owned())
}
