//! E3, table lookup: one row among many, the keys next to it nearly the same; delimiters, quotes, byte order marks, lines before the header.

use std::io::{self, Write};

use fastrand::Rng;

use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set};

/// How a table is written.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Between cells.
    pub delimiter: char,
    /// All cells quoted.
    pub quoted: bool,
    /// A byte order mark first.
    pub mark: bool,
    /// Lines before the header.
    pub preamble: usize,
    /// CRLF.
    pub crlf: bool,
    /// `0` snake case, `1` words, `2` camel case.
    pub naming: u8,
}

impl Dialect {
    fn random(rng: &mut Rng) -> Self {
        let delimiter = [',', ';', '\t', '|']
            .get(rng.usize(..4))
            .copied()
            .unwrap_or(',');
        let preamble = if rng.u8(..4) == 0 { rng.usize(1..4) } else { 0 };
        Self {
            delimiter,
            quoted: rng.u8(..4) == 0,
            mark: rng.u8(..4) == 0,
            preamble,
            crlf: rng.u8(..4) == 0,
            naming: rng.u8(..3),
        }
    }

    fn cell(self, text: &str) -> String {
        if self.quoted || text.contains([self.delimiter, '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    }

    fn line(self, cells: &[String]) -> String {
        let mut line = cells
            .iter()
            .map(|cell| self.cell(cell))
            .collect::<Vec<_>>()
            .join(&self.delimiter.to_string());
        line.push_str(if self.crlf { "\r\n" } else { "\n" });
        line
    }

    fn header(self) -> String {
        let name = |words: &str| match self.naming {
            0 => words.replace(' ', "_"),
            1 => words.split(' ').map(capital).collect::<Vec<_>>().join(" "),
            _ => words
                .split(' ')
                .enumerate()
                .map(|(at, word)| {
                    if at == 0 {
                        word.to_owned()
                    } else {
                        capital(word)
                    }
                })
                .collect(),
        };
        self.line(&COLUMNS.map(name))
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

pub(super) const COLUMNS: [&str; 9] = [
    "order id",
    "customer",
    "city",
    "order date",
    "unit price",
    "quantity",
    "carrier",
    "tracking number",
    "remark",
];
const FIRST: [&str; 16] = [
    "Ada", "Boris", "Chen", "Dalia", "Emil", "Fatima", "Goran", "Hana", "Igor", "Jana", "Kofi",
    "Lena", "Marco", "Nadia", "Omar", "Petra",
];
const LAST: [&str; 16] = [
    "Abel", "Brandt", "Castro", "Dumont", "Eklund", "Farkas", "Gomez", "Hansen", "Ivanov",
    "Jensen", "Kovacs", "Lopez", "Lopes", "Moreau", "Novak", "Okafor",
];
const CITY: [&str; 12] = [
    "Aarhus", "Bergen", "Cork", "Dresden", "Essen", "Faro", "Genoa", "Helsinki", "Izmir", "Krakow",
    "Lyon", "Malmo",
];
const CARRIER: [&str; 5] = [
    "Northline",
    "Pelican",
    "Swift Post",
    "Harbour Freight",
    "Bluebird",
];
const REMARK: [&str; 8] = [
    "",
    "",
    "left at the door",
    "second attempt",
    "called, no answer",
    "gift wrap; fragile",
    "said \"ring twice\"",
    "box 1 of 2\nbox 2 of 2",
];

fn one<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from.get(rng.usize(..from.len().max(1)))
        .copied()
        .unwrap_or_default()
}

/// The cells of row `index`.
pub(super) fn row(rng: &mut Rng, index: usize) -> Vec<String> {
    vec![
        format!("ORD-{}", 100_000 + index * 3 + rng.usize(..3)),
        format!("{} {}", one(rng, &FIRST), one(rng, &LAST)),
        one(rng, &CITY).to_owned(),
        format!(
            "20{:02}-{:02}-{:02}",
            rng.u8(10..30),
            rng.u8(1..13),
            rng.u8(1..29)
        ),
        format!("{}.{:02}", rng.u32(1..2_000), rng.u8(..100)),
        rng.u32(1..500).to_string(),
        one(rng, &CARRIER).to_owned(),
        format!("TN{:09}", rng.u32(..1_000_000_000)),
        one(rng, &REMARK).to_owned(),
    ]
}

fn preamble(dialect: Dialect) -> Vec<u8> {
    let mut bytes = if dialect.mark {
        vec![0xEF, 0xBB, 0xBF]
    } else {
        Vec::new()
    };
    for line in [
        "Shipments, exported for the yearly audit",
        "Source: order desk",
        "All prices in euro",
    ]
    .iter()
    .take(dialect.preamble)
    {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(if dialect.crlf { b"\r\n" } else { b"\n" });
    }
    bytes
}

pub(super) fn question(rng: &mut Rng, cells: &[String], column: usize, two_keys: bool) -> String {
    let cell = |at: usize| cells.get(at).map(String::as_str).unwrap_or_default();
    let asked = COLUMNS.get(column).copied().unwrap_or_default();
    if two_keys {
        return match rng.u8(..2) {
            0 => format!(
                "What is the {asked} for customer {} with order date {}?",
                cell(1),
                cell(3)
            ),
            _ => format!(
                "{} ordered on {} in {}: which {asked}?",
                cell(1),
                cell(3),
                cell(2)
            ),
        };
    }
    match rng.u8(..3) {
        0 => format!("What is the {asked} of order {}?", cell(0)),
        1 => format!("{} {asked}", cell(0)),
        _ => format!("Which {asked} belongs to the tracking number {}?", cell(7)),
    }
}

/// E3 with 10^2 to 10^5 rows; one of eight questions names a row that does not exist.
pub fn table_lookup(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE3);
    let dialect = Dialect::random(&mut rng);
    let rows = 10_f64.powf(2.0 + 3.0 * rng.f64()) as usize;
    let mut bytes = preamble(dialect);
    bytes.extend(dialect.header().into_bytes());
    let mut places = Vec::with_capacity(rows);
    for index in 0..rows {
        let cells = row(&mut rng, index);
        let start = bytes.len();
        bytes.extend(dialect.line(&cells).into_bytes());
        places.push((start..bytes.len() - if dialect.crlf { 2 } else { 1 }, cells));
    }
    let mut asked = Vec::new();
    for index in 0..8 {
        let at = if index == 0 {
            rows - 1
        } else {
            rng.usize(..rows)
        };
        let Some((place, cells)) = places.get(at) else {
            continue;
        };
        let two_keys = rng.u8(..3) == 0;
        let twins = places
            .iter()
            .filter(|(_, other)| other.get(1) == cells.get(1) && other.get(3) == cells.get(3))
            .count();
        let column = if two_keys { [4, 5, 7] } else { [1, 4, 5] }
            .get(rng.usize(..3))
            .copied()
            .unwrap_or(4);
        if index == 7 {
            let mut other = cells.clone();
            other.splice(
                0..1,
                [format!("ORD-{}", 100_000 + rows * 3 + rng.usize(10..900))],
            );
            other.splice(
                7..8,
                [format!("TN{:010}", rng.u64(1_000_000_000..9_000_000_000))],
            );
            asked.push(Asked {
                question: question(&mut rng, &other, 4, false),
                gold: Vec::new(),
                kind: "no such row",
            });
            continue;
        }
        let two_keys = two_keys && twins == 1;
        let gold = vec![Gold {
            path: "shipments.csv".into(),
            bytes: place.clone(),
            answer: cells.get(column).cloned().unwrap_or_default(),
            spot: None,
        }];
        let kind = if index == 0 {
            "last row"
        } else if two_keys {
            "two keys"
        } else {
            "one key"
        };
        asked.push(Asked {
            question: question(&mut rng, cells, column, two_keys),
            gold,
            kind,
        });
    }
    Case {
        set: Set::TableLookup,
        seed,
        kind: format!(
            "{:?} x{}",
            dialect.delimiter,
            if rows < 1_000 {
                "1e2"
            } else if rows < 10_000 {
                "1e3"
            } else {
                "1e4"
            }
        ),
        files: vec![CaseFile {
            path: "shipments.csv".into(),
            bytes,
        }],
        target: "shipments.csv".into(),
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}

/// Streams a table of `rows` rows and returns questions about rows all over it.
///
/// # Errors
/// What the writer says.
pub fn large_table(seed: u64, rows: usize, out: &mut dyn Write) -> io::Result<Vec<Asked>> {
    let mut rng = Rng::with_seed(seed ^ 0xE31);
    let dialect = Dialect::random(&mut rng);
    let wanted: Vec<usize> = (0..10)
        .map(|index| {
            if index == 0 {
                rows - 1
            } else {
                rng.usize(..rows)
            }
        })
        .collect();
    let head = [preamble(dialect), dialect.header().into_bytes()].concat();
    out.write_all(&head)?;
    let mut place = head.len();
    let mut asked = Vec::new();
    for index in 0..rows {
        let cells = row(&mut rng, index);
        let line = dialect.line(&cells);
        out.write_all(line.as_bytes())?;
        if wanted.contains(&index) {
            let bytes = place..place + line.len() - if dialect.crlf { 2 } else { 1 };
            let gold = vec![Gold {
                path: "large.csv".into(),
                bytes,
                answer: cells.get(4).cloned().unwrap_or_default(),
                spot: None,
            }];
            asked.push(Asked {
                question: question(&mut Rng::with_seed(seed + index as u64), &cells, 4, false),
                gold,
                kind: "large",
            });
        }
        place += line.len();
    }
    Ok(asked)
}
