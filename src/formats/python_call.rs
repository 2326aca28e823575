//! Which calls does a piece of Python make with nothing but literals as arguments? Agents that act in code call a tool so:
//! `summarize_the_task(summary="...")`. Anything that would have to be run to be known is no such call.

use serde_json::{Map, Value};

use crate::trajectory::ToolCall;

/// Calls that are statements of their own, printed or assigned or not, with literal arguments only, in order.
/// A single argument without a name is named `summary`: that is how code calls `summarize_the_task`.
pub(crate) fn literal_calls(code: &str) -> Vec<ToolCall> {
    statements(code).filter_map(call).collect()
}

/// The call that is all of `text`.
pub(crate) fn literal_call(text: &str) -> Option<ToolCall> {
    call(text)
}

/// Text from the start of each statement: a line start outside brackets, strings and comments.
fn statements(code: &str) -> impl Iterator<Item = &str> {
    let (mut starts, mut depth, mut at) = (vec![0], 0usize, 0);
    while let Some(c) = code.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = code.get(at..).unwrap_or_default();
        at += match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_end(rest).unwrap_or(rest.len()),
            _ => {
                match c {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    '\n' if depth == 0 => starts.push(at + 1),
                    _ => {}
                }
                c.len_utf8()
            }
        };
    }
    starts
        .into_iter()
        .filter_map(move |start| code.get(start..))
}

/// Bytes of the string literal that `text` begins with.
fn string_end(text: &str) -> Option<usize> {
    let quote = quote_of(text)?;
    let mut at = quote.len();
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(quote) {
            return Some(at + quote.len());
        }
        let c = rest.chars().next()?;
        if c == '\n' && quote.len() == 1 {
            return None;
        }
        at += c.len_utf8();
        if c == '\\' {
            at += text.get(at..)?.chars().next()?.len_utf8();
        }
    }
}

fn quote_of(text: &str) -> Option<&'static str> {
    ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|q| text.starts_with(q))
}

