//! Is a JPEG file complete? The decoder in use answers missing data with grey pixels, which would reach a model
//! unnoticed.

use super::error::ImageError;

const MARKER: u8 = 0xff;
const START_OF_SCAN: u8 = 0xda;
const END_OF_IMAGE: u8 = 0xd9;

/// Walks from marker to marker and fails when the file ends before the end-of-image marker, as Pillow does.
pub(super) fn check_complete(bytes: &[u8]) -> Result<(), ImageError> {
    // The start-of-image marker is known to stand at the beginning.
    let mut rest = bytes.get(2..).unwrap_or_default();
    while let Some((code, after)) = next_marker(rest) {
        rest = match code {
            END_OF_IMAGE => return Ok(()),
            // Markers without a segment: temporary, restart, start of image.
            0x01 | 0xd0..=0xd8 => after,
            START_OF_SCAN => skip_entropy_coded(skip_segment(after)),
            _ => skip_segment(after),
        };
    }
    Err(ImageError::Truncated {
        format: "jpeg",
        found: bytes.len(),
        expected: "an end-of-image marker",
    })
}

/// Code of the next marker and what follows it. Fill bytes and stray data before it are skipped.
fn next_marker(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let start = bytes.iter().position(|byte| *byte == MARKER)?;
    let bytes = bytes.get(start..)?;
    let code_at = bytes.iter().position(|byte| *byte != MARKER)?;
    Some((*bytes.get(code_at)?, bytes.get(code_at + 1..)?))
}

/// What follows a segment whose 2-byte length, which counts itself, stands first.
fn skip_segment(bytes: &[u8]) -> &[u8] {
    let Some([high, low]) = bytes.first_chunk() else {
        return &[];
    };
    let len = usize::from(u16::from_be_bytes([*high, *low])).max(2);
    bytes.get(len..).unwrap_or_default()
}

/// From the first marker on that is neither an escaped data byte nor a restart.
fn skip_entropy_coded(bytes: &[u8]) -> &[u8] {
    let is_marker = |pair: &[u8]| pair[0] == MARKER && !matches!(pair[1], 0x00 | 0xd0..=0xd7);
    let end = bytes.windows(2).position(is_marker).unwrap_or(bytes.len());
    bytes.get(end..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const COMPLETE: &[u8] = &[
        0xff, 0xd8, // start
        0xff, 0xe0, 0x00, 0x04, 0xff, 0xd9, // a segment that holds what looks like the end
        0xff, 0xda, 0x00, 0x02, 0x12, 0xff, 0x00, 0x34, 0xff, 0xd0,
        0x56, // a scan with an escape and a restart
        0xff, 0xff, 0xd9, // the end, after a fill byte
    ];

    #[test]
    fn every_prefix_is_cut_short() {
        assert!(check_complete(COMPLETE).is_ok());
        for len in 0..COMPLETE.len() {
            let error = check_complete(&COMPLETE[..len]).unwrap_err();
            assert!(
                error.to_string().contains(&format!("after {len} bytes")),
                "{error}"
            );
        }
        assert!(check_complete(&[COMPLETE, b"trailing"].concat()).is_ok());
    }
}
