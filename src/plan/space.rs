//! Which way do the numbers of a box run, in which unit, on which picture? Only what the turn's call or its tool says; never a guess.

use serde_json::Value;

use crate::evidence::{BoxOrder, BoxSpace, BoxUnit};
use crate::trajectory::Trajectory;

/// From the first call of the message that carries a box, and the definition of its tool. None where no call does.
pub(super) fn box_space(run: &Trajectory, message: usize) -> Option<BoxSpace> {
    let message = run.messages.get(message)?;
    message.calls.iter().find_map(|call| {
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
    })
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
    use crate::trajectory::{Message, ToolCall};
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
}
