//! E6, bundles: a folder of a configuration, a state file, notes, a log and code that disagree about some settings. The same seed can be written under three sets of file names.

use fastrand::Rng;

use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set};
use crate::language::ENGLISH;

const SETTING: [(&str, &str); 12] = [
    ("listen_port", "listen port"),
    ("retry_limit", "retry limit"),
    ("session_timeout", "session timeout"),
    ("upload_quota", "upload quota"),
    ("worker_count", "worker count"),
    ("cache_lifetime", "cache lifetime"),
    ("batch_interval", "batch interval"),
    ("archive_depth", "archive depth"),
    ("token_lifetime", "token lifetime"),
    ("page_length", "page length"),
    ("warmup_period", "warmup period"),
    ("queue_capacity", "queue capacity"),
];
const JOB: [&str; 8] = [
    "nightly export",
    "invoice import",
    "thumbnail cleanup",
    "index rebuild",
    "mail digest",
    "ledger sync",
    "backup rotation",
    "license check",
];
const NAMES: [[&str; 5]; 3] = [
    [
        "config/service.yaml",
        "state/current.json",
        "README.md",
        "logs/service.log",
        "src/settings.py",
    ],
    ["a.yaml", "b.json", "c.md", "d.log", "e.py"],
    [
        "zz/params.yaml",
        "data/x1.json",
        "docs/handbook.md",
        "var/output.log",
        "lib/core.py",
    ],
];

/// A file under construction.
#[derive(Default)]
struct Page {
    text: String,
    golds: Vec<(String, std::ops::Range<usize>, String)>,
}

impl Page {
    fn line(&mut self, line: &str, gold: Option<(&str, &str)>) {
        let start = self.text.len();
        self.text.push_str(line);
        if let Some((of, answer)) = gold {
            self.golds
                .push((of.to_owned(), start..self.text.len(), answer.to_owned()));
        }
        self.text.push('\n');
    }
}

/// E6 under the first set of names.
pub fn bundle_audit(seed: u64) -> Case {
    bundle_named(seed, 0)
}

/// E6 under one of three sets of names.
pub fn bundle_named(seed: u64, naming: usize) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE6);
    let mut settings = SETTING.to_vec();
    rng.shuffle(&mut settings);
    let mut jobs = JOB.to_vec();
    rng.shuffle(&mut jobs);
    let [mut config, mut state, mut notes, mut log, mut code] = [(); 5].map(|()| Page::default());
    config.line("# parameters of the service", None);
    config.line("service:", None);
    state.line("{", None);
    state.line("  \"generation\": 118,", None);
    notes.line("# Handbook", None);
    code.line("\"\"\"Settings with their built-in values.\"\"\"", None);
    for (at, (key, name)) in settings.iter().enumerate() {
        let value = rng.u32(100..9_000);
        let other = if at < 3 {
            value + rng.u32(1..90)
        } else {
            value
        };
        let (value, other) = (value.to_string(), other.to_string());
        config.line(&format!("  {key}: {value}"), Some((key, &value)));
        let comma = if at + 1 == settings.len() { "" } else { "," };
        state.line(&format!("  \"{key}\": {other}{comma}"), Some((key, &other)));
        for _ in 0..rng.usize(2..12) {
            notes.line(&ENGLISH.sentence(&mut rng), None);
        }
        notes.line("", None);
        notes.line(
            &format!("The {name} is {value} in every environment."),
            Some((key, &value)),
        );
        notes.line("", None);
        code.line(
            &format!("{} = {other}", key.to_uppercase()),
            Some((key, &other)),
        );
    }
    state.line("}", None);
    let mut failures = Vec::new();
    let events = rng.usize(200..2_000);
    let planted: Vec<usize> = (0..3).map(|_| rng.usize(20..events)).collect();
    for event in 0..events {
        let stamp = format!(
            "2026-03-{:02}T{:02}:{:02}:{:02}Z",
            1 + event * 27 / events,
            rng.u8(..24),
            rng.u8(..60),
            rng.u8(..60)
        );
        let job = jobs
            .get(rng.usize(..jobs.len()))
            .copied()
            .unwrap_or_default();
        log.line(
            &format!(
                "{stamp} INFO job \"{job}\" finished in {} ms",
                rng.u32(10..9_000)
            ),
            None,
        );
        for (which, at) in planted.iter().enumerate() {
            if *at == event {
                let job = jobs.get(which).copied().unwrap_or_default();
                let error = format!("E{}", rng.u32(1_000..9_999));
                log.line(
                    &format!("{stamp} ERROR job \"{job}\" failed with code {error}"),
                    Some((job, &error)),
                );
                failures.push(job);
            }
        }
    }
    let names = NAMES
        .get(naming)
        .or(NAMES.first())
        .copied()
        .unwrap_or_default();
    let pages = [config, state, notes, log, code];
    let golds = |of: &str| -> Vec<Gold> {
        let of_page = |(path, page): (&&str, &Page)| -> Vec<Gold> {
            page.golds
                .iter()
                .filter(|(name, ..)| name == of)
                .map(|(_, bytes, answer)| Gold {
                    path: (**path).to_owned(),
                    bytes: bytes.clone(),
                    answer: answer.clone(),
                    spot: None,
                })
                .collect()
        };
        names.iter().zip(&pages).flat_map(of_page).collect()
    };
    let mut asked = Vec::new();
    for (at, (key, name)) in settings.iter().enumerate().take(5) {
        let question = match rng.u8(..3) {
            0 => format!("What is the {name}?"),
            1 => format!("Which {name} is set, and do all files agree?"),
            _ => (*key).to_owned(),
        };
        asked.push(Asked {
            question,
            gold: golds(key),
            kind: if at < 3 { "conflict" } else { "agreement" },
        });
    }
    for job in &failures {
        asked.push(Asked {
            question: format!("With which code did the {job} job fail?"),
            gold: golds(job),
            kind: "log",
        });
    }
    if let Some(job) = jobs.last() {
        asked.push(Asked {
            question: format!("With which code did the {job} job fail?"),
            gold: golds(job),
            kind: "absent",
        });
    }
    asked.push(Asked {
        question: "What is the mirror bandwidth?".into(),
        gold: Vec::new(),
        kind: "absent",
    });
    let files = names
        .iter()
        .zip(pages)
        .map(|(path, page)| CaseFile {
            path: (*path).to_owned(),
            bytes: page.text.into_bytes(),
        })
        .collect();
    Case {
        set: Set::BundleAudit,
        seed,
        kind: format!("names {naming}"),
        files,
        target: String::new(),
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}
