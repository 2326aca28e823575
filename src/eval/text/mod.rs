//! Setting (b): runs in ordinary language about pictures that the model cannot see, so that a reading stands in reasoning alone.
//!
//! Every run looks for three to six things in one picture: it says where it looks, sometimes guesses, calls `crop` or `read_text`, and
//! states what it saw at the beginning of the next turn. Sums and differences stand on no picture at all. What `read_text` returns is
//! text that stays, so such a reading can be had again.

mod item;
mod loose;
mod phrase;
mod summaries;
mod voice;

use serde_json::{Value, json};

use super::thought::Thought;
use super::{Fact, Labelled, Labels, MentionKind, Random, Variant};
use item::Item;
use voice::{Voice, capital};

/// How much is said around the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// At most one sentence a turn that carries nothing.
    Terse,
    /// Two to four.
    Standard,
    /// Six to nine.
    Verbose,
}

impl Verbosity {
    /// Its name in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terse => "terse",
            Self::Standard => "standard",
            Self::Verbose => "verbose",
        }
    }

    fn filler(self, random: &mut Random) -> usize {
        match self {
            Self::Terse => random.within(0, 1),
            Self::Standard => random.within(2, 4),
            Self::Verbose => random.within(6, 9),
        }
    }
}

/// How the summaries of a run are worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// Things have the names that the reasoning gives them, long or short.
    Plain,
    /// In words of their own.
    Loose,
}

/// Run number `index` of a seed. `test` adds the ways of saying things that no dev run has; the wording changes the summaries alone.
pub fn run(
    seed: u64,
    index: usize,
    verbosity: Verbosity,
    wording: Wording,
    test: bool,
) -> Labelled {
    let mut random = Random::new(seed, index);
    let mut writer = Writer::new(&mut random, verbosity, wording, test);
    writer.turns();
    writer.finish(&format!(
        "text-{}-{index:04}",
        if test { "test" } else { "dev" }
    ))
}

struct Writer<'r> {
    voice: Voice<'r>,
    verbosity: Verbosity,
    wording: Wording,
    items: Vec<Item>,
    /// Whether the text of item `i` comes back from `read_text`.
    read: Vec<bool>,
    boxes: Vec<[usize; 4]>,
    /// Items known when the summary is written.
    known: usize,
    messages: Vec<Value>,
    labels: Labels,
    /// The fact of item `i`.
    fact: Vec<Option<usize>>,
    summary_at: usize,
}

impl<'r> Writer<'r> {
    fn new(random: &'r mut Random, verbosity: Verbosity, wording: Wording, test: bool) -> Self {
        let mut items: Vec<Item> = Vec::new();
        let count = random.within(3, 6);
        while items.len() < count {
            let item = Item::any(random);
            let taken = |other: &Item| other.about == item.about || other.short == item.short;
            if !items.iter().any(taken) {
                items.push(item);
            }
        }
        let texts = ["sign", "plate", "price", "time", "meter"];
        let read = items
            .iter()
            .map(|i| texts.contains(&i.kind) && random.chance(30))
            .collect();
        let boxes = items
            .iter()
            .map(|_| {
                let (x, y) = (random.within(10, 700), random.within(10, 500));
                [x, y, x + random.within(40, 280), y + random.within(40, 240)]
            })
            .collect();
        let known = if count > 3 && random.chance(35) {
            count - 1
        } else {
            count
        };
        let labels = Labels {
            setting: "text".into(),
            verbosity: verbosity.name().into(),
            ..Labels::default()
        };
        Self {
            voice: Voice { random, test },
            verbosity,
            wording,
            fact: vec![None; items.len()],
            items,
            read,
            boxes,
            known,
            messages: Vec::new(),
            labels,
            summary_at: 0,
        }
    }

    fn turns(&mut self) {
        self.ask();
        // A guess at a later thing, made at first sight and leant on until it is looked at.
        let early = self
            .voice
            .random
            .chance(40)
            .then(|| self.voice.random.within(1, self.items.len() - 1));
        let mut derived = false;
        for i in 0..self.items.len() {
            let mut thought = Thought::default();
            if i > 0 {
                self.state(&mut thought, i - 1, &mut derived);
            }
            if i == self.known {
                self.summarise(thought, i);
                thought = Thought::default();
            }
            self.look_for(&mut thought, i, early);
            self.call(thought, i);
        }
        let mut thought = Thought::default();
        self.state(&mut thought, self.items.len() - 1, &mut derived);
        if self.known == self.items.len() {
            self.summarise(thought, self.items.len());
        }
        let answer: Vec<String> = self
            .labels
            .facts
            .iter()
            .map(|f| format!("{} is {}", f.about, f.value))
            .collect();
        self.messages.push(
            json!({"role": "assistant", "content": format!("{}.", capital(&answer.join(", ")))}),
        );
    }