fn call(statement: &str) -> Option<ToolCall> {
    let mut parser = Parser { rest: statement };
    let mut name = parser.name()?;
    parser.space();
    if parser.rest.starts_with('=') && !parser.rest.starts_with("==") {
        parser.eat("=")?;
        parser.space();
        name = parser.name()?;
        parser.space();
    }
    if name == "print" {
        parser.eat("(")?;
        parser.space();
        name = parser.name()?;
        parser.space();
    }
    parser.eat("(")?;
    let mut arguments = Map::new();
    loop {
        parser.space();
        if parser.eat(")").is_some() {
            break;
        }
        let key = parser.keyword();
        let value = parser.literal()?;
        let key = match key {
            Some(key) => key.to_owned(),
            None if arguments.is_empty() => "summary".to_owned(),
            None => arguments.len().to_string(),
        };
        arguments.insert(key, value);
        parser.space();
        if parser.eat(",").is_none() && !parser.rest.starts_with(')') {
            return None;
        }
    }
    Some(ToolCall {
        id: None,
        name: name.to_owned(),
        arguments: Value::Object(arguments),
    })
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
        while let Some(comment) = self.rest.strip_prefix('#') {
            self.rest = comment
                .split_once('\n')
                .map_or("", |(_, rest)| rest)
                .trim_start();
        }
    }

    fn eat(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(token)?;
        Some(())
    }

    fn name(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let (name, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        let first = name.chars().next()?;
        if first.is_numeric() || first == '.' {
            return None;
        }
        self.rest = rest;
        Some(name)
    }

    /// `name=`, if that is what comes next.
    fn keyword(&mut self) -> Option<&'a str> {
        let mut ahead = Parser { rest: self.rest };
        let name = ahead.name()?;
        ahead.space();
        ahead.eat("=")?;
        if ahead.rest.starts_with('=') {
            return None;
        }
        ahead.space();
        self.rest = ahead.rest;
        Some(name)
    }

    fn literal(&mut self) -> Option<Value> {
        match self.rest.chars().next()? {
            '"' | '\'' => self.strings().map(Value::String),
            'r' | 'R' if quote_of(self.rest.get(1..)?).is_some() => {
                self.strings().map(Value::String)
            }
            '[' => self.items("[", "]"),
            '(' => self.items("(", ")"),
            '{' => self.dict(),
            '-' | '.' | '0'..='9' => self.number(),
            _ => match self.name()? {
                "True" => Some(Value::Bool(true)),
                "False" => Some(Value::Bool(false)),
                "None" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn items(&mut self, open: &str, close: &str) -> Option<Value> {
        self.eat(open)?;
        let mut items = Vec::new();
        loop {
            self.space();
            if self.eat(close).is_some() {
                return Some(Value::Array(items));
            }
            items.push(self.literal()?);
            self.space();
            if self.eat(",").is_none() && !self.rest.starts_with(close) {
                return None;
            }
        }
    }

    fn dict(&mut self) -> Option<Value> {
        self.eat("{")?;
        let mut fields = Map::new();
        loop {
            self.space();
            if self.eat("}").is_some() {
                return Some(Value::Object(fields));
            }
            let key = self.strings()?;
            self.space();
            self.eat(":")?;
            self.space();
            fields.insert(key, self.literal()?);
            self.space();
            if self.eat(",").is_none() && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)));
        let (number, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        let value = serde_json::from_str(&number.replace('_', "")).ok()?;
        self.rest = rest;
        Some(value)
    }

    /// String literals beside each other are one string.
    fn strings(&mut self) -> Option<String> {
        let mut out = String::new();
        loop {
            let raw = self.rest.starts_with(['r', 'R']);
            let body = if raw { self.rest.get(1..)? } else { self.rest };
            let quote = quote_of(body)?;
            let end = string_end(body)?;
            let inner = body.get(quote.len()..end - quote.len())?;
            match raw {
                true => out.push_str(inner),
                false => unescape(inner, &mut out)?,
            }
            self.rest = body.get(end..)?;
            self.space();
            let after = self.rest.strip_prefix(['r', 'R']).unwrap_or(self.rest);
            if quote_of(after).is_none() {
                return Some(out);
            }
        }
    }
}

fn unescape(text: &str, out: &mut String) -> Option<()> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let digits = match chars.next()? {
            '\n' => continue,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            kind @ ('x' | 'u' | 'U') => {
                let count = [('x', 2), ('u', 4), ('U', 8)]
                    .into_iter()
                    .find(|(k, _)| *k == kind)?
                    .1;
                let digits: String = chars.by_ref().take(count).collect();
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
            c @ ('\\' | '\'' | '"') => c,
            other => {
                out.push('\\');
                other
            }
        };
        out.push(digits);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn names(code: &str) -> Vec<String> {
        literal_calls(code)
            .into_iter()
            .map(|c| format!("{} {}", c.name, c.arguments))
            .collect()
    }

    #[test]
    fn literal_arguments_only() {
        assert_eq!(
            names("x = 1\nsummarize_the_task(summary=\"a \\\"b\\\"\\n\" 'c')\nzoom(image, [1, 2])"),
            [r#"summarize_the_task {"summary":"a \"b\"\nc"}"#]
        );
        assert_eq!(
            names("print(summarize_the_task('''it's\nthis'''))"),
            [r#"summarize_the_task {"summary":"it's\nthis"}"#]
        );
        assert_eq!(
            names("r = crop(box=(1, -2.5, 3e2, 4), ok=True, why=None, o={'a': r'\\n'})"),
            [
                r#"crop {"box":[1,-2.5,3e2,4],"ok":true,"why":null,"o":{"a":"\\n"}}"#
                    .replace("3e2", "300.0")
            ]
        );
    }

    #[test]
    fn what_stands_in_strings_comments_and_brackets_is_no_statement() {
        for code in [
            "# summarize_the_task(summary='a')",
            "t = '''\nsummarize_the_task(summary='a')\n'''",
            "f(\nsummarize_the_task(summary='a')\n)",
            "summarize_the_task(summary=f'{x}')",
            "summarize_the_task(summary='a",
            "summarize_the_task(summary==\"a\")",
        ] {
            assert_eq!(names(code), Vec::<String>::new(), "{code}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(code in "[a-zr(){}\\[\\]'\"\\\\=,:#\n 0-9.é-]{0,60}") {
            let _ = literal_calls(&code);
        }
    }
}
