//! What does the last context of an episode say beyond the answer that was given? Which of two answers is likelier, and where the last turn looks.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use spare_models::prompt::{Chat, Encoded};
use spare_models::{Control, KvCache, PreparedPrompt};

use crate::engine::Engine;
use crate::error::Error;
use crate::replay::PictureRoot;
use crate::score::LocalScorer;
use crate::trajectory::{Message, Role, Trajectory};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Probe {
    /// For each stale answer the log-likelihood of the right one and of the stale one, each divided by its number of tokens (the end of the turn
    /// included), in nats.
    pub choices: Vec<[f64; 2]>,
    /// By layer: how much of their attention the tokens of the last turn give to tokens of pictures, the mean over tokens and heads.
    pub to_pictures: Vec<f64>,
}

/// Tokens of a history that ends with an answer.
struct Answered {
    encoded: Encoded,
    /// Where the answer's turn begins.
    turn: usize,
    /// The answer and the end of its turn.
    answer: Range<usize>,
}

/// Looks at the last context of a run: everything before the answer that it ends with, and the thought of that turn. A run that ends without
/// an answer is asked for one as it stands, without a thought, and its last turn looks nowhere.
///
/// # Errors
/// Those of rendering and of the model.
pub fn probe(
    engine: &Arc<Engine>,
    run: &Trajectory,
    right: &str,
    stale: &[String],
    control: &Control<'_>,
) -> Result<Probe, Error> {
    let run = engine.view(run, usize::MAX)?;
    let answered = |m: &&Message| m.role == Role::Assistant && m.calls.is_empty();
    let last = run.messages.last().filter(answered);
    let before = Trajectory {
        tools: run.tools.clone(),
        messages: match last {
            Some(_) => run
                .messages
                .get(..run.messages.len() - 1)
                .unwrap_or_default(),
            None => &run.messages,
        }
        .to_vec(),
        ..Trajectory::default()
    };
    let thought = last.and_then(Message::reasoning_text);
    let mut scorer = LocalScorer::new(Arc::clone(engine));
    let pictures = scorer.pictures(&before, usize::MAX, &PictureRoot::new("."))?;
    let counts: Vec<usize> = pictures.iter().map(|(count, _)| *count).collect();
    let with = |answer: &str| of(engine, &before, thought.clone(), answer, &counts);
    let prepare = |scorer: &LocalScorer, encoded: &Encoded| {
        let keys = pictures.iter().map(|(_, key)| key.clone());
        let spans: Vec<_> = encoded.pictures.iter().cloned().zip(keys).collect();
        scorer.prepare(encoded.ids.clone(), &spans)
    };
    let mut out = Probe::default();
    let first = with(right)?;
    let whole = prepare(&scorer, &first.encoded)?;
    scorer.advance(whole.clone(), &[], control)?;
    let cache = scorer.fork();
    if !stale.is_empty() {
        let own = likelihood(engine, &whole, &first.answer, cache.fork(), control)?;
        for stale in stale {
            let found = with(stale)?;
            let prompt = prepare(&scorer, &found.encoded)?;
            let mut shared = cache.fork();
            shared.truncate(whole.common_prefix(&prompt))?;
            let other = likelihood(engine, &prompt, &found.answer, shared, control)?;
            out.choices.push([own, other]);
        }
    }
    if let Some(last) = last {
        let found = with(&last.text())?;
        let prompt = prepare(&scorer, &found.encoded)?;
        let mut shared = cache;
        shared.truncate(whole.common_prefix(&prompt).min(found.turn))?;
        let rows: Vec<usize> = (found.turn..found.answer.end).collect();
        let groups = [found.encoded.pictures];
        let seen = engine
            .model
            .attended(&prompt, &shared, &rows, &groups, control)?;
        out.to_pictures = seen.shares.into_iter().flatten().collect();
    }
    Ok(out)
}

/// The history with an answer behind it, as the model reads it.
fn of(
    engine: &Engine,
    before: &Trajectory,
    thought: Option<String>,
    answer: &str,
    counts: &[usize],
) -> Result<Answered, Error> {
    let prompter = &engine.prompter;
    let mut run = before.clone();
    run.push(Message::assistant(thought, answer, Vec::new()));
    let pointer = format!("/messages/{}/content", before.messages.len());
    let rendering = prompter.render(&Chat {
        messages: run.template_messages(usize::MAX),
        tools: run.tools,
        ..Chat::default()
    })?;
    let shown = rendering
        .spans(&pointer)
        .last()
        .map(|part| part.span.clone());
    let shown = shown.ok_or(spare_models::prompt::PromptError::NotShown { pointer })?;
    let mut encoded = prompter.encode(&rendering, counts)?;
    let mut answer = encoded.tokens_overlapping(shown);
    let turn = prompter.turn_start(&encoded, answer.start).unwrap_or(0);
    let later = encoded.ids.get(answer.end..).unwrap_or_default();
    let ends = later.iter().position(|id| engine.model.eos().contains(id));
    answer.end += ends.map_or(0, |place| place + 1);
    encoded.ids.truncate(answer.end);
    encoded.offsets.truncate(answer.end);
    Ok(Answered {
        encoded,
        turn,
        answer,
    })
}

