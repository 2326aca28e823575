//! Claude Code sessions: a file of events is one run.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;

use common::check::check;
use common::format::{data, every_way, frozen, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{Container, FORMATS, Records, detect, parse};
use spare::trajectory::{Role, VisibleText, segments};

const SIGMA: &str = "The header is cut off.";

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_session_is_one_run_of_its_main_conversation() {
    let (run, format) = read(&data("claude_code/session.jsonl"));
    assert_eq!(format.name(), "claude-code");
    assert_eq!(run.id.as_deref(), Some("5f0c"));
    use Role::{Assistant, Tool, User};
    let roles: Vec<Role> = run.messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [
            User, User, Assistant, Tool, Assistant, User, Assistant, Tool
        ]
    );
    // The pieces of one message are one message.
    let first = &run.messages[2];
    assert_eq!(
        (
            first.reasoning.len(),
            first.text().as_str(),
            first.calls[0].name.as_str()
        ),
        (1, "I read the stylesheet.", "Read")
    );
    assert_eq!(
        first.reasoning[0].places[0].pointer,
        "/3/message/content/0/thinking"
    );
    assert_eq!(run.messages[7].pictures().count(), 1);
    assert!(!run.messages.iter().any(|m| m.text().contains("Sub-agent")));
}

#[test]
fn closed_turns_are_pruned_line_by_line() {
    let text = data("claude_code/session.jsonl");
    assert_eq!(violations(&text), []);
    for pruned in every_way("claude-code", &text, Some(SIGMA)) {
        assert_eq!(frozen(&pruned), ["redacted_thinking", "open_turn"]);
        assert_ne!(pruned.after, text);
        let (before, after) = (lines(&text), lines(&pruned.after));
        assert_eq!(before.len(), after.len());
        for (index, (old, new)) in before.iter().zip(&after).enumerate() {
            // Both answers of the closed turns; the question behind them is open.
            if [3, 9].contains(&index) {
                let block = &new["message"]["content"][0];
                assert_eq!(block["type"], "text");
                assert!(block["text"].as_str().unwrap().starts_with("Evidence"));
                let mut same = new.clone();
                same["message"]["content"] = old["message"]["content"].clone();
                assert_eq!(&same, old);
            } else {
                assert_eq!(old, new, "line {index}");
            }
        }
    }
}

#[test]
fn a_line_that_held_nothing_but_thinking_keeps_a_block() {
    let line = |kind: &str, id: &str, content: Value| json!({"type": kind, "sessionId": "s", "uuid": id, "message": {"id": id, "role": kind, "content": content}});
    let long = "I go from left to right over the whole page and look for the button, once more and then again, to be sure.";
    let mut session = vec![line("user", "u", json!("q"))];
    for id in ["m1", "m2"] {
        session.push(line(
            "assistant",
            id,
            json!([{"type": "thinking", "thinking": long, "signature": "x"}]),
        ));
        session.push(line(
            "assistant",
            id,
            json!([{"type": "tool_use", "id": id, "name": "look", "input": {}}]),
        ));
        session.push(line(
            "user",
            id,
            json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]),
        ));
    }
    session.push(line(
        "assistant",
        "m3",
        json!([{"type": "text", "text": "There."}]),
    ));
    session.push(line("user", "v", json!("thanks")));
    let text: String = session.iter().map(|l| format!("{l}\n")).collect();
    let after = lines(&check(&text, Some("Nothing yet."), &|_| false).after);
    let left = json!([{"type": "text", "text": "Evidence:\n"}]);
    assert_eq!(after[1]["message"]["content"], left);
    assert_eq!(after[2], session[2]);
}

#[test]
fn what_the_program_prints_is_read_too() {
    let text = data("claude_code/printed.json");
    let (run, format) = read(&text);
    assert_eq!(format.name(), "claude-code");
    assert_eq!(run.messages.len(), 5);
    every_way("claude-code", &text, Some(SIGMA));
    // One event alone.
    let one = json!({"type": "user", "message": {"role": "user", "content": "a"}, "uuid": "u", "sessionId": "s"});
    let (run, format) = read(&one.to_string());
    assert_eq!((format.name(), run.messages.len()), ("claude-code", 1));
}

#[test]
fn a_side_conversation_alone_is_a_run() {
    let line = |id: &str, message: Value| json!({"type": message["role"], "isSidechain": true, "sessionId": "s", "uuid": id, "message": message});
    let text = format!(
        "{}\n{}\n",
        line("a", json!({"role": "user", "content": "list"})),
        line(
            "b",
            json!({"role": "assistant", "id": "m", "content": [{"type": "text", "text": "none"}]})
        )
    );
    assert_eq!(read(&text).0.messages.len(), 2);
}

