//! Which picture does an address name? A data URI, base64 without a prefix, a path; anything else is carried as it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::openai_chat::picture;
use crate::trajectory::{Part, Picture, PictureSource};

/// First base64 characters of PNG, JPEG, GIF, WebP and BMP files.
const MAGIC: [&str; 5] = ["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "Qk"];

/// The picture at `address`; `carried` where this version cannot open it (a URL, a path outside the picture folder).
pub(crate) fn picture_part(address: &str, pointer: String, carried: &Value) -> Part {
    if let Some(bytes) = raw_base64(address) {
        let source = PictureSource::Bytes(bytes.into());
        return Part::Picture(Picture { source, pointer });
    }
    match picture(address, pointer) {
        Ok(picture) => Part::Picture(picture),
        Err(_) => Part::Other(carried.clone()),
    }
}

/// Bytes of a picture that is written as base64 alone. A path never decodes to a picture's first bytes at this length.
fn raw_base64(text: &str) -> Option<Vec<u8>> {
    let long = text.len() >= 64 && MAGIC.iter().any(|magic| text.starts_with(magic));
    long.then(|| STANDARD.decode(text.trim()).ok()).flatten()
}

/// The picture of a block that holds base64 beside its media type.
pub(crate) fn base64_part(data: &str, media: Option<&str>, pointer: String) -> Part {
    let media = media.unwrap_or("image/png");
    let source = PictureSource::DataUri(format!("data:{media};base64,{data}"));
    Part::Picture(Picture { source, pointer })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn every_guise_of_a_picture_is_known() {
        let of = |address: &str| match picture_part(address, "/0".into(), &Value::Null) {
            Part::Picture(picture) => Some(picture.source),
            _ => None,
        };
        let raw = STANDARD.encode([b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 60]].concat());
        assert!(matches!(of(&raw), Some(PictureSource::Bytes(b)) if b.starts_with(b"\x89PNG")));
        let data = format!("data:image/png;base64,{raw}");
        assert_eq!(of(&data), Some(PictureSource::DataUri(data.clone())));
        assert_eq!(
            of("img/a.png"),
            Some(PictureSource::Path("img/a.png".into()))
        );
        for other in [
            "https://x.org/a.png",
            "file:///a.png",
            "/a.png",
            "../a.png",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
