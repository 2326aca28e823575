//! Where does each rule beside the paper's change its mind? No model.
#![allow(clippy::unwrap_used)]

use spare::rules::{Covered, Mean, Paper, Residual, Rule, Signed, Stated};
use spare::score::{AtomScore, EventScores, SegmentScores};
use spare::summary::Says;
use spare::trajectory::AtomKind;

/// A segment of four tokens whose third is a value.
fn segment(d: [f64; 4], logp: f64, logq: f64, atom: AtomScore) -> SegmentScores {
    SegmentScores {
        token_ids: vec![1, 2, 3, 4],
        d_topk: d.to_vec(),
        logp: vec![-1.0, -1.0, logp, -1.0],
        logq: vec![-1.0, -1.0, logq, -1.0],
        atoms: vec![AtomScore {
            tokens: 2..3,
            ..atom
        }],
        ..SegmentScores::default()
    }
}

fn number(bytes: usize, residual: f64) -> AtomScore {
    AtomScore {
        kind: AtomKind::Number,
        start: 10,
        end: 10 + bytes,
        log_bare: vec![-residual],
        ..AtomScore::default()
    }
}

fn event(segments: Vec<SegmentScores>) -> EventScores {
    EventScores {
        segments,
        ..EventScores::default()
    }
}

fn sensitive(rule: &dyn Rule, atom: AtomScore) -> bool {
    let scores = event(vec![segment([0.0; 4], -3.0, -3.0, atom)]);
    rule.decide(&scores)[0].sensitive
}

#[test]
fn the_default_trusts_words_first_and_the_model_where_they_do_not_tell() {
    let rule = Covered::with_bare(1.5);
    let (little, much) = (0.2, 6.0);
    let stated = |bytes, residual| AtomScore {
        stated: true,
        ..number(bytes, residual)
    };
    let says = |says, residual| AtomScore {
        says,
        stated: true,
        ..number(1, residual)
    };
    for (what, atom, expected) in [
        ("stands nowhere", number(4, much), true),
        (
            "stands nowhere, and the model knows it all the same",
            number(4, little),
            false,
        ),
        (
            "stands nowhere, and the model is unsure",
            number(4, 1.0),
            true,
        ),
        ("a long value stands in the summary", stated(4, much), false),
        (
            "a short one may stand there by chance",
            stated(1, much),
            true,
        ),
        (
            "a short one that the summary gives back",
            stated(1, 1.0),
            false,
        ),
        (
            "a short one that stays elsewhere by chance",
            AtomScore {
                shown: true,
                ..number(2, much)
            },
            true,
        ),
        (
            "a long one that stays elsewhere",
            AtomScore {
                shown: true,
                ..number(9, much)
            },
            false,
        ),
        (
            "the summary says it of the same thing",
            says(Says::Same, much),
            false,
        ),
        (
            "the summary says another of the same thing",
            says(Says::Other("7".into()), much),
            false,
        ),
        (
            "never replayed",
            AtomScore {
                log_bare: Vec::new(),
                ..number(4, 0.0)
            },
            true,
        ),
        ("no number at all", number(4, f64::NAN), true),
    ] {
        assert_eq!(sensitive(&rule, atom), expected, "{what}");
    }
}

#[test]
fn without_a_bare_pass_words_decide_alone() {
    let rule = Covered::default();
    assert_eq!(rule.needs().len(), 2);
    let shown = |bytes| AtomScore {
        shown: true,
        ..number(bytes, 0.0)
    };
    for (what, atom, expected) in [
        ("stands nowhere", number(4, 0.0), true),
        ("a long value stays", shown(4), false),
        ("a short one may stay by chance", shown(3), true),
        (
            "the summary says it",
            AtomScore {
                says: Says::Same,
                ..number(1, 0.0)
            },
            false,
        ),
        (
            "the summary says another",
            AtomScore {
                says: Says::Other("7".into()),
                ..number(1, 0.0)
            },
            false,
        ),
    ] {
        assert_eq!(sensitive(&rule, atom), expected, "{what}");
    }
    // Where a short value that stands somewhere may go, one that stands nowhere still may not.
    assert!(!sensitive(rule.at(1.5).as_ref(), shown(3)));
    assert!(sensitive(rule.at(1.5).as_ref(), number(3, 0.0)));
}