#[test]
fn a_session_file_is_one_record_and_other_lines_are_runs() {
    let container = |text: &str| {
        let mut file = tempfile::Builder::new()
            .suffix(".jsonl")
            .tempfile()
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let of = |path| detect(path, None, text.as_bytes()).unwrap().0;
        let named = of(Some(file.path()));
        assert_eq!(named, of(None), "{text}");
        named
    };
    let session = data("claude_code/session.jsonl");
    assert_eq!(container(&session), Container::Json);
    assert_eq!(container(&format!("\u{feff}\n{session}")), Container::Json);
    let run =
        json!({"messages": [{"role": "user", "content": "a"}], "type": "t", "sessionId": "s"})
            .to_string();
    assert_eq!(container(&format!("{run}\n{run}\n")), Container::Jsonl);
    // Messages one a line are no session, but items of one Responses run.
    let item = json!({"type": "message", "role": "user", "content": "a"}).to_string();
    let items = format!("{item}\n{item}\n");
    assert_eq!(container(&items), Container::Json);
    let (run, format) = read(&items);
    assert_eq!((format.name(), run.messages.len()), ("openai-responses", 2));
    let records: Vec<_> = Records::new(session.as_bytes(), Container::Json)
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        (records.len(), records[0].text().unwrap()),
        (1, session.as_str())
    );
}

#[test]
fn bad_sessions_say_where() {
    let session = data("claude_code/session.jsonl");
    let torn = session.get(..session.len() - 40).unwrap();
    let said = parse(torn).unwrap_err().to_string();
    assert!(said.contains("line 17"), "{said}");
    let code = FORMATS.iter().find(|f| f.name() == "claude-code").unwrap();
    let event = |message: Value| json!([{"type": "user", "sessionId": "s", "message": message}]);
    for (run, words) in [
        (
            event(json!({"role": "user", "content": 5})),
            vec!["/0/message/content", "the number 5"],
        ),
        (
            event(json!({"role": "robot", "content": "a"})),
            vec!["/0/message/role", "`robot`"],
        ),
        (
            event(json!({"role": "user"})),
            vec!["/0/message", "without `content`"],
        ),
        (
            json!([{"type": "summary", "summary": "s"}]),
            vec!["top level", "empty list"],
        ),
    ] {
        let said = code.read(&run).unwrap_err().to_string();
        assert!(words.iter().all(|w| said.contains(w)), "{run}: {said}");
    }
}

proptest! {
    #![proptest_config(common::runs(150))]

    #[test]
    fn any_session_keeps_its_lines(
        turns in prop::collection::vec(prop::collection::vec((text(), prop::option::of(text()), any::<u8>()), 1..4), 1..4),
        mask in any::<u32>(), mut seed in any::<u64>(), crlf in any::<bool>(),
    ) {
        let mut events = Vec::new();
        let mut event = |kind: &str, message: Value| events.push(json!({"type": kind, "message": message, "sessionId": "s", "uuid": "u"}));
        for (t, turn) in turns.iter().enumerate() {
            event("user", json!({"role": "user", "content": format!("question {t}")}));
            for (s, (thought, said, kind)) in turn.iter().enumerate() {
                let id = format!("m{t}.{s}");
                let mut blocks = vec![json!({"type": "thinking", "thinking": thought, "signature": "x"})];
                blocks.extend(said.as_ref().filter(|t| !t.trim().is_empty()).map(|t| json!({"type": "text", "text": t})));
                blocks.push(json!({"type": "tool_use", "id": id, "name": "f", "input": {}}));
                if kind % 2 == 0 {
                    event("assistant", json!({"id": id, "role": "assistant", "content": blocks}));
                } else {
                    blocks.into_iter().for_each(|b| event("assistant", json!({"id": id, "role": "assistant", "content": [b]})));
                }
                event("user", json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": thought}]}));
            }
        }
        let end = if crlf { "\r\n" } else { "\n" };
        let one = |e: &Value, seed: &mut u64| spell(e, seed).replace("\n\t", " ").trim().to_owned() + end;
        let source: String = events.iter().map(|e| one(e, &mut seed)).collect();
        let pruned = check(&source, Some("State: nothing yet."), &|s| mask >> (s.index % 32) & 1 == 1);
        prop_assert_eq!(violations(&pruned.after), violations(&source));
        let after = lines(&pruned.after);
        prop_assert_eq!(after.len(), events.len());
        for (old, new) in events.iter().zip(&after).filter(|(o, n)| o != n) {
            prop_assert_eq!(&old["message"]["id"], &new["message"]["id"]);
            prop_assert!(!new["message"]["content"].as_array().unwrap().is_empty());
        }
        let (run, _) = read(&pruned.after);
        let left = segments(&run, VisibleText::Auto);
        prop_assert!(left.iter().all(|s| s.text.is_empty() || pruned.segments.iter().any(|p| p.text == s.text)));
    }
}
