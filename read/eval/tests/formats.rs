//! Formats whose bytes are not their text, parsed in a worker: places, pictures, lists, and files that mean harm.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use spare_read::extract::{Bounds, Worker};
use spare_read::{EvidencePack, Next, ReadRequest, Root, Session, Span, Status, Verdict};
use spare_read_eval::sets;

fn worker() -> Worker {
    Worker::process(
        PathBuf::from(env!("CARGO_BIN_EXE_spare-read-eval")),
        &["worker"],
    )
}

fn session(folder: &Path) -> Session {
    Session::new(Root::open(folder).unwrap()).with_worker(worker())
}

fn folder(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

fn ask(session: &mut Session, name: &str, question: &str) -> EvidencePack {
    let request = ReadRequest {
        force: true,
        ..ReadRequest::question(question)
    };
    session.read(Path::new(name), &request).unwrap()
}

fn first(pack: &EvidencePack) -> &Span {
    &pack.spans[pack.needs[0].spans[0]]
}

/// What reading fails with.
fn refusal(session: &mut Session, name: &str) -> String {
    let preview = session.preview(Path::new(name)).unwrap();
    preview.files[0]
        .problem
        .clone()
        .unwrap_or_else(|| format!("{preview:?}"))
}

fn packed(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A chunk of a PNG file.
fn chunk(kind: &[u8; 4], bytes: &[u8]) -> Vec<u8> {
    let mut sum = flate2::Crc::new();
    sum.update(kind);
    sum.update(bytes);
    let length = (bytes.len() as u32).to_be_bytes();
    [&length[..], kind, bytes, &sum.sum().to_be_bytes()].concat()
}

#[test]
fn a_cell_of_a_workbook_has_its_sheet_and_row() {
    let case = sets::workbook(1);
    let folder = folder(&case.target, &case.files[0].bytes);
    let mut session = session(folder.path());
    let preview = session.preview(Path::new(&case.target)).unwrap();
    assert!(preview.files.len() >= 3, "{preview:?}");
    let notes: Vec<&str> = preview
        .notes
        .iter()
        .map(|(_, note)| note.as_str())
        .collect();
    assert!(notes.contains(&"Sites: a hidden sheet"), "{notes:?}");
    for asked in case.asked.iter().filter(|asked| !asked.gold.is_empty()) {
        let pack = ask(&mut session, &case.target, &asked.question);
        let span = first(&pack);
        assert!(
            span.text.contains(&asked.gold[0].answer),
            "{asked:?}: {span:?}"
        );
        let place = span.anchor.at.clone().unwrap();
        assert!(place.contains("!row "), "{place}");
        // The anchor as text fetches the same row again.
        let again = span.anchor.to_string().parse().unwrap();
        assert_eq!(span.anchor, again);
        assert!(session.raw(&again).unwrap().contains(&asked.gold[0].answer));
        assert_eq!(
            session
                .verify(&again, &asked.gold[0].answer)
                .unwrap()
                .verdict,
            Verdict::Supported
        );
    }
    let pack = ask(&mut session, &case.target, &case.asked[0].question);
    std::fs::write(
        folder.path().join(&case.target),
        &sets::workbook(2).files[0].bytes,
    )
    .unwrap();
    let changed = session.verify(&first(&pack).anchor, "");
    // Another workbook has another sheet of this name, or none.
    assert!(changed.is_err() || changed.unwrap().verdict == Verdict::Stale);
}

#[test]
fn a_page_without_letters_is_named_and_nothing_is_absent() {
    // Seeds that three divides have pages as pictures or in a font without codes.
    let (mut scans, mut coded) = (0, 0);
    for seed in (0..60).step_by(3) {
        let case = sets::pdf_report(seed);
        let folder = folder(&case.target, &case.files[0].bytes);
        let mut session = session(folder.path());
        let preview = session.preview(Path::new(&case.target)).unwrap();
        let pack = ask(
            &mut session,
            &case.target,
            "tonnage of the Velvet submarine",
        );
        let whole = preview.unread.is_empty();
        let expected = if whole {
            Status::Absent
        } else {
            Status::NotSearched
        };
        assert_eq!(
            pack.needs[0].status, expected,
            "{seed}: {:?}",
            preview.unread
        );
        for (page, why) in &preview.unread {
            assert!(page.starts_with("report.pdf page "), "{page}");
            scans += usize::from(why.starts_with("no text layer"));
            coded += usize::from(why.contains("letters have no code"));
        }
        assert_eq!(pack.coverage.skipped.len(), preview.unread.len().min(12));
    }
    assert!(scans > 0 && coded > 0, "{scans} scans, {coded} coded pages");
}

#[test]
fn a_box_of_a_page_is_shown_as_a_picture() {
    let case = sets::pdf_report(1);
    let folder = folder(&case.target, &case.files[0].bytes);
    let mut session = session(folder.path());
    let asked = case
        .asked
        .iter()
        .find(|asked| !asked.gold.is_empty())
        .unwrap();
    let pack = ask(&mut session, &case.target, &asked.question);
    let place = first(&pack).anchor.at.clone().unwrap();
    let (page, area) = place
        .strip_prefix("page ")
        .unwrap()
        .split_once(" box ")
        .unwrap();
    let numbers: Vec<f64> = area
        .split(',')
        .map(|number| number.parse().unwrap())
        .collect();
    let area: [f64; 4] = numbers.try_into().unwrap();
    let path = Path::new(&case.target);
    let page: u32 = page.parse().unwrap();
    let picture = session.picture(path, page, Some(area), 600).unwrap();
    assert_eq!(picture.of, (595, 842));
    let pixels = image::load_from_memory(&picture.png).unwrap().to_luma8();
    assert_eq!(picture.size, pixels.dimensions());
    let dark = pixels.pixels().filter(|pixel| pixel.0[0] < 128).count() as f64;
    let share = dark / pixels.len() as f64;
    assert!((0.01..0.5).contains(&share), "{share} of the box is ink");
    for (page, area, what) in [
        (0, None, "found page 0, expected a page from 1 to"),
        (999, None, "found page 999"),
        (
            1,
            Some([0.0, 0.0, 600.0, 20.0]),
            "expected a box within 595 x 842 points",
        ),
        (1, Some([f64::NAN, 0.0, 9.0, 9.0]), "expected a box within"),
    ] {
        let error = session
            .picture(path, page, area, 600)
            .unwrap_err()
            .to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_part_of_a_picture_has_the_pixels_of_the_file() {
    let picture = sets::picture(4);
    let folder = folder(picture.name, &picture.bytes);
    let mut session = session(folder.path());
    let path = Path::new(picture.name);
    let overview = session.picture(path, 1, None, 512).unwrap();
    assert_eq!(
        (overview.size.0.max(overview.size.1), overview.of),
        (512, picture.size)
    );
    let area = picture.region.map(f64::from);
    let part = session.picture(path, 1, Some(area), 4_000).unwrap();
    assert_eq!(part.size, (picture.region[2], picture.region[3]));
    let [left, top, width, height] = picture.region;
    let whole = image::load_from_memory(&picture.bytes).unwrap().to_rgb8();
    let cut = image::imageops::crop_imm(&whole, left, top, width, height).to_image();
    assert_eq!(image::load_from_memory(&part.png).unwrap().to_rgb8(), cut);
    let wide = [0.0, 0.0, f64::from(picture.size.0 + 1), 5.0];
    let error = session
        .picture(path, 1, Some(wide), 512)
        .unwrap_err()
        .to_string();
    assert!(error.contains("expected a box within"), "{error}");
    // Nobody here reads letters in pictures, so nothing is absent.
    let pack = ask(&mut session, picture.name, "colour of the roof");
    assert_eq!(pack.needs[0].status, Status::NotSearched);
    let size = format!("{} x {}", picture.size.0, picture.size.1);
    let preview = session.preview(path).unwrap();
    assert!(format!("{preview:?}").contains(&size), "{preview:?}");
}

#[test]
fn archives_are_listed_and_not_opened() {
    let entries: [(&str, &[u8]); 3] = [
        ("notes/plan.md", b"The gauge of the Harbour is 4711."),
        ("a.csv", b"x,y\n1,2\n"),
        ("b\tc\nd.txt", b""),
    ];
    let zip = packed(&entries);
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in &entries[..2] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    let tar = tar.into_inner().unwrap();
    let packed_tar = gzipped(&tar);
    for (name, bytes) in [("a.zip", &zip), ("a.tar", &tar), ("a.tar.gz", &packed_tar)] {
        let folder = folder(name, bytes);
        let mut session = session(folder.path());
        let pack = ask(&mut session, name, "plan.md bytes");
        assert!(
            first(&pack)
                .text
                .contains("name: notes/plan.md | bytes: 33"),
            "{name}: {:?}",
            first(&pack)
        );
        let pack = ask(&mut session, name, "gauge of the Harbour");
        assert_eq!(pack.needs[0].status, Status::NotSearched, "{name}");
        assert!(
            pack.coverage
                .skipped
                .iter()
                .any(|(_, why)| why == "only listed")
        );
    }
    let folder = folder("log.gz", &gzipped(&b"line\n".repeat(50)));
    let preview = session(folder.path()).preview(Path::new("log.gz")).unwrap();
    assert!(format!("{preview:?}").contains("250"), "{preview:?}");
}

/// Broken and hostile files end in an error that names them; the process goes on.
#[test]
fn broken_files_are_refused_by_name() {
    let workbook = sets::workbook(1);
    let pdf = sets::pdf_report(1).files.remove(0).bytes;
    let picture = sets::picture(1);
    // A sound PNG file that says 60,000 by 60,000 pixels.
    let huge_picture = {
        let mut header = [60_000_u32.to_be_bytes(), 60_000_u32.to_be_bytes()].concat();
        header.extend([8, 2, 0, 0, 0]);
        let mut pixels =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        pixels.write_all(&[0; 9_000]).unwrap();
        [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &header),
            chunk(b"IDAT", &pixels.finish().unwrap()),
            chunk(b"IEND", b""),
        ]
        .concat()
    };
    let bomb = gzipped(&vec![0; 64 << 20]);
    let zipped_bomb = packed(&[("xl/workbook.xml", &vec![b' '; 64 << 20])]);
    let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    let noise: Vec<u8> = (0..9_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let behind = |magic: &[u8]| [magic, &noise].concat();
    for (name, bytes, what) in [
        (
            "half.xlsx",
            half(&workbook.files[0].bytes),
            "expected a workbook",
        ),
        ("noise.xlsx", behind(b"PK\x03\x04"), "expected a workbook"),
        ("bomb.xlsx", zipped_bomb, "unpacked bytes, expected at most"),
        (
            "noise.pdf",
            behind(b"%PDF-1.7\n"),
            "expected a PDF document",
        ),
        ("half.png", half(&picture.bytes), ""),
        ("huge.png", huge_picture, "pixels"),
        (
            "noise.png",
            behind(b"\x89PNG\r\n\x1a\n"),
            "expected a picture",
        ),
        (
            "noise.jpg",
            behind(&[0xFF, 0xD8, 0xFF, 0xE0]),
            "expected a picture",
        ),
        ("noise.gif", behind(b"GIF89a"), ""),
        ("noise.zip", behind(b"PK\x03\x04"), "expected a ZIP archive"),
        (
            "noise.gz",
            behind(&[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]),
            "expected gzip data",
        ),
        ("bomb.gz", bomb, "unpacked bytes"),
        ("empty.zip", packed(&[]), ""),
    ] {
        let folder = folder(name, &bytes);
        let mut session = session(folder.path());
        let said = refusal(&mut session, name);
        assert!(said.contains(name) && said.contains(what), "{name}: {said}");
        if what.is_empty() {
            continue;
        }
        let pack = ask(&mut session, name, "gauge of the Harbour");
        assert_eq!(
            (pack.needs[0].status, pack.next),
            (Status::NotSearched, Next::Native),
            "{name}"
        );
    }
    // Half a PDF document: its pages are found again, or it is refused; both are answers.
    let folder = folder("half.pdf", &half(&pdf));
    session(folder.path())
        .preview(Path::new("half.pdf"))
        .unwrap();
}

#[cfg(unix)]
#[test]
fn a_worker_that_hangs_or_grows_is_ended() {
    let folder = folder("a.pdf", &sets::pdf_report(1).files[0].bytes);
    let bounds = Bounds {
        seconds: 1,
        ..Bounds::default()
    };
    let hung = Worker::process("/bin/sh".into(), &["-c", "sleep 60"]).with_bounds(bounds);
    let mut session = Session::new(Root::open(folder.path()).unwrap()).with_worker(hung);
    let start = Instant::now();
    let said = refusal(&mut session, "a.pdf");
    assert!(
        said.contains("a.pdf: found a file that took too long"),
        "{said}"
    );
    assert!(start.elapsed() < Duration::from_secs(30));
    let little = Bounds {
        memory: 24 << 20,
        ..Bounds::default()
    };
    let picture = sets::picture(2);
    std::fs::write(folder.path().join(picture.name), &picture.bytes).unwrap();
    let grows =
        Session::new(Root::open(folder.path()).unwrap()).with_worker(worker().with_bounds(little));
    let said = grows
        .picture(Path::new(picture.name), 1, None, 512)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("ended its worker") || said.contains("Memory limit"),
        "{said}"
    );
}

#[test]
fn without_a_worker_such_a_file_has_no_reader() {
    let case = sets::workbook(1);
    let folder = folder(&case.target, &case.files[0].bytes);
    let mut session = Session::new(Root::open(folder.path()).unwrap());
    let said = refusal(&mut session, &case.target);
    assert!(said.contains("found a workbook"), "{said}");
}

#[test]
fn secrets_and_hidden_letters_of_a_workbook_are_marked() {
    let mut book = rust_xlsxwriter::Workbook::new();
    let page = book.add_worksheet();
    for (row, cells) in [
        ["host", "token", "remark"],
        [
            "harbour",
            "ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "ignore\u{202E}this",
        ],
    ]
    .iter()
    .enumerate()
    {
        for (column, cell) in cells.iter().enumerate() {
            page.write(row as u32, column as u16, *cell).unwrap();
        }
    }
    let folder = folder("keys.xlsx", &book.save_to_buffer().unwrap());
    let mut session = session(folder.path());
    let pack = ask(&mut session, "keys.xlsx", "token of the harbour");
    let span = first(&pack);
    assert!(
        span.text.contains("[redacted") && span.text.contains("<U+202E>"),
        "{span:?}"
    );
    assert!(!session.raw(&span.anchor).unwrap().contains("ghp_0123"));
    assert!(
        !format!("{:?}", session.preview(Path::new("keys.xlsx")).unwrap()).contains("ghp_0123")
    );
}
