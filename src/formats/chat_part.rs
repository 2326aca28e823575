//! Content parts of chat messages: text, and pictures in every guise that people write them in.

use serde_json::Value;

use super::FormatError;
use super::openai_chat::{keys, shape, text_part};
use super::picture::{picture_part, raw_base64};
use crate::trajectory::Part;

/// Reads one content part. A typed block that is not understood is carried.
pub(crate) fn part(value: &Value, at: &str) -> Result<Part, FormatError> {
    let Value::Object(fields) = value else {
        return Err(shape(at, value, "a content part: an object with `type`"));
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text") => match fields.get("text") {
            Some(Value::String(text)) => Ok(text_part(text, format!("{at}/text"))),
            Some(other) => Err(shape(&format!("{at}/text"), other, "a string")),
            None => Err(shape(at, value, "a text part with `text`")),
        },
        Some("image_url") => match fields.get("image_url") {
            Some(Value::String(url)) => Ok(picture_part(url, format!("{at}/image_url"))),
            Some(image @ Value::Object(_)) => match image.get("url") {
                Some(Value::String(url)) => Ok(picture_part(url, format!("{at}/image_url/url"))),
                _ => {
                    let expected = "an object with a string `url`";
                    Err(shape(&format!("{at}/image_url"), image, expected))
                }
            },
            _ => Err(shape(at, value, "an image part with `image_url`")),
        },
        Some("input_image" | "image") => {
            Ok(block(value, at).unwrap_or_else(|| Part::Other(value.clone())))
        }
        Some(_) => Ok(Part::Other(value.clone())),
        None => Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("an object without a string `type`{}", keys(value)),
            expected: "a content part: an object with `type`".into(),
        }),
    }
}

/// A picture block: `image_url` of Responses, the keys of Hugging Face chat templates, or a `source` as Anthropic and others have it.
/// None where it names no address (an uploaded file, a bare placeholder).
fn block(value: &Value, at: &str) -> Option<Part> {
    const ADDRESSES: [&str; 6] = [
        "/image_url",
        "/image_url/url",
        "/image",
        "/path",
        "/url",
        "/source/path",
    ];
    const ENCODED: [&str; 3] = ["/base64", "/data", "/source/data"];
    let string = |place: &'static str| Some((place, value.pointer(place)?.as_str()?));
    let address = ADDRESSES.into_iter().find_map(string);
    let encoded = || {
        let found = ENCODED.into_iter().find_map(string);
        found.filter(|(_, text)| text.starts_with("data:") || raw_base64(text).is_some())
    };
    let (place, text) = address.or_else(encoded)?;
    Some(picture_part(text, format!("{at}{place}")))
}
