//! A Claude Code `PreToolUse` hook: a whole read of a large file is refused with a hint where the gate says so. It is silent otherwise: it never allows, so that the user's own permissions stand.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use spare_read::{Intent, Mode, Root, Session};

/// Most bytes of an event.
const EVENT: u64 = 1 << 20;

/// The parts of an event that matter.
#[derive(Deserialize)]
struct Event {
    hook_event_name: Option<String>,
    tool_name: Option<String>,
    #[serde(default)]
    tool_input: Input,
    cwd: Option<String>,
}

#[derive(Default, Deserialize)]
struct Input {
    file_path: Option<String>,
    offset: Option<serde_json::Value>,
    limit: Option<serde_json::Value>,
    pages: Option<serde_json::Value>,
}

/// The answer to the event on standard input; empty where the hook has nothing to say. A broken event is nothing to say.
pub(crate) fn respond() -> String {
    let mut text = String::new();
    if std::io::stdin()
        .take(EVENT)
        .read_to_string(&mut text)
        .is_err()
    {
        return String::new();
    }
    serde_json::from_str::<Event>(&text)
        .ok()
        .and_then(|event| refuse(&event))
        .unwrap_or_default()
}

fn refuse(event: &Event) -> Option<String> {
    let input = &event.tool_input;
    let whole = input.offset.is_none() && input.limit.is_none() && input.pages.is_none();
    if event.hook_event_name.as_deref() != Some("PreToolUse")
        || event.tool_name.as_deref() != Some("Read")
        || !whole
    {
        return None;
    }
    let named = input.file_path.as_deref()?;
    let path = Path::new(event.cwd.as_deref().unwrap_or(".")).join(named);
    let (root, relative) = Root::of(&path).ok()?;
    let decision = Session::new(root)
        .decide(&relative, &Intent::question("file"))
        .ok()?;
    if decision.mode != Mode::Force {
        return None;
    }
    let reason = format!(
        "Large file (gate: s {}, c {}, r {}, b {}). For facts: spare read ask '{}' 'QUESTION'. A Read with offset or limit is not held up.",
        decision.s,
        decision.c,
        decision.r,
        decision.b,
        named.replace('\'', "'\\''")
    );
    let answer = serde_json::json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}});
    Some(answer.to_string() + "\n")
}
