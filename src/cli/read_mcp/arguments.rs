//! Arguments of the tools. What the reference implementation calls `target`, `hint` and `slots` is understood too, so that hosts can swap.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Map, Value};
use spare_read::{Action, Error, Intent, Need, Purpose, ReadRequest, Scope, Want};

/// Arguments of `sro_preview` and `sro_card`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Look {
    /// The file or folder.
    #[serde(alias = "target", deserialize_with = "path")]
    pub path: String,
}

/// Arguments of `sro_raw`: an anchor, or a path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    /// An anchor of an answer.
    #[serde(default, alias = "raw_ref")]
    pub anchor: Option<String>,
    /// What it should say.
    #[serde(default)]
    pub claim: Option<String>,
    /// A picture or a PDF document.
    #[serde(default, alias = "target", deserialize_with = "some_path")]
    pub path: Option<String>,
    /// Its page, from 1.
    #[serde(default = "first_page")]
    pub page: u32,
    /// Left, top, width, height: pixels of a picture, points of a page.
    #[serde(default, rename = "box")]
    pub area: Option<[f64; 4]>,
}

fn first_page() -> u32 {
    1
}

fn some_path<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    path(deserializer).map(Some)
}

/// Arguments of `sro_read`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The file or folder.
    #[serde(alias = "target", deserialize_with = "path")]
    pub path: String,
    #[serde(default, alias = "action")]
    mode: Action,
    #[serde(default = "budget")]
    budget: usize,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    questions: Vec<String>,
    #[serde(default)]
    needles: Vec<String>,
    #[serde(default)]
    want: Want,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    purpose: Purpose,
    #[serde(default)]
    hint: Option<Hint>,
}

/// The reference's read intent.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Hint {
    goal: String,
    needles: Vec<String>,
    want: Want,
    scope: Scope,
    must_keep: Vec<String>,
    #[serde(alias = "needs")]
    slots: Vec<Need>,
    #[serde(rename = "artifact")]
    _artifact: String,
    #[serde(rename = "type_hint")]
    _type_hint: String,
}

fn budget() -> usize {
    1_200
}

/// A path, or an object with one.
fn path<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let text = value
        .as_str()
        .or_else(|| value.get("path").and_then(Value::as_str));
    text.filter(|text| !text.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| D::Error::custom(format!("path: found {value}, expected a path")))
}

/// Arguments as one of the above.
pub(super) fn parse<T: DeserializeOwned>(
    tool: &'static str,
    arguments: Map<String, Value>,
) -> Result<T, Error> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| Error::Intent {
        field: tool,
        found: error.to_string(),
        expected: "the arguments of its schema",
    })
}

impl Read {
    /// As a request.
    pub fn request(self) -> ReadRequest {
        let Hint {
            goal,
            needles,
            want,
            scope,
            must_keep,
            slots,
            ..
        } = self.hint.unwrap_or_default();
        let questions = self.questions.into_iter().enumerate();
        let mut needs: Vec<Need> = questions
            .map(|(at, question)| Need {
                id: format!("n{}", at + 1),
                question,
                aliases: Vec::new(),
            })
            .collect();
        needs.extend(slots);
        ReadRequest {
            action: self.mode,
            intent: Intent {
                goal,
                needs,
                needles: [self.needles, needles].concat(),
                want: if want == Want::default() {
                    self.want
                } else {
                    want
                },
                scope: if scope == Scope::default() {
                    self.scope
                } else {
                    scope
                },
                purpose: self.purpose,
                must_keep,
            },
            budget_tokens: self.budget,
            force: self.force,
        }
    }
}
