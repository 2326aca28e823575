//! What is an episode, whole to learn from, or only its opening to go on from?

use serde_json::{Value, json};
use spare_models::image::ImageError;

use super::expert::Writer;
use super::{Environment, Knobs};
use crate::trajectory::{Message, Part, PictureSource, Trajectory};

/// A guess that the reading contradicts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Conflict {
    /// Which of the asked things.
    pub step: usize,
    /// The guess.
    pub stale: String,
    /// How often it is said.
    pub mentions: usize,
    /// Whether the summary states the reading.
    pub stated: bool,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Episode {
    /// Its name.
    pub id: String,
    /// The run; pictures are in memory.
    pub run: Trajectory,
    /// Sentences that hold a guess, which nobody can know: not to be learnt.
    pub guesses: Vec<String>,
    /// Guesses that a reading contradicts.
    pub conflicts: Vec<Conflict>,
    /// The right answer.
    pub answer: String,
}

/// The beginning of a run, up to the answer to the first summary call: an agent goes on from here.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The run.
    pub run: Trajectory,
    /// Guesses that stand in it.
    pub conflicts: Vec<Conflict>,
}

impl Environment {
    /// The expert's whole episode.
    ///
    /// # Errors
    /// Where a picture cannot be written.
    pub fn episode(&self, knobs: &Knobs, seed: u64, index: usize) -> Result<Episode, ImageError> {
        let mut writer = Writer::new(self, knobs, seed, index)?;
        writer.work(false)?;
        Ok(Episode {
            id: format!("world-{seed}-{index:05}"),
            run: writer.run,
            guesses: writer.guesses,
            conflicts: writer.conflicts,
            answer: self.task.answer(&self.task.values()),
        })
    }

    /// The expert's episode up to its first summary, which there must be: see [`Knobs::summaries`].
    ///
    /// # Errors
    /// Where a picture cannot be written.
    pub fn opening(&self, knobs: &Knobs, seed: u64, index: usize) -> Result<Opening, ImageError> {
        let mut writer = Writer::new(self, knobs, seed, index)?;
        writer.work(true)?;
        Ok(Opening {
            run: writer.run,
            conflicts: writer.conflicts,
        })
    }

    /// The question with every value told beforehand, and what follows from them, thought and answered in one turn without a picture.
    pub fn told(&self, knobs: &Knobs, seed: u64, index: usize) -> Result<Trajectory, ImageError> {
        let asked = self.task.asked().iter();
        let values: Vec<String> = asked
            .map(|thing| format!("{} = {}", thing.name(), thing.value))
            .collect();
        let values = format!("{}. {}", values.join("; "), self.task.question());
        let mut writer = Writer::new(self, knobs, seed, index)?;
        writer.run = Trajectory::new(Vec::new());
        writer.run.push(Message::user(values));
        writer.conclude();
        Ok(writer.run)
    }
}

impl Episode {
    /// The run in OpenAI Chat form as one line, and its pictures by the path it names them by.
    pub fn to_openai(&self) -> (Value, Vec<(String, Vec<u8>)>) {
        let mut pictures = Vec::new();
        let mut messages = self.run.template_messages(usize::MAX);
        for (message, value) in self.run.messages.iter().zip(&mut messages) {
            let Some(parts) = value.get_mut("content").and_then(Value::as_array_mut) else {
                continue;
            };
            for (part, value) in message.parts.iter().zip(parts) {
                let Part::Picture(picture) = part else {
                    continue;
                };
                let path = format!("img/{}-{}.png", self.id, pictures.len());
                if let PictureSource::Bytes(bytes) = &picture.source {
                    pictures.push((path.clone(), bytes.to_vec()));
                }
                *value = json!({"type": "image_url", "image_url": {"url": path}});
            }
        }
        let run = json!({"id": self.id, "messages": messages, "tools": self.run.tools,
            "metadata": {"answer": self.answer, "conflicts": self.conflicts}});
        (run, pictures)
    }
}
