//! How is a table written? Delimiter, lines before the header, header, from the first bytes.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// The dialect of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialect {
    /// Between cells.
    pub delimiter: u8,
    /// Bytes before the header.
    pub preamble: usize,
    /// Lines before the header.
    pub preamble_lines: u64,
    /// The cells of the header; numbered where there is none.
    pub header: Vec<String>,
    /// Whether the first row is a header.
    pub has_header: bool,
    /// Share of sampled rows with as many cells as the header.
    pub regular: f64,
    /// Rows that were sampled.
    pub sampled: usize,
}

/// Rows that are looked at.
const ROWS: usize = 60;

impl Dialect {
    /// The most regular reading of the first bytes of a table; none where no delimiter divides its rows.
    pub fn sniff(sample: &str) -> Option<Self> {
        let read = [b',', b';', b'\t', b'|']
            .into_iter()
            .filter_map(|delimiter| Self::with(sample, delimiter));
        read.max_by(|one, other| {
            (one.regular * (one.header.len().min(8) as f64).sqrt())
                .total_cmp(&(other.regular * (other.header.len().min(8) as f64).sqrt()))
        })
    }

    /// Whether a file without the name of a table is one.
    pub fn is_certain(&self) -> bool {
        self.regular >= 0.97
            && self.header.len() >= 2
            && self.sampled >= 4
            && (self.delimiter != b','
                || self
                    .header
                    .iter()
                    .all(|cell| cell.split_whitespace().count() <= 3))
    }

    fn with(sample: &str, delimiter: u8) -> Option<Self> {
        let rows = rows(sample, delimiter);
        let mut counts: Vec<usize> = rows
            .iter()
            .skip(rows.len() / 3)
            .map(|(_, cells)| cells.len())
            .collect();
        counts.sort_unstable();
        let width = most_frequent(&counts)?;
        if width < 2 {
            return None;
        }
        let at = rows.iter().position(|(_, cells)| cells.len() == width)?;
        let (preamble, header) = rows.get(at)?;
        let body: Vec<&Vec<String>> = rows.iter().skip(at + 1).map(|(_, cells)| cells).collect();
        let regular = (1 + body.iter().filter(|cells| cells.len() == width).count()) as f64
            / (1 + body.len()) as f64;
        let has_header = is_header(header, &body);
        let names = if has_header {
            header.iter().map(|cell| cell.trim().to_owned()).collect()
        } else {
            (1..=width)
                .map(|column| format!("column {column}"))
                .collect()
        };
        let lines = memchr::memchr_iter(b'\n', sample.as_bytes().get(..*preamble)?).count() as u64;
        Some(Self {
            delimiter,
            preamble: *preamble,
            preamble_lines: lines,
            header: names,
            has_header,
            regular,
            sampled: rows.len() - at,
        })
    }
}

fn most_frequent(sorted: &[usize]) -> Option<usize> {
    let mut best = None;
    for group in sorted.chunk_by(|one, other| one == other) {
        if best.is_none_or(|(count, _)| group.len() >= count) {
            best = group.first().map(|value| (group.len(), *value));
        }
    }
    best.map(|(_, value)| value)
}

/// A header has words in every cell and no numbers, unlike the rows below it or unlike any value of its own column.
fn is_header(first: &[String], body: &[&Vec<String>]) -> bool {
    let is_number = |cell: &str| {
        cell.trim().parse::<f64>().is_ok()
            || (cell.chars().any(|letter| letter.is_ascii_digit())
                && cell.chars().filter(|letter| letter.is_alphabetic()).count() < 2)
    };
    let named = first.iter().all(|cell| !is_number(cell))
        && first.iter().filter(|cell| cell.trim().is_empty()).count() * 2 <= first.len();
    let repeated = body.iter().any(|cells| {
        cells
            .iter()
            .zip(first)
            .any(|(cell, name)| !name.is_empty() && cell == name)
    });
    named && !repeated
}

fn rows(sample: &str, delimiter: u8) -> Vec<(usize, Vec<String>)> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let mut rows = Vec::new();
    let mut start = 0;
    while rows.len() < ROWS {
        let rest = sample.as_bytes().get(start..).unwrap_or_default();
        let Some((used, cells)) = record(&mut reader, rest, sample.len()) else {
            break;
        };
        if !(cells.len() == 1 && cells.first().is_some_and(|cell| cell.trim().is_empty())) {
            rows.push((start, cells));
        }
        start += used;
    }
    // The last row may be cut by the end of the sample.
    if rows.len() > 2 && rows.len() < ROWS && !sample.ends_with('\n') {
        rows.pop();
    }
    rows
}

/// One record: the bytes it takes and its cells; none at the end or where a record is longer than `most`.
pub fn record(reader: &mut Reader, input: &[u8], most: usize) -> Option<(usize, Vec<String>)> {
    if input.is_empty() {
        return None;
    }
    let mut output = vec![0; input.len().min(1_024)];
    let mut ends = vec![0; 64];
    let (mut used, mut written, mut count) = (0, 0, 0);
    loop {
        let (result, nin, nout, nend) = reader.read_record(
            input.get(used..)?,
            output.get_mut(written..)?,
            ends.get_mut(count..)?,
        );
        (used, written, count) = (used + nin, written + nout, count + nend);
        match result {
            ReadRecordResult::OutputFull => output.resize(
                (output.len() * 2)
                    .min(input.len() + 16)
                    .max(output.len() + 16),
                0,
            ),
            ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
            ReadRecordResult::InputEmpty if used >= input.len() => {
                // The input ends within the record: an empty read ends it.
                let (_, _, nout, nend) =
                    reader.read_record(&[], output.get_mut(written..)?, ends.get_mut(count..)?);
                (written, count) = (written + nout, count + nend);
                break;
            }
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::Record | ReadRecordResult::End => break,
        }
        if used > most {
            return None;
        }
    }
    let mut cells = Vec::with_capacity(count);
    let mut start = 0;
    for end in ends.get(..count)? {
        cells.push(String::from_utf8_lossy(output.get(start..*end)?).into_owned());
        start = *end;
    }
    let _ = written;
    (used > 0).then_some((used, cells))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_preambles_and_headers_are_told() {
        let of = |text: &str| Dialect::sniff(text).unwrap();
        let plain = of("name;price, net\nann;1,5\nbob;2,5\n");
        assert_eq!(
            (plain.delimiter, plain.header.len(), plain.has_header),
            (b';', 2, true)
        );
        let titled = of(
            "Shipments of 2026\nAll in euro\nid|city|note\n1|Bergen|\"a|b\"\n2|Cork|c\n3|Lyon|d\n",
        );
        assert_eq!(
            (
                titled.delimiter,
                titled.preamble_lines,
                titled.header[1].as_str()
            ),
            (b'|', 2, "city")
        );
        let bare = of("1\t2.5\tx\n2\t3.5\ty\n");
        assert_eq!(
            (bare.delimiter, bare.has_header, bare.header[0].as_str()),
            (b'\t', false, "column 1")
        );
        assert!(Dialect::sniff("one\ntwo\nthree\n").is_none());
    }
}
