//! Any bytes as a file: its container is found without losing a byte, every byte belongs to exactly one record, and it does not matter in which
//! pieces the file is read.

use std::io::{BufReader, Read};
use std::path::Path;

use spare::formats::{Container, Record, Records, detect, parse};

pub fn records(data: &[u8]) {
    for name in [None, Some("a.json"), Some("a.jsonl")] {
        let path = name.map(Path::new);
        let (container, mut whole) = detect(path, None, data).expect("memory can be read");
        let (same, pieces) =
            detect(path, None, BufReader::with_capacity(3, data)).expect("memory can be read");
        assert_eq!(container, same);
        let mut again = Vec::new();
        whole.read_to_end(&mut again).expect("memory can be read");
        assert_eq!(again, data);
        let found = all(Records::new(pieces, container));
        assert_eq!(found, all(Records::new(data, container)));
    }
    for container in [Container::Json, Container::Jsonl, Container::Array] {
        let mut out = Vec::new();
        let mut line = 0;
        for mut record in all(Records::new(data, container)) {
            let whole = [record.prefix(), record.raw(), record.suffix()].concat();
            assert_eq!(whole.len(), record.len());
            assert!(record.line >= line);
            line = record.line;
            if let Err(error) = record.text() {
                assert!(!error.to_string().is_empty());
            }
            if let Some(torn) = record.without_torn_line() {
                assert!(torn > 1 && record.text().is_ok_and(|text| parse(text).is_ok()));
            }
            record.cut(record.raw().len() / 2);
            assert_eq!(
                [record.prefix(), record.raw(), record.suffix()].concat(),
                whole
            );
            out.extend(whole);
        }
        assert_eq!(out, data);
    }
}

fn all<R: std::io::BufRead>(records: Records<R>) -> Vec<Record> {
    records.map(|r| r.expect("memory can be read")).collect()
}
