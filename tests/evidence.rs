//! Evidence is faithful: the generator plants the values and their places itself and never asks the recogniser.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::single_range_in_vec_init
)]

use std::collections::HashSet;
use std::ops::Range;

use proptest::prelude::*;
use spare::evidence::{
    Evidence, HEADER, Layout, Line, Mark, Source, Unfaithful, check, extract, extract_within,
    is_evidence, mark, render,
};

const LABELS: [&str; 6] = ["Box: ", "List: ", "Text: ", "Code: ", "Number: ", "Name: "];
const UNKNOWN: &str = " (order, unit and picture not stated)";

/// A value as the generator made it and what it decided about it.
#[derive(Clone, Debug)]
struct Planted {
    n: u32,
    value: String,
    /// A token inside it is sensitive: which part, in thousandths of its length.
    sensitive: Option<(usize, usize)>,
    only_here: bool,
    superseded: bool,
    in_call: bool,
    /// Words before and after it, without any value.
    before: String,
    after: String,
}

#[derive(Clone, Debug, Default)]
struct Case {
    text: String,
    call: String,
    sensitive: Vec<Range<usize>>,
    only_here: Vec<usize>,
    superseded: Vec<usize>,
    must: Vec<String>,
    must_not: Vec<String>,
}

impl Case {
    fn source(&self) -> Source<'_> {
        Source {
            text: &self.text,
            call: &self.call,
            sensitive: &self.sensitive,
            only_here: &self.only_here,
            superseded: &self.superseded,
            ..Source::default()
        }
    }
}

fn filler() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "the",
        "sign",
        "reads",
        "a",
        "shows",
        "near",
        "wall",
        "and",
        "left",
        "of",
        "picture",
        "which",
        "car",
        "then",
        "where",
        "über",
        "見",
        "naïve",
        "🎉",
        "👨‍👩‍👧",
        "maybe",
        "not",
        "so",
        "on",
        "door",
        "with",
        "red",
        "paint",
        "that",
        "was",
    ]);
    prop::collection::vec(words, 1..9).prop_map(|w| w.join(" "))
}

/// A value of each kind; the number makes it unlike any other.
fn value(kind: usize, n: u32) -> String {
    match kind {
        0 => format!("{n}"),
        1 => format!("-{n}.50 EUR"),
        2 => format!("[{n}, 64, 402, 92]"),
        3 => format!("({n}, 900)"),
        4 => format!("\"Hop {n} Inn\""),
        5 => format!("AX-{n}-Q"),
        6 => format!("'stop {n}'"),
        7 => format!("{n}/8"),
        8 => format!("1.5e-{n} m"),
        9 => format!("src/f_{n}.rs"),
        10 => format!("{n}%"),
        11 => format!("`run {n}`"),
        12 => format!("2026-08-14T{n}"),
        13 => format!("“看 {n} é”"),
        _ => format!("0x{n}F"),
    }
}

