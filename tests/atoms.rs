//! The atom suite: `data/atoms.json` says which atoms a text has, `data/occurs.json` whether a value stands in a text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use serde::Deserialize;
use spare::trajectory::atom::{AtomKind, atoms, occurs};

#[derive(Deserialize)]
struct Example {
    text: String,
    atoms: Vec<(AtomKind, String)>,
}

#[derive(Deserialize)]
struct Occurrence {
    haystack: String,
    atom: String,
    occurs: bool,
}

#[test]
fn every_example_has_the_atoms_it_lists() {
    let examples: Vec<Example> = serde_json::from_str(include_str!("data/atoms.json")).unwrap();
    assert!(examples.len() >= 60, "{} examples", examples.len());
    let mut wrong = Vec::new();
    for e in &examples {
        let found: Vec<(AtomKind, String)> = atoms(&e.text)
            .iter()
            .map(|a| (a.kind, a.text(&e.text).to_owned()))
            .collect();
        if found != e.atoms {
            wrong.push(format!(
                "{:?}\n  found    {found:?}\n  expected {:?}",
                e.text, e.atoms
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn values_occur_at_token_borders_only() {
    let cases: Vec<Occurrence> = serde_json::from_str(include_str!("data/occurs.json")).unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .filter(|c| occurs(&c.haystack, &c.atom) != c.occurs)
        .map(|c| format!("{:?} in {:?}: expected {}", c.atom, c.haystack, c.occurs))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn recognition_is_linear_on_hostile_text() {
    for piece in [
        "[", "[1, ", "'a ", "\"", "1,", "-", "a.", "((1 ", "🇳🇱", "/.", "A ", "0 11 ", "e\u{301}",
        "5e", "`a\n",
    ] {
        let text = piece.repeat(400_000 / piece.len());
        let start = std::time::Instant::now();
        let found = atoms(&text);
        let ms = start.elapsed().as_millis();
        assert!(ms < 3_000, "{piece:?}: {ms} ms, {} atoms", found.len());
    }
}

/// Pieces that meet in odd ways, between arbitrary characters.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        2 => any::<char>().prop_map(String::from),
        6 => prop::sample::select(vec![
            "\"", "'", "`", "“", "”", "’", "[", "]", "(", ")", "{", ",", ".", ":", "/", "\\", "-", "−", "–", "+", "#", "_", "@", "°",
            "%", "$", "€", "^", "×", "&", "~", " ", "\n", "\t", "\u{a0}", "5", "12", "0", "e", "E", "x", "A", "Hop", "Inn", "The",
            "I", "px", "m", "EUR", "http://", "𝟘", "½", "é", "e\u{301}", "\u{301}", "\u{93e}", "\u{903}", "\u{345}", "\u{200d}", "👨‍👩‍👧", "🇳", "🇱", "中", "号", "5️⃣", "'s", "\r",
        ]).prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn atoms_lie_on_borders_in_order_and_occur_where_they_were_found(text in soup()) {
        let mut last = 0;
        for atom in atoms(&text) {
            prop_assert!(last <= atom.start && atom.start < atom.end && atom.end <= text.len());
            prop_assert!(text.is_char_boundary(atom.start) && text.is_char_boundary(atom.end));
            prop_assert!(!atom.text(&text).is_empty());
            let value = atom.text(&text);
            prop_assert!(occurs(&text, value), "{value:?} of {text:?}");
            // Also where a line of evidence sets it between spaces.
            prop_assert!(occurs(&format!("Number: it is {value} there"), value), "{value:?} of {text:?} between spaces");
            last = atom.end;
        }
    }

    #[test]
    fn a_planted_integer_occurs_and_its_parts_do_not(n in 100u32..1_000_000, before in "[a-z ]{0,9} ", after in "( [a-z ]{0,9}|[.,;)] )") {
        let text = format!("{before}{n}{after}");
        prop_assert!(occurs(&text, &n.to_string()));
        let digits = n.to_string();
        prop_assert!(!occurs(&text, &digits[1..]) && !occurs(&text, &digits[..digits.len() - 1]));
        let negative = format!("{before}-{n}{after}");
        let signed = format!("-{n}");
        prop_assert!(!occurs(&negative, &digits) && occurs(&negative, &signed));
    }
}
