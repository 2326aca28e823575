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
    BoxOrder, BoxSpace, BoxUnit, Evidence, HEADER, Line, Mark, Source, Unfaithful, check, extract,
    extract_within, is_evidence, mark, render,
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
    let line = LABELS.iter().find_map(|l| line.strip_prefix(l)).unwrap();
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
    fn planted_values_survive_and_nothing_else_appears(case in case(), words in 0usize..16) {
        let source = case.source();
        let evidence = extract_within(&source, words);
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
    ) {
        let sensitive: Vec<Range<usize>> = ranges.iter().map(|&(at, n)| at..at + n).collect();
        let source = Source {
            text: &text, call: &call, sensitive: &sensitive, only_here: &only_here, superseded: &superseded,
            ..Source::default()
        };
        let evidence = extract_within(&source, words);
        prop_assert_eq!(check(&source, &evidence.lines), Ok(()), "{:?}", evidence);
        let shown = render(&evidence, Mark { pruned: None }, None);
        prop_assert!(broken(&text) || !broken(&shown));
        prop_assert_eq!(shown.split('\n').count(), evidence.lines.len() + 1);
        prop_assert!(is_evidence(&shown).is_some());
        let _ = Evidence::from_text(&text);
    }
}

fn all(text: &str) -> [Range<usize>; 1] {
    [0..text.len()]
}

fn lines(source: &Source<'_>) -> Vec<String> {
    extract(source).lines.into_iter().map(|l| l.text).collect()
}

fn written(text: &[&str]) -> Vec<Line> {
    text.iter()
        .map(|t| Line {
            text: (*t).to_owned(),
            anchor: None,
        })
        .collect()
}

#[test]
fn a_form_keeps_every_reading_as_it_was_written() {
    let text = "Let me look at the form carefully. The form has fields. Field 1 at [118, 64, 402, 92] reads \"AX-00731-Q\". \
        Hmm, is it 0 or O? Field 2: -12.50 EUR, not +12.50. Field 3: 3/8\" thread, 1.5e-4 m gap. \
        Field 4 rotated 90 deg, serial 0x7F3A, rev B2. So I am done looking at the form. Yes, done.";
    let source = Source {
        text,
        sensitive: &all(text),
        visible: "Fields read: AX-00731-Q; -12.50 EUR.",
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Box: Field 1 at [118, 64, 402, 92] reads \"AX-00731-Q\" (order, unit and picture not stated)",
            "Number: is it 0 or O?",
            "Number: Field 2: -12.50 EUR, not +12.50",
            "Number: Field 3: 3/8\" thread, 1.5e-4 m gap",
            "Code: Field 4 rotated 90 deg, serial 0x7F3A, rev B2",
        ]
    );
}

#[test]
fn a_board_segment_keeps_the_reading_with_its_object_and_its_doubt() {
    let text = "Now I can read it: the purple diamond carries 1. The next shape to check is the purple square. I can see the \
        purple square at cell (0, 1). It might be a 4, but I am not sure. I crop the cell to zoom in.";
    // the digit 1 of the cell in the call is not the reading 1; the cell itself is not repeated
    let call = "crop\n{\"cell\": (0,1)}";
    let source = Source {
        text,
        sensitive: &all(text),
        call,
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Number: the purple diamond carries 1",
            "Number: It might be a 4, but I am not sure"
        ]
    );
}

#[test]
fn a_number_within_a_box_or_of_one_digit_is_no_value_of_the_call() {
    let text = "The door shows 64. The wall shows 0. The plate shows 4711.";
    let call = "zoom\n{\"bbox\": [64, 10, 90, 20], \"img_idx\": 0, \"id\": 4711}";
    let source = Source {
        text,
        sensitive: &all(text),
        call,
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        ["Number: The door shows 64", "Number: The wall shows 0"]
    );
}

#[test]
fn a_line_keeps_the_doubt_and_the_negation_of_its_clause() {
    for (text, hedge) in [
        (
            "I am not at all sure from this small and blurred picture of the street whether the door shows 4711.",
            "not",
        ),
        (
            "The door of the old white house at the far end of the street shows 4711, but maybe I misread it.",
            "maybe",
        ),
        (
            "On the door of the old white house there is the number 4711 which does not belong to the house.",
            "not",
        ),
    ] {
        let source = Source {
            text,
            sensitive: &all(text),
            ..Source::default()
        };
        let found = lines(&source);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("4711"), "{found:?}");
        assert!(found[0].contains(hedge), "{found:?}");
    }
}

