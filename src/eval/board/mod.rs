//! Setting (a): the world of the embedded checkpoint. An overview hides the digits, a crop shows one; every reading can be had again.

mod draw;

use serde_json::{Value, json};
use spare_models::image::{ImageError, encode_png};

use super::phrases::{FLUFF, GUESS, LOCATE, NEED, NEXT, READ};
use super::thought::Thought;
use super::{Fact, Labelled, Labels, MentionKind, Random, Variant};
use crate::summary::{SUMMARY_ANSWER, summarize_the_task};
use draw::{COLOURS, SHAPES, Shape};

/// Run number `index` of a seed, its pictures named below `img/`.
///
/// # Errors
/// None that the sizes drawn here can cause.
pub fn run(seed: u64, index: usize, test: bool) -> Result<Labelled, ImageError> {
    let mut random = Random::new(seed, index);
    let random = &mut random;
    let shapes = shapes(random);
    let board = draw::draw(&shapes, random)?;
    let count = random.within(2, 3);
    let targets = shapes.get(..count.min(shapes.len())).unwrap_or_default();
    let known = if random.chance(70) {
        targets.len()
    } else {
        random.within(1, targets.len())
    };
    let id = format!("board-{}-{index:04}", if test { "test" } else { "dev" });
    let mut run = Run {
        random,
        id,
        messages: Vec::new(),
        labels: Labels {
            setting: "board".into(),
            verbosity: "standard".into(),
            ..Labels::default()
        },
        pictures: Vec::new(),
        calls: 0,
    };
    let names: Vec<String> = targets.iter().map(Shape::name).collect();
    let question = format!("Which digits are on the {}?", names.join(", the "));
    let overview = run.picture(&draw::overview(&board)?)?;
    run.messages.push(json!({"role": "system", "content": "You answer questions about a board of shapes. Use crop to zoom into a cell and summarize_the_task to note the state."}));
    run.messages
        .push(json!({"role": "user", "content": [overview, {"type": "text", "text": question}]}));
    run.labels.facts = targets.iter().map(fact).collect();
    let mut noted = 0;
    for (i, target) in targets.iter().enumerate() {
        let mut thought = Thought::default();
        if let Some(last) = i.checked_sub(1).and_then(|last| targets.get(last)) {
            run.say(
                &mut thought,
                READ,
                &last.name(),
                &last.digit.to_string(),
                MentionKind::Fact,
                Some(i - 1),
            );
        }
        if run.random.chance(50) {
            run.say(&mut thought, FLUFF, "", "", MentionKind::Filler, None);
        }
        if i > 0 {
            run.say(
                &mut thought,
                NEXT,
                &target.name(),
                "",
                MentionKind::Filler,
                None,
            );
        }
        let cell = format!("({}, {})", target.cell.0, target.cell.1);
        run.say(
            &mut thought,
            LOCATE,
            &target.name(),
            &cell,
            MentionKind::Place,
            None,
        );
        if run.random.chance(60) {
            let guess = (target.digit + run.random.within(1, 9)) % 10;
            run.say(
                &mut thought,
                GUESS,
                "",
                &guess.to_string(),
                MentionKind::Stale,
                Some(i),
            );
        }
        run.say(&mut thought, NEED, "", "", MentionKind::Filler, None);
        run.turn(
            thought,
            "crop",
            &json!({"cell": [target.cell.0, target.cell.1]}),
        );
        let crop = run.picture(&draw::crop(&board, target.cell)?)?;
        run.answer(json!([crop]));
        if i + 1 == known {
            let mut thought = Thought::default();
            run.say(
                &mut thought,
                READ,
                &target.name(),
                &target.digit.to_string(),
                MentionKind::Fact,
                Some(i),
            );
            thought.push("I note the state before I go on.");
            noted = run.messages.len();
            run.labels.variants = variants(run.random, &question, targets, known);
            let summary = run
                .labels
                .variants
                .first()
                .map_or("", |v| v.text.as_str())
                .to_owned();
            run.turn(thought, "summarize_the_task", &json!({"summary": summary}));
            run.answer(json!(SUMMARY_ANSWER));
        }
    }
    let mut thought = Thought::default();
    if let Some(last) = targets.last() {
        run.say(
            &mut thought,
            READ,
            &last.name(),
            &last.digit.to_string(),
            MentionKind::Fact,
            Some(targets.len() - 1),
        );
    }
    thought.push("I have every digit that I need.");
    let answer: Vec<&str> = run
        .labels
        .facts
        .iter()
        .map(|f| f.statement.as_str())
        .collect();
    run.messages.push(json!({"role": "assistant", "content": answer.join(", "), "reasoning_content": thought.text}));
    run.labels.mentions.retain(|m| m.message < noted);
    let crop = json!({"type": "function", "function": {"name": "crop", "description": "Zoom into one cell of the board.", "parameters": {"type": "object",
        "properties": {"cell": {"type": "array", "items": {"type": "integer"}, "description": "column and row, 0 to 2"}}, "required": ["cell"]}}});
    Ok(Labelled {
        json: json!({"id": run.id, "messages": run.messages, "tools": [crop, summarize_the_task()], "metadata": run.labels}),
        pictures: run.pictures,
    })
}

