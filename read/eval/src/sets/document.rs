//! E1, needle documents: facts in prose or under headings, among sentences with the same names, the same attributes and nearly the same numbers.

use std::collections::HashSet;

use fastrand::Rng;

use super::draft::{Draft, Writing};
use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set};
use crate::language::{ARABIC, Attribute, CHINESE, ENGLISH, JAPANESE, Language, RUSSIAN};

/// A fact and how it is told.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The thing.
    pub entity: String,
    /// The attribute.
    pub attribute: Attribute,
    /// The value.
    pub value: String,
    /// In one sentence, in a pair of sentences, or under a heading.
    pub telling: &'static str,
}

/// Names and attributes of one document; no pair is told twice.
pub struct World<'a> {
    language: &'a Language,
    told: HashSet<(String, &'static str)>,
}

impl<'a> World<'a> {
    /// Nothing told yet.
    pub fn new(language: &'a Language) -> Self {
        Self {
            language,
            told: HashSet::new(),
        }
    }

    /// A fact that was not told yet, of `entity` if given.
    pub fn fact(
        &mut self,
        rng: &mut Rng,
        entity: Option<&str>,
        attribute: Option<Attribute>,
    ) -> Option<Fact> {
        for _ in 0..64 {
            let entity = entity.map_or_else(|| self.language.entity(rng), str::to_owned);
            let attribute = attribute.unwrap_or_else(|| self.language.attribute(rng));
            if self.told.insert((entity.clone(), attribute.0)) {
                let telling = [
                    "sentence", "sentence", "sentence", "sentence", "pair", "heading",
                ]
                .get(rng.usize(..6))
                .copied()
                .unwrap_or("sentence");
                return Some(Fact {
                    value: self.language.value(rng, attribute.2),
                    entity,
                    attribute,
                    telling,
                });
            }
        }
        None
    }

    /// Keeps a pair from ever being told.
    pub fn forbid(&mut self, entity: &str, attribute: Attribute) -> bool {
        self.told.insert((entity.to_owned(), attribute.0))
    }
}

/// A value that differs in one digit.
pub fn near(rng: &mut Rng, value: &str) -> String {
    let digits: Vec<usize> = value
        .char_indices()
        .filter(|(_, letter)| letter.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    let Some(&at) = digits.get(rng.usize(..digits.len().max(1))) else {
        return value.to_owned();
    };
    let old = value.as_bytes().get(at).map_or(0, |digit| digit - b'0');
    let new = char::from(b'0' + (old + 1 + rng.u8(..8)) % 10);
    format!(
        "{}{new}{}",
        value.get(..at).unwrap_or_default(),
        value.get(at + 1..).unwrap_or_default()
    )
}

/// Writes a paragraph of `count` empty sentences, with `middle` told among them.
pub fn paragraph(
    draft: &mut Draft,
    language: &Language,
    rng: &mut Rng,
    count: usize,
    middle: &[(Option<usize>, String)],
) {
    let joint = if language.spaced() { " " } else { "" };
    let at = rng.usize(..=count);
    let mut first = true;
    for index in 0..=count {
        let mut say = |draft: &mut Draft, id: Option<usize>, text: &str| {
            if !std::mem::take(&mut first) {
                draft.say(joint);
            }
            match id {
                Some(id) => draft.say_marked(id, text),
                None => draft.say(text),
            }
        };
        if index == at {
            for (id, text) in middle {
                say(draft, *id, text);
            }
        }
        if index < count {
            let text = language.sentence(rng);
            say(draft, None, &text);
        }
    }
    draft.say("\n\n");
}

/// Tells a fact; with an id its sentence is marked.
pub fn tell(
    draft: &mut Draft,
    language: &Language,
    rng: &mut Rng,
    fact: &Fact,
    id: Option<usize>,
    beside: Option<String>,
) {
    let fill = |shape: &str| Language::fill(shape, &fact.entity, fact.attribute, &fact.value);
    let count = rng.usize(1..6);
    match fact.telling {
        "pair" => {
            let (first, second) = language
                .pairs
                .get(rng.usize(..language.pairs.len().max(1)))
                .copied()
                .unwrap_or_default();
            let sentences = [(None, fill(first)), (id, fill(second))];
            paragraph(draft, language, rng, count, &sentences);
        }
        "heading" => {
            draft.say(&format!("## {}\n\n", fact.entity));
            if rng.bool() {
                paragraph(draft, language, rng, 2, &[]);
            }
            let line = format!("- {}: {}", fact.attribute.0, fact.value);
            match id {
                Some(id) => draft.say_marked(id, &line),
                None => draft.say(&line),
            }
            draft.say("\n\n## ***\n\n");
        }
        _ => {
            let shape = crate::language::word(rng, language.statements);
            let mut middle = vec![(id, fill(shape))];
            if let Some(beside) = beside {
                middle.insert(rng.usize(..2), (None, beside));
            }
            paragraph(draft, language, rng, count, &middle);
        }
    }
}

/// The language of a seed; every fifth seed has the same one.
pub fn language_of(seed: u64) -> &'static Language {
    match seed % 5 {
        0 => &ENGLISH,
        1 => &CHINESE,
        2 => &JAPANESE,
        3 => &RUSSIAN,
        _ => &ARABIC,
    }
}

