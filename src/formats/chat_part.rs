//! Content parts of chat messages: text, and pictures in every guise that people write them in.

use serde_json::Value;

use super::FormatError;
use super::openai_chat::{keys, picture, shape, text_part};
use crate::trajectory::{Part, Picture};

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
        Some("image_url") => {
            let (pointer, address) = match fields.get("image_url") {
                Some(Value::String(url)) => (format!("{at}/image_url"), url),
                Some(Value::Object(image)) => match image.get("url") {
                    Some(Value::String(url)) => (format!("{at}/image_url/url"), url),
                    _ => {
                        let expected = "an object with a string `url`";
                        let image = fields.get("image_url").unwrap_or(value);
                        return Err(shape(&format!("{at}/image_url"), image, expected));
                    }
                },
                _ => return Err(shape(at, value, "an image part with `image_url`")),
            };
            picture(address, pointer).map(Part::Picture)
        }
        Some("input_image" | "image") => {
            Ok(block(value, at).map_or_else(|| Part::Other(value.clone()), Part::Picture))
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
/// None where it names no address that is opened (an uploaded file, a URL, a bare placeholder).
fn block(value: &Value, at: &str) -> Option<Picture> {
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
    picture(text, format!("{at}{place}")).ok()
}

/// First base64 characters of the picture formats, with their media types.
const HEADS: [(&str, &str); 5] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("Qk", "image/bmp"),
];

/// A path of this length made of base64 characters alone is hardly a path.
const SHORTEST: usize = 64;

/// The data URI of a picture that is written as base64 without a `data:` in front. None for anything else.
pub(crate) fn raw_base64(address: &str) -> Option<String> {
    if address.len() < SHORTEST {
        return None;
    }
    let kind = HEADS
        .iter()
        .find(|(head, _)| address.starts_with(head))
        .map(|(_, kind)| *kind)?;
    let base64 =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\n' | b'\r');
    address
        .bytes()
        .all(base64)
        .then(|| format!("data:{kind};base64,{address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_like_a_picture_is_raw_base64() {
        let png = format!("iVBORw0KGgo{}==", "A".repeat(80));
        assert_eq!(
            raw_base64(&png),
            Some(format!("data:image/png;base64,{png}"))
        );
        for path in [
            "iVBORw0KGgo",
            "/9j/photo.jpg",
            &"a/".repeat(60),
            &format!("{png}.png"),
        ] {
            assert_eq!(raw_base64(path), None, "{path}");
        }
    }
}