/// Mean log-likelihood of tokens `answer` of a prompt, whose beginning `cache` holds.
fn likelihood(
    engine: &Engine,
    prompt: &PreparedPrompt,
    answer: &Range<usize>,
    mut cache: KvCache,
    control: &Control<'_>,
) -> Result<f64, Error> {
    let model = &engine.model;
    // The row before a token predicts it.
    let rows: Vec<usize> = answer
        .clone()
        .map(|token| token.saturating_sub(1))
        .collect();
    let start = rows.first().copied().unwrap_or(0).min(cache.len());
    cache.truncate(start)?;
    let hidden = model.prefill(prompt, start..prompt.len(), &mut cache, &rows, control)?;
    let logits = model.logits(&hidden)?;
    let ids = prompt.ids().get(answer.clone()).unwrap_or_default();
    let each = logits.chunks(model.vocab_size().max(1)).zip(ids);
    let sum: f64 = each.map(|(row, id)| log_share(row, *id)).sum();
    Ok(sum / answer.len().max(1) as f64)
}

/// `log softmax(row)[id]`, in f64.
fn log_share(row: &[f32], id: u32) -> f64 {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|x| f64::from(x - most).exp()).sum();
    let own = row.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
    f64::from(own - most) - sum.ln()
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::eval::world::{DEV_SEED, Environment, Knobs};

    #[test]
    fn shares_of_a_row_add_up_to_one() {
        let row = [0.5f32, -1.0, 80.0, 79.0];
        let sum: f64 = (0..4).map(|id| log_share(&row, id).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert!((log_share(&row, 2) - (-(1f64 + (-1f64).exp()).ln())).abs() < 1e-9);
    }

    /// The numbers are those of one pass over the whole run with every row kept, the answer found from its end.
    #[test]
    fn likelihoods_and_shares_are_those_of_a_plain_pass() {
        let engine = Arc::new(Engine::board().unwrap());
        let knobs = Knobs::conflict();
        let control = Control::none();
        for index in 0..3 {
            let world = Environment::new(knobs.task(DEV_SEED, index), DEV_SEED, index).unwrap();
            let episode = world.episode(&knobs, DEV_SEED, index).unwrap();
            let conflict = &episode.conflicts[0];
            let mut values = world.task.values();
            values[conflict.step].clone_from(&conflict.stale);
            let stale = world.task.answer(&values);
            let found = probe(
                &engine,
                &episode.run,
                &episode.answer,
                std::slice::from_ref(&stale),
                &control,
            )
            .unwrap();
            let plain = |answer: &str| {
                let mut run = episode.run.clone();
                let thought = run.messages.pop().unwrap().reasoning_text();
                run.push(Message::assistant(thought, answer, Vec::new()));
                let mut scorer = LocalScorer::new(Arc::clone(&engine));
                let pictures = scorer
                    .pictures(&run, usize::MAX, &PictureRoot::new("."))
                    .unwrap();
                let trunk = crate::replay::trunk_ids(&engine.prompter, &run, usize::MAX, &pictures)
                    .unwrap();
                let end = trunk
                    .ids
                    .iter()
                    .rposition(|id| engine.model.eos().contains(id));
                let ids = trunk.ids[..=end.unwrap()].to_vec();
                let says = |start: usize| engine.prompter.decode(&ids[start..]).unwrap();
                let whole = format!("{answer}<|im_end|>");
                let start = (0..ids.len()).rev().find(|s| says(*s) == whole).unwrap();
                let spans = trunk.pictures.iter().cloned();
                let keys = pictures.iter().map(|(_, key)| key.clone());
                let prompt = scorer
                    .prepare(ids.clone(), &spans.zip(keys).collect::<Vec<_>>())
                    .unwrap();
                let rows: Vec<usize> = (0..ids.len()).collect();
                let model = &engine.model;
                let mut cache = KvCache::new();
                let hidden = model
                    .prefill(&prompt, 0..ids.len(), &mut cache, &rows, &control)
                    .unwrap();
                let logits = model.logits(&hidden).unwrap();
                let rows: Vec<&[f32]> = logits.chunks(model.vocab_size()).collect();
                let logs = (start..ids.len()).map(|t| log_share(rows[t - 1], ids[t]));
                let mean = logs.sum::<f64>() / (ids.len() - start) as f64;
                let turn = ids
                    .iter()
                    .rposition(|id| Some(*id) == engine.prompter.message_start_id());
                let looked: Vec<usize> = (turn.unwrap()..ids.len()).collect();
                let seen = model
                    .attended(
                        &prompt,
                        &KvCache::new(),
                        &looked,
                        &[trunk.pictures],
                        &control,
                    )
                    .unwrap();
                (mean, seen.shares.concat())
            };
            let ((right, shares), (other, _)) = (plain(&episode.answer), plain(&stale));
            let [own, own_other] = found.choices[0];
            assert!((own - right).abs() < 1e-4, "{own} {right}");
            assert!((own_other - other).abs() < 1e-4, "{own_other} {other}");
            assert_ne!(right, other);
            assert_eq!(found.to_pictures.len(), engine.model.describe().layers);
            for (a, b) in found.to_pictures.iter().zip(&shares) {
                assert!((a - b).abs() < 1e-5 && *a > 0.0 && *a < 1.0, "{a} {b}");
            }
        }
    }

    /// A run that ended without an answer is asked all the same; its last turn looks nowhere.
    #[test]
    fn a_run_without_an_answer_still_chooses() {
        let engine = Arc::new(Engine::board().unwrap());
        let knobs = Knobs::conflict();
        let world = Environment::new(knobs.task(DEV_SEED, 1), DEV_SEED, 1).unwrap();
        let opening = world.opening(&knobs, DEV_SEED, 1).unwrap();
        let stale = ["total = 1".to_owned(), "total = 17".to_owned()];
        let control = Control::none();
        let found = probe(&engine, &opening.run, "total = 1", &stale, &control).unwrap();
        assert_eq!(found.choices.len(), 2);
        let [[right, same], [_, other]] = [found.choices[0], found.choices[1]];
        assert!((right - same).abs() < 1e-6 && other.is_finite() && other != right);
        assert!(found.to_pictures.is_empty());
    }
}