fn planted(n: u32) -> impl Strategy<Value = Planted> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (
        0..15usize,
        prop::option::of((0..1000usize, 1..400usize)),
        flags,
        filler(),
        filler(),
    )
        .prop_map(
            move |(kind, sensitive, (only_here, a, b, in_call), before, after)| Planted {
                n,
                value: value(kind, n),
                sensitive,
                only_here,
                superseded: a && b,
                in_call,
                before,
                after,
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    let stop = prop::sample::select(vec![". ", ", ", "; ", " and ", "\n", "? ", ": ", ".\n\n"]);
    let one = (1000u32..9000).prop_flat_map(planted);
    prop::collection::vec((one, stop), 1..7).prop_map(|parts| {
        let mut case = Case::default();
        let mut seen = HashSet::new();
        let mut calls = Vec::new();
        let mut index = 0;
        for (p, stop) in parts {
            if !seen.insert(p.n) {
                continue;
            }
            case.text.push_str(&p.before);
            case.text.push(' ');
            let start = case.text.len();
            case.text.push_str(&p.value);
            let end = case.text.len();
            case.text.push(' ');
            case.text.push_str(&p.after);
            case.text.push_str(stop);
            if let Some((at, length)) = p.sensitive {
                let from = start + at * (end - start - 1) / 1000;
                case.sensitive
                    .push(from..(from + 1 + length * (end - start) / 1000).min(end));
            }
            if p.only_here {
                case.only_here.push(index);
            }
            if p.superseded {
                case.superseded.push(index);
            }
            if p.in_call {
                calls.push(
                    serde_json::to_string(&p.value.trim_matches(['"', '\'', '`', '“', '”']))
                        .unwrap(),
                );
            }
            let wanted = p.sensitive.is_some() || p.only_here;
            match (p.superseded, p.in_call, wanted) {
                (false, false, true) => case.must.push(p.value),
                (true, _, _) | (_, true, _) => case.must_not.push(p.value),
                _ => {}
            }
            index += 1;
        }
        case.call = format!("tool\n{{\"list\": [{}]}}", calls.join(", "));
        case
    })
}

/// A line without what the template adds.
fn variable(line: &str) -> &str {
    let line = LABELS
        .iter()
        .find_map(|l| line.strip_prefix(l))
        .unwrap_or(line);
    line.strip_suffix(UNKNOWN).unwrap_or(line)
}

/// A replacement character stands where bytes were cut.
fn broken(text: &str) -> bool {
    text.contains('\u{FFFD}')
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn planted_values_survive_and_nothing_else_appears(case in case(), words in 0usize..16, labels in any::<bool>()) {
        let source = case.source();
        let evidence = extract_within(&source, Layout { words, labels });
        let shown = render(&evidence, Mark { pruned: None }, None);
        for value in &case.must {
            prop_assert!(shown.contains(value.as_str()), "lost {value:?}\n{shown}");
        }
        for value in &case.must_not {
            prop_assert!(!shown.contains(value.as_str()), "kept {value:?}\n{shown}");
        }
        prop_assert_eq!(evidence.is_empty(), case.must.is_empty());
        // every line is a stretch of the segment, word for word
        let text = spaced(&case.text);
        for line in &evidence.lines {
            prop_assert!(text.contains(&spaced(variable(&line.text))), "{:?}", line.text);
            prop_assert_eq!(line.text.lines().count(), 1);
        }
        prop_assert!(!broken(&shown));
        prop_assert_eq!(check(&source, &evidence.lines), Ok(()));
    }

    #[test]
    fn a_dropped_or_falsified_value_is_found(case in case(), pick in any::<prop::sample::Index>(), digit in 1u8..10) {
        let source = case.source();
        let lines = extract(&source).lines;
        if case.must.is_empty() {
            return Ok(());
        }
        let value = &case.must[pick.index(case.must.len())];
        let without: Vec<Line> = lines.iter().filter(|l| !l.text.contains(value.as_str())).cloned().collect();
        prop_assert!(check(&source, &without).is_err());
        // another digit in place of one of the planted number's four
        let at = value.find(|c: char| c.is_ascii_digit()).unwrap();
        let old = value.as_bytes()[at] - b'0';
        let new = (old + digit) % 10;
        let falsified = format!("{}{new}{}", &value[..at], &value[at + 1..]);
        let false_lines: Vec<Line> = lines
            .iter()
            .map(|l| Line { text: l.text.replace(value.as_str(), &falsified), anchor: None })
            .collect();
        prop_assert!(check(&source, &false_lines).is_err(), "{value} -> {falsified}");
        // and the value kept, a false one beside it
        let mut more = lines.clone();
        more.push(Line { text: format!("Number: the door has {}", 20_000 + u32::from(digit)), anchor: None });
        let invented = matches!(check(&source, &more), Err(Unfaithful::Invented { .. }));
        prop_assert!(invented);
    }

    #[test]
    fn marks_are_read_as_they_were_written(n in any::<usize>(), m in any::<usize>(), body in "[^\n]{0,40}") {
        let line = mark(n, m);
        let read = is_evidence(&line);
        prop_assert_eq!(read, Some(Mark { pruned: Some((n, m)) }));
        let evidence = Evidence { lines: vec![Line { text: body.clone(), anchor: None }] };
        for at in [Mark { pruned: None }, Mark { pruned: Some((n, m)) }] {
            let once = render(&evidence, at, Some("Open: nothing"));
            prop_assert_eq!(is_evidence(&once), Some(at));
            let again = render(&Evidence::default(), at, Some(once.split_once('\n').unwrap().1));
            prop_assert_eq!(is_evidence(&again), Some(at));
        }
        let prose = format!("{HEADER} x{body}");
        prop_assert_eq!(is_evidence(&prose), None);
    }

    #[test]
    fn any_text_gives_faithful_evidence_or_none(
        text in "(\\PC|[\"'`“”\\[\\](){}.,:/\\\\ \n\t#_-]|[0-9]|[A-Z]|The | Hop|é|🇳🇱|👨‍👩‍👧|5️⃣|\u{301}|中|°| m ){0,50}",
        call in "([\"'\\[\\]{}:,.\\\\ ]|[0-9]|u00e|Hop|The |\\PC){0,20}",
        ranges in prop::collection::vec((0usize..200, 0usize..60), 0..6),
        only_here in prop::collection::vec(0usize..12, 0..4),
        superseded in prop::collection::vec(0usize..12, 0..3),
        words in 0usize..14,
        labels in any::<bool>(),
    ) {
        let sensitive: Vec<Range<usize>> = ranges.iter().map(|&(at, n)| at..at + n).collect();
        let source = Source {
            text: &text, call: &call, sensitive: &sensitive, only_here: &only_here, superseded: &superseded,
            ..Source::default()
        };
        let evidence = extract_within(&source, Layout { words, labels });
        prop_assert_eq!(check(&source, &evidence.lines), Ok(()), "{:?}", evidence);
        let shown = render(&evidence, Mark { pruned: None }, None);
        prop_assert!(broken(&text) || !broken(&shown));
        prop_assert_eq!(shown.split('\n').count(), evidence.lines.len() + 1);
        prop_assert!(is_evidence(&shown).is_some());
        let _ = Evidence::from_text(&text);
    }
}

#[test]
fn decomposed_syllables_stay_whole() {
    use unicode_segmentation::UnicodeSegmentation;
    let text = format!(
        "{}4711{}",
        "\u{1112}\u{1161}\u{11ab}".repeat(60),
        "\u{1100}\u{1173}".repeat(60)
    );
    let whole: HashSet<&str> = text.graphemes(true).collect();
    for (words, labels) in (0..14).map(|w| (w, w % 2 == 0)) {
        let source = Source {
            text: &text,
            sensitive: &[0..text.len()],
            ..Source::default()
        };
        let evidence = extract_within(&source, Layout { words, labels });
        assert_eq!(evidence.lines.len(), 1);
        let shown = variable(&evidence.lines[0].text);
        assert!(shown.contains("4711") && shown.len() < text.len());
        assert!(
            shown.graphemes(true).all(|g| whole.contains(g)),
            "{shown:?}"
        );
    }
}