fn shapes(random: &mut Random) -> Vec<Shape> {
    let mut cells: Vec<(u32, u32)> = (0..9).map(|i| (i % 3, i / 3)).collect();
    let mut kinds: Vec<(usize, usize)> = (0..COLOURS.len() * SHAPES.len())
        .map(|i| (i / SHAPES.len(), i % SHAPES.len()))
        .collect();
    random.shuffle(&mut cells);
    random.shuffle(&mut kinds);
    let count = random.within(3, 6);
    let pairs = cells.into_iter().zip(kinds).take(count);
    pairs
        .map(|(cell, (colour, shape))| Shape {
            colour,
            shape,
            cell,
            digit: random.within(0, 9),
        })
        .collect()
}

fn fact(target: &Shape) -> Fact {
    Fact {
        about: target.name(),
        value: target.digit.to_string(),
        kind: "digit".into(),
        statement: format!("{} = {}", target.name(), target.digit),
        rereadable: true,
    }
}

fn variants(random: &mut Random, question: &str, targets: &[Shape], known: usize) -> Vec<Variant> {
    let calls: Vec<String> = targets
        .iter()
        .take(known)
        .map(|t| format!("crop({}, {})", t.cell.0, t.cell.1))
        .collect();
    let open: Vec<String> = targets.iter().skip(known).map(Shape::name).collect();
    let open = if open.is_empty() {
        "nothing".to_owned()
    } else {
        open.join(", ")
    };
    let say = |states: &[usize], wrong: Option<(usize, usize)>| {
        let state = |i: &usize| {
            let target = targets.get(*i)?;
            let digit = wrong
                .filter(|(at, _)| at == i)
                .map_or(target.digit, |(_, digit)| digit);
            Some(format!("{} = {digit}", target.name()))
        };
        let stated: Vec<String> = states.iter().filter_map(state).collect();
        let evidence = if stated.is_empty() {
            "none".to_owned()
        } else {
            stated.join("; ")
        };
        format!(
            "Question: {question} Done: {}. Evidence: {evidence}. Open: {open}.",
            calls.join(", ")
        )
    };
    let all: Vec<usize> = (0..known).collect();
    let mut out = vec![Variant {
        name: "complete".into(),
        text: say(&all, None),
        states: all.clone(),
        fact: None,
    }];
    // The last one is read in the summary's own turn, which is no candidate.
    for f in 0..known.saturating_sub(1) {
        let states: Vec<usize> = all.iter().copied().filter(|g| *g != f).collect();
        out.push(Variant {
            name: "omit".into(),
            text: say(&states, None),
            states,
            fact: Some(f),
        });
        let digit = targets
            .get(f)
            .map_or(0, |t| (t.digit + random.within(1, 9)) % 10);
        out.push(Variant {
            name: "wrong".into(),
            text: say(&all, Some((f, digit))),
            states: all.clone(),
            fact: Some(f),
        });
    }
    out
}

struct Run<'r> {
    random: &'r mut Random,
    id: String,
    messages: Vec<Value>,
    labels: Labels,
    pictures: Vec<(String, Vec<u8>)>,
    calls: usize,
}

impl Run<'_> {
    fn picture(&mut self, picture: &spare_models::image::RgbImage) -> Result<Value, ImageError> {
        let path = format!("img/{}-{}.png", self.id, self.pictures.len());
        self.pictures.push((path.clone(), encode_png(picture)?));
        Ok(json!({"type": "image_url", "image_url": {"url": path}}))
    }

    fn say(
        &mut self,
        thought: &mut Thought,
        ways: &[&str],
        about: &str,
        value: &str,
        kind: MentionKind,
        fact: Option<usize>,
    ) {
        let sentence = self.random.pick(ways).replace("{a}", about);
        thought.state(&sentence, value, kind, fact);
    }

    fn turn(&mut self, thought: Thought, name: &str, arguments: &Value) {
        let text = thought.text.clone();
        let mentions = thought.mentions(self.messages.len());
        self.labels.mentions.extend(mentions);
        self.calls += 1;
        self.messages.push(json!({"role": "assistant", "content": "", "reasoning_content": text, "tool_calls": [
            {"id": format!("call_{}", self.calls), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}}]}));
    }

    fn answer(&mut self, content: Value) {
        self.messages.push(json!({"role": "tool", "tool_call_id": format!("call_{}", self.calls), "content": content}));
    }
}
