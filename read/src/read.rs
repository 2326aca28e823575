//! Algorithm 1 of the paper, one round: gate, router, scan, update, closure or fallback.

use std::path::Path;

use crate::collect::Collector;
use crate::error::Result;
use crate::evidence::{EvidencePack, Next, Status};
use crate::gate::Mode;
use crate::native::{native_ranges, whole};
use crate::query::Query;
use crate::session::{Depth, Loaded, ReadRequest, Session};

impl Session {
    /// Reads: the answer of the gate if it says native or inline, else one round of the protocol.
    ///
    /// # Errors
    /// An intent that asks for nothing, a path that leads out or cannot be read.
    pub fn read(&mut self, path: &Path, request: &ReadRequest) -> Result<EvidencePack> {
        let loaded = self.load(path, Depth::Text)?;
        let gate = self.gate.decide(loaded.size, &request.intent);
        request.intent.all_needs()?;
        if !request.force && matches!(gate.mode, Mode::Native | Mode::InlineAll) {
            return whole(self, &loaded, gate, request);
        }
        let query = Query::new(&request.intent)?;
        let mut contents: Vec<(String, usize)> = Vec::new();
        for (at, (object, sniffed)) in loaded.objects.iter().enumerate() {
            contents.push((
                if sniffed.is_ok() {
                    object.content_id()?
                } else {
                    String::new()
                },
                at,
            ));
        }
        let sink = self.scan(&loaded, &query, request, &contents);
        Ok(self.answer(&loaded, &query, &sink, request, gate, &contents))
    }

    /// Scans all files, in the order of their content, so that names and places do not matter.
    fn scan<'q>(
        &self,
        loaded: &Loaded,
        query: &'q Query,
        request: &ReadRequest,
        contents: &[(String, usize)],
    ) -> Collector<'q> {
        let mut sink = Collector::new(query, &self.limits);
        sink.skipped.extend(
            loaded
                .skipped
                .iter()
                .map(|(path, reason)| (path.clone(), (*reason).to_owned())),
        );
        sink.skipped.extend(loaded.unread.iter().cloned());
        let mut order: Vec<&(String, usize)> = contents.iter().collect();
        order.sort();
        let mut limits = self.limits.clone();
        for (_, at) in order {
            let Some((object, sniffed)) = loaded.objects.get(*at) else {
                continue;
            };
            let sniffed = match sniffed {
                Ok(sniffed) => sniffed,
                Err(error) => {
                    sink.skipped.push((object.path.clone(), error.to_string()));
                    continue;
                }
            };
            if object.bytes > limits.scanned_bytes || sink.is_late() {
                sink.skipped.push((
                    object.path.clone(),
                    if sink.is_late() {
                        "time limit".into()
                    } else {
                        "byte limit".into()
                    },
                ));
                continue;
            }
            limits.scanned_bytes -= object.bytes;
            sink.file = *at;
            let Some(reader) = self
                .registry
                .route(sniffed.kind, request.action, &request.intent)
            else {
                sink.skipped
                    .push((object.path.clone(), "no reader for this action".into()));
                continue;
            };
            if let Err(error) = reader.scan(object, sniffed, &limits, &mut sink) {
                let again = self
                    .registry
                    .fallback()
                    .map(|text| text.scan(object, sniffed, &limits, &mut sink));
                let reason = if matches!(again, Some(Ok(()))) {
                    format!("read as text: {error}")
                } else {
                    error.to_string()
                };
                sink.skipped.push((object.path.clone(), reason));
            }
        }
        sink
    }

    /// Takes the round into the state and says what may follow.
    pub(crate) fn update(
        &mut self,
        pack: &mut EvidencePack,
        query: &Query,
        loaded: &Loaded,
        contents: &[(String, usize)],
    ) {
        let fresh = pack
            .spans
            .iter()
            .filter(|span| {
                !self
                    .state
                    .is_inspected(&span.anchor.content, &span.anchor.bytes)
            })
            .count();
        for span in &pack.spans {
            self.state.inspect(&span.anchor);
        }
        let settled = |status: Status| matches!(status, Status::Supported | Status::Absent);
        let mut gain = 0;
        for (need, report) in query.needs.iter().zip(&pack.needs) {
            let before = self
                .state
                .needs
                .insert(need.question.clone(), report.status);
            gain += usize::from(settled(report.status) && !before.is_some_and(settled));
        }
        for (content, at) in contents {
            let bytes = loaded
                .objects
                .get(*at)
                .map_or(0, |(object, _)| object.bytes);
            self.state.searched.insert(content.clone(), bytes);
        }
        let stalled = self.state.end_round(gain, fresh, pack.spans.len());
        pack.round.new_spans = fresh;
        pack.round.gain = gain;
        pack.coverage.returned = self.state.returned();
        let open = pack.needs.iter().any(|report| !settled(report.status));
        pack.next = if !open {
            Next::Closed
        } else if stalled
            || self.state.rounds >= self.round_limit
            || loaded.size.unreadable == loaded.size.files
        {
            Next::Native
        } else if pack
            .needs
            .iter()
            .any(|report| report.status == Status::Conflicting)
        {
            Next::Compare
        } else {
            Next::Refine
        };
        if pack.next == Next::Native {
            pack.native = native_ranges(&self.state, pack, loaded, contents);
        }
    }
}
