//! What an agent gets to see without sparse reading: pages, the whole, both ends, grep, ranked chunks. Every baseline returns texts; an answer counts where a text holds the whole gold span.

use std::collections::HashMap;

use spare_read::Charset;

use crate::case::{Case, Gold};

/// A decoded file.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Gold spans of a question as byte ranges of the text: found by decoding up to them.
    charset: Option<Charset>,
    bytes: Vec<u8>,
}

impl Decoded {
    /// All files of a case, by path.
    pub fn of(case: &Case) -> Vec<Self> {
        let mut files: Vec<Self> = case
            .files
            .iter()
            .map(|file| {
                let charset = Charset::guess(
                    file.bytes
                        .get(..65_536.min(file.bytes.len()))
                        .unwrap_or_default(),
                );
                let text = charset.map_or_else(
                    || String::from_utf8_lossy(&file.bytes).into_owned(),
                    |charset| {
                        charset
                            .decode(file.bytes.get(charset.mark..).unwrap_or_default())
                            .text
                            .into_owned()
                    },
                );
                Self {
                    path: file.path.clone(),
                    text,
                    charset,
                    bytes: file.bytes.clone(),
                }
            })
            .collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }

    /// Where a gold span lies in the text.
    pub fn place(&self, gold: &Gold) -> std::ops::Range<usize> {
        let mark = self.charset.map_or(0, |charset| charset.mark);
        let at = |byte: usize| {
            let before = self.bytes.get(mark..byte).unwrap_or_default();
            self.charset
                .map_or(before.len(), |charset| charset.decode(before).text.len())
        };
        at(gold.bytes.start)..at(gold.bytes.end)
    }
}

/// A piece of a file that an agent saw.
pub type Seen = (usize, std::ops::Range<usize>);

/// Whether all gold spans were seen.
pub fn covers(files: &[Decoded], seen: &[Seen], golds: &[Gold]) -> bool {
    golds.iter().all(|gold| {
        let Some(at) = files.iter().position(|file| file.path == gold.path) else {
            return false;
        };
        let place = files
            .get(at)
            .map(|file| file.place(gold))
            .unwrap_or_default();
        seen.iter().any(|(file, range)| {
            *file == at && range.start <= place.start && place.end <= range.end
        })
    })
}

/// Pages of at most 2,000 lines and 128 KB.
pub fn pages(files: &[Decoded]) -> Vec<Seen> {
    let mut pages = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let (mut start, mut lines, mut end) = (0, 0, 0);
        for line in file.text.split_inclusive('\n') {
            if lines == 2_000 || end - start + line.len() > 131_072 {
                pages.push((at, start..end));
                (start, lines) = (end, 0);
            }
            end += line.len();
            lines += 1;
        }
        pages.push((at, start..end));
    }
    pages
}

/// The first and the last 5,000 characters of all files together.
pub fn ends(files: &[Decoded]) -> Vec<Seen> {
    let cut = |text: &str, count: usize| {
        text.char_indices()
            .nth(count)
            .map_or(text.len(), |(at, _)| at)
    };
    let mut seen = Vec::new();
    if let Some(file) = files.first() {
        seen.push((0, 0..cut(&file.text, 5_000)));
    }
    if let Some(file) = files.last() {
        let count = file.text.chars().count();
        seen.push((
            files.len() - 1,
            cut(&file.text, count.saturating_sub(5_000))..file.text.len(),
        ));
    }
    seen
}

/// Words of a text: runs of letters and digits, pairs of letters in scripts without spaces.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let lower = text.to_lowercase();
    for run in lower
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|run| !run.is_empty())
    {
        let letters: Vec<char> = run.chars().collect();
        if letters.iter().any(|letter| *letter >= '\u{2E80}') && letters.len() > 1 {
            words.extend(
                letters
                    .windows(2)
                    .map(|pair| pair.iter().collect::<String>()),
            );
        } else {
            words.push(run.to_owned());
        }
    }
    words
}

