//! What in a broken history can be mended without a choice? Two things: half a character, and an empty text block beside others. All else stays broken.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::provider::Violation;
use super::{Edit, FormatError, Replaced, apply, check, parse};

/// One mend. Mends are made one after another: the offset counts in the text as the mends before it left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mend {
    /// What was mended and how, in words.
    pub what: String,
    /// The bytes that changed.
    pub replaced: Replaced,
}

/// Mends a record; the text afterwards and what was done. Errors: a record that is broken in another way.
pub fn repair(
    text: &str,
    format: Option<&str>,
    provider: Option<&str>,
) -> Result<(String, Vec<Mend>), FormatError> {
    let (mut text, mut mends) = half_characters(text);
    let mut root = parse(&text)?;
    let mut found = check(&root, format, provider)?.violations;
    while let Some((edit, violation)) = found.iter().find_map(|v| Some((empty_block(&root, v)?, v)))
    {
        let Ok((after, replaced)) = apply(&text, std::slice::from_ref(&edit)) else {
            break;
        };
        let after_root = parse(&after)?;
        let after_found = check(&after_root, format, provider)?.violations;
        // Each mend has to leave fewer violations, so this ends.
        if after_found.len() >= found.len() {
            break;
        }
        let what = format!(
            "{}: took out the empty text block that breaks the rule {} of {}",
            edit.pointer(),
            violation.rule,
            violation.provider
        );
        mends.extend(replaced.into_iter().map(|replaced| Mend {
            what: what.clone(),
            replaced,
        }));
        (text, root, found) = (after, after_root, after_found);
    }
    Ok((text, mends))
}

/// Escapes that are half of a surrogate pair become U+FFFD, as every lossy decoder has it.
fn half_characters(text: &str) -> (String, Vec<Mend>) {
    let bytes = text.as_bytes();
    let unit = |at: usize| {
        let escape = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()
    };
    let (mut out, mut mends) = (String::with_capacity(text.len()), Vec::new());
    let (mut at, mut done) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        let length = match unit(at) {
            Some(0xD800..0xDC00) if matches!(unit(at + 6), Some(0xDC00..0xE000)) => 12,
            Some(0xD800..0xE000) => {
                let old = text.get(at..at + 6).unwrap_or_default();
                out.push_str(text.get(done..at).unwrap_or_default());
                mends.push(Mend {
                    what: format!(
                        "byte {at}: put U+FFFD in place of {old}, half of a surrogate pair"
                    ),
                    replaced: Replaced {
                        start: at,
                        old: old.to_owned(),
                        new_len: 6,
                    },
                });
                out.push_str("\\ufffd");
                done = at + 6;
                6
            }
            _ => 2,
        };
        at += length;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, mends)
}

/// The edit that takes out an empty text block a violation points at, where the message keeps another block.
fn empty_block(root: &Value, violation: &Violation) -> Option<Edit> {
    let pointer = violation
        .path
        .strip_suffix("/text")
        .unwrap_or(&violation.path);
    let block = root.pointer(pointer)?;
    let fields = block.as_object()?;
    // Nothing else may go with it: a cache mark or a signature is not empty.
    let plain = fields.keys().all(|key| key == "type" || key == "text");
    let empty = block.get("text")?.as_str()?.trim().is_empty();
    let siblings = root.pointer(pointer.rsplit_once('/')?.0)?.as_array()?;
    (plain && empty && siblings.len() > 1).then(|| Edit::Remove {
        pointer: pointer.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_stay() {
        let (out, mends) = half_characters(r#"["\ud83d\ude00 \ud83d! \\ud83d \ude00","\ud83d"]"#);
        assert_eq!(out, r#"["\ud83d\ude00 \ufffd! \\ud83d \ufffd","\ufffd"]"#);
        assert_eq!(mends.len(), 3);
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()[1], "\u{fffd}");
    }

    #[test]
    fn only_a_plain_empty_block_beside_others_goes() {
        let at = |root: &str, path: &str| {
            let root: Value = serde_json::from_str(root).unwrap();
            let violation = Violation {
                provider: "p",
                rule: "r",
                message: None,
                path: path.into(),
                what: String::new(),
            };
            empty_block(&root, &violation).map(|edit| edit.pointer().to_owned())
        };
        let two = r#"[{"type":"text","text":" "},{"type":"x"}]"#;
        assert_eq!(at(two, "/0/text"), Some("/0".into()));
        assert_eq!(at(two, "/0"), Some("/0".into()));
        assert_eq!(at(two, "/1"), None);
        assert_eq!(at(r#"[{"type":"text","text":""}]"#, "/0"), None);
        assert_eq!(at(r#"[{"type":"text","text":"a"},1]"#, "/0"), None);
        assert_eq!(
            at(r#"[{"type":"text","text":"","signature":"s"},1]"#, "/0"),
            None
        );
    }
}