#[test]
fn what_the_model_sees_may_go_with_its_first_mention() {
    let rule = Covered::default();
    let seen = || segment([0.0; 4], -0.01, -0.01, number(1, 9.0));
    let guessed = || segment([0.0; 4], -2.3, -2.3, number(1, 9.0));
    for (what, segments, expected) in [
        ("read off a picture", vec![seen()], vec![false]),
        ("read twice", vec![seen(), seen()], vec![false, false]),
        ("guessed", vec![guessed()], vec![true]),
        // The second time it is predicted because the first stood in reasoning.
        (
            "guessed and repeated",
            vec![guessed(), seen()],
            vec![true, true],
        ),
    ] {
        let found: Vec<bool> = rule
            .decide(&event(segments))
            .iter()
            .map(|d| d.sensitive)
            .collect();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_corrected_value_is_named_with_what_corrects_it() {
    let atom = AtomScore {
        says: Says::Other("4477".into()),
        ..number(4, 9.0)
    };
    let scores = event(vec![segment([9.0; 4], -3.0, -9.0, atom)]);
    let found = &Covered::default().decide(&scores)[0];
    assert!(!found.sensitive);
    assert_eq!(
        (found.superseded[0].atom, found.superseded[0].by.as_str()),
        (0, "4477")
    );
    // The published rule keeps exactly such a value.
    let paper = &Paper::published().decide(&event(vec![segment(
        [0.0, 0.0, 9.0, 9.0],
        -3.0,
        -9.0,
        number(4, 9.0),
    )]))[0];
    assert!(paper.sensitive && paper.superseded.is_empty());
}

#[test]
fn signed_counts_only_what_the_summary_makes_less_likely() {
    let rule = Signed {
        nats: 0.5,
        kappa: 1,
    };
    let with = |logq| {
        event(vec![segment(
            [0.0, 0.0, 2.0, 0.0],
            -3.0,
            logq,
            number(1, 0.0),
        )])
    };
    assert!(rule.decide(&with(-5.0))[0].sensitive);
    assert!(
        !rule.decide(&with(-1.0))[0].sensitive,
        "the summary states it"
    );
    assert!(!rule.at(2.0).decide(&with(-5.0))[0].sensitive, "exclusive");
    assert_eq!(rule.decide(&with(-5.0))[0].tokens, [2]);
}

#[test]
fn a_mean_drowns_one_token() {
    let scores = |d| event(vec![segment(d, -1.0, -1.0, number(1, 0.0))]);
    let rule = Mean { tau: 0.3 };
    assert!(!rule.decide(&scores([0.0, 0.0, 9.0, 0.0]))[0].sensitive);
    assert!(rule.decide(&scores([0.0, 9.0, 9.0, 0.0]))[0].sensitive);
}

#[test]
fn residual_and_stated_look_at_values_alone() {
    let residual = Residual { nats: 2.0 };
    assert!(sensitive(&residual, number(4, 2.1)));
    assert!(!sensitive(&residual, number(4, 2.0)));
    assert!(sensitive(&Stated, number(4, 0.0)));
    assert!(!sensitive(
        &Stated,
        AtomScore {
            shown: true,
            ..number(1, 9.0)
        }
    ));
}

#[test]
fn absolute_divergences_are_not_normalised() {
    let rule = Paper {
        tau: 1.0,
        ..Paper::in_nats()
    };
    let scores = |d| event(vec![segment(d, -1.0, -1.0, number(1, 0.0))]);
    assert!(rule.decide(&scores([0.0, 1.1, 1.1, 100.0]))[0].sensitive);
    assert!(!rule.decide(&scores([0.0, 0.9, 0.9, 100.0]))[0].sensitive);
}

/// Above its threshold a strength decides: the curves and the verdicts tell the same story.
#[test]
fn strengths_and_decisions_agree() {
    let rules: Vec<Box<dyn Rule>> = vec![
        Box::new(Covered::default()),
        Box::new(Covered::with_bare(1.5)),
        Box::new(Paper::published()),
        Box::new(Paper::in_nats()),
        Box::new(Paper::with_floor()),
        Box::new(Mean::default()),
        Box::new(Signed::default()),
        Box::new(Residual::default()),
        Box::new(Stated),
    ];
    let mut segments = Vec::new();
    for i in 0..40 {
        let x = f64::from(i);
        let wave = |k: f64| (x * k).sin().abs() * 3.0;
        let atom = AtomScore {
            stated: i % 3 == 0,
            shown: i % 5 == 0,
            ..number(1 + i as usize % 6, wave(0.9))
        };
        let mut s = segment(
            [wave(0.3), wave(0.7), wave(1.1), wave(1.7)],
            -wave(1.3),
            -wave(2.1),
            atom,
        );
        s.segment = i as usize;
        segments.push(s);
    }
    let scores = event(segments);
    for rule in rules {
        for threshold in [rule.threshold(), 0.1, 0.6, 1.4, 2.5] {
            let rule = rule.at(threshold);
            let decided = rule.decide(&scores);
            let strengths = rule.strengths(&scores);
            for (decision, strength) in decided.iter().zip(strengths) {
                let expected = strength.segment > rule.threshold();
                assert_eq!(
                    decision.sensitive,
                    expected,
                    "{} at {threshold}: {strength:?}",
                    rule.name()
                );
            }
        }
    }
}
