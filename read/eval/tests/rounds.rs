//! E12: a second question on the same object, an open need, an edit between two reads.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use spare_read::{EvidencePack, ReadRequest, Root, Session, Status, Verdict};
use spare_read_eval::sets::rounds;

fn ask(session: &mut Session, question: &str) -> EvidencePack {
    session
        .read(
            Path::new("notes.md"),
            &ReadRequest {
                force: true,
                ..ReadRequest::question(question)
            },
        )
        .unwrap()
}

#[test]
fn state_outlives_rounds_and_an_edit_makes_old_spans_stale() {
    for seed in 1_000..1_010 {
        let rounds = rounds(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.md");
        std::fs::write(&path, &rounds.before).unwrap();
        let mut session = Session::new(Root::open(folder.path()).unwrap());
        let first = ask(&mut session, &rounds.changed.0);
        assert!(
            first
                .spans
                .iter()
                .any(|span| span.text.contains(&rounds.changed.1)),
            "{seed}"
        );
        let open = ask(&mut session, &rounds.open);
        assert_eq!(open.needs[0].status, Status::Absent, "{seed}");
        assert_eq!(open.round.n, 2);
        std::fs::write(&path, &rounds.after).unwrap();
        assert!(first.spans.iter().all(|span| {
            session
                .verify(&span.anchor, &rounds.changed.1)
                .unwrap()
                .verdict
                == Verdict::Stale
        }));
        let again = ask(&mut session, &rounds.changed.0);
        assert!(
            again
                .spans
                .iter()
                .any(|span| span.text.contains(&rounds.changed.2)),
            "{seed}"
        );
        assert!(
            again
                .spans
                .iter()
                .all(|span| !span.text.contains(&rounds.changed.1)),
            "{seed}"
        );
        let steady = ask(&mut session, &rounds.steady.0);
        assert!(
            steady
                .spans
                .iter()
                .any(|span| span.text.contains(&rounds.steady.1)),
            "{seed}"
        );
    }
}
