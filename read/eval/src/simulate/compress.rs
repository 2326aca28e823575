//! ACON's zero-shot compression of observations (arXiv 2510.00615): a long tool result is replaced by what a model keeps of it. Without a model a stub stands in for it, under its own name.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use spare_read::estimate_tokens;

use super::conversation::Conversation;
use super::{QUESTIONS, Run, Task};
use crate::Error;
use crate::baselines::pages;
use crate::case::{Fit, Gold};
use crate::measure::flat;

/// Tokens above which a result is compressed: the configuration for question answering, which SparseRead compared itself with.
const THRESHOLD: usize = 400;
/// Behind it stands what replaces the result.
const MARKER: &str = "# Refined Observation";

/// Makes a long result short.
pub trait Compressor {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// The reply to a prompt that ends with `observation`.
    ///
    /// # Errors
    /// What the program says.
    fn reply(&self, prompt: &str, observation: &str) -> Result<String, Error>;
}

/// A program that hands its standard input to a model and prints the reply: ACON proper.
pub struct Program(pub PathBuf);

impl Compressor for Program {
    fn name(&self) -> &'static str {
        "ACON"
    }

    fn reply(&self, prompt: &str, _: &str) -> Result<String, Error> {
        let mut child = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, prompt) = (child.stdin.take(), prompt.to_owned());
        let writer = std::thread::spawn(move || {
            input.map_or(Ok(()), |mut input| input.write_all(prompt.as_bytes()))
        });
        let output = child.wait_with_output()?;
        // A program that does not read to the end has its reasons; its reply counts.
        let _ = writer.join();
        if !output.status.success() {
            return Err(Error::Usage(format!(
                "{}: found {}, expected a reply",
                self.0.display(),
                output.status
            )));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// No model: keeps exactly the lines with known answers, in no words of its own. No model does better with so few tokens, so what it costs is a lower bound for ACON, and not ACON.
pub struct Stub<'a>(pub &'a [Gold]);

impl Compressor for Stub<'_> {
    fn name(&self) -> &'static str {
        "compressor stub"
    }

    fn reply(&self, _: &str, observation: &str) -> Result<String, Error> {
        let answers = || self.0.iter().map(|gold| gold.answer.as_str());
        let kept: Vec<&str> = observation
            .split_inclusive(['\n', '.', '。'])
            .filter(|piece| answers().any(|answer| piece.contains(answer)))
            .collect();
        // An answer may reach over the end of a sentence.
        let whole = flat(observation);
        let kept_flat = flat(&kept.concat());
        let torn: Vec<&str> = answers()
            .filter(|answer| whole.contains(&flat(answer)) && !kept_flat.contains(&flat(answer)))
            .collect();
        Ok(format!("{MARKER}\n{}\n{}", kept.concat(), torn.join("\n")))
    }
}

/// A result that was made short.
pub(super) struct Refined {
    /// What the agent sees.
    pub text: String,
    /// Prompt and reply of the compressor; 0 where the result was short.
    pub tokens: f64,
}

/// Makes a result short where it is long. A reply without the marker is taken whole; an empty one leaves the result as it is.
pub(super) fn refine(
    compressor: &dyn Compressor,
    task: &str,
    history: &str,
    observation: &str,
) -> Result<Refined, Error> {
    if estimate_tokens(observation) <= THRESHOLD {
        return Ok(Refined {
            text: observation.to_owned(),
            tokens: 0.0,
        });
    }
    let prompt = format!(
        "You compress observations for an agent that works on a task.\n\n\
         Keep the least that the next steps need: facts, names, numbers, paths and errors that bear on the task, word for word. Leave out what repeats the history, and add nothing.\n\
         First write a part `# Reasoning`: what does the task still need, and where does the observation say it? Then write a part `{MARKER}` with nothing but what the agent shall see.\n\n\
         ## User task\n{task}\n\n## History of interactions\n{history}\n\n## Current observation\n{observation}\n"
    );
    let reply = compressor.reply(&prompt, observation)?;
    let tokens = (estimate_tokens(&prompt) + estimate_tokens(&reply)) as f64;
    let kept = reply
        .split_once(MARKER)
        .map_or(reply.as_str(), |(_, kept)| kept)
        .trim();
    Ok(Refined {
        text: if reply.trim().is_empty() {
            observation.to_owned()
        } else {
            kept.to_owned()
        },
        tokens,
    })
}

