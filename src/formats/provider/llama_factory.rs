//! LLaMA-Factory's loader: as many placeholders as pictures, people on even places and the model on odd ones, no empty answers.

use serde_json::Value;

use super::{Provider, Violation};
use crate::formats::llama_factory;
use crate::formats::share_gpt::{MEDIA, media, occurrences, role, turns};
use crate::trajectory::{Frozen, Part, Role, Trajectory};

/// The loader of training data.
pub struct LlamaFactoryLoader;

const NAME: &str = "llama-factory";

const PLACEHOLDER: Frozen = Frozen::Rule(
    "media_placeholder",
    "it holds a placeholder such as `<image>`, and their number has to fit the list of pictures",
);

impl Provider for LlamaFactoryLoader {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Text with placeholders that fill nothing stays, unless their going makes the numbers fit.
    fn protect(&self, root: &Value, run: &mut Trajectory) {
        let Some((_, turns)) = turns(root) else {
            return;
        };
        let mut outside = [0; 3];
        for turn in turns.iter().filter(|t| speaker(t) != Some(Role::Assistant)) {
            let found = occurrences(said(turn));
            outside = std::array::from_fn(|kind| outside[kind] + found[kind]);
        }
        let surplus = std::array::from_fn(|kind| outside[kind] == media(root, MEDIA[kind].1).len());
        let bound = |text: &str| {
            let found = occurrences(text);
            let surplus: [bool; 3] = surplus;
            found
                .iter()
                .zip(surplus)
                .any(|(count, surplus)| *count > 0 && !surplus)
        };
        for message in run
            .messages
            .iter_mut()
            .filter(|m| m.role == Role::Assistant)
        {
            for part in &mut message.parts {
                if let Part::Text(text) = part
                    && text.frozen.is_none()
                    && bound(&text.text)
                {
                    text.frozen = Some(PLACEHOLDER);
                }
            }
        }
    }

    fn find(&self, root: &Value) -> Vec<Violation> {
        match turns(root) {
            Some((pointer, turns)) => conversations(root, pointer, turns),
            None => rows(root),
        }
    }
}

fn speaker(turn: &Value) -> Option<Role> {
    role(turn.get("from").and_then(Value::as_str)?)
}

fn said(turn: &Value) -> &str {
    turn.get("value").and_then(Value::as_str).unwrap_or("")
}

fn broken(rule: &'static str, message: Option<usize>, path: String, what: String) -> Violation {
    Violation {
        provider: NAME,
        rule,
        message,
        path,
        what,
    }
}

fn conversations(root: &Value, pointer: &str, turns: &[Value]) -> Vec<Violation> {
    let mut out = Vec::new();
    let mut found = [0; 3];
    // A system prompt beside the turns is a message of the run too.
    let shift = usize::from(root.get("system").is_some_and(Value::is_string));
    let first = usize::from(turns.first().and_then(speaker) == Some(Role::System));
    for (index, turn) in turns.iter().enumerate() {
        let here = occurrences(said(turn));
        found = std::array::from_fn(|kind| found[kind] + here[kind]);
        let at = format!("{pointer}/{index}");
        let message = Some(index + shift);
        let from = turn.get("from").and_then(Value::as_str).unwrap_or("");
        let asks = index >= first && (index - first) % 2 == 0;
        let fits = match speaker(turn) {
            Some(Role::User | Role::Tool) => asks,
            Some(Role::Assistant) => !asks,
            Some(Role::System) => index < first,
            None => false,
        };
        if !fits {
            let expected = if asks {
                "human or observation"
            } else {
                "gpt or function_call"
            };
            let what = format!("found `{from}`, expected {expected}: turns take turns");
            out.push(broken("turn_order", message, format!("{at}/from"), what));
        }
        if speaker(turn) == Some(Role::Assistant) && said(turn).trim().is_empty() {
            let what = "found an empty answer, expected text".into();
            out.push(broken(
                "empty_message",
                message,
                format!("{at}/value"),
                what,
            ));
        }
        let body = said(turn).rsplit("</think>").next().unwrap_or_default();
        if from == "function_call" && serde_json::from_str::<Value>(body).is_err() {
            let what = "found no JSON, expected a call with `name` and `arguments`".into();
            out.push(broken(
                "function_call_json",
                message,
                format!("{at}/value"),
                what,
            ));
        }
    }
    for ((token, key), found) in MEDIA.iter().zip(found) {
        let listed = media(root, key).len();
        if found != listed {
            let what = format!(
                "found {found} of `{token}` in the texts, expected {listed}: one for each of `{key}`"
            );
            out.push(broken("placeholder_count", None, format!("/{key}"), what));
        }
    }
    out
}

/// Rows of typed parts hold their pictures in place; only an assistant message without anything to say is refused.
fn rows(root: &Value) -> Vec<Violation> {
    let messages = llama_factory::messages(root)
        .into_iter()
        .flatten()
        .enumerate();
    let assistant = |m: &Value| m.get("role").and_then(Value::as_str) == Some("assistant");
    let nothing = |m: &Value| {
        llama_factory::content(m).is_some_and(|parts| {
            parts
                .iter()
                .all(|p| p.get("type").and_then(Value::as_str) == Some("reasoning"))
        })
    };
    messages
        .filter(|(_, m)| assistant(m) && nothing(m))
        .map(|(index, _)| {
            let what = "found an assistant message without text or call, expected one".into();
            broken(
                "empty_message",
                Some(index),
                format!("/messages/{index}/content"),
                what,
            )
        })
        .collect()
}
