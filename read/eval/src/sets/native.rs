//! E10, native fit: aggregates over a whole table, files of a few lines, edits and full reads. Sparse reading must stand aside.

use fastrand::Rng;

use super::{bundle_audit, needle_document, table_lookup};
use crate::case::{Asked, Case, CaseFile, Fit, Purpose, Set};
use crate::language::ENGLISH;

/// E10.
pub fn native_fit(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE10);
    let whole = |question: &str, kind: &'static str| {
        vec![Asked {
            question: question.to_owned(),
            gold: Vec::new(),
            kind,
        }]
    };
    let (mut case, purpose, asked, kind) = match seed % 4 {
        0 => {
            let mut table = table_lookup(seed);
            // A table that an agent can read at all: the first rows.
            for file in &mut table.files {
                let ends: Vec<usize> = file
                    .bytes
                    .iter()
                    .enumerate()
                    .filter(|(_, byte)| **byte == b'\n')
                    .map(|(at, _)| at + 1)
                    .take(rng.usize(40..400))
                    .collect();
                file.bytes.truncate(ends.last().copied().unwrap_or(0));
            }
            let question = [
                "What is the average unit price over all orders?",
                "How many orders are there in total for each carrier?",
                "Sum up the quantity column.",
            ]
            .get(rng.usize(..3))
            .copied()
            .unwrap_or_default();
            (
                table,
                Purpose::Compute,
                whole(question, "aggregate"),
                "aggregate",
            )
        }
        1 => {
            let mut text = String::from("# Notes\n\n");
            for _ in 0..rng.usize(2..12) {
                text.push_str(&ENGLISH.sentence(&mut rng));
                text.push('\n');
            }
            let mut small = needle_document(seed);
            small.files = vec![CaseFile {
                path: "notes.md".into(),
                bytes: text.into_bytes(),
            }];
            small.target = "notes.md".into();
            (
                small,
                Purpose::Lookup,
                whole("What do these notes say about the river?", "tiny"),
                "tiny",
            )
        }
        2 => {
            let mut bundle = bundle_audit(seed);
            bundle.files.retain(|file| file.path.ends_with(".py"));
            bundle.target = "src/settings.py".into();
            (
                bundle,
                Purpose::Edit,
                whole(
                    "Rename every setting to lower case and rewrite the file.",
                    "edit",
                ),
                "edit",
            )
        }
        _ => {
            let mut text = String::new();
            for _ in 0..rng.usize(60..400) {
                text.push_str(&ENGLISH.sentence(&mut rng));
                text.push_str(if rng.u8(..5) == 0 { "\n\n" } else { " " });
            }
            let mut document = needle_document(seed);
            document.files = vec![CaseFile {
                path: "essay.txt".into(),
                bytes: text.into_bytes(),
            }];
            document.target = "essay.txt".into();
            let question = [
                "Translate the whole text into French.",
                "Proofread everything, sentence by sentence.",
                "Summarise the complete text.",
            ]
            .get(rng.usize(..3))
            .copied()
            .unwrap_or_default();
            (
                document,
                Purpose::Whole,
                whole(question, "full read"),
                "full read",
            )
        }
    };
    case.set = Set::NativeFit;
    case.kind = kind.to_owned();
    case.asked = asked;
    case.fit = Fit::Native;
    case.purpose = purpose;
    case
}
