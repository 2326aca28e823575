//! Where exactly does the paper's rule change its mind? Divergences at, above and below each threshold. No model.

use spare::rules::{Paper, Rule};
use spare::score::{EventScores, SegmentScores};

/// tau, kappa, min_nats; divergences of each segment in nats; whether each is sensitive.
type Case = (
    &'static str,
    f64,
    usize,
    f64,
    &'static [&'static [f64]],
    &'static [bool],
);

const CASES: [Case; 9] = [
    // The smallest divergence of an event has dn = 0 exactly.
    (
        "dn at tau does not count",
        0.0,
        2,
        0.0,
        &[&[1.0, 1.0, 2.0]],
        &[false],
    ),
    (
        "dn above tau counts",
        0.0,
        2,
        0.0,
        &[&[1.0, 1.5, 2.0]],
        &[true],
    ),
    (
        "d at the floor does not count",
        0.0,
        2,
        0.5,
        &[&[0.0, 0.5, 2.0]],
        &[false],
    ),
    (
        "d above the floor counts",
        0.0,
        2,
        0.499,
        &[&[0.0, 0.5, 2.0]],
        &[true],
    ),
    (
        "kappa is reached",
        0.2,
        3,
        0.0,
        &[&[0.0, 9.0, 9.0, 9.0]],
        &[true],
    ),
    (
        "kappa is missed by one",
        0.2,
        3,
        0.0,
        &[&[0.0, 0.0, 9.0, 9.0]],
        &[false],
    ),
    (
        "a segment of one token needs one",
        0.2,
        2,
        0.0,
        &[&[9.0], &[0.0, 9.0]],
        &[true, false],
    ),
    // 3 and 3 are large beside 0 and 4, and small beside 100.
    (
        "smallest and largest are those of the event",
        0.2,
        2,
        0.0,
        &[&[0.0, 3.0, 3.0, 4.0], &[0.0, 100.0, 100.0]],
        &[false, true],
    ),
    (
        "a mean over tau without enough tokens",
        0.2,
        2,
        0.0,
        &[&[0.0, 9.0], &[1.0, 1.0, 1.0, 1.0, 9.0]],
        &[false, false],
    ),
];

#[test]
fn thresholds_are_exclusive_and_counts_decide() {
    for (name, tau, kappa, min_nats, divergences, sensitive) in CASES {
        let rule = Paper {
            tau,
            kappa,
            min_nats,
            ..Paper::published()
        };
        let segments = divergences
            .iter()
            .enumerate()
            .map(|(segment, d)| SegmentScores {
                segment,
                d_topk: d.to_vec(),
                ..SegmentScores::default()
            });
        let scores = EventScores {
            segments: segments.collect(),
            ..EventScores::default()
        };
        let found: Vec<bool> = rule.decide(&scores).iter().map(|d| d.sensitive).collect();
        assert_eq!(found, sensitive, "{name}");
    }
}

/// The settings that the paper gives, and the floor that prune adds.
#[test]
fn settings_are_the_published_ones() {
    let (paper, floor) = (Paper::published(), Paper::with_floor());
    assert_eq!((paper.tau, paper.kappa, paper.min_nats), (0.2, 2, 0.0));
    assert_eq!((floor.tau, floor.kappa, floor.min_nats), (0.2, 2, 0.05));
}

/// `(d - min) / (max - min + 1e-12)`: a number also where all divergences are equal.
#[test]
fn normalised_is_the_formula_of_the_paper() {
    for (d, expected) in [
        (&[0.3, 0.3][..], &[0.0, 0.0][..]),
        (&[0.0, 1e-12], &[0.0, 0.5]),
        (&[1.0, 2.0, 5.0], &[0.0, 0.25, 1.0]),
    ] {
        let segment = SegmentScores {
            d_topk: d.to_vec(),
            ..SegmentScores::default()
        };
        let scores = EventScores {
            segments: vec![segment],
            ..EventScores::default()
        };
        for (found, expected) in scores.normalised().iter().flatten().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-9,
                "{d:?}: {found}, expected {expected}"
            );
        }
    }
}
