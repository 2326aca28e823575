//! What a read of one case returns, held against the known spans.

use std::path::Path;

use serde::Serialize;
use spare_read::extract::Worker;
use spare_read::{EvidencePack, ReadRequest, Root, Session, Span, Status};

use crate::case::{Asked, Case, Gold, Set, Spot};

/// The outcome of one question.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The set.
    pub set: Set,
    /// The seed.
    pub seed: u64,
    /// Language, encoding, format of the case.
    pub case: String,
    /// How the question was made.
    pub kind: &'static str,
    /// The question.
    pub question: String,
    /// Known spans.
    pub golds: usize,
    /// Known spans that lie wholly in a returned span whose text shows the answer.
    pub hit: usize,
    /// The status that was reported.
    pub status: Option<Status>,
    /// Tokens of the whole response.
    pub tokens: usize,
    /// Tokens of the spans alone.
    pub evidence_tokens: usize,
    /// Spans returned.
    pub spans: usize,
    /// Anchors that did not replay.
    pub broken_anchors: usize,
    /// Seconds.
    pub seconds: f64,
}

impl Outcome {
    /// Whether all that must be read was returned.
    pub fn is_recalled(&self) -> bool {
        self.golds > 0 && self.hit == self.golds
    }

    /// Whether the report says ready and the evidence is not there.
    pub fn is_false_ready(&self) -> bool {
        self.status == Some(Status::Supported) && self.hit < self.golds.max(1)
    }

    /// Whether the report says absent although the object says it.
    pub fn is_false_absent(&self) -> bool {
        self.status == Some(Status::Absent) && self.golds > 0
    }
}

/// White space as one space.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a gold span lies in a returned span that shows the answer.
fn holds(pack: &EvidencePack, gold: &Gold) -> bool {
    pack.spans.iter().chain(&pack.content).any(|span| {
        let there = match &gold.spot {
            Some(spot) => stands(span, gold, spot),
            None => {
                span.anchor.path == gold.path
                    && span.anchor.bytes.start <= gold.bytes.start as u64
                    && gold.bytes.end as u64 <= span.anchor.bytes.end
            }
        };
        there && flat(&span.text).contains(&flat(&gold.answer))
    })
}

/// Points that a box may be off.
const NEAR: f64 = 6.0;

/// Whether an anchor names the row, or a box of the page that holds the known one.
fn stands(span: &Span, gold: &Gold, spot: &Spot) -> bool {
    let at = span.anchor.at.as_deref().unwrap_or_default();
    match spot {
        Spot::Row { sheet, row } => {
            span.anchor.path == format!("{}!{sheet}", gold.path)
                && at == format!("{sheet}!row {row}")
        }
        Spot::Area { page, area } => {
            let numbers: Vec<f64> = at
                .strip_prefix(&format!("page {page} box "))
                .unwrap_or_default()
                .split(',')
                .filter_map(|number| number.parse().ok())
                .collect();
            let [left, top, right, bottom] = *area;
            matches!(numbers.as_slice(), [x, y, width, height]
                if *x <= left + NEAR && *y <= top + NEAR && x + width >= right.min(x + width) - NEAR && y + height >= bottom - NEAR && *x < right && *y < bottom)
        }
    }
}

/// Asks one question of a written case in a new conversation.
///
/// # Errors
/// What the reader says.
pub fn ask(
    case: &Case,
    folder: &Path,
    asked: &Asked,
    budget_tokens: usize,
    worker: &Worker,
) -> spare_read::Result<Outcome> {
    let mut session = Session::new(Root::open(folder)?).with_worker(worker.clone());
    let request = ReadRequest {
        budget_tokens,
        force: true,
        ..ReadRequest::question(asked.question.as_str())
    };
    let path = if case.target.is_empty() {
        Path::new(".")
    } else {
        Path::new(&case.target)
    };
    let start = std::time::Instant::now();
    let pack = session.read(path, &request)?;
    let seconds = start.elapsed().as_secs_f64();
    let replays = |span: &spare_read::Span| {
        session.verify(&span.anchor, "").is_ok_and(|found| {
            found.verdict == spare_read::Verdict::Supported && !found.text.is_empty()
        })
    };
    let broken_anchors = pack
        .spans
        .iter()
        .filter(|span| {
            !replays(span)
                || !span
                    .anchor
                    .to_string()
                    .parse::<spare_read::Anchor>()
                    .is_ok_and(|again| again == span.anchor)
        })
        .count();
    Ok(Outcome {
        set: case.set,
        seed: case.seed,
        case: case.kind.clone(),
        kind: asked.kind,
        question: asked.question.clone(),
        golds: asked.gold.len(),
        hit: asked.gold.iter().filter(|gold| holds(&pack, gold)).count(),
        status: pack.needs.first().map(|need| need.status),
        tokens: spare_read::estimate_tokens(&pack.to_json()),
        evidence_tokens: pack
            .spans
            .iter()
            .map(|span| spare_read::estimate_tokens(&span.text))
            .sum(),
        spans: pack.spans.len(),
        broken_anchors,
        seconds,
    })
}

/// All outcomes of a case.
///
/// # Errors
/// What the file system or the reader says.
pub fn case(
    case: &Case,
    folder: &Path,
    budget_tokens: usize,
    worker: &Worker,
) -> Result<Vec<Outcome>, crate::Error> {
    case.write(folder)?;
    case.asked
        .iter()
        .map(|asked| Ok(ask(case, folder, asked, budget_tokens, worker)?))
        .collect()
}
