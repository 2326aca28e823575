//! Both halves together: an answer of `spare read` in a run, reasoning about it pruned to evidence, and the bytes behind the evidence fetched again.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used)]

mod common;

use std::process::{Command, Output};

use common::prune::{Said, Settings, prune, tokens};
use serde_json::json;

fn spare(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spare"))
        .arg("read")
        .args(words)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn evidence_that_was_read_sparsely_fetches_its_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.md");
    let filler = "A gardener walked past the museum in winter and said nothing.\n\n".repeat(2_000);
    let text = format!("{filler}The gauge of the Harbour is 4711.\n\n{filler}");
    std::fs::write(&notes, &text).unwrap();
    let root = folder.path().to_str().unwrap();

    // For programs and for people.
    for json_answer in [true, false] {
        let mut words = vec!["ask", root, "gauge of the Harbour"];
        words.extend(json_answer.then_some("--json"));
        let answer = said(&spare(&words));
        let thought = "The notes say that the gauge of the Harbour reads 4711 and nobody doubts it, so the next step goes on from there and looks at nothing else in them.";
        let call = |id: &str, name: &str| json!([{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]);
        let run = json!({"messages": [
            {"role": "user", "content": "What is the gauge?"},
            {"role": "assistant", "content": "", "tool_calls": call("c1", "sro_read")},
            {"role": "tool", "tool_call_id": "c1", "content": answer},
            {"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": call("c2", "zoom")},
            {"role": "tool", "tool_call_id": "c2", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]});
        let settings = Settings {
            given: Some("the notes were read".into()),
            ..Settings::default()
        };
        let pruned = prune(&run.to_string(), &settings, |segment| {
            let at = segment.text.find("4711").unwrap();
            let spans = tokens(&segment.text).into_iter().enumerate();
            let sensitive = spans.filter(|(_, span)| span.contains(&at));
            Said::Shown(true, sensitive.map(|(index, _)| index).collect())
        });
        let evidence: Vec<_> = pruned
            .receipt
            .events
            .iter()
            .flat_map(|event| &event.segments)
            .flat_map(|segment| &segment.evidence)
            .collect();
        assert_eq!(evidence.len(), 1, "{}", pruned.after);
        let anchor = evidence[0].anchor.as_deref().unwrap();
        assert!(anchor.starts_with("notes.md:4001@"), "{anchor}");
        assert!(evidence[0].text.contains("4711"));
        // The history does not grow by it: the answer with the anchor is still there.
        let kept = pruned.after.matches(anchor).count();
        assert_eq!(kept, run.to_string().matches(anchor).count());

        assert_eq!(
            said(&spare(&["raw", root, anchor])),
            "The gauge of the Harbour is 4711.\n"
        );
        let receipt = folder.path().join("receipt.jsonl");
        std::fs::write(
            &receipt,
            serde_json::to_string(&pruned.receipt).unwrap() + "\n",
        )
        .unwrap();
        let check = || {
            let output = spare(&["verify", root, "--receipt", receipt.to_str().unwrap()]);
            (output.status.code(), said(&output))
        };
        let (code, told) = check();
        assert_eq!(code, Some(0), "{told}");
        assert!(
            told.starts_with("supported: ") && told.contains(anchor),
            "{told}"
        );
        std::fs::write(&notes, text.replace("4711", "4712")).unwrap();
        let (code, told) = check();
        assert_eq!(code, Some(1), "{told}");
        assert!(told.starts_with("stale: "), "{told}");
        std::fs::write(&notes, &text).unwrap();
        std::fs::remove_file(&receipt).unwrap();
    }
}

#[test]
fn a_receipt_that_is_none_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("receipt.jsonl");
    std::fs::write(&path, "{\"schema\": 1}\n").unwrap();
    let output = spare(&[
        "verify",
        folder.path().to_str().unwrap(),
        "--receipt",
        path.to_str().unwrap(),
    ]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains("receipt.jsonl: line 1:")
            && error.contains("expected the receipt of a record"),
        "{error}"
    );
}

/// A folder with notes, and an answer of `spare read ask` about them.
fn answered() -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let filler = "A gardener walked past the museum in winter and said nothing.\n\n".repeat(2_000);
    let text = format!("{filler}The gauge of the Harbour is 4711.\n\n{filler}");
    std::fs::write(folder.path().join("notes.md"), text).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    let answer = said(&spare(&["ask", &root, "gauge of the Harbour", "--json"]));
    (folder, root, answer)
}

fn chat(results: &[String]) -> serde_json::Value {
    let mut messages = vec![json!({"role": "user", "content": "What is the gauge?"})];
    for (at, result) in results.iter().enumerate() {
        let id = format!("c{at}");
        messages.push(json!({"role": "assistant", "content": "", "reasoning_content": "I look.", "tool_calls": [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    messages.push(json!({"role": "assistant", "content": "Done."}));
    json!({"messages": messages})
}

fn anthropic(results: &[String]) -> serde_json::Value {
    let mut messages = vec![json!({"role": "user", "content": "What is the gauge?"})];
    for (at, result) in results.iter().enumerate() {
        let id = format!("c{at}");
        messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "look", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": result}]}]}));
    }
    messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}));
    json!({"messages": messages})
}

#[test]
fn an_old_observation_becomes_a_line_whose_anchor_fetches_its_bytes_again() {
    let (folder, root, answer) = answered();
    let page = "A line of a page.\n".repeat(40);
    let results: Vec<String> = [answer, page.clone(), "ok".into()]
        .into_iter()
        .chain((0..4).map(|at| format!("{at}\n{page}")))
        .collect();
    for run in [chat(&results), anthropic(&results)] {
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (before, after) = (file("run.json"), file("masked.json"));
        std::fs::write(&before, run.to_string()).unwrap();
        let output = spare(&["mask", &before, "-o", &after, "--keep", "4"]);
        assert!(output.status.success(), "{output:?}");
        let masked = std::fs::read_to_string(&after).unwrap();
        // Two of the first three: what is short stays. The last four stay too.
        assert_eq!(masked.matches("[Old tool result: ").count(), 2, "{masked}");
        assert!(masked.contains("[Old tool result: 40 lines left out.]"));
        assert!(
            results[3..]
                .iter()
                .all(|result| masked.contains(&json!(result).to_string()))
        );
        assert!(!masked.contains("The gauge of the Harbour is 4711."));
        let (_, behind) = masked.split_once("shows again: ").unwrap();
        let anchor = behind.split([']', ';']).next().unwrap();
        assert_eq!(
            said(&spare(&["raw", &root, anchor])),
            "The gauge of the Harbour is 4711.\n"
        );
        let receipt = format!("{after}.receipt.jsonl");
        let check = || spare(&["verify", &root, "--receipt", &receipt]);
        let output = check();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(said(&output).contains(anchor));
        // Masked twice is masked once; and all of it comes back.
        let twice = file("twice.json");
        assert!(
            spare(&["mask", &after, "-o", &twice, "--keep", "4"])
                .status
                .success()
        );
        assert_eq!(std::fs::read_to_string(&twice).unwrap(), masked);
        let restored = Command::new(env!("CARGO_BIN_EXE_spare"))
            .args(["restore", &after, "--receipt", &receipt])
            .output()
            .unwrap();
        assert_eq!(said(&restored), run.to_string());
        let notes = folder.path().join("notes.md");
        let text = std::fs::read_to_string(&notes).unwrap();
        std::fs::write(&notes, text.replace("4711", "4712")).unwrap();
        assert_eq!(check().status.code(), Some(1));
        std::fs::write(&notes, text).unwrap();
    }
}
