//! By which literals may a template cut a message's text?
//!
//! A template can only split or test text by strings that stand in its source, so a part is marked
//! between those. `{{ '<|im_start|>' + role }}` writes a literal and cuts nothing; such ones are left out,
//! because text of the run that spells them must stay inside a mark.

const METHODS: [&str; 10] = [
    ".split(",
    ".rsplit(",
    ".partition(",
    ".rpartition(",
    ".startswith(",
    ".endswith(",
    ".find(",
    ".replace(",
    ".removeprefix(",
    ".removesuffix(",
];

/// Literals of `source` that are arguments of string methods, left operands of `in`, or values of `set`.
pub(super) fn cut_literals(source: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = source;
    while let Some(open) = rest.find('{') {
        rest = &rest[open + 1..];
        let close = match rest.as_bytes().first() {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            _ => continue,
        };
        rest = block(&rest[1..], close, &mut found);
    }
    // Longest first, so that `<think>\n` is tried before `<think>`.
    found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    found.dedup();
    found
}

/// Reads one `{{ .. }}` or `{% .. %}` and returns what follows it.
fn block<'a>(code: &'a str, close: &str, found: &mut Vec<String>) -> &'a str {
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        if code[at..].starts_with(close) {
            return &code[at + close.len()..];
        }
        if c != '"' && c != '\'' {
            at += c.len_utf8();
            continue;
        }
        let Some((literal, length)) = string(&code[at + 1..], c) else {
            return "";
        };
        let before = code[..at].trim_end();
        let after = code[at + 1 + length..].trim_start();
        let argument = METHODS.iter().any(|method| before.ends_with(method));
        let operand = after.starts_with("in ") || after.starts_with("not in ");
        let value = before.ends_with('=') && !before.ends_with("==") && !before.ends_with("!=");
        if argument || operand || value {
            let literal = literal.trim();
            // `'text' in part` asks for a key, not for a piece of text.
            let is_name = literal.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_name && literal.chars().count() > 1 {
                found.push(literal.to_owned());
            }
        }
        at += 1 + length;
    }
    ""
}

/// The string that begins after its opening quote, unescaped, and its length in the source with the closing quote.
fn string(code: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = code.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => text.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c if c == quote => return Some((text, at + c.len_utf8())),
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::cut_literals;

    #[test]
    fn finds_what_the_template_cuts_by_and_nothing_else() {
        let source = r#"{%- set end = "</t>" %}{{ '<|im_start|>' + m.role == 'user' }} it's <tool>
            {%- if '</think>' in m.content and 'text' in part and '[x]' not in y %}
            {{- m.content.split('</think>')[-1].lstrip('\n').startswith("<tool_response>\n") }}{% endif %}"#;
        assert_eq!(
            cut_literals(source),
            ["<tool_response>", "</think>", "</t>", "[x]"]
        );
    }
}
