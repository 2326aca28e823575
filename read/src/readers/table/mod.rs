//! Delimited rows, all of them, streamed: a row deep in a large table is found as surely as the first, in memory of a few blocks.

mod dialect;
mod rows;

use csv_core::ReaderBuilder;

use super::text::shortened;
use super::{ALL, Capability, Kind, Outline, Reader, Sniffed};
use crate::collect::{Collector, Piece};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::query::{Hit, Mask};
use crate::source::Object;

pub use dialect::{Dialect, record};
use rows::{Record, each_row};

/// Bytes of a row that are shown whole.
const SHOWN: usize = 420;
/// Bytes of one cell that are shown.
const CELL: usize = 160;

/// The reader of delimited rows.
pub struct Table;

impl Reader for Table {
    fn capability(&self) -> Capability {
        Capability {
            name: "table",
            kinds: [Kind::Table].into(),
            actions: ALL,
            specificity: 5,
            cost: 4.0,
        }
    }

    fn outline(&self, object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<Outline> {
        let dialect = dialect(object, sniffed)?;
        let mut outline = Outline {
            unit: "rows",
            ..Outline::default()
        };
        each_row(object, sniffed, &dialect, limits, &mut |_| {
            outline.units += 1;
            true
        })?;
        let mut reader = ReaderBuilder::new().delimiter(dialect.delimiter).build();
        let mut rest = sniffed
            .sample
            .as_bytes()
            .get(dialect.preamble..)
            .unwrap_or_default();
        let mut rows: Vec<Vec<String>> = Vec::new();
        while let Some((used, cells)) =
            record(&mut reader, rest, limits.record_bytes).filter(|_| rows.len() < 60)
        {
            rest = rest.get(used..).unwrap_or_default();
            rows.push(cells);
        }
        let body = rows
            .get(usize::from(dialect.has_header)..)
            .unwrap_or_default();
        for (at, name) in dialect.header.iter().enumerate() {
            if at < 40 {
                let values: Vec<&str> = body
                    .iter()
                    .filter_map(|cells| cells.get(at))
                    .map(|cell| cell.trim())
                    .filter(|cell| !cell.is_empty())
                    .collect();
                outline
                    .parts
                    .push(format!("{}: {}", shortened(name, 60), type_of(&values)));
            } else {
                outline.more += 1;
            }
        }
        outline.samples = body
            .iter()
            .take(3)
            .map(|cells| shortened(&cells.join(" | "), 240))
            .collect();
        outline.notes.push(format!(
            "delimiter {:?}, {} line(s) before the {}",
            char::from(dialect.delimiter),
            dialect.preamble_lines,
            if dialect.has_header {
                "header"
            } else {
                "first row, no header"
            }
        ));
        Ok(outline)
    }

    fn scan(
        &self,
        object: &Object,
        sniffed: &Sniffed,
        limits: &Limits,
        sink: &mut Collector<'_>,
    ) -> Result<()> {
        let dialect = dialect(object, sniffed)?;
        let columns: Vec<Mask> = dialect
            .header
            .iter()
            .map(|name| sink.query.mask(name))
            .collect();
        let header = columns.iter().fold(0, |all, mask| all | mask);
        let mut row = u64::from(dialect.has_header);
        let mut first = dialect.has_header;
        let mut hits = Vec::new();
        let apart = dialect.delimiter == b',' && sink.query.has_number();
        each_row(object, sniffed, &dialect, limits, &mut |record| {
            if std::mem::take(&mut first) {
                return true;
            }
            row += 1;
            let decoded = record.charset.decode(record.bytes);
            hits.clear();
            if apart {
                // A comma between two cells is none within a number.
                sink.query.hits(&decoded.text.replace(',', "\t"), &mut hits);
            } else {
                sink.query.hits(&decoded.text, &mut hits);
            }
            if hits.is_empty() {
                sink.count_empty(1);
            } else {
                let own = hits.iter().fold(0, |mask, hit| mask | (1 << hit.term));
                sink.count(own);
                let text = decoded.text.trim_end_matches(['\n', '\r']);
                let quality =
                    0.5 + whole_cells(text, &hits, dialect.delimiter) as f32 / hits.len() as f32;
                sink.offer(own, header, quality, || {
                    piece(&dialect, &columns, text, &record, row)
                });
            }
            !(row.is_multiple_of(65_536) && sink.is_late())
        })?;
        sink.scanned += object.bytes;
        if sink.is_late() {
            sink.skipped
                .push((object.path.clone(), "time limit".into()));
        }
        Ok(())
    }
}

fn dialect(object: &Object, sniffed: &Sniffed) -> Result<Dialect> {
    let bad = || Error::Malformed {
        path: object.path.clone().into(),
        line: 1,
        found: "rows that no delimiter divides".into(),
        expected: "a comma, semicolon, tab or bar between cells",
    };
    Dialect::sniff(&sniffed.sample).ok_or_else(bad)
}

fn type_of(values: &[&str]) -> &'static str {
    let share = |is: fn(&str) -> bool| {
        !values.is_empty()
            && values.iter().filter(|value| is(value)).count() * 10 >= values.len() * 9
    };
    if values.is_empty() {
        "empty"
    } else if share(|value| value.parse::<i64>().is_ok()) {
        "integer"
    } else if share(|value| value.replace(',', ".").parse::<f64>().is_ok()) {
        "number"
    } else if share(|value| {
        value.len() >= 8
            && value.bytes().filter(u8::is_ascii_digit).count() >= 6
            && value.contains(['-', '/', '.', ':'])
    }) {
        "date"
    } else {
        "text"
    }
}

