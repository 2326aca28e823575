//! The protocol on small documents: spans, statuses, rounds, anchors, changed files.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use spare_read::{
    Action, Anchor, EvidencePack, Intent, Match, Mode, Next, Purpose, ReadRequest, Root, Session,
    Status, Verdict,
};

const NOTES: &str = "# Sites\n\n## Mill depot\n\nThe annual budget of the Mill depot is 12,500. Its floor area is 410.\n\n## Cedar office\n\n- opening date: 4 May 2019\n- floor area: 95\n\nThe annual budget of the Cedar office is 7,300, while the Orchid clinic has 7,400 as its annual budget.\n";

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        std::fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(path), bytes).unwrap();
    }
    folder
}

fn session(folder: &Path) -> Session {
    Session::new(Root::open(folder).unwrap())
}

fn ask(session: &mut Session, path: &str, question: &str) -> EvidencePack {
    session
        .read(
            Path::new(path),
            &ReadRequest {
                force: true,
                ..ReadRequest::question(question)
            },
        )
        .unwrap()
}

#[test]
fn a_fact_is_supported_with_the_bytes_it_stands_on() {
    let folder = folder(&[("notes.md", NOTES.as_bytes())]);
    let mut session = session(folder.path());
    for (question, answer) in [
        ("What is the annual budget of the Mill depot?", "12,500"),
        ("floor area of the Mill depot", "410"),
        (
            "Which opening date does the Cedar office have?",
            "4 May 2019",
        ),
        ("floor area of the Cedar office", "95"),
    ] {
        let pack = ask(&mut session, "notes.md", question);
        assert_eq!(pack.needs[0].status, Status::Supported, "{question}");
        let span = &pack.spans[pack.needs[0].spans[0]];
        assert!(span.text.contains(answer), "{question}: {}", span.text);
        assert_eq!(session.raw(&span.anchor).unwrap(), span.text);
        assert_eq!(
            session.verify(&span.anchor, answer).unwrap().matched,
            Match::Exact
        );
    }
}

#[test]
fn what_is_not_said_is_absent_and_the_missing_words_are_named() {
    let folder = folder(&[("notes.md", NOTES.as_bytes())]);
    let mut session = session(folder.path());
    let pack = ask(
        &mut session,
        "notes.md",
        "What is the opening date of the Mill depot?",
    );
    assert_eq!(pack.needs[0].status, Status::Absent);
    assert!(!pack.needs[0].unmatched.is_empty());
    assert_eq!(pack.next, Next::Closed);
    let pack = ask(
        &mut session,
        "notes.md",
        "What is the annual budget of the Sable theatre?",
    );
    assert_eq!(pack.needs[0].status, Status::Absent);
    assert!(pack.needs[0].unmatched.contains(&"Sable".to_owned()));
}

#[test]
fn statements_that_disagree_are_conflicting_and_both_are_shown() {
    let folder = folder(&[
        ("a.md", b"The retry limit of the importer is 5.\n"),
        ("b.md", b"Note that the retry limit of the importer is 7.\n"),
    ]);
    let pack = ask(
        &mut session(folder.path()),
        ".",
        "retry limit of the importer",
    );
    assert_eq!(pack.needs[0].status, Status::Conflicting);
    assert_eq!(pack.needs[0].spans.len(), 2);
    assert_eq!(pack.needs[0].values.len(), 2);
}

#[test]
fn refine_brings_nothing_twice_and_stalls_into_native_ranges() {
    let folder = folder(&[("notes.md", NOTES.as_bytes())]);
    let mut session = session(folder.path());
    let refine = ReadRequest {
        action: Action::Refine,
        force: true,
        ..ReadRequest::question("annual budget in euros of the Cedar office")
    };
    let mut seen: Vec<Anchor> = Vec::new();
    let mut last = Next::Refine;
    for _ in 0..4 {
        let pack = session.read(Path::new("notes.md"), &refine).unwrap();
        for span in &pack.spans {
            assert!(
                seen.iter()
                    .all(|anchor| anchor.bytes.end <= span.anchor.bytes.start
                        || span.anchor.bytes.end <= anchor.bytes.start
                        || *anchor != span.anchor)
            );
            seen.push(span.anchor.clone());
        }
        last = pack.next;
        if last == Next::Native {
            assert!(!pack.native.is_empty());
            break;
        }
    }
    assert!(matches!(last, Next::Native | Next::Closed));
}

