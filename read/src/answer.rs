//! From what a scan found to an answer: ranked, within the budget, with a status for every need.

use std::collections::HashSet;

use crate::anchor::Anchor;
use crate::collect::{Collector, Found};
use crate::evidence::{Coverage, EvidencePack, NeedReport, Next, Round, Span, Status};
use crate::gate::Decision;
use crate::intent::{Action, Scope, Want};
use crate::query::Query;
use crate::rank::{Ranked, rank, weights};
use crate::redact::redact;
use crate::session::{Loaded, ReadRequest, Session};
use crate::tokens::estimate_tokens;
use crate::visible::make_visible;

/// Tokens that a pack may need beyond its budget's spans.
const RESERVE: usize = 60;

impl Session {
    /// What was found, ranked for every need, as far as the budget goes.
    pub(crate) fn answer(
        &mut self,
        loaded: &Loaded,
        query: &Query,
        sink: &Collector<'_>,
        request: &ReadRequest,
        gate: Decision,
        contents: &[(String, usize)],
    ) -> EvidencePack {
        let content_of = |file: usize| {
            contents
                .iter()
                .find(|(_, at)| *at == file)
                .map(|(content, _)| content.as_str())
                .unwrap_or_default()
        };
        let coverage = Coverage {
            bytes: loaded.objects.iter().map(|(object, _)| object.bytes).sum(),
            searched: sink.scanned,
            units: sink.units,
            returned: 0,
            skipped: sink
                .skipped
                .iter()
                .take(12)
                .map(|(path, reason)| (make_visible(path), make_visible(reason)))
                .collect(),
        };
        let complete = Coverage {
            skipped: sink.skipped.clone(),
            ..Coverage::default()
        }
        .is_complete();
        let weights = weights(sink);
        let found = sink.found();
        let seen = |found: &Found| {
            self.state
                .is_inspected(content_of(found.piece.file), &found.piece.bytes)
        };
        let admits: Box<dyn Fn(&Found) -> bool> = match (request.action, request.intent.scope) {
            (Action::Refine, Scope::New) | (_, Scope::Expand) => Box::new(|found| !seen(found)),
            (_, Scope::Narrow) => Box::new(|found| seen(found)),
            _ => Box::new(|_| true),
        };
        let ranked: Vec<Ranked<'_>> = query
            .needs
            .iter()
            .map(|need| rank(sink, &found, &weights, need, complete, &*admits))
            .collect();
        drop(admits);
        let most = |ranked: &Ranked<'_>| match (request.action, request.intent.want, ranked.status)
        {
            (_, _, Status::Absent | Status::NotSearched) => 3,
            (Action::Scout, ..) => 3,
            (_, Want::List | Want::Table | Want::Count, _) => 40,
            (_, _, Status::Weak) if ranked.unmatched.count_ones() > 0 => 6,
            _ => 10,
        };
        let mut pack = EvidencePack {
            action: request.action,
            gate,
            needs: query
                .needs
                .iter()
                .zip(&ranked)
                .map(|(need, ranked)| NeedReport {
                    id: need.id.clone(),
                    status: ranked.status,
                    spans: Vec::new(),
                    unmatched: query.words(ranked.unmatched),
                    values: ranked.values.clone(),
                    more: 0,
                })
                .collect(),
            spans: Vec::new(),
            content: Vec::new(),
            coverage,
            round: Round {
                n: self.state.rounds + 1,
                of: self.round_limit,
                new_spans: 0,
                gain: 0,
            },
            next: Next::Closed,
            native: Vec::new(),
            redacted: 0,
        };
        let mut used = estimate_tokens(&pack.to_json()) + RESERVE;
        let deepest = ranked
            .iter()
            .map(|ranked| ranked.found.len().min(most(ranked)))
            .max()
            .unwrap_or(0);
        let mut full = false;
        for depth in 0..deepest {
            for (report, ranked) in pack.needs.iter_mut().zip(&ranked) {
                let Some(found) = ranked
                    .found
                    .get(depth)
                    .filter(|_| depth < most(ranked) && !full)
                else {
                    continue;
                };
                let object = loaded.objects.get(found.piece.file);
                let part = object.and_then(|(object, _)| object.part.as_ref());
                let at = part.and_then(|part| part.place(&found.piece.bytes, found.piece.lines));
                let anchor = Anchor {
                    path: object
                        .map(|(object, _)| object.path.clone())
                        .unwrap_or_default(),
                    lines: found.piece.lines,
                    bytes: found.piece.bytes.clone(),
                    content: content_of(found.piece.file).to_owned(),
                    at: at.or_else(|| found.piece.at.clone()),
                };
                let holds = |span: &Span| {
                    span.anchor.content == anchor.content
                        && span.anchor.path == anchor.path
                        && span.anchor.at == anchor.at
                        && span.anchor.bytes.start <= anchor.bytes.start
                        && anchor.bytes.end <= span.anchor.bytes.end
                };
                if let Some(at) = pack.spans.iter().position(holds) {
                    if !report.spans.contains(&at) {
                        report.spans.push(at);
                    }
                    continue;
                }
                let ((text, in_text), (context, in_context)) = (
                    redact(&make_visible(&found.piece.text)),
                    redact(&make_visible(&found.piece.context)),
                );
                let span = Span {
                    anchor,
                    context,
                    text,
                };
                let cost = estimate_tokens(&serde_json::to_string(&span).unwrap_or_default()) + 3;
                if used + cost > request.budget_tokens && !pack.spans.is_empty() {
                    full = true;
                    continue;
                }
                used += cost;
                pack.redacted += in_text + in_context;
                report.spans.push(pack.spans.len());
                pack.spans.push(span);
            }
        }
        for (report, ranked) in pack.needs.iter_mut().zip(&ranked) {
            report.more = ranked.found.len().saturating_sub(report.spans.len());
            let wanted: Vec<&Found> = ranked.found.iter().take(most(ranked)).copied().collect();
            let is_shown = |found: &Found| {
                report
                    .spans
                    .iter()
                    .filter_map(|at| pack.spans.get(*at))
                    .any(|span| {
                        span.anchor.bytes.start <= found.piece.bytes.start
                            && found.piece.bytes.end <= span.anchor.bytes.end
                            && span.anchor.content == content_of(found.piece.file)
                    })
            };
            let shown: HashSet<(&str, &str)> = wanted
                .iter()
                .filter(|found| is_shown(found))
                .map(|found| (found.piece.core.as_str(), found.piece.context.as_str()))
                .collect();
            if full
                && report.status == Status::Supported
                && wanted.iter().any(|found| {
                    !shown.contains(&(found.piece.core.as_str(), found.piece.context.as_str()))
                })
            {
                // Statements that the budget left out may say more, or otherwise.
                report.status = Status::Weak;
            }
            if report.spans.is_empty()
                && matches!(report.status, Status::Supported | Status::Conflicting)
            {
                // What does not fit is not evidence.
                report.status = Status::NotSearched;
            }
        }
        self.update(&mut pack, query, loaded, contents);
        pack
    }
}
