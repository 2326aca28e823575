//! The same numbers from a cache, after forks, rewinds and splices.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use spare_models::{Control, KvCache, ModelError, PreparedPrompt, Progress};

use crate::golden::{Golden, all, apart};

const LOGITS: f32 = 1e-4;
/// Two ways through the cache may differ in the order of sums only.
const CACHE: f32 = 3e-5;

/// The prompt as turns that arrive one after the other: each stretch is prepared from what is known by then.
#[test]
fn turn_by_turn_equals_whole() {
    for golden in all() {
        let whole = golden.prompt();
        let turns = match whole.pictures() {
            [first, second] => vec![
                first.tokens.end + 3,
                second.tokens.start,
                second.tokens.end + 1,
                whole.len(),
            ],
            _ => vec![9, 10, 25, whole.len()],
        };
        let (mut cache, mut logits) = (KvCache::new(), Vec::new());
        for &end in &turns {
            let turn = whole.splice(&golden.model, end, &[], end).unwrap();
            assert_eq!(turn.len(), end);
            logits.extend(golden.logits(&turn, &mut cache, &[]));
        }
        let gap = apart(&logits, golden.floats("logits"));
        println!(
            "{}: turns to {turns:?}, largest difference {gap:.2e}",
            golden.name
        );
        assert!(gap <= LOGITS, "{}: {gap:e}", golden.name);
    }
}

/// A detour behind the cached prefix leaves no trace, wherever the rewind lands: before, inside or after a picture.
#[test]
fn forks_and_rewinds_equal_whole() {
    for golden in all() {
        let prompt = golden.prompt();
        let (places, inside) = match prompt.pictures() {
            [first, second] => {
                let inside = second.tokens.start + 3;
                let places = [first.tokens.start, inside, second.tokens.end + 2];
                (places, Some(inside))
            }
            _ => ([1, 17, prompt.len() - 2], None),
        };
        for at in places {
            let mut cache = KvCache::new();
            golden.logits(&prompt, &mut cache, &[]);
            let mut fork = cache.fork();
            fork.truncate(at).unwrap();
            // Another continuation on a fork of the fork, of other length and content, then back.
            if Some(at) != inside {
                let detour = prompt
                    .splice(&golden.model, at, &[11, 12, 13, 14, 15], prompt.len())
                    .unwrap();
                let mut branch = fork.fork();
                golden
                    .model
                    .prefill(
                        &detour,
                        at..detour.len(),
                        &mut branch,
                        &[],
                        &Control::none(),
                    )
                    .unwrap();
                assert_eq!((fork.len(), branch.len()), (at, prompt.len() + 5));
            }
            let width = golden.model.vocab_size();
            let kept = golden.rows().iter().filter(|r| **r < at).count() * width;
            let logits = golden.logits(&prompt, &mut fork, &[]);
            let gap = apart(&logits, &golden.floats("logits")[kept..]);
            assert!(gap <= LOGITS, "{} rewound to {at}: {gap:e}", golden.name);
            // The first cache never noticed.
            assert_eq!(cache.len(), prompt.len());
        }
    }
}

/// What a branch computes behind the cached prefix equals a plain forward over its own whole context.
#[test]
fn a_spliced_branch_equals_a_plain_run() {
    for golden in all() {
        let (model, prompt) = (&golden.model, golden.prompt());
        let middle = prompt.pictures().first().map_or(19, |p| p.tokens.end + 2);
        for at in [2, middle, prompt.len() - 2] {
            let mut block = [20, 21, 22, 23, 24, 25, 26];
            if prompt.ids()[at] == block[0] {
                block.reverse();
            }
            let branch = prompt.splice(model, at, &block, prompt.len()).unwrap();
            assert_eq!(branch.common_prefix(&prompt), at);
            let fresh =
                PreparedPrompt::new(model, branch.ids().to_vec(), branch.pictures().to_vec())
                    .unwrap();
            assert_eq!(branch.positions(), fresh.positions());
            let mut cache = KvCache::new();
            model
                .prefill(&prompt, 0..at, &mut cache, &[], &Control::none())
                .unwrap();
            let rows: Vec<usize> = (at..branch.len()).collect();
            let cached = model
                .prefill(
                    &branch,
                    at..branch.len(),
                    &mut cache,
                    &rows,
                    &Control::none(),
                )
                .unwrap();
            let plain = model
                .prefill(
                    &branch,
                    0..branch.len(),
                    &mut KvCache::new(),
                    &rows,
                    &Control::none(),
                )
                .unwrap();
            let gap = apart(
                &model.logits(&cached).unwrap(),
                &model.logits(&plain).unwrap(),
            );
            assert!(gap <= CACHE, "{} at {at}: {gap:e}", golden.name);
        }
    }
}