#[test]
fn a_superseded_value_between_two_others_parts_their_lines() {
    let text = "There are 4710 red cars and 4711 blue cars and 4712 green cars.";
    let source = Source {
        text,
        sensitive: &all(text),
        superseded: &[1],
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Number: There are 4710 red cars",
            "Number: blue cars and 4712 green cars"
        ]
    );
    let text = "I saw 4710, 4711 and 4712 here.";
    let short = Source {
        text,
        sensitive: &all(text),
        superseded: &[1],
        ..Source::default()
    };
    assert_eq!(lines(&short), ["Number: I saw 4710", "Number: 4712 here"]);
}

#[test]
fn characters_of_scripts_without_spaces_are_cut_between_and_never_within() {
    let text = "这是一张很大的照片里面有很多人和很多车还有一个写着「営業中」的红色招牌在左边的墙上靠近门口的地方🇳🇱。";
    let source = Source {
        text,
        sensitive: &all(text),
        ..Source::default()
    };
    let found = lines(&source);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("写着「営業中」"), "{found:?}");
    assert!(found[0].len() < text.len(), "{found:?}");
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
    for words in 0..14 {
        let source = Source {
            text: &text,
            sensitive: &all(&text),
            ..Source::default()
        };
        let evidence = extract_within(&source, words);
        assert_eq!(evidence.lines.len(), 1);
        let shown = variable(&evidence.lines[0].text);
        assert!(shown.contains("4711") && shown.len() < text.len());
        assert!(
            shown.graphemes(true).all(|g| whole.contains(g)),
            "{shown:?}"
        );
    }
}

#[test]
fn a_line_that_would_read_as_another_value_falls_back_to_the_bare_value() {
    // cut before the combining mark, the line would begin with a token that the segment does not hold
    let text = "x5\u{fe0f}\u{20e3}The \u{10a0c}5\u{fe0f}\u{20e3}\u{fffc}";
    for words in 0..4 {
        let source = Source {
            text,
            sensitive: &all(text),
            superseded: &[0],
            ..Source::default()
        };
        let evidence = extract_within(&source, words);
        assert_eq!(check(&source, &evidence.lines), Ok(()), "{evidence:?}");
        assert_eq!(evidence.lines.len(), 1);
    }
}

#[test]
fn a_list_over_several_lines_stays_one_value_on_one_line() {
    let text = "The box is at [\n  118,\n  64,\n  402,\n  92\n] as\nseen.";
    let source = Source {
        text,
        sensitive: &[22..23],
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        ["Box: The box is at [ 118, 64, 402, 92 ] as seen (order, unit and picture not stated)"]
    );
    assert_eq!(check(&source, &extract(&source).lines), Ok(()));
}

#[test]
fn a_box_says_how_it_is_read_when_the_call_does() {
    let text = "The sign is at [174, 450, 469, 658] on the wall.";
    let space = BoxSpace {
        order: Some(BoxOrder::Xyxy),
        unit: Some(BoxUnit::Thousandths),
        picture: Some("0".into()),
        picture_size: None,
    };
    let mut source = Source {
        text,
        sensitive: &all(text),
        space: Some(space.clone()),
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Box: The sign is at [174, 450, 469, 658] on the wall (x1, y1, x2, y2; 0..1000; picture 0)"
        ]
    );
    source.space = Some(BoxSpace {
        unit: None,
        picture_size: Some((640, 480)),
        ..space.clone()
    });
    assert!(
        lines(&source)[0]
            .ends_with("(x1, y1, x2, y2; picture 0, 640 x 480 pixels; unit not stated)")
    );
    source.space = Some(BoxSpace {
        picture: None,
        ..space
    });
    let bare = written(&["Box: [174, 450, 469, 658]"]);
    assert!(matches!(
        check(&source, &bare),
        Err(Unfaithful::Unread { line: 0, .. })
    ));
    // a model's guess about the order is a value that nothing vouches for
    let guess = written(&["Box: [174, 450, 469, 658] (x1, y1, x2, y2; 0..1000; picture 7)"]);
    assert!(matches!(
        check(&source, &guess),
        Err(Unfaithful::Invented { .. } | Unfaithful::Unread { .. })
    ));
}

