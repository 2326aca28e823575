//! How would Python have printed this value? (`json.dumps` and `str`, as chat templates expect)

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// The options of `tojson` that transformers passes on to `json.dumps`.
struct Dumps {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// transformers' `tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub(super) fn tojson(value: &Value, kwargs: Kwargs) -> Result<Value, Error> {
    let indent = match kwargs.get::<Option<Value>>("indent")? {
        None => None,
        Some(v) if v.is_none() => None,
        Some(v) => match v.as_str() {
            Some(text) => Some(text.to_owned()),
            None => Some(" ".repeat(i64::try_from(v)?.clamp(0, 64) as usize)),
        },
    };
    // json.dumps drops the space after the comma once it breaks lines.
    let default = (if indent.is_some() { "," } else { ", " }, ": ");
    let (item_separator, key_separator) = match kwargs.get::<Option<Value>>("separators")? {
        Some(v) if !v.is_none() => (pair(&v, 0)?, pair(&v, 1)?),
        _ => (default.0.to_owned(), default.1.to_owned()),
    };
    let dumps = Dumps {
        ensure_ascii: kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sort_keys: kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
    };
    kwargs.assert_all_used()?;
    let mut out = String::new();
    dumps.value(&mut out, value, 0)?;
    Ok(Value::from(out))
}

fn pair(value: &Value, index: usize) -> Result<String, Error> {
    let item = value.get_item(&Value::from(index))?;
    item.as_str().map(str::to_owned).ok_or_else(|| {
        let found = item.kind();
        Error::new(
            ErrorKind::InvalidOperation,
            format!("tojson separators: found {found}, expected two strings"),
        )
    })
}

impl Dumps {
    fn value(&self, out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)?),
            ValueKind::String => self.string(out, value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
                self.block(out, ('[', ']'), depth, &items, |out, item| {
                    self.value(out, item, depth + 1)
                })?;
            }
            ValueKind::Map => {
                let mut entries = Vec::new();
                for key in value.try_iter()?.checked() {
                    let key = key?;
                    let item = value.get_item(&key)?;
                    entries.push((json_key(&key)?, item));
                }
                if self.sort_keys {
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                }
                self.block(out, ('{', '}'), depth, &entries, |out, (key, item)| {
                    self.string(out, key);
                    out.push_str(&self.key_separator);
                    self.value(out, item, depth + 1)
                })?;
            }
            kind => {
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    format!("tojson: found {kind}, expected a value that JSON can hold"),
                ));
            }
        }
        Ok(())
    }

    fn block<T>(
        &self,
        out: &mut String,
        (open, close): (char, char),
        depth: usize,
        items: &[T],
        mut write: impl FnMut(&mut String, &T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        out.push(open);
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push_str(&self.item_separator);
            }
            self.new_line(out, depth + 1);
            write(out, item)?;
        }
        if !items.is_empty() {
            self.new_line(out, depth);
        }
        out.push(close);
        Ok(())
    }

    fn new_line(&self, out: &mut String, depth: usize) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    }

    fn string(&self, out: &mut String, text: &str) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || (self.ensure_ascii && c >= '\u{7f}' && !c.is_ascii()) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

fn json_key(key: &Value) -> Result<String, Error> {
    Ok(match key.kind() {
        ValueKind::None => "null".to_owned(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_owned(),
        ValueKind::Number => number(key)?,
        _ => key.as_str().map(str::to_owned).ok_or_else(|| {
            let found = key.kind();
            Error::new(
                ErrorKind::InvalidOperation,
                format!("tojson: found {found} as key, expected a string"),
            )
        })?,
    })
}

/// An integer or a float as Python's `repr` writes it.
pub(super) fn number(value: &Value) -> Result<String, Error> {
    if value.is_integer() {
        return Ok(value.to_string());
    }
    Ok(float(f64::try_from(value.clone())?))
}

/// Python's `repr(float)`: shortest digits that read back the same, exponent form below 1e-4 and from 1e16 on.
pub(super) fn float(x: f64) -> String {
    if !x.is_finite() {
        // json.dumps writes these although JSON has no word for them.
        let name = if x.is_nan() { "NaN" } else { "Infinity" };
        return format!("{}{name}", if x < 0.0 { "-" } else { "" });
    }
    let scientific = format!("{x:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{x}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::float;

    #[test]
    fn floats_print_as_python_does() {
        // Right column: CPython 3.11 repr().
        for (x, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (9007199254740993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.2345678901234568e17, "1.2345678901234568e+17"),
            (1e22, "1e+22"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (2.0 / 3.0, "0.6666666666666666"),
        ] {
            assert_eq!(float(x), text);
        }
    }
}
