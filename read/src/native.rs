//! Native reading: the whole content where that is the cheapest answer, and the exact ranges to read where the protocol gives up.

use crate::anchor::Anchor;
use crate::error::Result;
use crate::evidence::{Coverage, EvidencePack, NativeRange, Next, Round, Span};
use crate::gate::Decision;
use crate::redact::redact;
use crate::session::{Loaded, ReadRequest, Session};
use crate::state::EvidenceState;
use crate::visible::make_visible;

/// Lines around a piece that did not answer.
const AROUND: u64 = 40;
/// A file of at most so many bytes is named whole.
const SMALL: u64 = 8_192;

/// The content itself, up to the limit of a raw read; files in the order of their paths.
pub(crate) fn whole(
    session: &mut Session,
    loaded: &Loaded,
    gate: Decision,
    request: &ReadRequest,
) -> Result<EvidencePack> {
    let mut left = session.limits.raw_bytes;
    let mut pack = EvidencePack {
        action: request.action,
        gate,
        needs: Vec::new(),
        spans: Vec::new(),
        content: Vec::new(),
        coverage: Coverage {
            bytes: loaded.objects.iter().map(|(object, _)| object.bytes).sum(),
            skipped: loaded
                .skipped
                .iter()
                .map(|(path, reason)| (path.clone(), (*reason).to_owned()))
                .chain(loaded.unread.iter().cloned())
                .collect(),
            ..Coverage::default()
        },
        round: Round {
            n: session.state.rounds + 1,
            of: session.round_limit,
            new_spans: 0,
            gain: 0,
        },
        next: Next::Closed,
        native: Vec::new(),
        redacted: 0,
    };
    for (object, sniffed) in &loaded.objects {
        let sniffed = match sniffed {
            Ok(sniffed) => sniffed,
            Err(error) => {
                pack.coverage
                    .skipped
                    .push((object.path.clone(), error.to_string()));
                continue;
            }
        };
        let bytes = object.read(0, left)?;
        let cut = if (bytes.len() as u64) < object.bytes {
            sniffed.charset.cut(&bytes)
        } else {
            bytes.len()
        };
        let start = sniffed.charset.mark.min(cut);
        let decoded = sniffed
            .charset
            .decode(bytes.get(start..cut).unwrap_or_default());
        let (text, count) = redact(&make_visible(&decoded.text));
        let anchor = Anchor {
            path: object.path.clone(),
            lines: (1, (decoded.text.lines().count() as u64).max(1)),
            bytes: start as u64..cut as u64,
            content: object.content_id()?,
            at: None,
        };
        if (cut as u64) < object.bytes {
            pack.next = Next::Native;
            pack.native.push(NativeRange {
                path: object.path.clone(),
                lines: None,
                bytes: (cut as u64, object.bytes),
            });
        }
        left = left.saturating_sub(cut as u64);
        pack.coverage.searched += cut as u64;
        pack.redacted += count;
        session.state.inspect(&anchor);
        pack.content.push(Span {
            anchor,
            context: String::new(),
            text,
        });
    }
    pack.coverage.returned = session.state.returned();
    Ok(pack)
}

/// Where the rest is: small files whole, large ones around the pieces that came closest, else what was not returned.
pub(crate) fn native_ranges(
    state: &EvidenceState,
    pack: &EvidencePack,
    loaded: &Loaded,
    contents: &[(String, usize)],
) -> Vec<NativeRange> {
    let mut ranges = Vec::new();
    for (content, at) in contents {
        let Some((object, sniffed)) = loaded.objects.get(*at) else {
            continue;
        };
        if object.part.is_some() {
            // Lines and bytes of extracted text say nothing of the file.
            let path = object.file().to_owned();
            if ranges.iter().all(|known: &NativeRange| known.path != path) {
                ranges.push(NativeRange {
                    bytes: (0, 0),
                    lines: None,
                    path,
                });
            }
            continue;
        }
        let near: Vec<&Span> = pack
            .spans
            .iter()
            .filter(|span| span.anchor.path == object.path)
            .collect();
        if object.bytes <= SMALL || sniffed.is_err() {
            ranges.push(NativeRange {
                path: object.path.clone(),
                lines: None,
                bytes: (0, object.bytes),
            });
        } else if near.is_empty() {
            ranges.extend(
                state
                    .uninspected(content, object.bytes)
                    .into_iter()
                    .map(|range| NativeRange {
                        path: object.path.clone(),
                        lines: None,
                        bytes: (range.start, range.end),
                    }),
            );
        } else {
            ranges.extend(near.iter().map(|span| NativeRange {
                path: object.path.clone(),
                lines: Some((
                    span.anchor.lines.0.saturating_sub(AROUND).max(1),
                    span.anchor.lines.1 + AROUND,
                )),
                bytes: (span.anchor.bytes.start, span.anchor.bytes.end),
            }));
        }
    }
    ranges.truncate(12);
    ranges
}
