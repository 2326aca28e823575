//! An edit changes the string at its pointer, as a whole parse of the text sees it, and no other byte.

use serde_json::Value;
use spare::formats::{Edit, apply};
use spare::trajectory::Place;

use super::dice::Dice;
use super::undone::edited;

pub fn json_pointer_edit(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut dice = Dice::of(data);
    // Also on texts that are no JSON, and at places that are not there.
    let range = dice.range(text);
    let pointers = ["", "/", "/0", "/messages/0/content", "/a/b"];
    let stray = Edit::Text {
        place: Place {
            pointer: pointers[dice.below(pointers.len())].into(),
            range,
        },
        text: dice.text(text),
    };
    let _ = apply(text, std::slice::from_ref(&stray));
    // serde_json reads an object with this key as the JSON inside its string.
    if text.contains("serde_json") || text.contains('\\') && text.contains("private") {
        return;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let mut strings = Vec::new();
    collect(&value, String::new(), &mut strings);
    let mut edits = Vec::new();
    for (pointer, old) in strings {
        if dice.one_in(2) {
            let place = Place {
                pointer,
                range: dice.range(&old),
            };
            edits.push(Edit::Text {
                place,
                text: dice.text(&old),
            });
        }
    }
    let after = edited(text, &edits);
    for edit in &edits {
        let Edit::Text { place, text } = edit else {
            continue;
        };
        let Some(Value::String(old)) = value.pointer_mut(&place.pointer) else {
            panic!("no string")
        };
        old.replace_range(place.range.clone(), text);
    }
    assert_eq!(
        serde_json::from_str::<Value>(&after).expect("still JSON"),
        value
    );
}

/// Pointer and text of every string.
fn collect(value: &Value, pointer: String, out: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => out.push((pointer, text.clone())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), out);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(item, format!("{pointer}/{key}"), out);
            }
        }
        _ => {}
    }
}
