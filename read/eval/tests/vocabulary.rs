//! No word of the generated sets and of public benchmarks stands in the readers, and the same bundle under other names is answered alike.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use spare_read::extract::Worker;
use spare_read_eval::case::Set;
use spare_read_eval::{measure, sets};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Words of answers, entities, columns and file names of the generated sets, and what the reference's readers had hard-coded.
const WORDS: [&str; 30] = [
    "larkspur",
    "saffron",
    "insured value",
    "inspection deadline",
    "access code",
    "годовой",
    "年度预算",
    "年間予算",
    "ميزانية",
    "shipments",
    "tracking number",
    "svc-",
    "timeoutseconds",
    "listenport",
    "listen_port",
    "nightly export",
    "manifest_",
    "report.md",
    "services.json",
    "longbook",
    "loogle",
    "ki-007",
    "legacy-r003",
    "sab-2025",
    "inj-004",
    "s-4021",
    "fetch-audit",
    "did_regression",
    "command_classifications",
    "typed websocket",
];

#[test]
fn readers_know_no_word_of_a_benchmark() {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let mut seen = 0;
    for path in sources(&readers) {
        let text = std::fs::read_to_string(&path).unwrap();
        // Unit tests may use any words.
        let text = text.split("#[cfg(test)]").next().unwrap().to_lowercase();
        seen += 1;
        for word in WORDS {
            assert!(!text.contains(word), "{}: `{word}`", path.display());
        }
    }
    assert!(seen > 20);
}

#[test]
fn three_sets_of_names_give_the_same_answers() {
    for seed in 1_000..1_006 {
        let outcomes = |naming: usize| -> Vec<_> {
            let case = sets::bundle_named(seed, naming);
            let folder = tempfile::tempdir().unwrap();
            let all = measure::case(&case, folder.path(), 1_200, &Default::default()).unwrap();
            all.into_iter()
                .map(|outcome| (outcome.status, outcome.hit, outcome.spans))
                .collect()
        };
        assert_eq!(outcomes(0), outcomes(1), "seed {seed}");
        assert_eq!(outcomes(0), outcomes(2), "seed {seed}");
    }
}

#[test]
fn a_few_cases_of_every_set_are_recalled_within_the_budget() {
    for set in [
        Set::NeedleDocument,
        Set::TableLookup,
        Set::Tree,
        Set::BundleAudit,
        Set::Code,
        Set::Workbook,
        Set::Pdf,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let case = sets::case(set, 1_003).unwrap();
        let worker = Worker::in_process();
        for outcome in measure::case(&case, folder.path(), 1_200, &worker).unwrap() {
            assert!(
                outcome.tokens <= 1_260 && outcome.broken_anchors == 0,
                "{outcome:?}"
            );
            assert!(outcome.golds == 0 || outcome.is_recalled(), "{outcome:?}");
            assert!(!outcome.is_false_ready(), "{outcome:?}");
        }
    }
}
