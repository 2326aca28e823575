//! Does the head agree with a float64 PyTorch computation of the definition?
#![allow(clippy::unwrap_used)]

mod common;

use common::{Owned, distance};
use half::bf16;
use serde::Deserialize;
use spare_kernels::{Blocking, Options, Precision};

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    seed: u64,
    n: usize,
    hidden: usize,
    vocab: usize,
    top_k: usize,
    floor: f64,
    dtype: String,
    ties: bool,
    state: (u64, i32),
    delta: (u64, i32),
    weight: (u64, i32),
    recorded: Vec<u32>,
    d_topk: Vec<f64>,
    d_full: Vec<f64>,
    logp: Vec<f64>,
    logq: Vec<f64>,
    kth_gap: Option<Vec<f64>>,
}

impl Case {
    fn owned(&self) -> Owned {
        let spreads = [self.state, self.delta, self.weight];
        let mut owned = Owned::new(self.seed, self.n, self.hidden, self.vocab, spreads);
        if self.ties {
            for row in owned.student.chunks_mut(self.hidden) {
                row[0] = 0.0;
            }
            for id in 0..self.vocab {
                let first = id / 3 * 3 * self.hidden;
                owned
                    .weight
                    .copy_within(first + 1..first + self.hidden, id * self.hidden + 1);
            }
        }
        if self.dtype == "bf16" {
            owned.half = Some(owned.weight.iter().map(|&w| bf16::from_f32(w)).collect());
        }
        *owned.recorded.first_mut().unwrap() = self.vocab as u32 - 1;
        *owned.recorded.last_mut().unwrap() = 0;
        assert_eq!(
            owned.recorded, self.recorded,
            "{}: the generators differ",
            self.name
        );
        owned
    }
}

/// In double precision both sides compute in f64, so the test holds the head to 1e-9. Where the support
/// cuts through a tie (`ties`), only the lower ids give the stored result.
#[test]
fn agrees_with_float64_pytorch() {
    let golden: Golden = serde_json::from_str(include_str!("golden/reverse_kl.json")).unwrap();
    assert_eq!(golden.cases.len(), 16);
    let sizes =
        [(1, 1), (2, 5), (3, 24), (64, 100)].map(|(tokens, rows)| Some(Blocking { tokens, rows }));
    for case in &golden.cases {
        let owned = case.owned();
        let everything = vec![f64::INFINITY; case.n];
        // Small tiles over a large vocabulary only cost time.
        let sizes = if case.vocab > 10_000 {
            &sizes[3..]
        } else {
            &sizes[..]
        };
        for &blocking in sizes.iter().chain([&None]) {
            let options = Options {
                top_k: case.top_k,
                floor: case.floor,
                blocking,
                precision: Precision::Double,
            };
            let found = owned.run(&options);
            for (what, found, expected) in [
                ("d_topk", &found.d_topk, &case.d_topk),
                ("d_full", &found.d_full, &case.d_full),
                ("logp", &found.logp, &case.logp),
                ("logq", &found.logq, &case.logq),
                (
                    "kth_gap",
                    &found.kth_gap,
                    case.kth_gap.as_ref().unwrap_or(&everything),
                ),
            ] {
                let apart = distance(found, expected);
                println!("{:13} {what:8} {blocking:?}: {apart:.1e}", case.name);
                assert!(
                    apart <= 1e-9,
                    "{} {what} {blocking:?}: {found:?}, expected {expected:?}",
                    case.name
                );
            }
        }
    }
}
