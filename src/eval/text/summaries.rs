//! Which summaries is a run tried with, and how are they worded?

use serde_json::json;

use super::{Labelled, MentionKind, Variant, Writer, capital};

/// Facts that are left out one at a time.
const OMITTED: usize = 3;

impl Writer<'_> {
    /// A summary that states `facts`, one of them wrongly where `wrong` names it. A run always words its summaries alike.
    pub(super) fn summary(&self, facts: &[usize], wrong: Option<(usize, &str)>) -> String {
        let state = |f: &usize| {
            let fact = self.labels.facts.get(*f)?;
            Some(match wrong.filter(|(at, _)| at == f) {
                Some((_, value)) => format!("{}: {value}", fact.about),
                None => fact.statement.clone(),
            })
        };
        let stated: Vec<String> = facts.iter().filter_map(state).collect();
        let open: Vec<&str> = self
            .items
            .iter()
            .skip(self.known)
            .map(|i| i.short.as_str())
            .collect();
        let open = if open.is_empty() {
            "nothing".to_owned()
        } else {
            open.join(", ")
        };
        let none = || "nothing yet".to_owned();
        // The wording follows from the first thing looked for, so that it is the same for every summary of the run.
        match self.items.first().map_or(0, |i| i.about.len() % 3) {
            0 => {
                let evidence = if stated.is_empty() {
                    none()
                } else {
                    stated.join("; ")
                };
                format!(
                    "Done: {} calls. Evidence: {evidence}. Open: {open}.",
                    self.known
                )
            }
            1 => {
                let evidence = if stated.is_empty() {
                    none()
                } else {
                    stated.join(", and ")
                };
                format!("So far I know this much: {evidence}. Still open: {open}.")
            }
            _ => {
                let lines: Vec<String> =
                    stated.iter().map(|s| format!("- {}", capital(s))).collect();
                format!("State of the task\n{}\n- Open: {open}", lines.join("\n"))
            }
        }
    }

    /// The summaries of a run that knows the facts `all`.
    pub(super) fn variants(&mut self, all: &[usize]) {
        // Facts of turns before the summary: its own turn is no candidate.
        let told = |f: &usize| {
            let mentions = self.labels.mentions.iter();
            mentions.clone().any(|m| {
                m.kind == MentionKind::Fact && m.fact == Some(*f) && m.message < self.summary_at
            })
        };
        let mut loose: Vec<usize> = all.iter().copied().filter(|f| told(f)).collect();
        loose.retain(|f| {
            self.labels
                .facts
                .get(*f)
                .is_some_and(|fact| !fact.rereadable)
        });
        self.voice.random.shuffle(&mut loose);
        let mut out = vec![self.variant("complete", all.to_vec(), None)];
        for f in loose.iter().take(OMITTED) {
            let states = all.iter().copied().filter(|g| g != f).collect();
            out.push(self.variant("omit", states, Some(*f)));
        }
        let half: Vec<usize> = all
            .iter()
            .copied()
            .filter(|_| self.voice.random.chance(50))
            .collect();
        let added = loose.iter().copied().find(|f| !half.contains(f));
        out.push(self.variant("half", half.clone(), None));
        if let Some(f) = added {
            let mut states = half;
            states.push(f);
            states.sort_unstable();
            out.push(self.variant("added", states, Some(f)));
        }
        if let Some(f) = loose.first() {
            let mut wrong = self.variant("wrong", all.to_vec(), Some(*f));
            let kind = self
                .labels
                .facts
                .get(*f)
                .map_or("", |fact| fact.value.as_str());
            let value = super::item::misread(self.voice.random, kind);
            if value != kind {
                wrong.text = self.summary(all, Some((*f, &value)));
                out.push(wrong);
            }
        }
        self.labels.variants = out;
    }

    fn variant(&self, name: &str, states: Vec<usize>, fact: Option<usize>) -> Variant {
        Variant {
            name: name.into(),
            text: self.summary(&states, None),
            states,
            fact,
        }
    }

    /// The run with its labels.
    pub(super) fn finish(mut self, id: &str) -> Labelled {
        // Items and facts count apart: a sum is a fact and no item.
        for mention in &mut self.labels.mentions {
            if mention.kind == MentionKind::Stale {
                mention.fact = mention
                    .fact
                    .and_then(|item| self.fact.get(item).copied().flatten());
            }
        }
        let end = self.summary_at;
        self.labels.mentions.retain(|m| m.message < end);
        let tool = |name: &str, description: &str, argument: &str, kind: serde_json::Value| {
            json!({"type": "function", "function": {"name": name, "description": description,
                "parameters": {"type": "object", "properties": {argument: kind}, "required": [argument]}}})
        };
        let bbox = json!({"type": "array", "items": {"type": "integer"}, "description": "x1, y1, x2, y2 in pixels"});
        Labelled {
            json: json!({
                "id": id,
                "messages": self.messages,
                "tools": [
                    tool("crop", "Show a part of the picture larger.", "bbox", bbox.clone()),
                    tool("read_text", "Read the text in a part of the picture.", "bbox", bbox),
                    crate::summary::summarize_the_task(),
                ],
                "metadata": self.labels,
            }),
            pictures: Vec::new(),
        }
    }
}
