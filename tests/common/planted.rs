//! Runs in which the generator plants every value and knows where it stands. Nothing here calls the product's recogniser.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::spell;

/// How a run of this generator reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Field,
    NewField,
    BothFields,
    Think,
    /// No white space around the text, `<think>x</think>y`.
    ThinkTight,
    /// The opening tag stood in the prompt.
    ThinkPrompt,
    /// Tags in the first of two text parts.
    ThinkParts,
    Visible,
    /// Two text parts, both reasoning.
    VisibleParts,
    /// A field and text beside the call, both reasoning (`--visible-text prune`).
    FieldAndVisible,
    /// A field and tags in the content.
    FieldAndThink,
}

pub const FORMS: [Form; 11] = [
    Form::Field,
    Form::NewField,
    Form::BothFields,
    Form::Think,
    Form::ThinkTight,
    Form::ThinkPrompt,
    Form::ThinkParts,
    Form::Visible,
    Form::VisibleParts,
    Form::FieldAndVisible,
    Form::FieldAndThink,
];

/// A value planted in a text: its number in the pool and its bytes there.
pub type Mention = (usize, Range<usize>);

/// One piece of reasoning as planted.
#[derive(Clone, Debug, Default)]
pub struct Reasoning {
    pub text: String,
    pub mentions: Vec<Mention>,
}

/// What the generator decides about one turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// One or two pieces, as the form has it.
    pub reasoning: Vec<Reasoning>,
    pub in_call: Vec<usize>,
    pub in_result: Vec<usize>,
    pub in_visible: Vec<usize>,
    /// The turn calls the summary tool, with these values in the summary.
    pub summary: Option<Vec<usize>>,
    /// The turn is written so that its reasoning must stay.
    pub frozen: bool,
    /// The template hides its reasoning.
    pub hidden: bool,
    /// What the rule says, and which tokens it calls sensitive.
    pub sensitive: bool,
    pub density: u8,
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Run {
    pub form: Form,
    pub values: Vec<String>,
    pub in_user: Vec<usize>,
    pub turns: Vec<Turn>,
    /// A last message without calls.
    pub answer: bool,
    /// Decides spelling and sensitive tokens.
    pub seed: u64,
    pub keep_atoms: bool,
    /// Values of a summary from outside, if there is one.
    pub given: Option<Vec<usize>>,
}

const WORDS: [&str; 22] = [
    "the", "sign", "reads", "a", "shows", "near", "wall", "and", "left", "of", "picture", "which",
    "car", "then", "where", "über", "naïve", "🎉", "maybe", "not", "door", "paint",
];

/// A value of each kind; `n` makes it unlike any other of its pool.
fn value(kind: usize, n: usize) -> String {
    let big = 1000 + 37 * n;
    match kind {
        0 => format!("{n}"),
        1 => format!("{big}"),
        2 => format!("-{big}.50 EUR"),
        3 => format!("[{big}, 64, 402, 92]"),
        4 => format!("({big}, 900)"),
        5 => format!("\"Hop {big} Inn\""),
        6 => format!("AX-{big}-Q"),
        7 => format!("'stop {big}'"),
        8 => format!("{big}/8"),
        9 => format!("1.5e-{big} m"),
        10 => format!("src/f_{big}.rs"),
        11 => format!("`run {big}`"),
        12 => format!("“看 {big} é”"),
        13 => format!("C:\\tmp\\{big}"),
        _ => format!("BW{big} WDZ"),
    }
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS.to_vec()), 1..7).prop_map(|w| w.join(" "))
}

fn reasoning(
    pool: usize,
) -> impl Strategy<Value = Vec<(String, Option<usize>, String, &'static str)>> {
    let stop = prop::sample::select(vec![". ", ", ", " and ", "\n", ": ", ".\n\n"]);
    let piece = (words(), prop::option::weighted(0.6, 0..pool), words(), stop);
    prop::collection::vec(piece, 1..7)
}

