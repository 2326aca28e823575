//! The numbers of one labelled run under one of its summaries: all passes, so that every rule can be asked afterwards.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spare_models::Control;

use super::{Labels, Variant};
use crate::engine::Engine;
use crate::error::Error;
use crate::formats;
use crate::plan::{self, Event, Trigger};
use crate::pruner::{EventContext, measure};
use crate::replay::PictureRoot;
use crate::rules::Pass;
use crate::score::{EventScores, LocalScorer, ScoreOptions};
use crate::summary::SummaryTool;
use crate::trajectory::{Segment, Trajectory, VisibleText, segments};

/// A labelled run, read.
pub struct Subject {
    /// The run.
    pub run: Trajectory,
    /// What is true of it.
    pub labels: Labels,
    /// Its segments.
    pub segments: Vec<Segment>,
    value: Value,
}

/// What was measured of a run under one summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The run's id.
    pub id: String,
    /// Which of its summaries.
    pub variant: usize,
    /// The numbers.
    pub scores: EventScores,
    /// Candidates that the template does not show.
    pub hidden: Vec<usize>,
    /// Wall clock of the replay.
    pub seconds: f64,
}

impl Subject {
    /// Reads a run with its labels. Errors name what is missing.
    pub fn read(value: Value) -> Result<Self, Error> {
        let wrong = |found: String| Error::Option {
            option: "RUNS",
            found,
            expected: "runs with labels in `metadata`, as `spare eval runs` writes them".into(),
        };
        let labels = value.get("metadata").cloned().unwrap_or_default();
        let labels: Labels =
            serde_json::from_value(labels).map_err(|error| wrong(error.to_string()))?;
        let run = formats::format_of(&value, None)?.read(&value)?;
        Ok(Self {
            segments: segments(&run, VisibleText::Auto),
            run,
            labels,
            value,
        })
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        self.run.id.as_deref().unwrap_or("")
    }

    /// The run with another summary in its call.
    pub fn with(&self, variant: &Variant) -> Result<Trajectory, Error> {
        let tool = SummaryTool::default();
        let mut value = self.value.clone();
        let messages = value.get_mut("messages").and_then(Value::as_array_mut);
        let calls = messages
            .into_iter()
            .flatten()
            .filter_map(|m| m.get_mut("tool_calls"))
            .filter_map(Value::as_array_mut)
            .flatten();
        for function in calls.filter_map(|c| c.get_mut("function")) {
            if function.get("name").and_then(Value::as_str) == Some(tool.name.as_str()) {
                let argument = serde_json::json!({ tool.argument.as_str(): variant.text });
                if let Some(arguments) = function.get_mut("arguments") {
                    *arguments = Value::String(argument.to_string());
                }
            }
        }
        Ok(formats::format_of(&value, None)?.read(&value)?)
    }

    /// Its first event.
    pub fn event(&self, run: &Trajectory) -> Option<Event> {
        let tool = SummaryTool::default();
        let events = plan::events(run, &self.segments, Trigger::Model, &tool, false);
        events.into_iter().next()
    }

    /// Replays the run under one summary.
    pub fn measure(
        &self,
        engine: &Engine,
        scorer: &mut LocalScorer,
        variant: usize,
        root: &PictureRoot,
    ) -> Result<Option<Measured>, Error> {
        let Some(summary) = self.labels.variants.get(variant) else {
            return Ok(None);
        };
        let run = self.with(summary)?;
        let Some(event) = self.event(&run) else {
            return Ok(None);
        };
        let context = EventContext {
            run: &run,
            segments: &self.segments,
            event: &event,
            sigma: &summary.text,
        };
        let needs = [Pass::Student, Pass::Teacher, Pass::Bare];
        let options = ScoreOptions::default();
        let started = std::time::Instant::now();
        let control = Control::default();
        let (replay, scores) = measure(engine, scorer, &context, &needs, options, root, &control)?;
        Ok(Some(Measured {
            id: self.id().to_owned(),
            variant,
            scores,
            hidden: replay.hidden,
            seconds: started.elapsed().as_secs_f64(),
        }))
    }
}
