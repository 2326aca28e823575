//! What kind of object is it? From the first bytes; the extension only decides between kinds that the bytes allow.

use serde::Serialize;

use crate::encoding::Charset;
use crate::error::{Error, Result};
use crate::source::Object;

/// Kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Prose, Markdown, logs, configuration.
    Text,
    /// Delimited rows.
    Table,
    /// One JSON value.
    Json,
    /// A JSON value a line.
    Jsonl,
    /// YAML.
    Yaml,
    /// XML.
    Xml,
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// TypeScript and JavaScript.
    TypeScript,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C.
    C,
}

/// What the first bytes say.
#[derive(Debug, Clone)]
pub struct Sniffed {
    /// The kind.
    pub kind: Kind,
    /// The encoding.
    pub charset: Charset,
    /// The first bytes, decoded.
    pub sample: String,
}

/// Bytes that are looked at.
const SAMPLE: u64 = 64 << 10;

/// Looks at the first bytes of an object.
///
/// # Errors
/// Content that is no text, or what the system says.
pub fn sniff(object: &Object) -> Result<Sniffed> {
    let head = object.read(0, SAMPLE)?;
    if let Some(part) = &object.part {
        let charset = Charset::utf8();
        let cut = if (head.len() as u64) < SAMPLE {
            head.len()
        } else {
            charset.cut(&head)
        };
        return Ok(Sniffed {
            kind: if part.table { Kind::Table } else { Kind::Text },
            charset,
            sample: String::from_utf8_lossy(head.get(..cut).unwrap_or(&head)).into_owned(),
        });
    }
    let unsupported = |found| Error::Unsupported {
        path: object.path.clone().into(),
        found,
    };
    if head.starts_with(b"%PDF-") {
        // It may consist of ASCII letters, and is no text all the same.
        return Err(unsupported(binary(&head)));
    }
    let charset = Charset::guess(&head).ok_or_else(|| unsupported(binary(&head)))?;
    let body = head.get(charset.mark..).unwrap_or_default();
    let whole = (head.len() as u64) < SAMPLE;
    let cut = if whole { body.len() } else { charset.cut(body) };
    let sample = charset
        .decode(body.get(..cut).unwrap_or(body))
        .text
        .into_owned();
    let kind = kind(&object.extension(), &sample);
    Ok(Sniffed {
        kind,
        charset,
        sample,
    })
}

fn binary(head: &[u8]) -> &'static str {
    match head {
        [b'%', b'P', b'D', b'F', ..] => "a PDF document",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive or an office document",
        [0x1F, 0x8B, ..] => "gzip data",
        [0x28, 0xB5, 0x2F, 0xFD, ..] => "zstd data",
        [0x89, b'P', b'N', b'G', ..] | [0xFF, 0xD8, 0xFF, ..] | [b'G', b'I', b'F', b'8', ..] => {
            "a picture"
        }
        [b'P', b'A', b'R', b'1', ..] => "a Parquet file",
        _ => "binary data",
    }
}

fn kind(extension: &str, sample: &str) -> Kind {
    let trimmed = sample.trim_start();
    match extension {
        "rs" => return Kind::Rust,
        "py" | "pyi" => return Kind::Python,
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" => return Kind::TypeScript,
        "go" => return Kind::Go,
        "java" => return Kind::Java,
        "c" | "h" => return Kind::C,
        "jsonl" | "ndjson" => return Kind::Jsonl,
        "yaml" | "yml" => return Kind::Yaml,
        "md" | "markdown" | "rst" | "log" => return Kind::Text,
        "csv" | "tsv" | "tab" | "psv" => return Kind::Table,
        _ => {}
    }
    if trimmed.starts_with(['{', '[']) {
        let mut lines = trimmed.lines().filter(|line| !line.trim().is_empty());
        let is_value = |line: &str| serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
        let (first, second) = (lines.next(), lines.next());
        if first.is_some_and(is_value)
            && second.is_some_and(|line| line.starts_with(['{', '[']) && is_value(line))
        {
            return Kind::Jsonl;
        }
        let bracketed = |line: &str| {
            line.starts_with('[')
                && !line.starts_with("[\"")
                && !line.starts_with("[{")
                && !line.starts_with("[[")
        };
        if extension == "json" || !first.is_some_and(bracketed) || first == Some("[") {
            return Kind::Json;
        }
    }
    if trimmed.starts_with("<?xml")
        || (trimmed.starts_with('<')
            && matches!(extension, "xml" | "svg" | "xsd" | "plist" | "pom" | "rss"))
    {
        return Kind::Xml;
    }
    if extension != "txt"
        && super::table::Dialect::sniff(sample).is_some_and(|dialect| dialect.is_certain())
    {
        return Kind::Table;
    }
    Kind::Text
}
