//! E7, code: where is it defined, who calls it, what is its default; six languages.

use fastrand::Rng;

use super::code_languages::{C, CodeLanguage, GO, JAVA, PYTHON, RUST, TYPESCRIPT};
use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set};

const VERB: [&str; 14] = [
    "load", "parse", "merge", "render", "commit", "resolve", "flush", "encode", "schedule",
    "validate", "trace", "rotate", "filter", "publish",
];
const NOUN: [&str; 14] = [
    "manifest", "ledger", "session", "widget", "cursor", "packet", "template", "report", "mirror",
    "volume", "token", "queue", "branch", "index",
];
const OPTION: [&str; 12] = [
    "max depth",
    "chunk size",
    "grace period",
    "line width",
    "retry budget",
    "page limit",
    "warm slots",
    "idle seconds",
    "fan out",
    "burst limit",
    "sample rate",
    "decay steps",
];

/// Words joined as the language names functions.
fn name(language: &CodeLanguage, words: &[&str]) -> String {
    if language.snake {
        words.join("_")
    } else {
        camel(words)
    }
}

fn camel(words: &[&str]) -> String {
    words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| {
                if at == 0 {
                    first
                } else {
                    first.to_ascii_uppercase()
                }
            });
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect()
}

struct Function {
    name: String,
    words: String,
    calls: Vec<usize>,
}

/// E7.
pub fn source_code(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE7);
    let language = [RUST, PYTHON, TYPESCRIPT, GO, JAVA, C]
        .get(rng.usize(..6))
        .copied()
        .unwrap_or(RUST);
    let mut pairs: Vec<(&str, &str)> = VERB
        .iter()
        .flat_map(|verb| NOUN.iter().map(move |noun| (*verb, *noun)))
        .collect();
    rng.shuffle(&mut pairs);
    let count = rng.usize(30..150);
    let mut functions: Vec<Function> = pairs
        .into_iter()
        .take(count)
        .map(|(verb, noun)| Function {
            name: name(&language, &[verb, noun]),
            words: format!("{verb} {noun}"),
            calls: Vec::new(),
        })
        .collect();
    for at in 1..functions.len() {
        let calls = (0..rng.usize(..3))
            .map(|_| rng.usize(..at))
            .collect::<Vec<_>>();
        if let Some(function) = functions.get_mut(at) {
            function.calls = calls;
            function.calls.sort_unstable();
            function.calls.dedup();
        }
    }
    let names: Vec<String> = functions
        .iter()
        .map(|function| function.name.clone())
        .collect();
    let files = rng.usize(2..7);
    let mut texts = vec![
        (
            language.head.to_owned(),
            Vec::<(String, usize, std::ops::Range<usize>, String)>::new()
        );
        files
    ];
    for (at, function) in functions.iter().enumerate() {
        let Some((text, marks)) = texts.get_mut(at % files) else {
            continue;
        };
        let mut put = |text: &mut String, line: &str, mark: Option<(&str, usize, &str)>| {
            let indent = line.len() - line.trim_start().len();
            let start = text.len() + indent;
            text.push_str(line);
            if let Some((kind, of, answer)) = mark {
                marks.push((kind.to_owned(), of, start..text.len(), answer.to_owned()));
            }
            text.push('\n');
        };
        put(text, "", None);
        put(
            text,
            &language.comment.replace(
                "{}",
                &format!(
                    "Prepares the {} for the next stage.",
                    function.words.split(' ').next_back().unwrap_or_default()
                ),
            ),
            None,
        );
        put(
            text,
            &language.open.replace("{}", &function.name),
            Some(("define", at, &function.name)),
        );
        for line in 0..rng.usize(2..9) {
            put(
                text,
                &language
                    .filler
                    .replace("{n}", &line.to_string())
                    .replace("{v}", &rng.u32(2..90).to_string()),
                None,
            );
        }
        for call in &function.calls {
            let callee = names.get(*call).map(String::as_str).unwrap_or_default();
            put(
                text,
                &language.call.replace("{}", callee),
                Some(("call", *call, callee)),
            );
        }
        for line in language.close {
            put(text, line, None);
        }
    }
    let mut options = OPTION.to_vec();
    rng.shuffle(&mut options);
    if let Some((text, marks)) = texts.last_mut() {
        text.push_str(language.options_open);
        for (at, option) in options.iter().enumerate() {
            let words: Vec<&str> = option.split(' ').collect();
            let value = rng.u32(3..9_000).to_string();
            let line = language
                .option
                .replace("{}", &name(&language, &words))
                .replace("{v}", &value);
            let start = text.len() + line.len() - line.trim_start().len();
            text.push_str(&line);
            marks.push(("default".to_owned(), at, start..text.len(), value));
            text.push('\n');
        }
        text.push_str(language.options_close);
    }
    for (text, _) in &mut texts {
        text.push_str(language.tail);
    }
    let path = |file: usize| format!("src/part{file}.{}", language.extension);
    let golds = |kind: &str, of: usize| -> Vec<Gold> {
        let marked = texts
            .iter()
            .enumerate()
            .flat_map(|(file, (_, marks))| marks.iter().map(move |mark| (file, mark)));
        marked
            .filter(|(_, (mark, at, ..))| mark == kind && *at == of)
            .map(|(file, (_, _, bytes, answer))| Gold {
                path: path(file),
                bytes: bytes.clone(),
                answer: answer.clone(),
                spot: None,
            })
            .collect()
    };
    let mut asked = Vec::new();
    for _ in 0..3 {
        let at = rng.usize(..functions.len());
        let Some(function) = functions.get(at) else {
            continue;
        };
        let question = if rng.bool() {
            format!("Where is {} defined?", function.name)
        } else {
            format!("definition of {}", function.name)
        };
        asked.push(Asked {
            question,
            gold: golds("define", at),
            kind: "definition",
        });
        let callers = golds("call", at);
        if !callers.is_empty() && callers.len() < 6 {
            asked.push(Asked {
                question: format!("Who calls {}?", function.name),
                gold: callers,
                kind: "callers",
            });
        }
        let option = rng.usize(..options.len());
        if let Some(words) = options.get(option) {
            asked.push(Asked {
                question: format!("What is the default of {words}?"),
                gold: golds("default", option),
                kind: "default",
            });
        }
    }
    asked.push(Asked {
        question: format!(
            "Where is {} defined?",
            name(&language, &["mangle", "harvester"])
        ),
        gold: Vec::new(),
        kind: "absent",
    });
    let files = texts
        .iter()
        .enumerate()
        .map(|(file, (text, _))| CaseFile {
            path: path(file),
            bytes: text.clone().into_bytes(),
        })
        .collect();
    Case {
        set: Set::Code,
        seed,
        kind: language.extension.to_owned(),
        files,
        target: String::new(),
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}
