//! An online session reads each token once and decides what a whole run would; runs of one file share what they have in common.
#![cfg(feature = "embedded-model")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use spare::plan::Trigger;
use spare::replay::PictureRoot;
use spare::score::ScoreOptions;
use spare::summary::SummaryChoice;
use spare::trajectory::{Message, Part, Trajectory};
use spare::{Control, Engine, Error, PruneOptions, Pruned, Pruner, Session, formats};
use spare_models::ModelError;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/board")
}

fn runs() -> Vec<Trajectory> {
    let text = std::fs::read_to_string(folder().join("runs.jsonl")).unwrap();
    let runs = text.lines().map(formats::openai_chat::read);
    runs.collect::<Result<_, _>>().unwrap()
}

fn engine() -> Arc<Engine> {
    Arc::new(Engine::board().unwrap())
}

fn root() -> PictureRoot {
    PictureRoot::new(folder())
}

/// The run without messages, and its messages.
fn split(run: &Trajectory) -> (Trajectory, Vec<Message>) {
    let mut empty = run.clone();
    let messages = std::mem::take(&mut empty.messages);
    (empty, messages)
}

fn calls_summary(message: &Message) -> bool {
    message.calls.iter().any(|c| c.name == "summarize_the_task")
}

/// Every divergence of a pruning, as bits.
fn bits(pruned: &Pruned) -> Vec<u64> {
    let segments = pruned.events.iter().flat_map(|e| &e.scores.segments);
    let all = segments.flat_map(|s| [&s.d_topk, &s.d_full, &s.logp, &s.logq]);
    all.flatten().map(|d| d.to_bits()).collect()
}

fn branch_tokens(pruned: &Pruned) -> u64 {
    let plans = pruned.events.iter().filter_map(|e| e.replay.as_ref());
    plans
        .map(|plan| {
            let branches = plan.branches.iter();
            let own = branches.map(|b| (plan.block.len() + b.tokens.end - b.at) as u64);
            own.sum::<u64>()
        })
        .sum()
}

#[test]
fn the_first_event_costs_its_branches_alone() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default());
    let mut decided = 0;
    for run in runs() {
        let (empty, messages) = split(&run);
        let mut session = Session::new(pruner.clone(), empty.clone(), root());
        let mut so_far = empty;
        for message in messages {
            let last = calls_summary(&message);
            so_far.push(message.clone());
            session.push(message, &Control::default()).unwrap();
            assert!(session.memory().total() > 0);
            if !last || decided > 40 {
                continue;
            }
            let whole = pruner.prune(&so_far, &root(), &Control::default()).unwrap();
            let expected = pruner.on_summary_with(&mut so_far, &root(), &Control::default());
            let before = engine.model().pushed();
            let receipt = session.on_summary(&Control::default()).unwrap();
            let pushed = engine.model().pushed() - before;
            assert_eq!(receipt, expected.unwrap());
            assert_eq!(session.history(), &so_far);
            if whole.events.len() == 1 {
                assert_eq!(pushed, branch_tokens(&whole));
                decided += 1;
            }
        }
    }
    assert!(decided >= 10, "only {decided} events");
}

/// After an event the trunk is read again from its first edit on, and nothing else.
#[test]
fn what_an_event_edits_is_read_again_and_no_more() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default());
    let mut edited = 0;
    for run in runs() {
        let (empty, messages) = split(&run);
        let mut session = Session::new(pruner.clone(), empty, root());
        let mut held = 0;
        let mut messages = messages.into_iter();
        for message in messages.by_ref() {
            let last = calls_summary(&message);
            session.push(message, &Control::default()).unwrap();
            if last {
                held = session.tokens_held();
                break;
            }
        }
        let receipt = session.on_summary(&Control::default()).unwrap();
        let Some(next) = messages.next() else {
            continue;
        };
        let before = engine.model().pushed();
        session.push(next.clone(), &Control::default()).unwrap();
        let pushed = (engine.model().pushed() - before) as usize;
        // A fresh session pays for everything.
        let mut fresh = Session::new(pruner.clone(), session.history().clone(), root());
        fresh.rewind(session.history().messages.len() - 1);
        let before = engine.model().pushed();
        fresh.push(next, &Control::default()).unwrap();
        let all = (engine.model().pushed() - before) as usize;
        assert_eq!(all, session.tokens_held());
        if receipt.replaced.is_empty() {
            assert!(pushed < 120, "{pushed} of {all} without an edit");
        } else {
            edited += 1;
            // The picture and the question stand before the first thought.
            assert!(pushed + 60 < all && pushed < held, "{pushed} of {all}");
        }
    }
    assert!(edited >= 5, "only {edited} runs were edited");
}