#[test]
fn a_value_of_the_call_is_not_repeated_even_when_json_escapes_it() {
    let text = "I move C:\\Users\\Ann to the café \"Où\" and note 4711.";
    let call = "{\"from\": \"C:\\\\Users\\\\Ann\", \"label\": \"O\\u00f9\"}";
    let source = Source {
        text,
        sensitive: &all(text),
        call,
        ..Source::default()
    };
    assert_eq!(lines(&source), ["Number: note 4711"]);
    let repeated = written(&["Number: note 4711", "Text: 'Où'"]);
    assert!(matches!(
        check(&source, &repeated),
        Err(Unfaithful::Repeated { line: 1, .. })
    ));
}

#[test]
fn a_superseded_value_is_not_written_and_not_missed() {
    let text = "The plate looks like AB-4471, I think. The colour code is RAL-3020.";
    let source = Source {
        text,
        sensitive: &all(text),
        superseded: &[0],
        ..Source::default()
    };
    assert_eq!(lines(&source), ["Code: The colour code is RAL-3020"]);
    let stale = written(&["Code: RAL-3020", "Code: AB-4471"]);
    assert!(matches!(
        check(&source, &stale),
        Err(Unfaithful::Superseded { line: 1, .. })
    ));
}

#[test]
fn lines_of_a_model_are_held_to_the_same_rules() {
    let text = "The sign reads \"Stop\" and the distance is 12.50 m.";
    let source = Source {
        text,
        sensitive: &all(text),
        ..Source::default()
    };
    for good in [
        "Evidence:\n- Text: 'Stop'\n- Number: 12.50 m",
        "Sign: “Stop”\n\nDistance: 12.50 m",
    ] {
        assert_eq!(
            check(&source, &Evidence::from_text(good).lines),
            Ok(()),
            "{good}"
        );
    }
    for (bad, why) in [
        ("Text: 'Stop'\nNumber: 12.5 m", "a digit less"),
        ("Text: 'Stop'\nNumber: -12.50 m", "a sign more"),
        ("Text: 'Stop'\nNumber: 12.50 mm", "another unit"),
        ("Text: 'Stop'", "a value less"),
        (
            "Text: 'Halt'\nText: 'Stop'\nNumber: 12.50 m",
            "another string",
        ),
        ("Text: 'Stop'\nNumber: 12.50 m\nNumber: 3", "a value more"),
        ("", "nothing"),
    ] {
        assert!(
            check(&source, &Evidence::from_text(bad).lines).is_err(),
            "{why}"
        );
    }
    assert!(matches!(
        check(&source, &written(&["Text: 'Stop'\nNumber: 12.50 m"])),
        Err(Unfaithful::NotALine { .. })
    ));
    assert!(matches!(
        check(&source, &written(&["Text: "])),
        Err(Unfaithful::NotALine { .. })
    ));
}

#[test]
fn nothing_is_kept_where_nothing_must_be() {
    let text = "I keep the question in mind while I work, and 42 was no help.";
    assert!(
        extract(&Source {
            text,
            ..Source::default()
        })
        .is_empty()
    );
    assert!(
        extract(&Source {
            text,
            sensitive: &[0..10],
            ..Source::default()
        })
        .is_empty()
    );
    assert!(extract(&Source::default()).is_empty());
    assert_eq!(
        extract(&Source {
            text,
            only_here: &[0],
            ..Source::default()
        })
        .lines
        .len(),
        1
    );
}

#[test]
fn evidence_goes_through_json_and_leaves_an_empty_anchor_out() {
    let evidence = Evidence {
        lines: written(&["Number: 5"]),
    };
    let json = serde_json::to_string(&evidence).unwrap();
    assert_eq!(json, "{\"lines\":[{\"text\":\"Number: 5\"}]}");
    assert_eq!(serde_json::from_str::<Evidence>(&json).unwrap(), evidence);
    let anchored: Line =
        serde_json::from_str("{\"text\":\"Number: 5\",\"anchor\":\"p1\"}").unwrap();
    assert_eq!(anchored.anchor.as_deref(), Some("p1"));
}
