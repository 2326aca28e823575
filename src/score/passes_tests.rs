//! The bare pass and the future against plain forwards over whole contexts.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use spare_models::{Control, KvCache};

use super::local::LocalScorer;
use super::{AtomScore, ScoreOptions, locate, values_of};
use crate::Engine;
use crate::eval::{Subject, board};
use crate::plan::staying_text;
use crate::replay::{self, BarePlan, PictureRoot};
use crate::trajectory::Trajectory;

struct Setup {
    engine: Arc<Engine>,
    subject: Subject,
    run: Trajectory,
    dir: tempfile::TempDir,
}

fn setup(index: usize) -> Setup {
    let labelled = board::run(5, index, false).unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    for (path, bytes) in &labelled.pictures {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let subject = Subject::read(labelled.json).unwrap();
    let run = subject.with(&subject.labels.variants[0]).unwrap();
    Setup {
        engine: Arc::new(Engine::board().unwrap()),
        subject,
        run,
        dir,
    }
}

/// `log p` of every id of `tail` behind `context`, from one plain forward.
fn plain(
    engine: &Engine,
    scorer: &LocalScorer,
    plan: &BarePlan,
    context: &[u32],
    tail: &[u32],
) -> Vec<f64> {
    let pictures: Vec<_> = plan
        .pictures
        .iter()
        .map(|p| (p.tokens.clone(), p.key.clone()))
        .collect();
    let ids = [context, tail].concat();
    let prompt = scorer.prepare(ids, &pictures).unwrap();
    let rows: Vec<usize> = (context.len() - 1..prompt.len() - 1).collect();
    let mut cache = KvCache::new();
    let hidden = engine
        .model
        .prefill(
            &prompt,
            0..prompt.len(),
            &mut cache,
            &rows,
            &Control::none(),
        )
        .unwrap();
    let logits = engine.model.logits(&hidden).unwrap();
    let each = logits.chunks(engine.model.vocab_size()).zip(tail);
    each.map(|(row, id)| {
        let top = row.iter().copied().fold(f32::MIN, f32::max);
        let sum: f64 = row.iter().map(|x| f64::from(x - top).exp()).sum();
        f64::from(row[*id as usize] - top) - sum.ln()
    })
    .collect()
}

#[test]
fn the_bare_pass_is_what_plain_forwards_give() {
    let mut compared = 0;
    for index in 0..3 {
        let Setup {
            engine,
            subject,
            run,
            dir,
        } = setup(index);
        let event = subject.event(&run).unwrap();
        let sigma = &subject.labels.variants[0].text;
        let root = PictureRoot::new(dir.path());
        let mut scorer = LocalScorer::new(Arc::clone(&engine));
        let pictures = scorer.pictures(&run, event.at, &root).unwrap();
        let segments = &subject.segments;
        let plan =
            replay::build(&engine.prompter, &run, &event, segments, sigma, &pictures).unwrap();
        let bare =
            replay::build_bare(&engine.prompter, &run, &event, segments, &pictures, &plan).unwrap();
        // No word of any candidate stands in the bare history.
        for branch in &plan.branches {
            let own = plan.recorded(branch);
            assert!(!bare.trunk.windows(own.len()).any(|w| w == own));
        }
        let mut scores = scorer
            .score(&plan, ScoreOptions::default(), &Control::default())
            .unwrap();
        locate(
            &mut scores,
            segments,
            sigma,
            &staying_text(&run, &event, segments),
        );
        scorer
            .score_bare(
                &bare,
                &values_of(sigma),
                segments,
                &mut scores,
                &Control::default(),
            )
            .unwrap();
        assert_eq!(scores.pushed, scores.predicted);
        for sentence in &bare.sentences {
            let prior = [bare.trunk.as_slice(), &sentence.header].concat();
            let stated = [bare.trunk.as_slice(), &bare.block, &sentence.header].concat();
            let prior = plain(&engine, &scorer, &bare, &prior, &sentence.ids);
            let stated = plain(&engine, &scorer, &bare, &stated, &sentence.ids);
            let found = scores
                .segments
                .iter()
                .find(|s| s.segment == sentence.segment)
                .unwrap();
            let own = |a: &&AtomScore| sentence.tokens.contains(&a.tokens.start);
            for atom in found.atoms.iter().filter(own) {
                let at = atom.tokens.start - sentence.tokens.start;
                for (k, (a, b)) in atom.log_prior.iter().zip(&atom.log_bare).enumerate() {
                    assert!((a - prior[at + k]).abs() < 1e-4, "{a} {}", prior[at + k]);
                    assert!((b - stated[at + k]).abs() < 1e-4, "{b} {}", stated[at + k]);
                    compared += 1;
                }
                assert_eq!(atom.log_bare.len(), atom.tokens.len());
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_second_summary_costs_only_what_is_new() {
    let Setup {
        engine,
        subject,
        dir,
        ..
    } = setup(1);
    let root = PictureRoot::new(dir.path());
    let mut warm = LocalScorer::new(Arc::clone(&engine));
    let first = subject
        .measure(&engine, &mut warm, 0, &root)
        .unwrap()
        .unwrap()
        .scores;
    let second = subject
        .measure(&engine, &mut warm, 1, &root)
        .unwrap()
        .unwrap()
        .scores;
    let mut fresh = LocalScorer::new(Arc::clone(&engine));
    let cold = subject
        .measure(&engine, &mut fresh, 1, &root)
        .unwrap()
        .unwrap()
        .scores;
    assert_eq!(first.pushed, first.predicted);
    assert_eq!(second.pushed, second.predicted);
    assert!(
        5 * second.pushed < 3 * cold.pushed,
        "{} {}",
        second.pushed,
        cold.pushed
    );
    assert_eq!(second.segments, cold.segments);
}

#[test]
fn the_future_without_a_segment_is_recomputed_from_there() {
    for index in 0..3 {
        let Setup {
            engine,
            subject,
            run,
            dir,
        } = setup(index);
        let event = subject.event(&run).unwrap();
        let root = PictureRoot::new(dir.path());
        let mut scorer = LocalScorer::new(Arc::clone(&engine));
        let end = run.messages.len();
        let pictures = scorer.pictures(&run, end, &root).unwrap();
        let segment = &subject.segments[event.candidates[0]];
        let control = Control::default();
        let read = |run: &Trajectory| {
            replay::future(
                &engine.prompter,
                run,
                event.at + 1,
                end,
                &[segment],
                &pictures,
            )
            .unwrap()
        };
        let base = read(&run);
        assert!(!base.written.is_empty());
        let mut without = run.clone();
        without.replace(segment.message, segment.slot, &segment.range, "");
        let other = replay::future(
            &engine.prompter,
            &without,
            event.at + 1,
            end,
            &[],
            &pictures,
        )
        .unwrap();
        let whole = scorer.read_future(base.clone(), &control).unwrap();
        // Nothing left out, nothing changed.
        let same = scorer
            .counterfactual(&whole, &base, &control)
            .unwrap()
            .unwrap();
        assert!(same.kl.abs() < 1e-6, "{same:?}");
        let found = scorer
            .counterfactual(&whole, &other, &control)
            .unwrap()
            .unwrap();
        // The other context on its own, nothing shared.
        let alone = scorer.read_future(other.clone(), &control).unwrap();
        let back = scorer
            .counterfactual(&alone, &base, &control)
            .unwrap()
            .unwrap();
        assert!(found.kl > 0.0);
        assert!(
            (found.logq - back.logp).abs() < 1e-3 && (found.logp - back.logq).abs() < 1e-3,
            "{found:?} {back:?}"
        );
        // A masked segment is no recomputed one: what follows was computed with it in sight.
        if let Some(masked) = scorer.knockout(&whole, 0, &control).unwrap() {
            assert!(masked.kl > 0.0 && (masked.logp - found.logp).abs() < 1e-3);
        }
    }
}
