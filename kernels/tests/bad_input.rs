//! Is every input that has no divergence refused by name?
#![allow(clippy::unwrap_used, clippy::type_complexity)]

mod common;

use std::cell::Cell;

use common::Owned;
use half::bf16;
use spare_kernels::{Blocking, Divergence, Options, Precision, reverse_kl};

fn owned() -> Owned {
    Owned::new(9, 5, 6, 30, [(100, 6), (100, 6), (100, 6)])
}

#[test]
fn refused_with_a_message() {
    let cases: [(&str, fn(&mut Owned, &mut Options)); 19] = [
        ("top_k: found 0, expected at least 1", |_, options| {
            options.top_k = 0
        }),
        ("hidden: found 0, expected at least 1", |owned, _| {
            owned.hidden = 0
        }),
        ("vocab: found 0, expected at least 1", |owned, _| {
            owned.vocab = 0
        }),
        (
            "blocking.tokens: found 0, expected at least 1",
            |_, options| {
                options.blocking = Some(Blocking { tokens: 0, rows: 1 });
            },
        ),
        (
            "blocking.rows: found 0, expected at least 1",
            |_, options| {
                options.blocking = Some(Blocking { tokens: 1, rows: 0 });
            },
        ),
        (
            "floor: found NaN, expected a number from 0 to 1",
            |_, options| options.floor = f64::NAN,
        ),
        (
            "floor: found -0.5, expected a number from 0 to 1",
            |_, options| options.floor = -0.5,
        ),
        (
            "floor: found 2, expected a number from 0 to 1",
            |_, options| options.floor = 2.0,
        ),
        ("student: found 29 values, expected 5 x 6", |owned, _| {
            owned.student.truncate(29)
        }),
        ("teacher: found 31 values, expected 5 x 6", |owned, _| {
            owned.teacher.push(0.0)
        }),
        ("weight: found 180 values, expected 29 x 6", |owned, _| {
            owned.vocab = 29
        }),
        ("weight: found 179 values, expected 30 x 6", |owned, _| {
            owned.half = Some(vec![bf16::ONE; 179])
        }),
        ("student: found 30 values, expected 4 x 6", |owned, _| {
            owned.recorded.truncate(4)
        }),
        (
            "student: found 30 values, expected 5 x 18446744073709551615",
            |owned, _| owned.hidden = usize::MAX,
        ),
        (
            "recorded token 3: found id 30, expected an id below 30",
            |owned, _| owned.recorded[3] = 30,
        ),
        (
            "student hidden state of token 2, column 1: found NaN, expected a finite number",
            |owned, _| {
                owned.student[13] = f32::NAN;
            },
        ),
        (
            "teacher hidden state of token 4, column 5: found -inf, expected a finite number",
            |owned, _| {
                owned.teacher[29] = f32::NEG_INFINITY;
            },
        ),
        (
            "head weight of vocabulary entry 29, column 5: found inf, expected a finite number",
            |owned, _| {
                owned.weight[179] = f32::INFINITY;
            },
        ),
        (
            "head weight of vocabulary entry 7, column 2: found NaN, expected a finite number",
            |owned, _| {
                let mut half = vec![bf16::ONE; 180];
                (half[44], half[100]) = (bf16::NAN, bf16::INFINITY);
                owned.half = Some(half);
            },
        ),
    ];
    for (message, damage) in cases {
        for blocking in [None, Some(Blocking { tokens: 2, rows: 4 })] {
            let (mut owned, mut options) = (
                owned(),
                Options {
                    blocking,
                    ..Options::default()
                },
            );
            damage(&mut owned, &mut options);
            let error = reverse_kl(&owned.input(), &options, &|| false).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}

/// The largest finite f32 overflow no f64 sum.
#[test]
fn largest_finite_values_have_a_divergence() {
    let mut owned = owned();
    owned.student.fill(f32::MAX);
    owned.teacher.fill(-f32::MAX);
    owned
        .weight
        .iter_mut()
        .enumerate()
        .for_each(|(i, w)| *w = if i < 6 { f32::MAX } else { 0.0 });
    let options = Options {
        precision: Precision::Single,
        ..Options::default()
    };
    let single = reverse_kl(&owned.input(), &options, &|| false);
    assert_eq!(
        single.unwrap_err().to_string(),
        "logits of token 0: found one beyond f32, expected them in range, or double precision"
    );
    let found = owned.run(&Options::default());
    let expected = 6.0 * f64::from(f32::MAX) * f64::from(f32::MAX);
    assert!(
        found
            .d_topk
            .iter()
            .all(|&d| (d + 1e-12_f64.ln()).abs() < 1e-9),
        "{found:?}"
    );
    assert!(
        found
            .d_full
            .iter()
            .all(|&d| (d / expected - 1.0).abs() < 1e-9),
        "{found:?}"
    );
}

#[test]
fn no_tokens_give_no_numbers() {
    let mut owned = owned();
    owned.student.clear();
    owned.teacher.clear();
    owned.recorded.clear();
    assert_eq!(owned.run(&Options::default()), Divergence::default());
}

#[test]
fn cancel_is_asked_before_every_tile() {
    let (owned, asked) = (owned(), Cell::new(0));
    // 3 blocks of tokens by 8 tiles.
    let options = Options {
        blocking: Some(Blocking { tokens: 2, rows: 4 }),
        ..Options::default()
    };
    let stop_at = |n: usize| {
        asked.set(0);
        reverse_kl(&owned.input(), &options, &|| {
            asked.replace(asked.get() + 1) == n
        })
    };
    assert_eq!(
        stop_at(0).unwrap_err().to_string(),
        "cancelled after 0 of 24 vocabulary tiles"
    );
    assert_eq!(
        stop_at(23).unwrap_err().to_string(),
        "cancelled after 23 of 24 vocabulary tiles"
    );
    assert!(stop_at(24).is_ok());
    assert_eq!(asked.get(), 24);
}
