//! The generated sets say what they claim to say.
#![allow(clippy::unwrap_used)]

use spare_read_eval::case::{Case, Gold, Set};
use spare_read_eval::sets::{self, BINARY, GENERATED};

fn text(bytes: &[u8], gold: &Gold, case: &Case) -> String {
    let piece = &bytes[gold.bytes.clone()];
    let label = case.kind.split('/').nth(1).unwrap_or("utf-8");
    let label = match label {
        "utf-8-bom" => "utf-8",
        other => other,
    };
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::UTF_8);
    let (text, _) = encoding.decode_without_bom_handling(piece);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_bytes_of_a_gold_span_hold_its_answer() {
    for set in GENERATED {
        for seed in 0..25 {
            if seed % 20 == 10 {
                continue; // The 10 MB documents.
            }
            let case = sets::case(set, seed).unwrap();
            for gold in case.asked.iter().flat_map(|asked| &asked.gold) {
                let file = case
                    .files
                    .iter()
                    .find(|file| file.path == gold.path)
                    .unwrap();
                let read = text(&file.bytes, gold, &case);
                let answer = gold.answer.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    read.contains(&answer) || read.contains(&answer.replace('"', "\"\"")),
                    "{set:?} {seed} {}: {read:?} lacks {answer:?}",
                    case.kind
                );
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_bytes_again_and_another_seed_gives_others() {
    for set in GENERATED.into_iter().chain(BINARY) {
        let bytes = |seed| {
            sets::case(set, seed)
                .unwrap()
                .files
                .iter()
                .flat_map(|file| file.bytes.clone())
                .collect::<Vec<u8>>()
        };
        assert_eq!(bytes(3), bytes(3), "{set:?}");
        assert_ne!(bytes(3), bytes(4), "{set:?}");
    }
}

#[test]
fn every_set_asks_for_what_is_there_and_for_what_is_not() {
    for set in [
        Set::TableLookup,
        Set::Tree,
        Set::BundleAudit,
        Set::Code,
        Set::Workbook,
        Set::Pdf,
    ] {
        let asked: Vec<_> = (0..10)
            .flat_map(|seed| sets::case(set, seed).unwrap().asked)
            .collect();
        assert!(
            asked.iter().any(|asked| asked.gold.is_empty())
                && asked.iter().any(|asked| !asked.gold.is_empty()),
            "{set:?}"
        );
    }
    assert!(
        (0..10)
            .flat_map(|seed| sets::absent_fact(seed).asked)
            .all(|asked| asked.gold.is_empty())
    );
}

#[test]
fn forty_hostile_files_and_two_versions_of_a_document() {
    assert!(sets::hostile_files(1).len() >= 40);
    let rounds = sets::rounds(1);
    assert_ne!(rounds.before, rounds.after);
    for (text, answer) in [
        (&rounds.before, &rounds.changed.1),
        (&rounds.after, &rounds.changed.2),
        (&rounds.after, &rounds.steady.1),
    ] {
        assert!(text.contains(answer.as_str()));
    }
}

#[test]
fn a_streamed_table_has_its_answers_where_it_says() {
    let mut bytes = Vec::new();
    let asked = sets::large_table(5, 2_000, &mut bytes).unwrap();
    assert!(asked.len() >= 9);
    for gold in asked.iter().flat_map(|asked| &asked.gold) {
        assert!(String::from_utf8_lossy(&bytes[gold.bytes.clone()]).contains(&gold.answer));
    }
}

#[test]
fn the_sets_that_are_no_text_have_what_makes_them_hard() {
    for set in BINARY {
        let kinds: std::collections::BTreeSet<&str> = (0..20)
            .flat_map(|seed| sets::case(set, seed).unwrap().asked)
            .map(|asked| asked.kind)
            .collect();
        let expected: &[&str] = match set {
            Set::Workbook => &[
                "day",
                "formula",
                "hidden sheet",
                "merged label",
                "no such row",
            ],
            _ => &[
                "figure caption",
                "loose words",
                "not there",
                "sentence",
                "table",
            ],
        };
        for kind in expected {
            assert!(kinds.contains(kind), "{set:?}: {kind}");
        }
    }
    for seed in 0..6 {
        let picture = sets::picture(seed);
        let [left, top, width, height] = picture.region;
        assert!(left + width <= picture.size.0 && top + height <= picture.size.1);
        assert!(picture.bytes.starts_with(b"\x89PNG") || picture.bytes.starts_with(&[0xFF, 0xD8]));
        assert_eq!(picture.bytes, sets::picture(seed).bytes);
    }
}