impl Task<'_> {
    /// Pages until all answers stand in what a compressor kept of them.
    pub(super) fn compressed(&self, fixed: f64) -> Result<Run, Error> {
        let golds = self.golds();
        let compressor: Box<dyn Compressor + '_> = match &self.compressor {
            Some(program) => Box::new(Program(program.clone())),
            None => Box::new(Stub(&golds)),
        };
        let questions: Vec<&str> = self
            .case
            .asked
            .iter()
            .take(QUESTIONS)
            .map(|asked| asked.question.as_str())
            .collect();
        let task = questions.join("\n");
        let mut talk = Conversation::new(fixed, self.words);
        let mut history = String::new();
        let (mut known, mut whole) = (String::new(), true);
        for page in pages(&self.files) {
            let file = self.files.get(page.0);
            let text = file.and_then(|file| file.text.get(page.1.clone()));
            let refined = refine(
                compressor.as_ref(),
                &task,
                &history,
                text.unwrap_or_default(),
            )?;
            if refined.tokens > 0.0 {
                talk.aside(refined.tokens);
                whole = false;
            }
            history.push_str(&format!(
                "read {} from {}\n",
                file.map_or("", |file| file.path.as_str()),
                page.1.start
            ));
            known.push_str(&flat(&refined.text));
            known.push('\n');
            if !talk.call(estimate_tokens(&refined.text) as f64) {
                return Ok(talk.answer(false));
            }
            let all = golds.iter().all(|gold| known.contains(&flat(&gold.answer)));
            if all && !self.reads_all() {
                break;
            }
        }
        let all = golds.iter().all(|gold| known.contains(&flat(&gold.answer)));
        Ok(talk.answer(if self.case.fit == Fit::Native {
            whole
        } else {
            all
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct Says(&'static str);

    impl Compressor for Says {
        fn name(&self) -> &'static str {
            "test"
        }

        fn reply(&self, _: &str, _: &str) -> Result<String, Error> {
            Ok(self.0.to_owned())
        }
    }

    #[test]
    fn only_what_stands_behind_the_marker_replaces_a_long_result() {
        let long = "Nothing happened there. ".repeat(200);
        let of = |reply| refine(&Says(reply), "task", "", &long).unwrap();
        let refined = of("# Reasoning\nbecause\n# Refined Observation\nthe gauge is 12\n");
        assert_eq!(refined.text, "the gauge is 12");
        assert!(refined.tokens > estimate_tokens(&long) as f64);
        assert_eq!(of("the gauge is 12").text, "the gauge is 12");
        assert_eq!(of("  \n").text, long);
        let short = refine(&Says("x"), "task", "", "short").unwrap();
        assert_eq!((short.text.as_str(), short.tokens), ("short", 0.0));
    }

    #[test]
    fn the_stub_keeps_the_known_answers_and_hardly_more() {
        let golds = [Gold {
            path: "a".into(),
            bytes: 0..0,
            answer: "12,500 a year".into(),
            spot: None,
        }];
        let text = format!(
            "{}The budget is 12,500\na year. {}",
            "Nothing. ".repeat(300),
            "Nothing. ".repeat(300)
        );
        let refined = refine(&Stub(&golds), "task", "", &text).unwrap();
        assert!(
            refined.text.contains("12,500 a year") && refined.text.len() < 60,
            "{}",
            refined.text
        );
    }
}