    fn ask(&mut self) {
        let about: Vec<&str> = self.items.iter().map(|i| i.about.as_str()).collect();
        let question = format!(
            "Look at the picture and tell me {}. Add or compare where it helps.",
            about.join(", ")
        );
        self.messages.push(json!({"role": "system", "content": "You answer questions about pictures with tools. crop shows a part larger, read_text reads its text, summarize_the_task notes the state."}));
        self.messages.push(json!({"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "scene.png"}}, {"type": "text", "text": question}]}));
    }

    /// What the last call showed about item `i`, and what follows from it.
    fn state(&mut self, thought: &mut Thought, i: usize, derived: &mut bool) {
        let read = self.read.get(i) == Some(&true);
        let ways = if read {
            &phrase::TOOL_READ
        } else {
            &phrase::READ
        };
        let Some(item) = self.items.get(i) else {
            return;
        };
        let fact = self.labels.facts.len();
        self.labels
            .facts
            .push(fact_of(item, &mut self.voice, read, self.wording));
        if let Some(slot) = self.fact.get_mut(i) {
            *slot = Some(fact);
        }
        self.voice.say(
            thought,
            ways,
            &item.about,
            &item.value,
            MentionKind::Fact,
            Some(fact),
        );
        if *derived {
            return;
        }
        let pair = self
            .items
            .iter()
            .take(i)
            .find_map(|first| Item::derived(self.voice.random, first, item));
        if let Some(found) = pair {
            *derived = true;
            let ways = if found.kind == "sum" {
                &phrase::SUM
            } else {
                &phrase::DIFFERENCE
            };
            let fact = self.labels.facts.len();
            self.labels
                .facts
                .push(fact_of(&found, &mut self.voice, false, self.wording));
            self.voice.say(
                thought,
                ways,
                &found.about,
                &found.value,
                MentionKind::Fact,
                Some(fact),
            );
        }
    }

    fn look_for(&mut self, thought: &mut Thought, i: usize, early: Option<usize>) {
        let Some(item) = self.items.get(i) else {
            return;
        };
        let filler = self.verbosity.filler(self.voice.random);
        let before = self.voice.random.within(0, filler);
        self.voice.filler(thought, before);
        if i > 0 && self.voice.random.chance(20) {
            let fact = self.voice.random.below(self.labels.facts.len());
            if let Some(f) = self.labels.facts.get(fact) {
                self.voice.say(
                    thought,
                    &phrase::RESTATE,
                    &f.about,
                    &f.value,
                    MentionKind::Fact,
                    Some(fact),
                );
            }
        }
        if let Some(early) = early.filter(|_| i == 0)
            && let Some(later) = self.items.get(early)
        {
            self.voice.say(
                thought,
                &phrase::FIRST_SIGHT,
                &later.about,
                &later.guess,
                MentionKind::Stale,
                Some(early),
            );
        }
        let next = if i == 0 {
            &phrase::FIRST
        } else {
            &phrase::NEXT
        };
        self.voice.plain(thought, next, &item.about);
        if self.voice.random.chance(60) {
            let place = self.boxes.get(i).map_or_else(String::new, |b| {
                format!("[{}, {}, {}, {}]", b[0], b[1], b[2], b[3])
            });
            self.voice.say(
                thought,
                &phrase::PLACE,
                "",
                &place,
                MentionKind::Place,
                None,
            );
        }
        if early == Some(i) {
            self.voice.say(
                thought,
                &phrase::REPEAT,
                &item.about,
                &item.guess,
                MentionKind::Stale,
                Some(i),
            );
        } else if self.voice.random.chance(45) {
            self.voice.say(
                thought,
                &phrase::GUESS,
                &item.about,
                &item.guess,
                MentionKind::Stale,
                Some(i),
            );
        }
        self.voice.filler(thought, filler - before);
        if self.voice.random.chance(25) {
            let n = self.voice.random.within(2, 9).to_string();
            self.voice.say(
                thought,
                &phrase::NUMBERED,
                "",
                &n,
                MentionKind::Filler,
                None,
            );
        }
        self.voice.plain(thought, &phrase::NEED, "");
    }

    fn call(&mut self, thought: Thought, i: usize) {
        let (Some(item), Some(place)) = (self.items.get(i), self.boxes.get(i)) else {
            return;
        };
        let read = self.read.get(i) == Some(&true);
        let name = if read { "read_text" } else { "crop" };
        let id = format!("call_{}", i + 1);
        let picture =
            json!({"type": "image_url", "image_url": {"url": format!("part-{}.png", i + 1)}});
        let shown = if read {
            json!([picture, {"type": "text", "text": format!("Text found: {}", item.value)}])
        } else {
            json!([picture])
        };
        self.turn(thought, &id, name, &json!({"bbox": place}));
        self.messages
            .push(json!({"role": "tool", "tool_call_id": id, "content": shown}));
    }

    fn turn(&mut self, thought: Thought, id: &str, name: &str, arguments: &Value) {
        let message = self.messages.len();
        let text = thought.text.clone();
        self.labels.mentions.extend(thought.mentions(message));
        self.messages.push(json!({"role": "assistant", "content": text, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}}]}));
    }

    fn summarise(&mut self, mut thought: Thought, i: usize) {
        thought.push("I note the state before I go on.");
        self.summary_at = self.messages.len();
        let all: Vec<usize> = (0..self.labels.facts.len()).collect();
        let text = self.summary(&all, None);
        self.turn(
            thought,
            &format!("note_{}", i + 1),
            "summarize_the_task",
            &json!({"summary": text}),
        );
        let id = format!("note_{}", i + 1);
        self.messages.push(
            json!({"role": "tool", "tool_call_id": id, "content": crate::summary::SUMMARY_ANSWER}),
        );
        self.variants(&all);
    }
}

fn fact_of(item: &Item, voice: &mut Voice<'_>, rereadable: bool, wording: Wording) -> Fact {
    let about = if voice.random.chance(50) {
        &item.about
    } else {
        &item.short
    };
    let spoken = item.spoken.as_ref().filter(|_| voice.random.chance(30));
    let value = spoken.unwrap_or(&item.value);
    let joint = voice.random.pick(&[" is ", " = ", ": "]);
    Fact {
        about: item.about.clone(),
        value: item.value.clone(),
        kind: item.kind.into(),
        statement: match wording {
            Wording::Plain => format!("{about}{joint}{value}"),
            Wording::Loose => loose::statement(item.kind, &item.short, value),
        },
        rereadable,
    }
}