fn write(
    pieces: Vec<(String, Option<usize>, String, &'static str)>,
    values: &[String],
) -> Reasoning {
    let mut out = Reasoning::default();
    for (before, planted, after, stop) in pieces {
        out.text.push_str(&before);
        if let Some(value) = planted {
            out.text.push(' ');
            let start = out.text.len();
            out.text.push_str(&values[value]);
            out.mentions.push((value, start..out.text.len()));
        }
        out.text.push(' ');
        out.text.push_str(&after);
        out.text.push_str(stop);
    }
    out.text.truncate(out.text.trim_end().len());
    out
}

fn some(pool: usize) -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(0..pool, 1..3)]
}

fn turn(form: Form, values: Vec<String>) -> impl Strategy<Value = Turn> {
    let pool = values.len();
    let pieces = match form {
        Form::VisibleParts | Form::FieldAndVisible | Form::FieldAndThink => 2,
        _ => 1,
    };
    (
        prop::collection::vec(reasoning(pool), pieces),
        (some(pool), some(pool), some(pool)),
        prop::option::weighted(0.3, some(pool)),
        (
            prop::bool::weighted(0.15),
            prop::bool::weighted(0.1),
            any::<bool>(),
            0u8..4,
        ),
    )
        .prop_map(
            move |(
                pieces,
                (in_call, in_result, in_visible),
                summary,
                (frozen, hidden, sensitive, density),
            )| {
                let can_freeze = matches!(
                    form,
                    Form::Field
                        | Form::NewField
                        | Form::BothFields
                        | Form::Think
                        | Form::ThinkTight
                );
                let frozen = frozen && can_freeze;
                let unclosed = frozen && matches!(form, Form::Think | Form::ThinkTight);
                let beside = !unclosed
                    && !matches!(
                        form,
                        Form::Visible | Form::VisibleParts | Form::FieldAndVisible
                    );
                Turn {
                    reasoning: pieces.into_iter().map(|p| write(p, &values)).collect(),
                    in_call,
                    in_result,
                    in_visible: if beside { in_visible } else { Vec::new() },
                    summary,
                    frozen,
                    hidden: hidden && !frozen,
                    sensitive,
                    density,
                }
            },
        )
}

/// Any run of the generator.
pub fn runs() -> impl Strategy<Value = Run> {
    (
        prop::sample::select(FORMS.to_vec()),
        prop::collection::vec(0..15usize, 1..9),
    )
        .prop_flat_map(|(form, kinds)| {
            let values: Vec<String> = kinds
                .iter()
                .enumerate()
                .map(|(n, kind)| value(*kind, n))
                .collect();
            let pool = values.len();
            (
                Just((form, values.clone())),
                prop::collection::vec(turn(form, values), 1..7),
                (
                    some(pool),
                    any::<bool>(),
                    any::<u64>(),
                    prop::bool::weighted(0.7),
                ),
                prop::option::weighted(0.4, some(pool)),
            )
        })
        .prop_map(
            |((form, values), turns, (in_user, answer, seed, keep_atoms), given)| Run {
                form,
                values,
                in_user,
                turns,
                answer,
                seed,
                keep_atoms,
                given,
            },
        )
}

impl Run {
    /// Prose that holds these values, each between spaces.
    pub fn prose(&self, values: &[usize]) -> String {
        let named: Vec<String> = values
            .iter()
            .map(|v| format!("look {} there", self.values[*v]))
            .collect();
        format!("so far {} goes on", named.join(" and "))
    }

    /// A summary from outside.
    pub fn sigma(&self) -> Option<String> {
        self.given.as_ref().map(|values| self.prose(values))
    }

    /// The run as JSON.
    pub fn json(&self) -> Value {
        let mut messages = vec![json!({"role": "user", "content": self.prose(&self.in_user)})];
        for (index, turn) in self.turns.iter().enumerate() {
            messages.push(self.assistant(index, turn));
            messages.push(json!({"role": "tool", "tool_call_id": format!("zoom_{index}"), "content": self.prose(&turn.in_result)}));
            if turn.summary.is_some() {
                messages.push(json!({"role": "tool", "tool_call_id": format!("sum_{index}"), "content": "noted"}));
            }
        }
        if self.answer {
            messages.push(json!({"role": "assistant", "content": "Done."}));
        }
        json!({"id": "r", "more": [1.50, {"messages": []}], "messages": messages})
    }

