//! E12: a second question on the same object, a need that stays open, an edit between two reads.

use std::path::Path;

use spare_read::{EvidencePack, ReadRequest, Root, Session, Status, Verdict};
use spare_read_eval::{Error, sets};

use crate::Options;

/// Counts the conversations in which each step holds.
pub(crate) fn rounds(options: &Options) -> Result<(), Error> {
    let mut held = [0_usize; 5];
    let mut all = 0;
    for seed in options.split()? {
        all += 1;
        for (count, holds) in held.iter_mut().zip(one(&sets::rounds(seed))?) {
            *count += usize::from(holds);
        }
    }
    let [first, open, stale, again, steady] = held;
    println!(
        "{all} conversations: the first answer shown in {first}, what is not there absent in {open}, spans stale after the edit in {stale}, the new value and not the old one in {again}, the other fact shown in {steady}"
    );
    Ok(())
}

fn one(rounds: &sets::Rounds) -> Result<[bool; 5], Error> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("notes.md");
    std::fs::write(&path, &rounds.before)?;
    let mut session = Session::new(Root::open(folder.path())?);
    let ask = |session: &mut Session, question: &str| {
        let request = ReadRequest {
            force: true,
            ..ReadRequest::question(question)
        };
        session.read(Path::new("notes.md"), &request)
    };
    let shows =
        |pack: &EvidencePack, value: &str| pack.spans.iter().any(|span| span.text.contains(value));
    let (question, before, after) = &rounds.changed;
    let first = ask(&mut session, question)?;
    let open = ask(&mut session, &rounds.open)?;
    std::fs::write(&path, &rounds.after)?;
    let mut stale = true;
    for span in &first.spans {
        stale &= session.verify(&span.anchor, before)?.verdict == Verdict::Stale;
    }
    let again = ask(&mut session, question)?;
    let steady = ask(&mut session, &rounds.steady.0)?;
    Ok([
        shows(&first, before),
        open.needs
            .first()
            .is_some_and(|need| need.status == Status::Absent),
        stale,
        shows(&again, after) && !shows(&again, before),
        shows(&steady, &rounds.steady.1),
    ])
}
