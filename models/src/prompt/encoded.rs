//! Which tokens stand for which bytes?

use std::ops::Range;

use tokenizers::Tokenizer;

use super::error::PromptError;
use super::special::Found;

/// A prompt as token ids, with the way back to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids, pads of pictures expanded.
    pub ids: Vec<u32>,
    /// Bytes of `text` that each token stands for, one for each id. Starts and ends never decrease; tokens that share
    /// a character (an emoji of several tokens) share its bytes; all pads of a picture carry its placeholder's.
    pub offsets: Vec<Range<usize>>,
    /// Token range of each picture, in order.
    pub pictures: Vec<Range<usize>>,
    /// The rendering.
    pub text: String,
}

impl Encoded {
    /// The tokens that share a byte with `bytes` of the text. A token that straddles a border belongs to it.
    pub fn tokens_overlapping(&self, bytes: Range<usize>) -> Range<usize> {
        let first = self
            .offsets
            .partition_point(|token| token.end <= bytes.start);
        let end = self
            .offsets
            .partition_point(|token| token.start < bytes.end);
        first..end.max(first)
    }
}

/// Encodes `text`, in which `special` are the tokens that count as special and everything else is plain.
pub(super) fn encode(
    tokenizer: &Tokenizer,
    text: &str,
    special: &[Found],
    image: Option<u32>,
    picture_tokens: &[usize],
) -> Result<Encoded, PromptError> {
    let found = special
        .iter()
        .filter(|token| Some(token.id) == image)
        .count();
    if found != picture_tokens.len() {
        return Err(PromptError::PictureCount {
            found,
            expected: picture_tokens.len(),
        });
    }
    let mut encoded = Encoded {
        ids: Vec::new(),
        offsets: Vec::new(),
        pictures: Vec::new(),
        text: text.to_owned(),
    };
    let mut at = 0;
    let mut counts = picture_tokens.iter();
    for token in special {
        plain(tokenizer, &mut encoded, at..token.bytes.start)?;
        at = token.bytes.end;
        let mut repeat = 1;
        if Some(token.id) == image {
            let index = encoded.pictures.len();
            repeat = counts.next().copied().unwrap_or(0);
            if repeat == 0 {
                return Err(PromptError::EmptyPicture { index });
            }
            let start = encoded.ids.len();
            if encoded
                .pictures
                .last()
                .is_some_and(|last| last.end == start)
            {
                return Err(PromptError::TouchingPictures { first: index - 1 });
            }
            encoded.pictures.push(start..start + repeat);
        }
        encoded.ids.extend(std::iter::repeat_n(token.id, repeat));
        encoded
            .offsets
            .extend(std::iter::repeat_n(token.bytes.clone(), repeat));
    }
    plain(tokenizer, &mut encoded, at..text.len())?;
    Ok(encoded)
}

/// Encodes the text between two special tokens.
fn plain(
    tokenizer: &Tokenizer,
    encoded: &mut Encoded,
    bytes: Range<usize>,
) -> Result<(), PromptError> {
    let text = encoded.text.get(bytes.clone()).unwrap_or_default();
    if text.is_empty() {
        return Ok(());
    }
    let encoding = tokenizer
        .encode(text, false)
        .map_err(PromptError::tokenizer)?;
    let offsets = encoding.get_offsets();
    // A normaliser may drop characters; their bytes go to the token before, so that no byte lies between tokens.
    let mut start = bytes.start;
    let mut end = bytes.start;
    for (i, token) in offsets.iter().enumerate() {
        let next = offsets
            .get(i + 1)
            .map_or(bytes.end, |next| bytes.start + next.0);
        start = if i == 0 {
            bytes.start
        } else {
            (bytes.start + token.0).max(start)
        };
        end = (bytes.start + token.1).max(next).max(end);
        encoded.offsets.push(start..end);
    }
    encoded.ids.extend_from_slice(encoding.get_ids());
    Ok(())
}
