//! Which picture does an address name? A data URI, base64 without a prefix, a path below the picture folder; any other address is carried.
//! Addresses are looked at when the run is read; files are opened much later, if at all.

use std::path::{Component, Path};

use crate::trajectory::{Part, Picture, PictureSource};

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

/// The picture at an address.
pub(crate) fn picture_at(address: &str, pointer: String) -> Picture {
    let source = if address.starts_with("data:") {
        PictureSource::DataUri(address.to_owned())
    } else if let Some(uri) = raw_base64(address) {
        PictureSource::DataUri(uri)
    } else if is_below_folder(address) {
        PictureSource::Path(address.to_owned())
    } else {
        PictureSource::Unopened(address.to_owned())
    };
    Picture { source, pointer }
}

/// [`picture_at`] as a part of a message.
pub(crate) fn picture_part(address: &str, pointer: String) -> Part {
    Part::Picture(picture_at(address, pointer))
}

/// The picture of a block that holds base64 beside its media type.
pub(crate) fn base64_part(data: &str, media: Option<&str>, pointer: String) -> Part {
    let media = media.unwrap_or("image/png");
    let source = PictureSource::DataUri(format!("data:{media};base64,{data}"));
    Part::Picture(Picture { source, pointer })
}

/// The data URI of a picture that is written as base64 without a `data:` in front. None for anything else.
pub(crate) fn raw_base64(address: &str) -> Option<String> {
    let long = address.len() >= SHORTEST;
    let head = HEADS.iter().find(|(head, _)| address.starts_with(head));
    let (_, kind) = head.filter(|_| long)?;
    let base64 =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\n' | b'\r');
    let all = address.bytes().all(base64);
    all.then(|| format!("data:{kind};base64,{address}"))
}

/// Whether an address is a relative path that stays below the folder it starts in. A URL, an absolute path and `..` at the front are none.
fn is_below_folder(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    let is_url = scheme.is_some_and(|s| {
        s.len() > 1
            && s.chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let mut components = Path::new(address).components();
    let stays = components.try_fold(0usize, |depth, component| match component {
        Component::Normal(_) => Some(depth + 1),
        Component::CurDir => Some(depth),
        Component::ParentDir => depth.checked_sub(1),
        _ => None,
    });
    !is_url && stays.is_some() && !address.is_empty() && !address.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guise_of_a_picture_is_known() {
        let of = |address: &str| picture_at(address, "/0".into()).source;
        let raw = format!("iVBORw0KGgo{}==", "A".repeat(80));
        let data = format!("data:image/png;base64,{raw}");
        assert_eq!(of(&raw), PictureSource::DataUri(data.clone()));
        assert_eq!(of(&data), PictureSource::DataUri(data.clone()));
        for path in [
            "img/a.png",
            "iVBORw0KGgo",
            &"a/".repeat(60),
            &format!("{raw}.png"),
            "a/../b.png",
            "c:d.png",
        ] {
            assert_eq!(of(path), PictureSource::Path(path.into()));
        }
        for other in [
            "https://x.org/a.png",
            "file:///a.png",
            "gs://a/b.png",
            "/9j/photo.jpg",
            "../a.png",
            "a/../../b.png",
            "a\0.png",
            "",
        ] {
            assert_eq!(of(other), PictureSource::Unopened(other.into()));
        }
    }
}