/// No token sees a later one, also inside and between pictures: to the bit where the token is alone in its row of every
/// product. Experts work on the rows of all tokens that pick them, so there the last token moves the order of sums.
#[test]
fn earlier_rows_do_not_see_the_last_token() {
    for golden in all() {
        let prompt = golden.prompt();
        let mut ids = golden.ids.clone();
        *ids.last_mut().unwrap() = 17;
        assert_ne!(ids, golden.ids);
        let other = PreparedPrompt::new(&golden.model, ids, prompt.pictures().to_vec()).unwrap();
        let rows: Vec<usize> = (0..prompt.len()).collect();
        let run = |p| {
            golden
                .model
                .prefill(
                    p,
                    0..rows.len(),
                    &mut KvCache::new(),
                    &rows,
                    &Control::none(),
                )
                .unwrap()
        };
        let (a, b) = (run(&prompt), run(&other));
        let last = (rows.len() - 1) * a.width;
        let before = apart(&a.values[..last], &b.values[..last]);
        println!("{}: {before:.1e}", golden.name);
        let bound = if golden.has_experts() { 1e-5 } else { 0.0 };
        assert!(before <= bound, "{}: {before:e}", golden.name);
        let moved = apart(&a.values[last..], &b.values[last..]);
        assert!(moved > 1e-2, "{}: {moved:e}", golden.name);
    }
}

#[test]
fn tokens_pushed_are_counted_by_the_text_model() {
    let golden = Golden::open("qwen3_vl/gqa1-tied");
    let (model, prompt) = (&golden.model, golden.prompt());
    assert_eq!(model.pushed(), 0);
    let mut cache = KvCache::new();
    golden.logits(&prompt, &mut cache, &[10, 30]);
    assert_eq!(model.pushed(), prompt.len() as u64);
    cache.truncate(prompt.len() - 4).unwrap();
    golden.logits(&prompt, &mut cache, &[]);
    assert_eq!(model.pushed(), prompt.len() as u64 + 4);
}

#[test]
fn a_long_call_reports_and_stops_and_can_go_on() {
    let mut golden = Golden::open("qwen3_vl/gqa2-untied");
    golden.model = golden.model.with_chunk(8);
    let (prompt, flag, seen) = (golden.prompt(), AtomicBool::new(false), AtomicUsize::new(0));
    let report = |p: Progress| {
        assert_eq!(p.total, 44);
        seen.store(p.done, Ordering::Relaxed);
        if p.done >= 16 {
            flag.store(true, Ordering::Relaxed);
        }
    };
    let ctl = Control::none().with_cancel(&flag).with_progress(&report);
    let mut cache = KvCache::new();
    let error = golden
        .model
        .prefill(&prompt, 0..44, &mut cache, &[], &ctl)
        .unwrap_err();
    assert!(matches!(error, ModelError::Cancelled));
    // The chunks that were finished are whole: going on gives the same logits.
    assert_eq!((cache.len(), seen.load(Ordering::Relaxed)), (16, 16));
    let rest = golden.logits(&prompt, &mut cache, &[]);
    let skipped = 16 * golden.model.vocab_size();
    assert!(apart(&rest, &golden.floats("logits")[skipped..]) <= LOGITS);
}

#[test]
fn rows_come_in_the_order_asked_for() {
    let golden = Golden::open("qwen3_vl/gqa4-sharded");
    let (model, prompt) = (&golden.model, golden.prompt());
    let run = |rows: &[usize]| {
        model
            .prefill(&prompt, 0..44, &mut KvCache::new(), rows, &Control::none())
            .unwrap()
    };
    let (all, picked) = (run(&(0..44).collect::<Vec<_>>()), run(&[40, 3, 40, 21]));
    for (i, row) in [40, 3, 40, 21].into_iter().enumerate() {
        assert_eq!(picked.row(i), all.row(row));
    }
    assert_eq!(picked.row(4), None);
    let bad = |range, rows: &[usize]| {
        model
            .prefill(&prompt, range, &mut KvCache::new(), rows, &Control::none())
            .unwrap_err()
    };
    assert_eq!(
        bad(0..20, &[20]).to_string(),
        "row: found 20, expected a token of 0..20"
    );
    assert!(bad(1..20, &[]).to_string().contains("a range from 0"));
    assert!(bad(0..45, &[]).to_string().contains("within 44 tokens"));
}

/// One model, many threads, one cache each.
#[test]
fn threads_share_a_model() {
    let golden = Golden::open("qwen3_vl/gqa2-tied-v4");
    let prompt = golden.prompt();
    let one = || golden.logits(&prompt, &mut KvCache::new(), &[]);
    let first = one();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        for run in runs {
            assert!(run.join().unwrap() == first);
        }
    });
}
