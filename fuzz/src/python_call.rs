//! Any text as the code of an agent that acts in Python: the calls in it are found or not, and the code is never reasoning.

use serde_json::{Value, json};
use spare::formats::{FORMATS, WireFormat};
use spare::trajectory::{Role, Trajectory, VisibleText, segments};

pub fn python_call(data: &[u8]) {
    let Ok(code) = std::str::from_utf8(data) else {
        return;
    };
    let step = json!([{"task": "t"}, {"step_number": 1, "model_output": format!("I look.\n<code>\n{code}\n</code>"), "code_action": code}]);
    let run = read("smolagents", &step).expect("a step of strings");
    called(&run);
    let found = segments(&run, VisibleText::Auto);
    assert!(found.iter().all(|s| s.text == "I look."), "{found:?}");
    for action in [format!("```python\n{code}\n```"), code.to_owned()] {
        let content = format!("THOUGHT 0: I look.\nACTION 0: {action}");
        let run = read(
            "react",
            &json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]),
        );
        called(&run.expect("messages of strings"));
    }
}

fn read(name: &str, root: &Value) -> Option<Trajectory> {
    let format: &&dyn WireFormat = FORMATS.iter().find(|f| f.name() == name)?;
    format.read(root).ok()
}

/// Every call has a name and arguments that the template can show.
fn called(run: &Trajectory) {
    for message in run.messages.iter().filter(|m| m.role == Role::Assistant) {
        for call in &message.calls {
            assert!(!call.name.trim().is_empty());
            assert!(call.arguments.is_object() || call.arguments.is_string());
            let _ = call.string_argument("summary");
        }
    }
}
