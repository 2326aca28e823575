//! A library of scripts: each carries the input of another program as a string, and says at its top what it is for.
#![cfg(feature = "code")]
#![allow(clippy::unwrap_used)]

use std::path::Path;

use spare_read::{ReadRequest, Root, Session, Status};

/// Scripts that differ in what they are for, and in one value of their input.
fn library(folder: &Path) {
    let python = |purpose: &str, name: &str, damping: u32| {
        format!(
            "#!/usr/bin/env python3\n\"\"\"{purpose}\n\nRuns the solver on a text that it writes first.\n\"\"\"\nimport subprocess\n\n\ndef write(path):\n    \"\"\"Writes the input.\"\"\"\n    {name} = \"\"\"\nmesh coarse\nsolver implicit\ndamping {damping}\noutput every 10\n\"\"\"\n    path.write_text({name})\n"
        )
    };
    for (file, text) in [
        ("a.py", python("Cools a bridge deck", "DECK", 12)),
        ("b.py", python("Shakes a water tower", "TOWER", 47)),
        ("c.py", python("Bends a ship mast", "MAST", 81)),
        (
            "d.go",
            "// Drains a canal lock.\npackage main\n\nvar lockInput = `\nmesh fine\nsolver explicit\ndamping 33\n`\n"
                .into(),
        ),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
}

#[test]
fn a_line_of_an_embedded_text_is_found_by_what_its_script_is_for() {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path());
    for (question, path, lines, said) in [
        ("damping of the water tower", "b.py", (14, 14), "damping 47"),
        ("damping of the bridge deck", "a.py", (14, 14), "damping 12"),
        (
            "solver of the canal lock",
            "d.go",
            (6, 6),
            "solver explicit",
        ),
        ("damping of MAST", "c.py", (14, 14), "damping 81"),
    ] {
        let mut session = Session::new(Root::open(folder.path()).unwrap());
        let request = ReadRequest {
            force: true,
            ..ReadRequest::question(question)
        };
        let pack = session.read(Path::new("."), &request).unwrap();
        assert_eq!(pack.needs[0].status, Status::Supported, "{question}");
        let span = &pack.spans[pack.needs[0].spans[0]];
        assert_eq!(
            (
                span.anchor.path.as_str(),
                span.anchor.lines,
                span.text.as_str()
            ),
            (path, lines, said)
        );
        assert_eq!(session.raw(&span.anchor).unwrap(), said);
    }
    let mut session = Session::new(Root::open(folder.path()).unwrap());
    let request = ReadRequest {
        force: true,
        ..ReadRequest::question("damping of the clock tower")
    };
    let pack = session.read(Path::new("."), &request).unwrap();
    assert_eq!(
        (pack.needs[0].status, pack.needs[0].unmatched.as_slice()),
        (Status::Weak, &["clock".to_owned()][..])
    );
}

#[test]
fn a_preview_says_what_a_script_is_for_and_where_its_texts_stand() {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path());
    let session = Session::new(Root::open(folder.path()).unwrap());
    let preview = session.preview(Path::new("b.py")).unwrap();
    let outline = preview.files[0].outline.as_ref().unwrap();
    assert_eq!(outline.samples, ["Shakes a water tower"]);
    assert!(
        outline.parts.contains(&"11-16: text TOWER".to_owned()),
        "{outline:?}"
    );
    // A documentation string is no such text.
    assert_eq!(
        outline
            .parts
            .iter()
            .filter(|part| part.contains(": text"))
            .count(),
        1
    );
}
