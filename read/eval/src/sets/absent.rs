//! E2, absent facts: documents as in E1 that speak of the thing and of the attribute, but never of that attribute of that thing.

use fastrand::Rng;

use super::document::{Fact, World, distract, language_of, near, paragraph, question, tell};
use super::draft::{Draft, Writing};
use crate::case::{Asked, Case, CaseFile, Fit, Purpose, Set};
use crate::language::Language;

/// E2.
pub fn absent_fact(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE2);
    let language = language_of(seed);
    let size = (10_000.0 * 30_f64.powf(rng.f64())) as usize;
    let mut world = World::new(language);
    let mut draft = Draft::default();
    let mut asked = Vec::new();
    let count = rng.usize(2..8);
    for index in 0..count {
        while draft.text.len() < size * index / count {
            paragraph(&mut draft, language, &mut rng, 6, &[]);
        }
        let entity = language.entity(&mut rng);
        let attribute = language.attribute(&mut rng);
        if !world.forbid(&entity, attribute) {
            continue;
        }
        let value = language.value(&mut rng, attribute.2);
        let missing = Fact {
            entity,
            attribute,
            value,
            telling: "sentence",
        };
        let kind = [
            "apart",
            "side by side",
            "in the next section",
            "unknown name",
        ]
        .get(rng.usize(..4))
        .copied()
        .unwrap_or("apart");
        if kind != "unknown name" {
            distract(&mut draft, &mut world, language, &mut rng, &missing);
        }
        let of_it = world.fact(&mut rng, Some(&missing.entity), None);
        let of_other = world.fact(&mut rng, None, Some(attribute)).map(|mut fact| {
            fact.value = near(&mut rng, &missing.value);
            fact
        });
        let (Some(mut of_it), Some(mut of_other)) = (of_it, of_other) else {
            continue;
        };
        match kind {
            "side by side" => {
                let shape = crate::language::word(&mut rng, language.statements);
                let first = Language::fill(shape, &of_it.entity, of_it.attribute, &of_it.value);
                of_other.telling = "sentence";
                tell(&mut draft, language, &mut rng, &of_other, None, Some(first));
            }
            "in the next section" => {
                of_it.telling = "heading";
                of_other.telling = "heading";
                tell(&mut draft, language, &mut rng, &of_it, None, None);
                tell(&mut draft, language, &mut rng, &of_other, None, None);
            }
            "unknown name" => tell(&mut draft, language, &mut rng, &of_other, None, None),
            _ => {
                tell(&mut draft, language, &mut rng, &of_it, None, None);
                paragraph(&mut draft, language, &mut rng, 6, &[]);
                tell(&mut draft, language, &mut rng, &of_other, None, None);
            }
        }
        asked.push(Asked {
            question: question(language, &mut rng, &missing).0,
            gold: Vec::new(),
            kind,
        });
    }
    while draft.text.len() < size {
        paragraph(&mut draft, language, &mut rng, 6, &[]);
    }
    let writing = Writing::of(language, &mut rng);
    let (bytes, _) = writing.encode(&draft.text, &[]);
    Case {
        set: Set::AbsentFact,
        seed,
        kind: format!("{}/{}", language.code, writing.name()),
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