#[test]
fn forks_and_rewinds_are_as_good_as_new() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default());
    let run = &runs()[0];
    let (empty, messages) = split(run);
    let end = messages.iter().position(calls_summary).unwrap() + 1;
    let mut session = Session::new(pruner.clone(), empty.clone(), root());
    for message in &messages[..end] {
        session.push(message.clone(), &Control::default()).unwrap();
    }
    let mut fork = session.fork();
    let receipt = session.on_summary(&Control::default()).unwrap();
    // The fork has not seen the edit.
    assert_eq!(fork.history().messages, messages[..end]);
    assert_eq!(fork.on_summary(&Control::default()).unwrap(), receipt);

    let mut other = Session::new(pruner, empty, root());
    for message in &messages[..end] {
        other.push(message.clone(), &Control::default()).unwrap();
    }
    let held = other.tokens_held();
    other.rewind(end - 2);
    let before = engine.model().pushed();
    for message in &messages[end - 2..end] {
        other.push(message.clone(), &Control::default()).unwrap();
    }
    assert_eq!(other.tokens_held(), held);
    assert!(((engine.model().pushed() - before) as usize) < held / 2);
    assert_eq!(other.on_summary(&Control::default()).unwrap(), receipt);
}

#[test]
fn memory_stays_under_its_limit() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default());
    let run = &runs()[1];
    let (empty, messages) = split(run);
    let end = messages.iter().position(calls_summary).unwrap() + 1;
    let per_token = engine.model().cache_bytes();
    let mut so_far = empty.clone();
    so_far.messages.extend(messages[..end].iter().cloned());
    let pruned = pruner.prune(&so_far, &root(), &Control::default()).unwrap();
    assert!(!pruned.events[0].scores.segments.is_empty());
    let mut whole = 0;
    let mut receipts = Vec::new();
    for limit in [u64::MAX, 0, 10 * per_token, 150 * per_token] {
        let mut session =
            Session::new(pruner.clone(), empty.clone(), root()).with_memory_limit(limit);
        for message in &messages[..end] {
            session.push(message.clone(), &Control::default()).unwrap();
            let memory = session.memory();
            assert!(
                memory.cache + memory.states <= limit,
                "{memory:?} of {limit}"
            );
        }
        let held = session.tokens_held() as u64;
        match limit {
            0 => assert_eq!(held, 0),
            u64::MAX => whole = held,
            _ => assert!(5 < held && held < whole, "{held} of {whole} tokens held"),
        }
        receipts.push(session.on_summary(&Control::default()).unwrap());
        let memory = session.memory();
        assert!(
            memory.cache + memory.states <= limit,
            "{memory:?} of {limit}"
        );
    }
    assert!(receipts.iter().all(|receipt| *receipt == receipts[0]));
}

/// Pictures are told apart by what they show, not by their name: typed ones all have the same, and a path may be written anew.
#[test]
fn another_picture_under_the_same_name_is_another_picture() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default());
    let picture = |name: &str| {
        let bytes = std::fs::read(folder().join("img").join(name)).unwrap();
        Message::user_parts(vec![
            Part::picture_bytes(bytes),
            Part::text("Which digit is it?"),
        ])
    };
    let control = Control::default();
    let mut session = Session::new(pruner.clone(), Trajectory::new(Vec::new()), root());
    let before = engine.model().encoded();
    session.push(picture("000-0.png"), &control).unwrap();
    session.push(picture("001-0.png"), &control).unwrap();
    assert_eq!(engine.model().encoded() - before, 2);
    // The second one again, in the place of the first.
    session.rewind(0);
    session.push(picture("001-0.png"), &control).unwrap();
    assert_eq!(engine.model().encoded() - before, 2);
    let (held, pushed) = (session.tokens_held(), engine.model().pushed());
    let mut fresh = Session::new(pruner, Trajectory::new(Vec::new()), root());
    fresh.push(picture("001-0.png"), &control).unwrap();
    assert_eq!(fresh.tokens_held(), held);
    assert_eq!((engine.model().pushed() - pushed) as usize, held);
}

/// A stopped call loses nothing that it has read, and leaves nothing behind that is wrong.
#[test]
fn a_stopped_call_goes_on_where_it_was() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default()).sharing();
    let all = runs();
    let stopped = AtomicBool::new(true);
    let stop = Control::default().with_cancel(&stopped);
    let go = Control::default();
    for (run, other) in all.iter().zip(all.iter().skip(1)).take(4) {
        let (empty, messages) = split(run);
        let end = messages.iter().position(calls_summary).unwrap() + 1;
        let mut so_far = empty.clone();
        so_far.messages.extend(messages[..end].iter().cloned());
        let plain = Pruner::new(Arc::clone(&engine), PruneOptions::default());
        let expected = plain.on_summary_with(&mut so_far, &root(), &go).unwrap();

        let mut session = Session::new(pruner.clone(), empty, root());
        for (i, message) in messages[..end].iter().enumerate() {
            if i % 2 == 1 {
                let error = session.push(message.clone(), &stop).unwrap_err();
                assert!(
                    matches!(error, Error::Model(ModelError::Cancelled)),
                    "{error}"
                );
                // Another run goes over what they share meanwhile.
                pruner.prune(other, &root(), &go).unwrap();
            } else {
                session.push(message.clone(), &go).unwrap();
            }
        }
        let held = session.tokens_held();
        assert!(session.on_summary(&stop).is_err() && session.tokens_held() <= held);
        assert_eq!(session.on_summary(&go).unwrap(), expected);
    }
}

