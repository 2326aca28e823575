//! Any file of a format whose bytes are not its text: what comes of it is within its limits and every place lies in the text, or it is refused in words.

use spare_read::extract::{Bounds, Format, serve_bytes};

pub fn extract(data: &[u8]) {
    let bounds = Bounds {
        input: 1 << 20,
        text: 1 << 16,
        memory: 64 << 20,
        pages: 8,
        entries: 100,
        ratio: 50,
        pixels: 1 << 16,
        ..Bounds::default()
    };
    let formats = ["", "xlsx", "ods", "xls"].map(|extension| Format::of(data, extension));
    let mut seen = Vec::new();
    for format in formats.into_iter().flatten() {
        if seen.contains(&format) {
            continue;
        }
        seen.push(format);
        // A library that panics ends a worker, which is an answer; what it says must be sound.
        let bytes = data.to_vec();
        let Ok(outcome) = std::panic::catch_unwind(move || serve_bytes(format, bytes, bounds))
        else {
            continue;
        };
        match outcome {
            Err(fault) => assert!(!fault.found.is_empty() && !fault.expected.is_empty()),
            Ok(extract) => {
                for part in &extract.parts {
                    assert!(
                        part.text.len() as u64 <= 2 * bounds.text,
                        "{}",
                        part.text.len()
                    );
                    assert!(part.places.is_sorted_by_key(|place| place.byte));
                    for place in &part.places {
                        assert!(part.text.is_char_boundary(place.byte as usize));
                        assert!(
                            place.page >= 1 && place.area.iter().all(|number| number.is_finite())
                        );
                    }
                }
            }
        }
    }
}
