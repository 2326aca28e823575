//! Which lines of a model's text begin with a label?

/// What a label says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
}

/// In the order that they must be tried: a longer word before the one that it begins with.
const WORDS: [(&str, Word); 6] = [
    ("thought", Word::Thought),
    ("action input", Word::Input),
    ("action", Word::Action),
    ("observation", Word::Observation),
    ("final answer", Word::Answer),
    ("answer", Word::Answer),
];

/// A label in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) word: Word,
    /// First byte of its line.
    pub(super) start: usize,
    /// First byte behind its colon.
    pub(super) body: usize,
}

/// Labels at line starts, outside fenced code.
pub(super) fn labels(text: &str) -> Vec<Label> {
    let (mut out, mut fenced, mut start) = (Vec::new(), false, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if let Some((word, length)) = label(line).filter(|_| !fenced) {
            out.push(Label {
                word,
                start,
                body: start + length,
            });
        }
        start += line.len();
    }
    out
}

/// The label that a line begins with, and its bytes: `THOUGHT 0:`, `# ACTION 1:`, `**Thought:**`.
fn label(line: &str) -> Option<(Word, usize)> {
    let rest = line.trim_start_matches(|c: char| c.is_whitespace() || c == '#' || c == '*');
    let (word, name) = WORDS.into_iter().find_map(|(name, word)| {
        let head = rest.get(..name.len())?;
        let title = head.chars().next().is_some_and(char::is_uppercase);
        (title && head.eq_ignore_ascii_case(name)).then_some((word, name))
    })?;
    let rest = rest.get(name.len()..)?;
    let rest = rest.trim_start_matches([' ', '#', '*']);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start_matches([' ', '*']);
    let rest = rest.strip_prefix(':')?;
    let rest = rest.trim_start_matches('*');
    Some((word, line.len() - rest.len()))
}

/// Labels before an observation of the model's own: what it wrote behind one is made up.
pub(super) fn own_labels(text: &str) -> Vec<Label> {
    let mut found = labels(text);
    let end = found.iter().position(|l| l.word == Word::Observation);
    // The label of the observation still ends what stands before it.
    found.truncate(end.map_or(found.len(), |end| end + 1));
    found
}

/// A text in which no line begins with a label or a code fence, which parsers would take for the run's own.
pub(super) fn without_labels(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        let taken = label(line).is_some() || line.trim_start().starts_with("```");
        if index > 0 {
            out.push(if taken { ' ' } else { '\n' });
        }
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn labels_are_found_as_models_write_them() {
        let word = |line: &str| label(line).map(|(word, length)| (word, line[length..].to_owned()));
        for line in [
            "THOUGHT 0: a",
            "# THOUGHT 12: a",
            "**Thought:** a",
            "Thought: a",
            "  THOUGHT : a",
            "**THOUGHT 1**: a",
        ] {
            assert_eq!(word(line), Some((Word::Thought, " a".into())), "{line}");
        }
        assert_eq!(word("Action Input: {}"), Some((Word::Input, " {}".into())));
        assert_eq!(word("FINAL ANSWER: b"), Some((Word::Answer, " b".into())));
        for line in [
            "thought: a",
            "THOUGHTS: a",
            "THOUGHT",
            "A THOUGHT: a",
            "Thoughtful: a",
            "tHOUGHT: a",
            "THOUGHT 1 a",
        ] {
            assert_eq!(word(line), None, "{line}");
        }
    }

    #[test]
    fn a_text_loses_what_looks_like_a_label() {
        assert_eq!(
            without_labels("Evidence:\nTask state: a\nANSWER: b\n```\nc"),
            "Evidence:\nTask state: a ANSWER: b ```\nc"
        );
    }
}
