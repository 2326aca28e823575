//! A Parquet file is read as a table.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use spare_read::extract::Worker;
use spare_read::{ReadRequest, Root, Session, Status};

/// 5,000 rows of a number and a name; every seventh name is missing.
fn file() -> Vec<u8> {
    let schema = "message rows { REQUIRED INT64 gauge; OPTIONAL BYTE_ARRAY site (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let gauges: Vec<i64> = (0..5_000).map(|at| 10_000 + at).collect();
    column
        .typed::<Int64Type>()
        .write_batch(&gauges, None, None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let named: Vec<i16> = (0..5_000_u32)
        .map(|at| i16::from(!at.is_multiple_of(7)))
        .collect();
    let names: Vec<ByteArray> = (0..5_000_u32)
        .filter(|at| !at.is_multiple_of(7))
        .map(|at| ByteArray::from(format!("site-{at}").as_str()))
        .collect();
    column
        .typed::<ByteArrayType>()
        .write_batch(&names, Some(&named), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_row_is_found_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rows.parquet"), file()).unwrap();
    let mut session =
        Session::new(Root::open(folder.path()).unwrap()).with_worker(Worker::in_process());
    let path = Path::new("rows.parquet");
    let mut ask = |question: &str| {
        let request = ReadRequest {
            force: true,
            ..ReadRequest::question(question)
        };
        session.read(path, &request).unwrap()
    };
    let pack = ask("gauge of site-4999");
    assert_eq!(pack.needs[0].status, Status::Supported);
    let span = &pack.spans[pack.needs[0].spans[0]];
    assert!(
        span.text.contains("gauge: 14999") && span.text.contains("site: site-4999"),
        "{span:?}"
    );
    assert_eq!(ask("gauge of site-7").needs[0].status, Status::Absent);
    assert!(
        session
            .raw(&span.anchor)
            .unwrap()
            .contains("14999\tsite-4999")
    );
}

#[test]
fn half_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = file();
    std::fs::write(
        folder.path().join("half.parquet"),
        &bytes[..bytes.len() / 2],
    )
    .unwrap();
    let session =
        Session::new(Root::open(folder.path()).unwrap()).with_worker(Worker::in_process());
    let preview = session.preview(Path::new("half.parquet")).unwrap();
    let problem = preview.files[0].problem.clone().unwrap();
    assert!(
        problem.contains("half.parquet") && problem.contains("expected a Parquet file"),
        "{problem}"
    );
}