#[test]
fn a_session_goes_to_another_thread() {
    fn sendable<T: Send + 'static>(value: T) -> T {
        std::thread::spawn(move || value).join().unwrap()
    }
    let pruner = Pruner::new(engine(), PruneOptions::default());
    let mut session = sendable(Session::new(pruner, Trajectory::new(Vec::new()), root()));
    let message = Message::user("Which digit is on the red circle?");
    session.push(message, &Control::default()).unwrap();
    assert!(session.tokens_held() > 5);
}

/// Packs, threads and what other runs left behind change no bit.
#[test]
fn packing_threads_and_sharing_change_no_bit() {
    let options = |batch_tokens| PruneOptions {
        trigger: Trigger::Fixed(1),
        summary: SummaryChoice::Given("Question: which digits? The red circle is a 5.".into()),
        score: ScoreOptions {
            batch_tokens,
            ..ScoreOptions::default()
        },
        ..PruneOptions::default()
    };
    let runs = &runs()[..6];
    let engine = engine();
    let prune = |pruner: &Pruner| -> Vec<Vec<u64>> {
        let pruned = runs
            .iter()
            .map(|run| pruner.prune(run, &root(), &Control::default()));
        pruned.map(|pruned| bits(&pruned.unwrap())).collect()
    };
    let plain = prune(&Pruner::new(Arc::clone(&engine), options(1024)));
    assert!(plain.iter().any(|bits| !bits.is_empty()));
    for batch_tokens in [1, 70, usize::MAX] {
        let pruner = Pruner::new(Arc::clone(&engine), options(batch_tokens));
        assert!(prune(&pruner) == plain, "packs of {batch_tokens} tokens");
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pruner = Pruner::new(Arc::clone(&engine), options(1024));
        let found = pool.unwrap().install(|| prune(&pruner));
        assert!(found == plain, "{threads} threads");
    }
    let shared = Pruner::new(Arc::clone(&engine), options(1024)).sharing();
    assert!(prune(&shared) == plain && prune(&shared) == plain, "shared");
}

#[test]
fn an_event_takes_one_call_for_the_trunk_and_as_many_as_its_packs() {
    let engine = engine();
    let mut packs = BTreeSet::new();
    for batch_tokens in [1, 64, 150, 1024] {
        let options = PruneOptions {
            score: ScoreOptions {
                batch_tokens,
                ..ScoreOptions::default()
            },
            ..PruneOptions::default()
        };
        let pruner = Pruner::new(Arc::clone(&engine), options);
        for run in &runs() {
            let before = engine.model().calls();
            let pruned = pruner.prune(run, &root(), &Control::default()).unwrap();
            let calls = engine.model().calls() - before;
            let events = pruned.events.iter().filter(|e| e.replay.is_some()).count() as u64;
            if events == 1 {
                let most = 1 + branch_tokens(&pruned).div_ceil(batch_tokens as u64);
                assert!(calls <= most, "{calls} calls, at most {most}");
                packs.insert(calls);
            }
        }
    }
    assert!(packs.len() > 1, "{packs:?}");
}

#[test]
fn runs_of_a_file_share_pictures_and_beginnings() {
    let engine = engine();
    let pruner = Pruner::new(Arc::clone(&engine), PruneOptions::default()).sharing();
    let run = &runs()[0];
    let (encoded, pushed) = (engine.model().encoded(), engine.model().pushed());
    let first = pruner.prune(run, &root(), &Control::default()).unwrap();
    let pictures = engine.model().encoded() - encoded;
    let cost = engine.model().pushed() - pushed;
    assert!(pictures > 0);
    // The same run again: its pictures are known, and its beginning up to the first thought.
    let (encoded, pushed) = (engine.model().encoded(), engine.model().pushed());
    let second = pruner.prune(run, &root(), &Control::default()).unwrap();
    assert_eq!(engine.model().encoded(), encoded);
    let rows = first.events[0].replay.as_ref().unwrap();
    let least = rows.branches.iter().map(|b| b.tokens.start - 1).min();
    let saved = cost - (engine.model().pushed() - pushed);
    // The states of the first run's rows are its own: the trunk is read again from the first of them on.
    assert_eq!(saved, least.unwrap() as u64);
    assert!(bits(&first) == bits(&second));
}
