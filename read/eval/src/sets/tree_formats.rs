//! The four ways in which a tree of E5 is written, with the place of every marked value.

use std::ops::Range;

/// A tree.
#[derive(Debug, Clone)]
pub enum Node {
    /// A string without anything to escape.
    Text(String),
    /// A number; its mark.
    Number(String, Option<usize>),
    /// Values in order.
    Array(Vec<Node>),
    /// Names and values in order.
    Object(Vec<(String, Node)>),
}

struct Writer {
    text: String,
    marks: Vec<Range<usize>>,
}

impl Writer {
    fn number(&mut self, digits: &str, mark: Option<usize>) {
        let start = self.text.len();
        self.text.push_str(digits);
        if let Some(mark) = mark {
            self.marks.resize(self.marks.len().max(mark + 1), 0..0);
            if let Some(place) = self.marks.get_mut(mark) {
                *place = start..self.text.len();
            }
        }
    }

    fn line(&mut self, pretty: bool, depth: usize) {
        if pretty {
            self.text.push('\n');
            self.text.push_str(&"  ".repeat(depth));
        }
    }

    fn json(&mut self, node: &Node, pretty: bool, depth: usize) {
        match node {
            Node::Text(text) => self.text.push_str(&format!("\"{text}\"")),
            Node::Number(digits, mark) => self.number(digits, *mark),
            Node::Array(items) => {
                self.text.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { "," });
                    self.line(pretty, depth + 1);
                    self.json(item, pretty, depth + 1);
                }
                self.line(pretty, depth);
                self.text.push(']');
            }
            Node::Object(entries) => {
                self.text.push('{');
                for (at, (name, value)) in entries.iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { "," });
                    self.line(pretty, depth + 1);
                    self.text
                        .push_str(&format!("\"{name}\":{}", if pretty { " " } else { "" }));
                    self.json(value, pretty, depth + 1);
                }
                self.line(pretty, depth);
                self.text.push('}');
            }
        }
    }

    fn yaml(&mut self, node: &Node, depth: usize) {
        match node {
            Node::Text(text) => self.text.push_str(&format!(" {text}\n")),
            Node::Number(digits, mark) => {
                self.text.push(' ');
                self.number(digits, *mark);
                self.text.push('\n');
            }
            Node::Array(items) => {
                self.text.push('\n');
                for item in items {
                    self.text.push_str(&format!("{}-", "  ".repeat(depth)));
                    self.yaml(item, depth + 1);
                }
            }
            Node::Object(entries) => {
                self.text.push('\n');
                for (name, value) in entries {
                    self.text
                        .push_str(&format!("{}{name}:", "  ".repeat(depth)));
                    self.yaml(value, depth + 1);
                }
            }
        }
    }

    fn xml(&mut self, name: &str, node: &Node, depth: usize) {
        let indent = "  ".repeat(depth);
        match node {
            Node::Text(text) => self
                .text
                .push_str(&format!("{indent}<{name}>{text}</{name}>\n")),
            Node::Number(digits, mark) => {
                self.text.push_str(&format!("{indent}<{name}>"));
                self.number(digits, *mark);
                self.text.push_str(&format!("</{name}>\n"));
            }
            Node::Array(items) => {
                self.text.push_str(&format!("{indent}<{name}>\n"));
                for item in items {
                    self.xml("item", item, depth + 1);
                }
                self.text.push_str(&format!("{indent}</{name}>\n"));
            }
            Node::Object(entries) => {
                self.text.push_str(&format!("{indent}<{name}>\n"));
                for (name, value) in entries {
                    self.xml(name, value, depth + 1);
                }
                self.text.push_str(&format!("{indent}</{name}>\n"));
            }
        }
    }
}

/// Writes named records: as an array, as lines, or (`keyed`) as one object by name. Returns the text and the place of every mark.
pub fn write(
    format: &str,
    records: Vec<(String, Node)>,
    keyed: bool,
) -> (String, Vec<Range<usize>>) {
    let mut writer = Writer {
        text: String::new(),
        marks: Vec::new(),
    };
    if format == "jsonl" {
        for (_, record) in &records {
            writer.json(record, false, 0);
            writer.text.push('\n');
        }
        return (writer.text, writer.marks);
    }
    let services = if keyed {
        Node::Object(records)
    } else {
        Node::Array(records.into_iter().map(|(_, record)| record).collect())
    };
    let root = Node::Object(vec![
        ("version".to_owned(), Node::Number("3".into(), None)),
        ("environment".to_owned(), Node::Text("production".into())),
        ("services".to_owned(), services),
    ]);
    match format {
        "yaml" => writer.yaml(&root, 0),
        "xml" => writer.xml("deployment", &root, 0),
        _ => writer.json(&root, format == "json", 0),
    }
    let text = if format == "yaml" {
        writer.text.split_off(1)
    } else {
        writer.text
    };
    let shift = usize::from(format == "yaml");
    let marks = writer
        .marks
        .into_iter()
        .map(|mark| mark.start.saturating_sub(shift)..mark.end.saturating_sub(shift))
        .collect();
    (text, marks)
}