    /// In which message turn `index` stands.
    pub fn message_of(&self, index: usize) -> usize {
        let before = &self.turns[..index];
        1 + 2 * index + before.iter().filter(|t| t.summary.is_some()).count()
    }

    fn assistant(&self, index: usize, turn: &Turn) -> Value {
        let first = &turn.reasoning[0].text;
        let second = turn
            .reasoning
            .get(1)
            .map(|r| r.text.as_str())
            .unwrap_or_default();
        let visible = self.prose(&turn.in_visible);
        let mut message =
            json!({"role": "assistant", "content": visible, "zz": {"a": [null, 1.50]}});
        match self.form {
            Form::Field => message["reasoning_content"] = first.as_str().into(),
            Form::NewField => message["reasoning"] = first.as_str().into(),
            Form::BothFields => {
                message["reasoning_content"] = first.as_str().into();
                message["reasoning"] = if turn.frozen {
                    "other words".into()
                } else {
                    first.as_str().into()
                };
            }
            Form::Think if turn.frozen => message["content"] = format!("<think>\n{first}").into(),
            Form::Think => {
                message["content"] = format!("<think>\n{first}\n</think>\n\n{visible}").into()
            }
            Form::ThinkTight if turn.frozen => {
                message["content"] = format!("<think>{first}").into()
            }
            Form::ThinkTight => {
                message["content"] = format!("<think>{first}</think>{visible}").into()
            }
            Form::ThinkPrompt => {
                message["content"] = format!("{first}</think>\n\n{visible}").into()
            }
            Form::ThinkParts => {
                message["content"] = json!([{"type": "text", "text": format!("<think>\n{first}\n</think>")}, {"type": "text", "text": visible}]);
            }
            Form::Visible => message["content"] = first.as_str().into(),
            Form::VisibleParts => {
                message["content"] =
                    json!([{"type": "text", "text": first}, {"type": "text", "text": second}])
            }
            Form::FieldAndVisible => {
                message["reasoning_content"] = first.as_str().into();
                message["content"] = second.into();
            }
            Form::FieldAndThink => {
                message["reasoning_content"] = first.as_str().into();
                message["content"] = format!("<think>\n{second}\n</think>\n\n{visible}").into();
            }
        }
        if turn.frozen && matches!(self.form, Form::Field | Form::NewField) {
            message["reasoning_details"] = json!([{"type": "reasoning.encrypted", "data": "zz"}]);
        }
        let mut seed = self.seed ^ index as u64;
        let bare: Vec<&str> = turn
            .in_call
            .iter()
            .map(|v| self.values[*v].trim_matches(['"', '\'', '`', '“', '”']))
            .collect();
        // Arguments are JSON in a JSON string: both levels are spelled in any way that JSON allows.
        let mut call = |id: String, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": spell(&arguments, &mut seed)}});
        let mut calls = vec![call(
            format!("zoom_{index}"),
            "zoom",
            json!({"notes": bare}),
        )];
        if let Some(values) = &turn.summary {
            calls.push(call(
                format!("sum_{index}"),
                "summarize_the_task",
                json!({"summary": self.prose(values)}),
            ));
        }
        message["tool_calls"] = calls.into();
        message
    }

    /// Values that stand in messages before `at` outside the reasoning: user, calls, results, visible text.
    pub fn elsewhere(&self, at: usize) -> BTreeSet<usize> {
        let mut out: BTreeSet<usize> = self.in_user.iter().copied().collect();
        for (index, turn) in self.turns.iter().enumerate() {
            let message = self.message_of(index);
            if message < at {
                out.extend(
                    turn.in_call
                        .iter()
                        .chain(&turn.in_visible)
                        .chain(turn.summary.iter().flatten()),
                );
            }
            if message + 1 < at {
                out.extend(&turn.in_result);
            }
        }
        out
    }

    /// The turn of a message.
    pub fn turn_of(&self, message: usize) -> usize {
        (0..self.turns.len())
            .find(|i| self.message_of(*i) == message)
            .unwrap()
    }
}

/// Whether a planted value stands in a text: the generator always sets it between spaces.
pub fn stands(text: &str, value: &str) -> bool {
    text.match_indices(value).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + value.len()..].chars().next();
        before.is_none_or(char::is_whitespace) && after.is_none_or(char::is_whitespace)
    })
}
