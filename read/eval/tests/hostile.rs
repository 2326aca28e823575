//! E11: files that mean harm do not crash, hang, leak or escape.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use spare_read::{ReadRequest, Root, Session};
use spare_read_eval::sets::hostile_files;

#[test]
fn hostile_files_are_read_or_refused_and_nothing_forbidden_comes_back() {
    for seed in [1, 9_001] {
        assert!(hostile_files(seed).len() >= 40);
        let folder = tempfile::tempdir().unwrap();
        for file in hostile_files(seed) {
            std::fs::write(folder.path().join(file.path), &file.bytes).unwrap();
            let mut session = Session::new(Root::open(folder.path()).unwrap());
            let mut shown = String::new();
            for force in [true, false] {
                let request = ReadRequest {
                    force,
                    ..ReadRequest::question(file.question)
                };
                match session.read(Path::new(file.path), &request) {
                    Ok(pack) => {
                        shown.push_str(&pack.to_json());
                        if force {
                            assert!(
                                spare_read::estimate_tokens(&pack.to_json()) < 2_500,
                                "{}: a long answer",
                                file.path
                            );
                        }
                        pack.spans.iter().for_each(|span| {
                            shown.push_str(&span.text);
                            shown.push_str(&span.context);
                        });
                        pack.content
                            .iter()
                            .for_each(|span| shown.push_str(&span.text));
                    }
                    Err(error) => shown.push_str(&error.to_string()),
                }
            }
            match session.preview(Path::new(file.path)) {
                Ok(preview) => shown.push_str(&format!("{preview:?}")),
                Err(error) => shown.push_str(&error.to_string()),
            }
            if let Some(forbidden) = file.forbidden {
                assert!(
                    !shown.contains(forbidden),
                    "{}: {forbidden:?} came back",
                    file.path
                );
            }
        }
        let mut session = Session::new(Root::open(folder.path()).unwrap());
        let pack = session
            .read(
                Path::new("."),
                &ReadRequest {
                    force: true,
                    ..ReadRequest::question("what is the port")
                },
            )
            .unwrap();
        assert!(!pack.to_json().contains("root:"));
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            hostile_files(seed).len(),
            "a file was written"
        );
    }
}
