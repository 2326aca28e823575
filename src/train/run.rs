//! How does a recipe run, stop and go on?

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use spare_models::Checkpoint;
use spare_models::train::{SavedDtype, Sequence, Step, TrainModel, Trainer};

use super::tokens::{Learnt, Pictures, sequence_with};
use super::{Lesson, Recipe, Stage, TokenKind, lesson, pruned};
use crate::engine::Engine;
use crate::error::Error;
use crate::eval::agent::Method;

/// What is told after every step.
#[derive(Debug)]
pub struct Report<'a> {
    /// The stage's name.
    pub stage: &'a str,
    /// Steps of the stage.
    pub steps: usize,
    /// What the step came to.
    pub step: &'a Step,
    /// Seconds of the step, lessons included.
    pub seconds: f64,
}

/// Files beside the weights of a checkpoint.
const COMPANIONS: [&str; 6] = [
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
];

pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io {
        path,
        action,
        source,
    }
}

/// Runs a recipe from the checkpoint folder `start` into `out`, going on where an earlier run stopped. `out/checkpoint` gets the weights in bf16 with
/// all files that a checkpoint needs, `out/loss.csv` a line a step. `limit` stops after so many steps.
///
/// # Errors
/// Those of reading the checkpoint, of training and of writing files.
pub fn run(
    recipe: &Recipe,
    start: &Path,
    out: &Path,
    limit: Option<usize>,
    report: &dyn Fn(&Report<'_>),
) -> Result<(), Error> {
    fs::create_dir_all(out).map_err(io(out, "making"))?;
    let read = |from: &Path| Engine::load(from, spare_models::WeightDtype::F32).map(Arc::new);
    let engine = read(start)?;
    let mut weights: PathBuf = start.to_path_buf();
    let mut left = limit.unwrap_or(usize::MAX);
    for (number, stage) in recipe.stages.iter().enumerate() {
        let folder = out.join(&stage.name);
        let open = |path: &Path| -> Result<TrainModel, Error> {
            Ok(TrainModel::load(&Checkpoint::open(path)?)?)
        };
        let mut portions = stage.batch.iter();
        // What a stage begins with decides about the histories that it learns from.
        let judge = match portions.any(|p| p.lesson == Lesson::Pruned) {
            true => read(&weights)?,
            false => Arc::clone(&engine),
        };
        let mut trainer = if Trainer::is_saved(&folder) {
            Trainer::resume(open(start)?, stage.settings.clone(), &folder)?
        } else {
            Trainer::new(open(&weights)?, stage.settings.clone())
        };
        let mut curve = Curve::open(out, stage, trainer.step())?;
        let pictures = Pictures::default();
        let stop = stage.stop.unwrap_or(usize::MAX);
        let done = |trainer: &Trainer| trainer.done() || trainer.step() >= stop;
        while !done(&trainer) && left > 0 {
            let started = Instant::now();
            let batch = batch((&engine, &judge), stage, number, trainer.step(), &pictures)?;
            let step = trainer.learn(&batch)?;
            let seconds = started.elapsed().as_secs_f64();
            curve.push(stage, &step, seconds);
            report(&Report {
                stage: &stage.name,
                steps: stage.settings.schedule.steps,
                step: &step,
                seconds,
            });
            pictures
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .clear();
            left -= 1;
            let due = trainer.step().is_multiple_of(stage.save_every.max(1));
            if due || done(&trainer) || left == 0 {
                trainer.save(&folder)?;
                copy(start, &folder)?;
                curve.save()?;
                export(&trainer, start, &out.join("checkpoint"))?;
            }
        }
        if left == 0 {
            return Ok(());
        }
        weights = folder;
    }
    Ok(())
}

/// The lessons of one step, the same whenever and on however many threads they are made.
fn batch(
    (engine, judge): (&Engine, &Arc<Engine>),
    stage: &Stage,
    number: usize,
    step: usize,
    pictures: &Pictures,
) -> Result<Vec<Sequence>, Error> {
    let mut out = Vec::new();
    for (p, portion) in stage.batch.iter().enumerate() {
        let seed = Stage::seed(number, p);
        let first = step * portion.count;
        let all: Result<Vec<Sequence>, Error> = (first..first + portion.count)
            .into_par_iter()
            .map(|index| {
                let made = lesson(portion.lesson, &portion.knobs, seed, index);
                let (mut run, guesses) = made.map_err(|error| Error::Option {
                    option: "world",
                    found: error.to_string(),
                    expected: "a board that can be drawn".into(),
                })?;
                let mut skipped = 0;
                if portion.lesson == Lesson::Pruned {
                    let method = Method::ALL.get(index % Method::ALL.len());
                    let method = method.copied().unwrap_or(Method::Full);
                    (run, skipped) = pruned(judge, run, method, seed ^ index as u64)?;
                }
                let learnt = Learnt {
                    guesses: &guesses,
                    skipped,
                    targets: stage.targets,
                };
                sequence_with(engine, &run, learnt, pictures)
            })
            .collect();
        out.extend(all?);
    }
    Ok(out)
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    for file in COMPANIONS {
        let (from, to) = (from.join(file), to.join(file));
        if from.exists() {
            fs::copy(&from, &to).map_err(io(&to, "writing"))?;
        }
    }
    Ok(())
}

fn export(trainer: &Trainer, start: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(io(to, "making"))?;
    copy(start, to)?;
    let weights = to.join("model.safetensors");
    Ok(trainer.model().params().save(&weights, SavedDtype::Bf16)?)
}

/// The loss curve: a line a step.
struct Curve {
    path: PathBuf,
    text: String,
}

impl Curve {
    /// The curve so far, without the lines behind step `step` of this stage: they are made again.
    fn open(out: &Path, stage: &Stage, step: usize) -> Result<Self, Error> {
        let path = out.join("loss.csv");
        let kinds = TokenKind::LEARNT.map(|(_, name)| name).join(",");
        let mut text = format!("stage,step,loss,rate,norm,tokens,seconds,{kinds}\n");
        if path.exists() {
            let old = fs::read_to_string(&path).map_err(io(&path, "reading"))?;
            for line in old.lines().skip(1) {
                let mut cells = line.split(',');
                let own = cells.next() == Some(stage.name.as_str());
                let number = cells.next().and_then(|n| n.parse::<usize>().ok());
                if !own || number.is_some_and(|n| n < step) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        Ok(Self { path, text })
    }

    fn push(&mut self, stage: &Stage, step: &Step, seconds: f64) {
        let outcome = &step.outcome;
        let _ = write!(
            self.text,
            "{},{},{:.5},{:.3e},{:.3},{},{seconds:.2}",
            stage.name, step.step, outcome.loss, step.rate, step.norm, outcome.tokens
        );
        for (kind, _) in TokenKind::LEARNT {
            let share = outcome.right.get(&(kind as u8));
            match share {
                Some((right, all)) => {
                    let _ = write!(self.text, ",{:.4}", *right as f64 / (*all).max(1) as f64);
                }
                None => self.text.push(','),
            }
        }
        self.text.push('\n');
    }

    fn save(&self) -> Result<(), Error> {
        fs::write(&self.path, &self.text).map_err(io(&self.path, "writing"))
    }
}