/// `grep -i -n -C3` for the most telling word of a question, at most 10,000 characters.
pub fn grep(files: &[Decoded], question: &str) -> Vec<Seen> {
    let telling = |word: &str| {
        (
            word.chars().any(|letter| letter.is_ascii_digit()),
            word.contains(['_', '-']),
            word.chars().next().is_some_and(char::is_uppercase),
            word.chars().count(),
        )
    };
    let candidates = question
        .split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '-' | '_'))
        .filter(|word| !word.is_empty());
    let word = candidates
        .skip(1)
        .max_by_key(|word| telling(word))
        .or(question.split_whitespace().next())
        .unwrap_or_default()
        .to_lowercase();
    let mut seen = Vec::new();
    let mut left = 10_000_usize;
    for (at, file) in files.iter().enumerate() {
        let mut lines: Vec<std::ops::Range<usize>> = Vec::new();
        let mut start = 0;
        for line in file.text.split_inclusive('\n') {
            lines.push(start..start + line.len());
            start += line.len();
        }
        for (number, line) in lines.iter().enumerate() {
            if left > 0
                && file
                    .text
                    .get(line.clone())
                    .is_some_and(|line| line.to_lowercase().contains(&word))
            {
                let range = lines
                    .get(number.saturating_sub(3))
                    .map_or(0, |line| line.start)
                    ..lines
                        .get((number + 3).min(lines.len() - 1))
                        .map_or(line.end, |line| line.end);
                left = left.saturating_sub(range.len());
                seen.push((at, range));
            }
        }
    }
    seen
}

/// Chunks of 1,200 characters with their words counted.
pub struct Chunks {
    chunks: Vec<(Seen, HashMap<String, usize>, usize)>,
    frequency: HashMap<String, usize>,
}

impl Chunks {
    /// Cuts and counts.
    pub fn new(files: &[Decoded]) -> Self {
        let mut chunks = Vec::new();
        let mut frequency: HashMap<String, usize> = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            let mut start = 0;
            while start < file.text.len() {
                let rest = file.text.get(start..).unwrap_or_default();
                let end = start
                    + rest
                        .char_indices()
                        .nth(1_200)
                        .map_or(rest.len(), |(at, _)| at);
                let mut counts: HashMap<String, usize> = HashMap::new();
                let all = words(file.text.get(start..end).unwrap_or_default());
                let length = all.len();
                all.into_iter()
                    .for_each(|word| *counts.entry(word).or_default() += 1);
                counts
                    .keys()
                    .for_each(|word| *frequency.entry(word.clone()).or_default() += 1);
                chunks.push(((at, start..end), counts, length));
                start = end;
            }
        }
        Self { chunks, frequency }
    }

    /// The best `count` chunks by BM25.
    pub fn best(&self, question: &str, count: usize) -> Vec<Seen> {
        let total = self.chunks.len() as f64;
        let mean = self
            .chunks
            .iter()
            .map(|(.., length)| *length as f64)
            .sum::<f64>()
            / total.max(1.0);
        let query = words(question);
        let score = |(_, counts, length): &(Seen, HashMap<String, usize>, usize)| -> f64 {
            let of = |word: &String| {
                let (tf, df) = (
                    counts.get(word).copied().unwrap_or(0) as f64,
                    self.frequency.get(word).copied().unwrap_or(0) as f64,
                );
                let idf = (1.0 + (total - df + 0.5) / (df + 0.5)).ln();
                idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * *length as f64 / mean.max(1.0)))
            };
            query.iter().map(of).sum()
        };
        let mut scored: Vec<(f64, &Seen)> = self
            .chunks
            .iter()
            .map(|chunk| (score(chunk), &chunk.0))
            .collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        scored
            .into_iter()
            .take(count)
            .map(|(_, seen)| seen.clone())
            .collect()
    }
}
