//! What holds for every text.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use spare_read::{ReadRequest, Root, Session, Status};

fn read(
    files: &[(String, Vec<u8>)],
    question: &str,
) -> (tempfile::TempDir, Session, spare_read::EvidencePack) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let mut session = Session::new(Root::open(folder.path()).unwrap());
    let pack = session
        .read(
            Path::new("."),
            &ReadRequest {
                force: true,
                ..ReadRequest::question(question)
            },
        )
        .unwrap();
    (folder, session, pack)
}

fn words() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-z]{2,8}|[0-9]{1,4}|[А-я]{3,7}|[一-龥]{2,5}", 1..40)
        .prop_map(|words| words.join(" ") + ".\n\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_anchor_replays_to_what_was_shown(paragraphs in proptest::collection::vec(words(), 1..20), utf16: bool) {
        let text = paragraphs.concat() + "The gauge of the harbour is 4711.\n";
        let bytes = if utf16 { [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect() } else { text.into_bytes() };
        let (_folder, session, pack) = read(&[("a.txt".into(), bytes)], "gauge of the harbour");
        prop_assert_eq!(pack.needs[0].status, Status::Supported);
        for span in &pack.spans {
            prop_assert_eq!(session.raw(&span.anchor).unwrap(), span.text.clone());
            prop_assert_eq!(&span.anchor.to_string().parse::<spare_read::Anchor>().unwrap(), &span.anchor);
        }
    }

    #[test]
    fn a_row_of_a_table_is_exactly_its_bytes(cells in proptest::collection::vec("[a-z]{1,9}|[А-я]{2,7}|[一-龥]{1,5}|[0-9]{1,6}|😀|\"q,\n\"\"r\"", 4..60), at in any::<prop::sample::Index>(), encoding in 0..3_u8, ending in prop::sample::select(vec!["\n", "\r\n"])) {
        let mut rows: Vec<String> = cells.chunks_exact(2).map(|pair| format!("{},{}", pair[0], pair[1])).collect();
        let at = at.index(rows.len());
        rows.insert(at, "harbour gauge😀,4711".into());
        let text = format!("name,value{ending}{}{ending}", rows.join(ending));
        let bytes: Vec<u8> = match encoding {
            0 => text.into_bytes(),
            1 => [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect(),
            _ => [0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect(),
        };
        let (_folder, session, pack) = read(&[("a.csv".into(), bytes)], "value of the harbour gauge");
        prop_assert_eq!(pack.needs[0].status, Status::Supported);
        let anchor = &pack.spans[pack.needs[0].spans[0]].anchor;
        let row = format!("row {}", at + 2);
        prop_assert_eq!(anchor.at.as_deref(), Some(row.as_str()));
        prop_assert_eq!(session.raw(anchor).unwrap(), "harbour gauge😀,4711");
        prop_assert!(pack.coverage.skipped.is_empty(), "{:?}", pack.coverage.skipped);
    }

    #[test]
    fn a_name_that_stands_nowhere_is_never_supported(paragraphs in proptest::collection::vec(words(), 1..20)) {
        let text = paragraphs.concat() + "The gauge of the harbour is 4711.\n";
        let (_folder, _, pack) = read(&[("a.txt".into(), text.into_bytes())], "gauge of the Qwxyz harbour");
        prop_assert_eq!(pack.needs[0].status, Status::Absent);
    }

    #[test]
    fn file_names_and_their_order_change_no_decision(texts in proptest::collection::vec(words(), 2..6), names in proptest::sample::subsequence(vec!["a", "b", "m", "q", "x", "z"], 6).prop_shuffle()) {
        let named = |names: &[&str]| -> Vec<(String, Vec<u8>)> {
            texts.iter().zip(names).enumerate().map(|(at, (text, name))| (format!("{name}.txt"), format!("{text}The gauge of the harbour is {at}.\n").into_bytes())).collect()
        };
        let outcome = |names: &[&str]| {
            let (_folder, _, pack) = read(&named(names), "gauge of the harbour");
            let spans: Vec<String> = pack.spans.iter().map(|span| format!("{} {:?} {}", span.text, span.anchor.bytes, span.anchor.content)).collect();
            (pack.gate, pack.needs[0].status, pack.needs[0].values.clone(), spans)
        };
        prop_assert_eq!(outcome(&["1", "2", "3", "4", "5", "6"]), outcome(&names));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), extension in proptest::sample::select(vec!["txt", "csv", "json", "jsonl", "yaml", "xml", "rs", "py", "ts", "go", "java", "c"]), question in ".{0,40}") {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("a.{extension}");
        std::fs::write(folder.path().join(&path), bytes).unwrap();
        let mut session = Session::new(Root::open(folder.path()).unwrap());
        let _ = session.preview(Path::new(&path));
        let _ = session.read(Path::new(&path), &ReadRequest { force: true, ..ReadRequest::question(question) });
    }
}
