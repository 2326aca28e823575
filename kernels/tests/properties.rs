//! What must hold for every input, whatever its numbers?
#![allow(clippy::unwrap_used)]

mod common;

use common::{Owned, divergence_distance, splitmix64};
use proptest::prelude::*;
use spare_kernels::{Blocking, Divergence, Options, Precision};

/// Random shapes and spreads: logits of standard deviation 0.05 to 60.
fn owned() -> impl Strategy<Value = Owned> {
    (
        any::<u32>(),
        1_usize..20,
        1_usize..40,
        1_usize..150,
        18..24_i32,
        18..26_i32,
    )
        .prop_map(|(seed, n, hidden, vocab, state, delta)| {
            let r = 1 << 22;
            Owned::new(
                u64::from(seed),
                n,
                hidden,
                vocab,
                [(r, state), (r, delta), (r, 22)],
            )
        })
}

fn options() -> impl Strategy<Value = Options> {
    let floor = prop_oneof![Just(0.0), Just(1e-12), Just(1e-3)];
    let blocking = proptest::option::of(
        (1_usize..30, 1_usize..200).prop_map(|(tokens, rows)| Blocking { tokens, rows }),
    );
    let precision = prop_oneof![Just(Precision::Single), Just(Precision::Double)];
    (1_usize..30, floor, blocking, precision).prop_map(|(top_k, floor, blocking, precision)| {
        Options {
            top_k,
            floor,
            blocking,
            precision,
        }
    })
}

fn pick<T: Copy>(from: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&i| from[i]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds(owned in owned(), options in options()) {
        let found = owned.run(&options);
        for (i, (&d, &full)) in found.d_topk.iter().zip(&found.d_full).enumerate() {
            prop_assert!(full >= -1e-12, "token {i}: d_full {full}");
            prop_assert!(d >= 0.0 && d.is_finite());
            prop_assert!(found.logp[i] <= 1e-12 && found.logq[i] <= 1e-12);
            prop_assert!(found.kth_gap[i] >= 0.0);
            if options.floor > 0.0 {
                // -log q <= -log floor, and the entropy only lowers the sum.
                prop_assert!(d <= -options.floor.ln() + 1e-12, "token {i}: d_topk {d}");
            }
        }
    }

    /// The whole vocabulary as support, without a floor, is the full divergence.
    #[test]
    fn whole_support_is_the_full_divergence(owned in owned(), options in options()) {
        let found = owned.run(&Options { top_k: 150, floor: 0.0, ..options });
        for (d, full) in found.d_topk.iter().zip(&found.d_full) {
            prop_assert!((d - full).abs() <= 1e-11 * full.max(1.0), "{d} {full}");
        }
    }

    /// A larger floor means a smaller cost of what the teacher rules out.
    #[test]
    fn floor_only_lowers(owned in owned(), options in options()) {
        let free = owned.run(&Options { floor: 0.0, ..options.clone() });
        let floored = owned.run(&options);
        for (free, floored) in free.d_topk.iter().zip(&floored.d_topk) {
            prop_assert!(floored <= free);
        }
    }

    #[test]
    fn same_contexts_do_not_diverge(mut owned in owned(), options in options()) {
        owned.teacher.clone_from(&owned.student);
        let found = owned.run(&Options { floor: 0.0, ..options });
        prop_assert!(found.d_topk.iter().chain(&found.d_full).all(|&d| d == 0.0));
        prop_assert_eq!(found.logp, found.logq);
    }

    #[test]
    fn sizes_of_the_sweep_do_not_matter(owned in owned(), a in options(), b in options()) {
        let b = Options { blocking: b.blocking, ..a.clone() };
        prop_assert!(divergence_distance(&owned.run(&a), &owned.run(&b)) <= 1e-9);
    }

    #[test]
    fn tokens_do_not_see_each_other(owned in owned(), options in options(), seed: u32) {
        let mut order: Vec<usize> = (0..owned.recorded.len()).collect();
        order.sort_by_key(|&i| splitmix64(u64::from(seed), i));
        let rows = |from: &[f32]| order.iter().flat_map(|&i| from[i * owned.hidden..][..owned.hidden].to_vec()).collect();
        let mixed = Owned {
            student: rows(&owned.student),
            teacher: rows(&owned.teacher),
            recorded: pick(&owned.recorded, &order),
            ..owned.clone()
        };
        let found = owned.run(&options);
        let expected = Divergence {
            d_topk: pick(&found.d_topk, &order),
            d_full: pick(&found.d_full, &order),
            logp: pick(&found.logp, &order),
            logq: pick(&found.logq, &order),
            kth_gap: pick(&found.kth_gap, &order),
        };
        prop_assert!(divergence_distance(&mixed.run(&options), &expected) <= 1e-9);
    }

    /// Another recorded id changes the two log probabilities of its token and nothing else.
    #[test]
    fn recorded_id_reaches_only_its_log_probabilities(mut owned in owned(), options in options(), at: usize, id: u32) {
        let at = at % owned.recorded.len();
        let before = owned.run(&options);
        owned.recorded[at] = id % owned.vocab as u32;
        let mut after = owned.run(&options);
        let moved = before.logp[at] != after.logp[at];
        (after.logp[at], after.logq[at]) = (before.logp[at], before.logq[at]);
        prop_assert_eq!(&before, &after);
        // Every id in turn: the probabilities of the whole vocabulary sum to 1.
        let total: f64 = (0..owned.vocab as u32)
            .map(|id| { owned.recorded[at] = id; owned.run(&options).logp[at].exp() })
            .sum();
        prop_assert!((total - 1.0).abs() <= 1e-12, "{total} {moved}");
    }
}

