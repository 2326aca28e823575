//! What README shows is what the program prints, and its table of formats is whole.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use spare::formats::FORMATS;

/// The rows of the table of formats: name, reasoning, frozen.
fn rows() -> Vec<[&'static str; 3]> {
    let readme = include_str!("../README.md");
    let (_, table) = readme.split_once("| `--format` |").expect("the table");
    let lines = table.lines().skip(2).take_while(|l| l.starts_with('|'));
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        cells.try_into().expect("three cells")
    };
    lines.map(row).collect()
}

/// Words in code font.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_format_has_its_row() {
    let rows = rows();
    let named: Vec<&str> = rows.iter().flat_map(|[names, ..]| code(names)).collect();
    let mut known: Vec<&str> = FORMATS.iter().map(|f| f.name()).collect();
    let mut sorted = named.clone();
    known.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, known);
    assert!(
        rows.iter()
            .all(|row| row.iter().all(|cell| !cell.is_empty()))
    );
}

/// Each rule in brackets is one that some receipt names.
#[test]
fn every_rule_in_the_table_is_in_the_code() {
    let sources: String = ["src/formats", "src/formats/provider", "src/trajectory"]
        .iter()
        .flat_map(|folder| {
            std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        })
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let mut rules = 0;
    for [_, _, frozen] in rows() {
        let brackets = frozen.split("(`").skip(1);
        for rule in brackets.filter_map(|rest| rest.split("`)").next()) {
            assert!(sources.contains(&format!("\"{rule}\"")), "{rule}");
            rules += 1;
        }
    }
    assert!(rules >= 9);
}

#[cfg(all(feature = "cli", feature = "embedded-model"))]
#[test]
fn the_explained_run_is_printed_word_for_word() {
    let readme = include_str!("../README.md");
    let (_, rest) = readme
        .split_once("$ spare explain examples/board/runs.jsonl\n")
        .expect("README shows the command");
    let (sample, _) = rest.split_once("```").expect("the block ends");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_spare"))
        .args(["explain", "examples/board/runs.jsonl", "--color", "never"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let printed = String::from_utf8(out.stdout).unwrap();
    assert!(sample.lines().count() > 10);
    assert!(
        printed.contains(sample.trim_end()),
        "README:\n{sample}\nprinted:\n{printed}"
    );
}
