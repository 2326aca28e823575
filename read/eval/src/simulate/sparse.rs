//! The protocol in the hands of the scripted agent.

use std::path::Path;

use spare_read::{
    Action, EvidencePack, Gate, Intent, Mode, Need, Purpose, ReadRequest, Root, Session, Status,
    estimate_tokens,
};

use super::conversation::Conversation;
use super::{QUESTIONS, Run, Task};
use crate::Error;
use crate::case::{Fit, Gold, Purpose as Aim};
use crate::measure::flat;

impl Task<'_> {
    /// The protocol: all questions as needs of one call, one more round for what stays open, then pages. `mode` overrides the gate.
    ///
    /// # Errors
    /// What the reader says.
    pub fn sparse(
        &self,
        fixed: f64,
        gate: &Gate,
        purpose_known: bool,
        mode: Option<Mode>,
        lead: &[f64],
    ) -> Result<(Run, Mode), Error> {
        let mut session = Session::new(Root::open(self.folder)?).with_gate(gate.clone());
        let path = if self.case.target.is_empty() {
            Path::new(".")
        } else {
            Path::new(&self.case.target)
        };
        let needs: Vec<Need> = self
            .case
            .asked
            .iter()
            .take(QUESTIONS)
            .enumerate()
            .map(|(at, asked)| Need {
                id: at.to_string(),
                question: asked.question.clone(),
                aliases: Vec::new(),
            })
            .collect();
        let purpose = match self.case.purpose {
            _ if !purpose_known => Purpose::Lookup,
            Aim::Lookup => Purpose::Lookup,
            Aim::Compute => Purpose::Compute,
            Aim::Edit => Purpose::Edit,
            Aim::Whole => Purpose::Whole,
        };
        let intent = Intent {
            needs,
            purpose,
            ..Intent::default()
        };
        let force = mode == Some(Mode::Force);
        let request = ReadRequest {
            action: Action::Collect,
            intent,
            budget_tokens: 1_200.max(350 * self.case.asked.len().min(QUESTIONS)),
            force,
        };
        let mut talk = Conversation::new(fixed, self.words);
        lead.iter().for_each(|tokens| {
            talk.call(*tokens);
        });
        let pack = session.read(path, &request)?;
        let decided = if force { Mode::Force } else { pack.gate.mode };
        let whole = matches!(decided, Mode::Native | Mode::InlineAll);
        let mut fits = talk.call(estimate_tokens(&pack.to_json()) as f64 + self.words);
        if whole {
            // The result is the content; the rest of a long one comes by pages.
            let rest: u64 = pack
                .native
                .iter()
                .map(|range| range.bytes.1 - range.bytes.0)
                .sum();
            for _ in 0..rest.div_ceil(131_072) {
                fits &= talk.call(131_072.0 / 3.5);
            }
            return Ok((talk.answer(fits), decided));
        }
        if self.case.fit == Fit::Native {
            // What needs all of it is not answered by a part: the agent reads natively after all.
            let run = self.paged(fixed, None, &[estimate_tokens(&pack.to_json()) as f64]);
            return Ok((run, decided));
        }
        let mut packs = vec![pack];
        let is_open = |packs: &[EvidencePack]| {
            self.case
                .asked
                .iter()
                .take(QUESTIONS)
                .enumerate()
                .any(|(at, asked)| !satisfied(packs, at, &asked.gold))
        };
        if is_open(&packs) {
            let refine = ReadRequest {
                action: Action::Refine,
                force: true,
                ..request
            };
            let pack = session.read(path, &refine)?;
            fits &= talk.call(estimate_tokens(&pack.to_json()) as f64 + 20.0);
            packs.push(pack);
        }
        let unread = self
            .golds()
            .iter()
            .any(|gold| !packs.iter().any(|pack| holds(pack, gold)));
        if unread {
            let results: Vec<f64> = packs
                .iter()
                .map(|pack| estimate_tokens(&pack.to_json()) as f64)
                .collect();
            return Ok((self.paged(fixed, None, &results), decided));
        }
        Ok((talk.answer(fits), decided))
    }
}

/// Whether the agent has no reason to go on with a question: its evidence is there and was not called absent, or it was called absent and is.
fn satisfied(packs: &[EvidencePack], need: usize, golds: &[Gold]) -> bool {
    let status = packs
        .first()
        .and_then(|pack| pack.needs.get(need))
        .map(|need| need.status);
    if golds.is_empty() {
        status == Some(Status::Absent)
    } else {
        status != Some(Status::Absent)
            && golds
                .iter()
                .all(|gold| packs.iter().any(|pack| holds(pack, gold)))
    }
}

fn holds(pack: &EvidencePack, gold: &Gold) -> bool {
    let covers = |span: &spare_read::Span| {
        span.anchor.path == gold.path
            && span.anchor.bytes.start <= gold.bytes.start as u64
            && gold.bytes.end as u64 <= span.anchor.bytes.end
    };
    pack.spans
        .iter()
        .any(|span| covers(span) && flat(&span.text).contains(&flat(&gold.answer)))
}
