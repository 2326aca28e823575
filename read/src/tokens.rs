//! How many tokens will a text cost? An estimate by kinds of letters, close to the byte pair vocabularies of current models, which write every digit as a token.

/// Thousandths of a token a letter, by script.
const fn cost(letter: char) -> u32 {
    match letter {
        '0'..='9' => 1_000,
        'a'..='z' | 'A'..='Z' => 215,
        ' ' | '\t' => 60,
        '\n' | '\r' => 350,
        '!'..='~' => 620,
        '\u{00C0}'..='\u{024F}' => 600,
        '\u{0370}'..='\u{052F}' => 400,
        '\u{0590}'..='\u{08FF}' => 480,
        '\u{3040}'..='\u{30FF}' => 800,
        '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' => 800,
        _ => 1_000,
    }
}

/// An estimate of the tokens of `text`.
///
/// ```
/// assert_eq!(spare_read::estimate_tokens(""), 0);
/// assert!((5..=12).contains(&spare_read::estimate_tokens("The port of the gateway is open.")));
/// ```
pub fn estimate_tokens(text: &str) -> usize {
    text.chars()
        .map(|letter| cost(letter) as usize)
        .sum::<usize>()
        .div_ceil(1_000)
}

/// The same for bytes that nobody decoded yet, from a sample of them.
pub fn estimate_tokens_of_bytes(bytes: u64, sample: &str) -> u64 {
    if sample.is_empty() {
        return bytes / 4;
    }
    let tokens = estimate_tokens(sample) as f64;
    (bytes as f64 * tokens / sample.len() as f64).ceil() as u64
}