/// Terms that begin and end where a cell does.
fn whole_cells(text: &str, hits: &[Hit], delimiter: u8) -> usize {
    let edge = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == delimiter || *byte == b'"');
    let bytes = text.as_bytes();
    hits.iter()
        .filter(|hit| {
            edge(hit.start.checked_sub(1).and_then(|at| bytes.get(at))) && edge(bytes.get(hit.end))
        })
        .count()
}

/// A row as it is shown: every cell with its column; of a long row the cells that matched or were asked for, then others as long as there is room.
fn piece(dialect: &Dialect, columns: &[Mask], text: &str, from: &Record<'_>, row: u64) -> Piece {
    let mut reader = ReaderBuilder::new().delimiter(dialect.delimiter).build();
    let cells = record(&mut reader, text.as_bytes(), usize::MAX)
        .map(|(_, cells)| cells)
        .unwrap_or_default();
    let named = |at: usize, cell: &str| match dialect.header.get(at) {
        Some(name) => format!("{name}: {}", shortened(&cell.replace('\n', " / "), CELL)),
        None => shortened(cell, CELL),
    };
    let asked = |at: usize| columns.get(at).is_some_and(|mask| *mask != 0);
    let mut order: Vec<usize> = (0..cells.len())
        .filter(|at| cells.get(*at).is_some_and(|cell| !cell.is_empty()))
        .collect();
    order.sort_by_key(|at| !asked(*at));
    let mut kept = Vec::new();
    let mut length = 0;
    for at in order {
        let shown = cells
            .get(at)
            .map(|cell| named(at, cell))
            .unwrap_or_default();
        if length + shown.len() <= SHOWN || asked(at) && length < 2 * SHOWN {
            length += shown.len() + 3;
            kept.push((at, shown));
        }
    }
    kept.sort_by_key(|(at, _)| *at);
    let left_out = cells.iter().filter(|cell| !cell.is_empty()).count() - kept.len();
    let mut shown = kept
        .into_iter()
        .map(|(_, shown)| shown)
        .collect::<Vec<_>>()
        .join(" | ");
    if left_out > 0 {
        shown.push_str(&format!(" | … {left_out} more cells"));
    }
    let core = cells
        .iter()
        .enumerate()
        .filter(|(at, _)| asked(*at))
        .map(|(_, cell)| cell.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    Piece {
        file: 0,
        bytes: from.place(),
        lines: (from.line, from.line + lines),
        at: Some(format!("row {row}")),
        context: String::new(),
        core,
        text: shown,
    }
}
