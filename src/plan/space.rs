//! Which way do the numbers of a box run, in which unit, on which picture? Only what the turn's call, its tool or the run's own instructions say;
//! never a guess.

use serde_json::Value;

use crate::evidence::{BoxOrder, BoxSpace, BoxUnit};
use crate::trajectory::{Part, Role, ToolCall, Trajectory};

/// From the first call of the message that carries a box and the definition of its tool; what they leave open, from the instructions. None where
/// nothing is said.
pub(super) fn box_space(run: &Trajectory, message: usize) -> Option<BoxSpace> {
    let message = run.messages.get(message)?;
    let call = message.calls.iter().find_map(|call| of_call(run, call));
    let stated = instructions(run);
    match (call, stated) {
        (None, stated) if stated == BoxSpace::default() => None,
        (call, stated) => {
            let call = call.unwrap_or_default();
            Some(BoxSpace {
                order: call.order.or(stated.order),
                unit: call.unit.or(stated.unit),
                ..call
            })
        }
    }
}

fn of_call(run: &Trajectory, call: &ToolCall) -> Option<BoxSpace> {
    let arguments: Value = match &call.arguments {
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    let fields = arguments.as_object()?;
    let (key, _) = fields.iter().find(|(key, value)| {
        let key = key.to_lowercase();
        let four = value
            .as_array()
            .is_some_and(|a| a.len() == 4 && a.iter().all(Value::is_number));
        four && (key.contains("box") || key.contains("region") || key.contains("crop"))
    })?;
    // `bbox_2d` is Qwen's own key: corners. Any other key names no order.
    let order = (key == "bbox_2d").then_some(BoxOrder::Xyxy);
    let picture = [
        "img_idx",
        "image_index",
        "image_id",
        "target_image",
        "image",
        "source",
    ]
    .iter()
    .find_map(|name| fields.get(*name))
    .map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let definition = run.tools.iter().find(|tool| {
        tool.pointer("/function/name")
            .or_else(|| tool.get("name"))
            .and_then(Value::as_str)
            == Some(&call.name)
    });
    Some(BoxSpace {
        order,
        unit: definition.and_then(unit),
        picture,
        picture_size: None,
    })
}

/// Bytes of an instruction that are read: what is said of boxes stands near its start.
const READ: usize = 64 << 10;

/// Ways of writing the order of a box's numbers, without spaces and underscores.
const ORDERS: [(&str, BoxOrder); 9] = [
    ("x,y,w,h", BoxOrder::Xywh),
    ("x,y,width,height", BoxOrder::Xywh),
    ("x1,y1,x2,y2", BoxOrder::Xyxy),
    ("x0,y0,x1,y1", BoxOrder::Xyxy),
    ("xmin,ymin,xmax,ymax", BoxOrder::Xyxy),
    ("left,top,right,bottom", BoxOrder::Xyxy),
    ("y1,x1,y2,x2", BoxOrder::Yxyx),
    ("y0,x0,y1,x1", BoxOrder::Yxyx),
    ("ymin,xmin,ymax,xmax", BoxOrder::Yxyx),
];

/// Ways of writing the range of coordinates, spelled likewise.
const RANGES: [(&str, BoxUnit); 10] = [
    ("[0,1]", BoxUnit::Fraction),
    ("range0to1", BoxUnit::Fraction),
    ("rangefrom0to1", BoxUnit::Fraction),
    ("between0and1", BoxUnit::Fraction),
    ("[0,1000]", BoxUnit::Thousandths),
    ("0..1000", BoxUnit::Thousandths),
    ("0-1000", BoxUnit::Thousandths),
    ("0to1000", BoxUnit::Thousandths),
    ("between0and1000", BoxUnit::Thousandths),
    ("pixelcoordinates", BoxUnit::Pixels),
];

/// What the system's messages and the first of the user say of boxes in general; an order or a unit only where they name one.
fn instructions(run: &Trajectory) -> BoxSpace {
    let first = run.messages.iter().position(|m| m.role == Role::User);
    let heads = run.messages.iter().enumerate();
    let heads = heads.filter(|(at, m)| m.role == Role::System || Some(*at) == first);
    let mut text = String::new();
    for part in heads.flat_map(|(_, m)| &m.parts) {
        if let Part::Text(part) = part {
            let end = part.text.floor_char_boundary(READ.min(part.text.len()));
            let said = part.text.get(..end).unwrap_or_default().chars();
            let kept = said.filter(|c| !c.is_whitespace() && *c != '_');
            text.extend(kept.flat_map(char::to_lowercase));
            text.push('\n');
        }
    }
    let says = |words: &str| {
        text.match_indices(words).any(|(at, _)| {
            let before = text.get(..at).and_then(|t| t.chars().next_back());
            let behind = text.get(at + words.len()..).and_then(|t| t.chars().next());
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !digit(before) && !digit(behind)
        })
    };
    BoxSpace {
        order: one(ORDERS.iter().filter(|(w, _)| says(w)).map(|(_, o)| *o)),
        unit: one(RANGES.iter().filter(|(w, _)| says(w)).map(|(_, u)| *u)),
        ..BoxSpace::default()
    }
}

/// The one thing that all say. None where they contradict each other.
fn one<T: PartialEq>(mut said: impl Iterator<Item = T>) -> Option<T> {
    let first = said.next()?;
    said.all(|other| other == first).then_some(first)
}

/// The unit that a tool's definition states.
fn unit(definition: &Value) -> Option<BoxUnit> {
    let text = definition.to_string().to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&[
        "0..1000",
        "0 to 1000",
        "0-1000",
        "[0, 1000]",
        "[0,1000]",
        "0 and 1000",
    ]) {
        Some(BoxUnit::Thousandths)
    } else if says(&[
        "0..1 ",
        "0 to 1 ",
        "0 and 1",
        "[0, 1]",
        "[0,1]",
        "normalized",
        "normalised",
    ]) {
        Some(BoxUnit::Fraction)
    } else if says(&["pixel"]) {
        Some(BoxUnit::Pixels)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::Message;
    use serde_json::json;

    #[test]
    fn it_says_only_what_the_call_and_its_tool_say() {
        let tool = json!({"type": "function", "function": {"name": "zoom", "description": "Box in 0..1000."}});
        let mut run = Trajectory::new(vec![tool]);
        let call = |name: &str, arguments| {
            Message::assistant(None, "", vec![ToolCall::new("1", name, arguments)])
        };
        run.push(call("zoom", json!({"bbox_2d": [1, 2, 3, 4], "img_idx": 0})));
        run.push(call("other", json!({"bbox": [1, 2, 3, 4]})));
        run.push(call("other", json!({"cell": [1, 2]})));
        let first = box_space(&run, 0).map(|space| space.note());
        assert_eq!(
            first.as_deref(),
            Some("(x1, y1, x2, y2; 0..1000; picture 0)")
        );
        assert_eq!(box_space(&run, 1), Some(BoxSpace::default()));
        assert_eq!(box_space(&run, 2), None);
    }

    #[test]
    fn instructions_fill_what_the_call_leaves_open() {
        let space = |instruction: &str, calls: Vec<ToolCall>| {
            let mut run = Trajectory::new(Vec::new());
            run.push(Message::user(instruction));
            run.push(Message::assistant(None, "", calls));
            run.push(Message::user(
                "Boxes are [ymin, xmin, ymax, xmax] in pixel coordinates.",
            ));
            box_space(&run, 1).map(|space| space.note())
        };
        let bare = |instruction: &str| space(instruction, Vec::new());
        for said in [
            "Boxes are [x, y, w, h], range 0 to 1.",
            "All coordinates are normalized, i.e., the range is [0, 1]. All bounding boxes are in the format of [x, y, w, h].",
        ] {
            let note = bare(said);
            assert_eq!(
                note.as_deref(),
                Some("(x, y, width, height; 0..1; picture not stated)")
            );
        }
        assert_eq!(
            bare("Give (x_min, y_min, x_max, y_max), between 0 and 1000.").as_deref(),
            Some("(x1, y1, x2, y2; 0..1000; picture not stated)")
        );
        // Two orders are none, and no number reads as another one.
        assert_eq!(bare("[x, y, w, h] or [x1, y1, x2, y2]"), None);
        assert_eq!(
            bare("10 to 1000 crates, between 0 and 10 of them open"),
            None
        );
        let call = |arguments| vec![ToolCall::new("1", "zoom", arguments)];
        assert_eq!(
            space(
                "Boxes are [x, y, w, h], range 0 to 1.",
                call(json!({"bbox_2d": [1, 2, 3, 4]}))
            )
            .as_deref(),
            Some("(x1, y1, x2, y2; 0..1; picture not stated)")
        );
    }
}
