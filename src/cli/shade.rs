//! Text shaded token by token: darker red says that the summary moves the prediction more.

use std::io::IsTerminal;
use std::ops::Range;

/// How to show emphasis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// ANSI colours.
    Colour,
    /// Brackets around sensitive tokens.
    Plain,
}

/// What `--color` takes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

impl Ink {
    /// Colour on a terminal unless NO_COLOR is set.
    pub fn choose(when: When) -> Self {
        let colour = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        if colour { Ink::Colour } else { Ink::Plain }
    }

    /// Bold text.
    pub fn bold(self, text: &str) -> String {
        match self {
            Ink::Colour => format!("\x1b[1m{text}\x1b[0m"),
            Ink::Plain => text.to_owned(),
        }
    }
}

// Backgrounds of the 256-colour palette from faint to strong, with a text colour that stays readable on each.
const SHADES: [(u8, u8); 6] = [
    (224, 16),
    (217, 16),
    (210, 16),
    (203, 16),
    (196, 231),
    (160, 231),
];

/// `text` with each token's span shaded by its normalised divergence; sensitive tokens are underlined or bracketed.
/// A span may begin inside an earlier one (a character split over tokens): no byte is shown twice.
pub(crate) fn shade(
    text: &str,
    spans: &[Range<usize>],
    norm: &[f64],
    sensitive: &[usize],
    ink: Ink,
) -> String {
    let mut out = String::new();
    let mut done = 0;
    for (index, (span, value)) in spans.iter().zip(norm).enumerate() {
        let start = span.start.max(done);
        out.push_str(&visible(text.get(done..start).unwrap_or_default()));
        let piece = visible(text.get(start..span.end).unwrap_or_default());
        done = done.max(span.end);
        let marked = sensitive.contains(&index);
        match ink {
            _ if piece.is_empty() => {}
            Ink::Plain if marked => out.push_str(&format!("[{piece}]")),
            Ink::Plain => out.push_str(&piece),
            Ink::Colour => {
                let shade = (value * SHADES.len() as f64)
                    .floor()
                    .clamp(0.0, (SHADES.len() - 1) as f64) as usize;
                let line = if marked { ";4" } else { "" };
                match SHADES.get(shade).filter(|_| *value >= 0.02) {
                    Some((back, front)) => {
                        out.push_str(&format!(
                            "\x1b[48;5;{back};38;5;{front}{line}m{piece}\x1b[0m"
                        ));
                    }
                    None => out.push_str(&piece),
                }
            }
        }
    }
    out.push_str(&visible(text.get(done..).unwrap_or_default()));
    out
}

/// A run is other people's text: control characters other than line ends are shown, never sent to the terminal.
pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_shown_once_and_escapes_never_reach_the_terminal() {
        let text = "a\u{1b}[31m 🎉 9";
        // The emoji's four token pieces all cover the whole character.
        let spans = [0..2, 2..6, 6..11, 6..11, 11..13];
        let plain = shade(text, &spans, &[0.0, 0.5, 1.0, 1.0, 0.9], &[4], Ink::Plain);
        assert_eq!(plain, "a\u{fffd}[31m 🎉[ 9]");
        let colour = shade(text, &spans, &[0.0, 0.5, 1.0, 1.0, 0.9], &[4], Ink::Colour);
        assert!(!colour.contains("\x1b[31m"), "{colour:?}");
        assert_eq!(colour.matches('🎉').count(), 1);
    }
}