/// Ties are only ties if equal weight rows give equal logits to the last bit, whichever tile they stand
/// in and however full that tile is.
#[test]
fn equal_weight_rows_tie() {
    for (hidden, blocking) in [
        (700, None),
        (700, Some((3, 64))),
        (37, Some((1, 7))),
        (5, Some((2, 1))),
    ] {
        let spreads = [(1 << 23, 22), (1 << 23, 23), (1 << 23, 25)];
        let mut owned = Owned::new(11, 8, hidden, 3 * 167, spreads);
        for id in 3..owned.vocab {
            owned
                .weight
                .copy_within(id % 3 * hidden..(id % 3 + 1) * hidden, id * hidden);
        }
        let blocking = blocking.map(|(tokens, rows)| Blocking { tokens, rows });
        let mut at = |id: u32| {
            owned.recorded.fill(id);
            owned.run(&Options {
                blocking,
                ..Options::default()
            })
        };
        let first = [0, 1, 2].map(&mut at);
        assert_ne!(first[0].logp, first[1].logp);
        assert!(first[0].kth_gap.iter().all(|&gap| gap == 0.0));
        for id in (3..3 * 167).step_by(31) {
            assert_eq!(at(id), first[id as usize % 3], "entry {id}, {blocking:?}");
        }
    }
}

/// To the last bit: a receipt written on 2 cores must be the one written on 64.
#[test]
fn threads_do_not_matter() {
    let owned = Owned::new(
        5,
        70,
        300,
        3000,
        [(1 << 23, 22), (1 << 23, 23), (1 << 23, 25)],
    );
    for blocking in [
        None,
        Some(Blocking {
            tokens: 16,
            rows: 50,
        }),
    ] {
        for precision in [Precision::Single, Precision::Double] {
            let options = Options {
                blocking,
                precision,
                ..Options::default()
            };
            let mut all = [1, 2, 3, 7].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| owned.run(&options))
            });
            let first = std::mem::take(&mut all[0]);
            assert!(first.d_full.iter().all(|&d| d > 0.01));
            for other in &all[1..] {
                assert_eq!(&first, other);
            }
        }
    }
}
