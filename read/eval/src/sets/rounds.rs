//! E12, rounds: a second question on the same object, a need that stays open, and an edit between two reads.

use fastrand::Rng;

use super::document::{World, near, paragraph};
use crate::language::{ENGLISH, Language};

/// A document in two versions and questions on both.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Before the edit.
    pub before: String,
    /// After it: one value is another.
    pub after: String,
    /// A question whose answer stays, and the answer.
    pub steady: (String, String),
    /// A question whose answer changes, and both answers.
    pub changed: (String, String, String),
    /// A question without an answer.
    pub open: String,
}

/// E12.
pub fn rounds(seed: u64) -> Rounds {
    let mut rng = Rng::with_seed(seed ^ 0xE12);
    let mut world = World::new(&ENGLISH);
    let ask = |entity: &str, attribute: &str| format!("What is the {attribute} of the {entity}?");
    let mut texts = [String::new(), String::new()];
    let mut answers = Vec::new();
    for turn in 0..2 {
        let Some(fact) = world.fact(&mut rng, None, None) else {
            continue;
        };
        let other = if turn == 0 {
            fact.value.clone()
        } else {
            near(&mut rng, &fact.value)
        };
        let lead = Rng::with_seed(rng.u64(..));
        for (text, value) in texts.iter_mut().zip([&fact.value, &other]) {
            let mut draft = super::draft::Draft::default();
            let mut rng = lead.clone();
            for _ in 0..30 {
                paragraph(&mut draft, &ENGLISH, &mut rng, 6, &[]);
            }
            let sentence = Language::fill(
                "The {a} of the {e} is {v}.",
                &fact.entity,
                fact.attribute,
                value,
            );
            paragraph(&mut draft, &ENGLISH, &mut rng, 3, &[(None, sentence)]);
            text.push_str(&draft.text);
        }
        answers.push((ask(&fact.entity, fact.attribute.0), fact.value, other));
    }
    let changed = answers.pop().unwrap_or_default();
    let (question, answer, _) = answers.pop().unwrap_or_default();
    let [before, after] = texts;
    Rounds {
        before,
        after,
        steady: (question, answer),
        changed,
        open: ask("Sable Court theatre", "opening date"),
    }
}
