//! Does the anchored text say it? The bytes are loaded again and the content hash is compared first.

use serde::Serialize;

use crate::anchor::Anchor;
use crate::error::{Error, Result};
use crate::intent::Intent;
use crate::query::Query;
use crate::readers::sniff;
use crate::redact::redact;
use crate::session::Session;
use crate::visible::make_visible;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The text says it.
    Supported,
    /// The text says the same with other numbers.
    Contradicted,
    /// The text does not say it.
    NotFound,
    /// The file has changed since it was read.
    Stale,
}

/// How the claim was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Match {
    /// Letter for letter.
    Exact,
    /// But for case, white space and the grouping of digits.
    Normalised,
    /// All content words.
    Words,
    /// Not at all.
    None,
}

/// The outcome of a verification.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// What became of the claim.
    pub verdict: Verdict,
    /// How it was compared.
    pub matched: Match,
    /// The content hash now.
    pub content: String,
    /// The text now at the place of the anchor.
    #[serde(rename = "untrusted_text")]
    pub text: String,
}

impl Session {
    /// Loads the bytes of an anchor again and compares a claim with them; without a claim, says whether they are still the same.
    ///
    /// # Errors
    /// A path that leads out or cannot be read.
    pub fn verify(&self, anchor: &Anchor, claim: &str) -> Result<Verification> {
        let (text, content) = self.load_anchor(anchor)?;
        let (verdict, matched) = if content != anchor.content {
            (Verdict::Stale, Match::None)
        } else {
            compare(&text, claim)?
        };
        Ok(Verification {
            verdict,
            matched,
            content,
            text: redact(&make_visible(&text)).0,
        })
    }

    /// The text at an anchor, secrets and hidden characters marked, with at most the bytes that a raw read allows.
    ///
    /// # Errors
    /// A path that leads out or cannot be read, a file that has changed since.
    pub fn raw(&self, anchor: &Anchor) -> Result<String> {
        let (text, content) = self.load_anchor(anchor)?;
        if content != anchor.content {
            return Err(Error::Malformed {
                path: anchor.path.clone().into(),
                line: anchor.lines.0,
                found: format!("content {content}"),
                expected: "the content of the anchor: the file has changed",
            });
        }
        Ok(redact(&make_visible(&text)).0)
    }

    fn load_anchor(&self, anchor: &Anchor) -> Result<(String, String)> {
        let object = self.object_at(&anchor.path)?;
        let length = anchor.bytes.end.saturating_sub(anchor.bytes.start);
        if length > self.limits.raw_bytes {
            return Err(Error::TooLarge {
                path: anchor.path.clone().into(),
                found: length,
                limit: self.limits.raw_bytes,
                unit: "bytes",
            });
        }
        let sniffed = sniff(&object)?;
        let bytes = object.read(anchor.bytes.start, length)?;
        Ok((
            sniffed.charset.decode(&bytes).text.into_owned(),
            object.content_id()?,
        ))
    }
}

fn normalised(text: &str) -> String {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    let digit = |at: Option<usize>| {
        at.and_then(|at| letters.get(at))
            .is_some_and(char::is_ascii_digit)
    };
    let grouping = |at: usize| {
        matches!(letters.get(at), Some(',' | '_' | '\u{00A0}' | '\u{202F}'))
            && digit(at.checked_sub(1))
            && digit(Some(at + 1))
    };
    let kept: String = letters
        .iter()
        .enumerate()
        .filter(|(at, _)| !grouping(*at))
        .map(|(_, letter)| *letter)
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn compare(text: &str, claim: &str) -> Result<(Verdict, Match)> {
    let claim = claim.trim();
    if claim.is_empty() || text.contains(claim) {
        return Ok((Verdict::Supported, Match::Exact));
    }
    let (text, claim) = (normalised(text), normalised(claim));
    if text.contains(&claim) {
        return Ok((Verdict::Supported, Match::Normalised));
    }
    let query = Query::new(&Intent::question(claim.as_str()))?;
    let mask = query.mask(&text);
    let missing: Vec<&crate::query::Term> = query
        .terms
        .iter()
        .enumerate()
        .filter(|(at, _)| mask & (1 << at) == 0)
        .map(|(_, term)| term)
        .collect();
    if missing.is_empty() {
        return Ok((Verdict::Supported, Match::Words));
    }
    let has_digit = |text: &str| text.chars().any(|letter| letter.is_ascii_digit());
    let numbers_only =
        missing.iter().all(|term| has_digit(&term.text)) && missing.len() < query.terms.len();
    Ok(if numbers_only && has_digit(&text) {
        (Verdict::Contradicted, Match::None)
    } else {
        (Verdict::NotFound, Match::None)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_supported_contradicted_or_not_found() {
        let text = "The annual budget of the Mill depot is 12,500.";
        let check = |claim: &str| compare(text, claim).unwrap();
        assert_eq!(
            check("annual budget of the Mill depot is 12,500"),
            (Verdict::Supported, Match::Exact)
        );
        assert_eq!(
            check("the  ANNUAL budget of the mill depot is 12500"),
            (Verdict::Supported, Match::Normalised)
        );
        assert_eq!(
            check("Mill depot: annual budget 12500"),
            (Verdict::Supported, Match::Words)
        );
        assert_eq!(
            check("Mill depot: annual budget 12700"),
            (Verdict::Contradicted, Match::None)
        );
        assert_eq!(
            check("Cedar depot: annual budget 12500"),
            (Verdict::NotFound, Match::None)
        );
    }
}