/// Bytes of the text before encoding: 10 KB to 1 MB evenly on a log scale, and 10 MB for every twentieth seed.
pub fn size_of(seed: u64, rng: &mut Rng) -> usize {
    if seed % 20 == 10 {
        10_000_000
    } else {
        (10_000.0 * 100_f64.powf(rng.f64())) as usize
    }
}

/// Tells distractors of a fact: the same thing otherwise, a like-named thing with nearly the same value.
pub fn distract(
    draft: &mut Draft,
    world: &mut World<'_>,
    language: &Language,
    rng: &mut Rng,
    fact: &Fact,
) {
    for _ in 0..rng.usize(1..4) {
        if let Some(other) = world.fact(rng, Some(&fact.entity), None) {
            tell(draft, language, rng, &other, None, None);
        }
        if let Some(mut other) = world.fact(rng, None, Some(fact.attribute)) {
            other.value = near(rng, &fact.value);
            tell(draft, language, rng, &other, None, None);
        }
    }
}

/// The question of a fact, and how it was asked.
pub fn question(language: &Language, rng: &mut Rng, fact: &Fact) -> (String, bool) {
    let loose = rng.u8(..5) == 0;
    let shape = crate::language::word(
        rng,
        if loose {
            language.loose
        } else {
            language.questions
        },
    );
    (
        Language::fill(shape, &fact.entity, fact.attribute, ""),
        loose,
    )
}

/// E1.
pub fn needle_document(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE1);
    let language = language_of(seed);
    let size = size_of(seed, &mut rng);
    let mut world = World::new(language);
    let facts: Vec<Fact> = (0..rng.usize(1..=12))
        .filter_map(|_| world.fact(&mut rng, None, None))
        .collect();
    let mut draft = Draft::default();
    let mut places: Vec<usize> = facts.iter().map(|_| rng.usize(..size)).collect();
    places.sort_unstable();
    for (id, (fact, place)) in facts.iter().zip(&places).enumerate() {
        while draft.text.len() < *place {
            paragraph(&mut draft, language, &mut rng, 6, &[]);
        }
        let beside = world
            .fact(&mut rng, None, Some(fact.attribute))
            .map(|other| {
                let shape = crate::language::word(&mut rng, language.statements);
                Language::fill(
                    shape,
                    &other.entity,
                    other.attribute,
                    &near(&mut rng, &fact.value),
                )
            });
        tell(&mut draft, language, &mut rng, fact, Some(id), beside);
        distract(&mut draft, &mut world, language, &mut rng, fact);
    }
    while draft.text.len() < size {
        paragraph(&mut draft, language, &mut rng, 6, &[]);
    }
    let wrapped = language.spaced() && rng.bool();
    if wrapped {
        draft.wrap(72);
    }
    let writing = Writing::of(language, &mut rng);
    let (bytes, spans) = writing.encode(
        &draft.text,
        &draft
            .marks
            .iter()
            .map(|(_, span)| span.clone())
            .collect::<Vec<_>>(),
    );
    let asked = draft
        .marks
        .iter()
        .zip(spans)
        .filter_map(|((id, _), bytes)| {
            let fact = facts.get(*id)?;
            let (question, loose) = question(language, &mut rng, fact);
            let gold = vec![Gold {
                path: "report.md".into(),
                bytes,
                answer: fact.value.clone(),
                spot: None,
            }];
            let kind = match (fact.telling, loose) {
                ("pair", _) => "pair",
                ("heading", _) => "heading",
                (_, true) => "loose",
                _ => "sentence",
            };
            Some(Asked {
                question,
                gold,
                kind,
            })
        })
        .collect();
    Case {
        set: Set::NeedleDocument,
        seed,
        kind: format!(
            "{}/{}{}",
            language.code,
            writing.name(),
            if wrapped { "/wrapped" } else { "" }
        ),
        files: vec![CaseFile {
            path: "report.md".into(),
            bytes,
        }],
        target: "report.md".into(),
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}
