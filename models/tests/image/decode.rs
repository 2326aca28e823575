//! Decoded colours against Pillow, and what broken files give.

use super::{cases, number, picture_bytes, sha256, string};
use proptest::prelude::*;
use spare_models::image::{ImageError, MAX_IMAGE_PIXELS, decode, dimensions};

#[test]
fn colours_equal_pillow_for_every_kind_of_file() {
    for case in cases("decoded") {
        let bytes = picture_bytes(string(&case["file"]));
        let size = (number(&case["width"]), number(&case["height"]));
        assert_eq!(dimensions(&bytes).unwrap(), size, "{case}");
        let picture = decode(&bytes).unwrap_or_else(|error| panic!("{error}: {case}"));
        assert_eq!(picture.dimensions(), size, "{case}");
        assert_eq!(sha256(picture.as_raw()), string(&case["rgb"]), "{case}");
    }
}

#[test]
fn no_picture_at_all() {
    assert!(matches!(decode(b""), Err(ImageError::Empty)));
    for bytes in [
        &b"{\"not\": \"a picture\"}"[..],
        b"\x89PN",
        b"II*\0",
        b"<svg/>",
        b"\0",
    ] {
        let error = decode(bytes).unwrap_err();
        assert!(matches!(error, ImageError::UnknownFormat { .. }), "{error}");
        assert!(
            error.to_string().contains(&format!("{:02x}", bytes[0])),
            "{error}"
        );
    }
}

/// A png header with these sides and no pixels.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut chunk = b"IHDR".to_vec();
    chunk.extend(width.to_be_bytes());
    chunk.extend(height.to_be_bytes());
    chunk.extend([8, 2, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    bytes.extend(&chunk);
    bytes.extend(crc32(&chunk).to_be_bytes());
    // An empty data chunk, so that the header counts as complete.
    bytes.extend(b"\0\0\0\0IDAT");
    bytes.extend(crc32(b"IDAT").to_be_bytes());
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn huge_pictures_are_refused_from_the_header() {
    let huge = png_header(100_000, 100_000);
    for error in [decode(&huge).unwrap_err(), dimensions(&huge).unwrap_err()] {
        let text = error.to_string();
        assert!(
            matches!(
                error,
                ImageError::TooLarge {
                    pixels: 10_000_000_000,
                    limit: MAX_IMAGE_PIXELS,
                    ..
                }
            ),
            "{text}"
        );
        assert!(
            text.contains("found 100000 x 100000 = 10000000000 pixels, expected at most 178956970"),
            "{text}"
        );
    }
    // Just within the limit the header is accepted, and the missing pixels are the error.
    assert_eq!(
        dimensions(&png_header(10_000, 10_000)).unwrap(),
        (10_000, 10_000)
    );
    assert!(matches!(
        decode(&png_header(1_000, 1_000)),
        Err(ImageError::Decode { format: "png", .. })
    ));
    // A bmp and a gif header that claim as much as the format can.
    let mut bmp = picture_bytes("rgb.bmp");
    bmp[18..26].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f]);
    assert!(decode(&bmp).is_err());
    let mut gif = picture_bytes("still.gif");
    gif[6..10].copy_from_slice(&[0xff; 4]);
    assert!(matches!(decode(&gif), Err(ImageError::TooLarge { .. })));
}

/// Cut anywhere, a file is an error or, once every pixel is there, still gives all of them.
#[test]
fn pictures_cut_short_never_lose_pixels_silently() {
    let names = cases("decoded").iter().map(|case| string(&case["file"]));
    let files = names.map(|name| (name, picture_bytes(name)));
    for (name, bytes) in files.chain([("cut.jpeg", jpeg())]) {
        let whole = decode(&bytes).unwrap();
        for len in 0..bytes.len() {
            match decode(&bytes[..len]) {
                Err(_) => {}
                Ok(picture) => {
                    assert_eq!(
                        picture,
                        whole,
                        "{name} cut to {len} of {} bytes",
                        bytes.len()
                    );
                    // Only closing bytes, or the later frames of an animation, may be missing.
                    let enough = name.starts_with("animated") || len + 16 >= bytes.len();
                    assert!(
                        enough,
                        "{name} cut to {len} of {} bytes is accepted",
                        bytes.len()
                    );
                }
            }
        }
    }
}

/// A jpeg written by the `image` crate.
fn jpeg() -> Vec<u8> {
    let mut bytes = Vec::new();
    let picture = super::pattern::pattern("screen", 61, 45, 5);
    picture
        .write_to(
            &mut std::io::Cursor::new(&mut bytes),
            ::image::ImageFormat::Jpeg,
        )
        .unwrap();
    bytes
}

#[test]
fn a_jpeg_without_its_end_is_an_error() {
    let bytes = jpeg();
    assert_eq!(decode(&bytes).unwrap().dimensions(), (61, 45));
    let error = decode(&bytes[..bytes.len() - 2]).unwrap_err().to_string();
    assert!(
        error.contains("cut short") && error.contains(&format!("{} bytes", bytes.len() - 2)),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
        let _ = dimensions(&bytes);
    }

    #[test]
    fn mutated_files_never_panic(
        which in 0usize..1000,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let files = cases("decoded");
        let mut bytes = match which % (files.len() + 1) {
            0 => jpeg(),
            n => picture_bytes(string(&files[n - 1]["file"])),
        };
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let size = dimensions(&bytes);
        if let Ok(picture) = decode(&bytes) {
            prop_assert_eq!(size.unwrap(), picture.dimensions());
        }
    }
}
