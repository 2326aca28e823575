//! Are the numbers right? Against float64, against plain forwards, and against the least cost.
#![cfg(feature = "embedded-model")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use spare::plan::{Trigger, sha256};
use spare::replay::{PictureRoot, Plan};
use spare::summary::SummaryChoice;
use spare::{Control, Engine, EventOutcome, PruneOptions, Pruned, Pruner, formats};
use spare_kernels::{HeadInput, Options, reverse_kl};
use spare_models::image::{Preprocessor, decode};
use spare_models::{KvCache, Model, PreparedPrompt, WeightDtype, embedded};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn engine() -> Arc<Engine> {
    static ENGINE: OnceLock<Arc<Engine>> = OnceLock::new();
    Arc::clone(ENGINE.get_or_init(|| Arc::new(Engine::board().unwrap())))
}

fn runs() -> Vec<String> {
    fs::read_to_string(root("examples/board/runs.jsonl"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn prune(run: &str, options: PruneOptions) -> Pruned {
    let run = formats::openai_chat::read(run).unwrap();
    Pruner::new(engine(), options)
        .prune(
            &run,
            &PictureRoot::new(root("examples/board")),
            &Control::default(),
        )
        .unwrap()
}

fn given(text: Option<&str>) -> PruneOptions {
    let summary = text.map_or(SummaryChoice::Run, |t| SummaryChoice::Given(t.to_owned()));
    PruneOptions {
        summary,
        ..PruneOptions::default()
    }
}

fn close(what: &str, found: &[f64], wanted: &Value, skip: impl Fn(usize) -> bool) -> f64 {
    let wanted: Vec<f64> = wanted
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    assert_eq!(found.len(), wanted.len(), "{what}");
    let mut worst: f64 = 0.0;
    for (k, (a, b)) in found
        .iter()
        .zip(&wanted)
        .enumerate()
        .filter(|(k, _)| !skip(*k))
    {
        assert!((a - b).abs() <= 1e-4, "{what}, token {k}: {a} against {b}");
        worst = worst.max((a - b).abs());
    }
    worst
}

/// `tests/golden/score.py` computes the same numbers in float64 with transformers, contexts included.
#[test]
fn scores_equal_float64() {
    let golden: Value = serde_json::from_str(include_str!("golden/score.json")).unwrap();
    let runs = runs();
    let (mut segments, mut informative, mut worst) = (0, 0, 0f64);
    for event in golden["events"].as_array().unwrap() {
        let record = event["record"].as_u64().unwrap() as usize;
        let pruned = prune(&runs[record], given(event["summary"].as_str()));
        let outcome = &pruned.events[0];
        let plan = outcome.replay.as_ref().unwrap();
        let wanted = event["segments"].as_array().unwrap();
        assert_eq!(outcome.scores.segments.len(), wanted.len());
        for ((scores, branch), wanted) in outcome
            .scores
            .segments
            .iter()
            .zip(&plan.branches)
            .zip(wanted)
        {
            let name = format!("run {record}, message {}", wanted["message"]);
            let digest = |ids: Vec<u32>| sha256(serde_json::to_string(&ids).unwrap().as_bytes());
            assert_eq!(
                digest(plan.student_ids(branch)),
                wanted["student"].as_str().unwrap(),
                "{name}"
            );
            assert_eq!(
                digest(plan.teacher_ids(branch)),
                wanted["teacher"].as_str().unwrap(),
                "{name}"
            );
            assert_eq!(
                serde_json::json!(scores.token_ids),
                wanted["token_ids"],
                "{name}"
            );
            // Where ranks K and K + 1 lie within the error of f32, either support is right.
            let tie = |k: usize| wanted["kth_gap"][k].as_f64().unwrap() <= 1e-5;
            worst = worst.max(close(
                &format!("{name}: d_topk"),
                &scores.d_topk,
                &wanted["d_topk"],
                tie,
            ));
            for (what, found) in [
                ("d_full", &scores.d_full),
                ("logp", &scores.logp),
                ("logq", &scores.logq),
            ] {
                worst = worst.max(close(
                    &format!("{name}: {what}"),
                    found,
                    &wanted[what],
                    |_| false,
                ));
            }
            let mean = scores.d_topk.iter().sum::<f64>() / scores.d_topk.len() as f64;
            informative += usize::from(mean >= 0.05);
            segments += 1;
        }
    }
    println!(
        "{segments} segments, {informative} with a mean d of at least 0.05 nats; largest difference {worst:.1e} nats"
    );
    assert!(informative >= 30, "only {informative} cases say something");
}

/// The board model and its preprocessing, apart from the engine.
fn parts() -> (Model, Preprocessor) {
    let (model, files) = embedded::board(WeightDtype::F32).unwrap();
    let preprocessor = Preprocessor::from_json(&files.preprocessor.unwrap()).unwrap();
    (model, preprocessor)
}

fn hidden(
    model: &Model,
    pre: &Preprocessor,
    ids: Vec<u32>,
    files: &[PathBuf],
    rows: &[usize],
) -> Vec<f32> {
    let pictures = files
        .iter()
        .take(pad_runs(&ids, model.image_token().unwrap()))
        .map(|file| {
            let pixels = pre
                .process(&decode(&fs::read(file).unwrap()).unwrap())
                .unwrap();
            (
                model.encode_picture(pixels.grid, &pixels.values).unwrap(),
                [0; 32],
            )
        });
    let prompt = PreparedPrompt::with_pictures(model, ids, pictures.collect()).unwrap();
    let range = 0..prompt.len();
    model
        .prefill(
            &prompt,
            range,
            &mut KvCache::new(),
            rows,
            &Control::default(),
        )
        .unwrap()
        .values
}

fn pad_runs(ids: &[u32], pad: u32) -> usize {
    (0..ids.len())
        .filter(|&i| ids[i] == pad && (i == 0 || ids[i - 1] != pad))
        .count()
}

fn files(run: &str) -> Vec<PathBuf> {
    let run = formats::openai_chat::read(run).unwrap();
    let paths = run
        .messages
        .iter()
        .flat_map(|m| m.pictures())
        .map(|p| match &p.source {
            spare::trajectory::PictureSource::Path(path) => root("examples/board").join(path),
            other => panic!("{other:?}"),
        });
    paths.collect()
}

#[test]
fn branches_through_the_cache_equal_two_plain_forwards() {
    let (model, pre) = parts();
    for run in runs().iter().take(4) {
        let pruned = prune(run, given(None));
        for outcome in &pruned.events {
            let plan = outcome.replay.as_ref().unwrap();
            for (branch, scores) in plan.branches.iter().zip(&outcome.scores.segments) {
                let n = branch.tokens.len();
                let last =
                    |ids: &[u32]| -> Vec<usize> { (ids.len() - n - 1..ids.len() - 1).collect() };
                let (s, t) = (plan.student_ids(branch), plan.teacher_ids(branch));
                let student = hidden(&model, &pre, s.clone(), &files(run), &last(&s));
                let teacher = hidden(&model, &pre, t.clone(), &files(run), &last(&t));
                let input = HeadInput {
                    student: &student,
                    teacher: &teacher,
                    weight: model.head(),
                    hidden: model.hidden_size(),
                    vocab: model.vocab_size(),
                    recorded: &scores.token_ids,
                };
                let plain = reverse_kl(&input, &Options::default(), &|| false).unwrap();
                for (a, b) in [
                    (&plain.d_topk, &scores.d_topk),
                    (&plain.d_full, &scores.d_full),
                    (&plain.logp, &scores.logp),
                    (&plain.logq, &scores.logq),
                ] {
                    for (a, b) in a.iter().zip(b) {
                        assert!((a - b).abs() < 2e-5, "{a} against {b}");
                    }
                }
            }
        }
    }
}

/// `L + sum(|block| + header + |h_i|)`, from the contexts themselves.
fn least(plan: &Plan) -> u64 {
    let branches: usize = plan
        .branches
        .iter()
        .map(|b| plan.teacher_ids(b).len() - b.at)
        .sum();
    (plan.trunk.len() + branches) as u64
}

#[test]
fn an_event_costs_its_trunk_and_its_branches() {
    for run in runs() {
        let pruned = prune(&run, given(None));
        let outcome = &pruned.events[0];
        let plan = outcome.replay.as_ref().unwrap();
        assert_eq!(outcome.scores.pushed, least(plan));
        assert_eq!(outcome.scores.predicted, least(plan));
    }
}

/// Later events push only what their trunk does not share with the one before.
#[test]
fn a_later_event_costs_what_changed_and_its_branches() {
    let mut later = 0;
    for run in runs() {
        let options = PruneOptions {
            trigger: Trigger::Fixed(1),
            ..given(Some("Question: which digits? Open: all."))
        };
        let pruned = prune(&run, options);
        let scored: Vec<&EventOutcome> = pruned
            .events
            .iter()
            .filter(|e| e.replay.is_some())
            .collect();
        for pair in scored.windows(2) {
            let (before, after) = (
                pair[0].replay.as_ref().unwrap(),
                pair[1].replay.as_ref().unwrap(),
            );
            let shared = before
                .trunk
                .iter()
                .zip(&after.trunk)
                .take_while(|(a, b)| a == b)
                .count();
            assert_eq!(pair[1].scores.pushed, least(after) - shared as u64);
            assert_eq!(pair[1].scores.pushed, pair[1].scores.predicted);
            later += 1;
        }
    }
    assert!(later > 12, "only {later} later events");
}

#[test]
fn a_raised_flag_stops_the_call() {
    let flag = std::sync::atomic::AtomicBool::new(true);
    let run = formats::openai_chat::read(&runs()[0]).unwrap();
    let control = Control::default().with_cancel(&flag);
    let result = Pruner::new(engine(), given(None)).prune(
        &run,
        &PictureRoot::new(root("examples/board")),
        &control,
    );
    assert!(result.is_err_and(|error| error.to_string().contains("cancel")));
}

/// The whole vocabulary as support gives the full divergence, lowered only where the floor holds `q` up: by up to 2.3e-10 nats here,
/// four orders above rounding.
#[test]
fn support_and_floor_are_those_asked_for() {
    let mut lowered = 0f64;
    for run in runs().iter().take(3) {
        let mut options = given(Some(
            "Question: which digits? Evidence: red circle = 5, blue square = 12. The purple diamond is at (2, 2).",
        ));
        options.score.top_k = usize::MAX;
        for scores in &prune(run, options).events[0].scores.segments {
            for (d, full) in scores.d_topk.iter().zip(&scores.d_full) {
                assert!((-1e-12..1e-8).contains(&(full - d)), "{d} against {full}");
                lowered = lowered.max(full - d);
            }
        }
    }
    println!("the floor lowers d by up to {lowered:.1e} nats");
    assert!(lowered > 1e-11);
}

/// The mark of an earlier pruning decides: no scoring, no picture opened (there is none at the root given), nothing changed.
#[test]
fn a_pruned_run_is_not_decided_again() {
    for source in runs().iter().take(3) {
        let first = prune(source, given(None));
        assert!(first.events[0].plan.changes());
        let nowhere = PictureRoot::new(root("examples/board/no-such-folder"));
        let again = Pruner::new(engine(), given(None))
            .prune(&first.history, &nowhere, &Control::default())
            .unwrap();
        assert_eq!(again.events.len(), first.events.len());
        for outcome in &again.events {
            assert!(outcome.event.decided && outcome.skipped.is_some());
            assert!(outcome.replay.is_none() && !outcome.plan.changes());
        }
    }
}
