//! The tools as a client sees them. Every request of an agent carries them, so each word costs: together under 600 tokens of Qwen3, which a test counts.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The four tools.
pub(super) fn all() -> Vec<Tool> {
    let path = json!({"type": "string"});
    vec![
        tool(
            "sro_preview",
            "Kind, size and outline of a large file or folder, without its content; of a picture a small view.",
            json!({"path": path}),
            &["path"],
        ),
        tool(
            "sro_read",
            "Evidence for questions about a file or folder: spans with anchors; each question supported, conflicting, weak, absent or not-searched. Returns small objects whole.",
            json!({
                "path": path,
                "questions": {"type": "array", "items": {"type": "string"}, "maxItems": 12, "description": "one fact each, in the words of the text"},
                "needles": {"type": "array", "items": {"type": "string"}, "description": "exact strings"},
                "mode": {"enum": ["scout", "focus", "collect", "refine", "verify"], "description": "refine: only what was not returned yet"},
                "want": {"enum": ["fact", "count", "verbatim", "table", "schema", "list"]},
                "scope": {"enum": ["new", "narrow", "expand"]},
                "purpose": {"enum": ["lookup", "compute", "edit", "whole"]},
                "budget": {"type": "integer", "description": "tokens, default 1200"},
            }),
            &["path"],
        ),
        tool(
            "sro_raw",
            "The text at an anchor, loaded again; with a claim, whether it says so. With path instead: a picture or a page of a PDF, to look at.",
            json!({
                "anchor": path,
                "claim": path,
                "path": path,
                "page": {"type": "integer"},
                "box": {"type": "array", "items": {"type": "number"}, "description": "x, y, width, height"},
            }),
            &[],
        ),
        tool(
            "sro_card",
            "Whether sparse reading pays for a path.",
            json!({"path": path}),
            &["path"],
        ),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), json!(required));
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(true);
    hints.open_world_hint = Some(false);
    Tool::new(name, description, schema).with_annotations(hints)
}