#[test]
fn a_changed_file_makes_its_anchors_stale() {
    let folder = folder(&[("notes.md", NOTES.as_bytes())]);
    let mut session = session(folder.path());
    let anchor = ask(&mut session, "notes.md", "annual budget of the Mill depot").spans[0]
        .anchor
        .clone();
    std::fs::write(
        folder.path().join("notes.md"),
        NOTES.replace("12,500", "12,900"),
    )
    .unwrap();
    assert_eq!(
        session.verify(&anchor, "12,500").unwrap().verdict,
        Verdict::Stale
    );
    assert!(session.raw(&anchor).is_err());
    let pack = ask(&mut session, "notes.md", "annual budget of the Mill depot");
    assert!(pack.spans[0].text.contains("12,900"));
}

#[test]
fn small_objects_come_whole_and_whole_purposes_are_native() {
    let folder = folder(&[("notes.md", NOTES.as_bytes())]);
    let mut session = session(folder.path());
    let pack = session
        .read(
            Path::new("notes.md"),
            &ReadRequest::question("annual budget of the Mill depot"),
        )
        .unwrap();
    assert_eq!(
        (pack.gate.mode, pack.content[0].text.as_str()),
        (Mode::InlineAll, NOTES)
    );
    let edit = Intent {
        purpose: Purpose::Edit,
        ..Intent::question("rename all sites")
    };
    let pack = session
        .read(
            Path::new("notes.md"),
            &ReadRequest {
                intent: edit,
                ..ReadRequest::question("")
            },
        )
        .unwrap();
    assert_eq!(pack.gate.mode, Mode::Native);
}

#[test]
fn many_needs_share_one_budget() {
    let folder = folder(&[("notes.md", NOTES.repeat(40).as_bytes())]);
    let need = |id: usize| spare_read::Need {
        id: id.to_string(),
        question: [
            "annual budget of the Mill depot",
            "floor area of the Cedar office",
            "opening date of the Cedar office",
        ][id]
            .into(),
        aliases: Vec::new(),
    };
    let intent = Intent {
        needs: (0..3).map(need).collect(),
        ..Intent::default()
    };
    for budget_tokens in [500, 800, 1_600] {
        let request = ReadRequest {
            action: Action::Collect,
            intent: intent.clone(),
            budget_tokens,
            force: true,
        };
        let pack = session(folder.path())
            .read(Path::new("notes.md"), &request)
            .unwrap();
        assert!(
            spare_read::estimate_tokens(&pack.to_json()) <= budget_tokens,
            "{budget_tokens}"
        );
        assert!(
            pack.needs
                .iter()
                .all(|need| need.status == Status::Supported && !need.spans.is_empty())
        );
    }
    let twice = Intent {
        needs: vec![need(0), need(0)],
        ..Intent::default()
    };
    assert!(
        session(folder.path())
            .read(
                Path::new("notes.md"),
                &ReadRequest {
                    intent: twice,
                    ..ReadRequest::question("")
                }
            )
            .is_err()
    );
}

#[test]
fn nothing_outside_the_root_is_read() {
    let folder = folder(&[
        ("inner/notes.md", NOTES.as_bytes()),
        ("secret.md", b"The port is 80."),
        ("inner/.env", b"KEY=1"),
    ]);
    let inner = folder.path().join("inner");
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret.md"), inner.join("link.md")).unwrap();
    let mut session = session(&inner);
    for path in [
        "../secret.md",
        "link.md",
        "/etc/hostname",
        ".env",
        "missing.md",
    ] {
        let refused = session.read(Path::new(path), &ReadRequest::question("port"));
        assert!(refused.is_err(), "{path}");
    }
    let pack = ask(&mut session, ".", "What is the port?");
    assert!(!pack.to_json().contains("The port is 80"));
    assert!(
        pack.coverage
            .skipped
            .iter()
            .any(|(path, reason)| path == ".env" && reason == "credentials")
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = folder(&[("notes.md", b"text")]);
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    if made.is_ok_and(|status| status.success()) {
        assert!(session(folder.path()).preview(Path::new("pipe")).is_err());
    }
}

#[cfg(not(feature = "pdf"))]
#[test]
fn a_pdf_document_of_ascii_letters_is_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let text = "%PDF-1.7\n1 0 obj\n<< /Length 44 >>\nstream\n(The gauge is 4711.) Tj\nendstream\n";
    std::fs::write(folder.path().join("a.pdf"), text).unwrap();
    let session = Session::new(Root::open(folder.path()).unwrap());
    let preview = session.preview(Path::new("a.pdf")).unwrap();
    let problem = preview.files[0].problem.as_deref().unwrap();
    assert!(problem.contains("found a PDF document"), "{problem}");
}
