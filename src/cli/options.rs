//! What the user typed, turned into what it means.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::input::{Input, check_names};
use super::rule::RuleArgs;
use crate::plan::{PlanOptions, Trigger, sha256};
use crate::summary::{SummaryChoice, SummaryTool};
use crate::trajectory::VisibleText;
use crate::{DeviceChoice, Engine, Error, EvidenceBuilder, PruneOptions, Pruner, WeightDtype};

/// Options that prune, score and explain share.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// The run: .json (one, or an array of runs), .jsonl (one a line), either with .gz or .zst, or - for standard input.
    pub run: PathBuf,
    /// `board` (compiled in; it knows its small world only), a checkpoint folder, a GGUF file, or a repository of the Hugging Face Hub.
    #[arg(
        long,
        default_value = "board",
        value_name = "board|DIR|FILE.gguf|OWNER/NAME[@REVISION]"
    )]
    pub model: String,
    /// The vision tower of a GGUF model, a file of its own.
    #[arg(long, value_name = "FILE")]
    pub mmproj: Option<PathBuf>,
    /// Weights in memory. auto never rounds one: 16-bit weights stay as stored from 1.5 B parameters on and are widened to f32 below; quantised ones
    /// stay quantised. q8_0 and q4_k quantise the text model.
    #[arg(
        long,
        default_value = "auto",
        value_name = "auto|f32|bf16|f16|q8_0|q4_k"
    )]
    pub dtype: WeightDtype,
    /// Where to compute: `cuda:N` in a build with the feature `cuda`; auto takes the first such device, else the CPU.
    #[arg(long, default_value = "auto", value_name = "auto|cpu|cuda:N")]
    pub device: DeviceChoice,
    /// Whether pictures are looked at, or read as the text `[image]`, which a model without a vision tower needs.
    #[arg(long, value_enum, default_value_t = Pictures::See)]
    pub pictures: Pictures,
    /// Worker threads; all cores without it.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Where relative picture paths start; the folder of RUN without it.
    #[arg(long, value_name = "DIR")]
    pub images_from: Option<PathBuf>,
    /// The wire format of the runs; told from the content without it.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Whose rules the history must obey; without it every rule known for the format.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// When to decide: `model` (at each call of the summary tool), `fixed:N` (after every Nth turn with a call), `pre-answer`.
    #[arg(long, default_value = "model", value_parser = parse_trigger, value_name = "model|fixed:N|pre-answer")]
    pub trigger: Trigger,
    /// The summary: `run` (the call's argument), `generate` (the model writes it), a text, or @FILE.
    #[arg(long, default_value = "run", value_name = "run|generate|TEXT|@FILE")]
    pub summary: String,
    /// The tool whose call carries the summary.
    #[arg(
        long,
        default_value = "summarize_the_task.summary",
        value_name = "NAME[.ARG]"
    )]
    pub summary_tool: String,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Keep every value that stands in reasoning only and would be lost, whatever the rule says.
    #[arg(long, overrides_with = "no_keep_atoms")]
    pub keep_atoms: bool,
    /// Let the rule alone decide what is lost (the default).
    #[arg(long, overrides_with = "keep_atoms")]
    pub no_keep_atoms: bool,
    /// Who writes evidence: rules over the text, or the loaded model where its lines are faithful.
    #[arg(long, value_enum, default_value_t = EvidenceName::Extract)]
    pub evidence: EvidenceName,
    /// Whether text beside tool calls is reasoning. [default: only where a run has no reasoning fields or think tags]
    #[arg(long, value_enum, value_name = "prune|keep")]
    pub visible_text: Option<Visible>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pictures {
    See,
    Placeholder,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EvidenceName {
    Extract,
    Generate,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Visible {
    Prune,
    Keep,
}

pub(crate) fn parse_trigger(text: &str) -> Result<Trigger, String> {
    match text {
        "model" => Ok(Trigger::Model),
        "pre-answer" => Ok(Trigger::PreAnswer),
        other => other
            .strip_prefix("fixed:")
            .and_then(|n| n.parse().ok())
            .filter(|n| *n > 0)
            .map(Trigger::Fixed)
            .ok_or_else(|| "expected model, pre-answer or fixed:N with N of at least 1".into()),
    }
}

impl Common {
    /// Opens the run.
    pub fn input(&self) -> Result<Input, Error> {
        check_names(self.format.as_deref(), self.provider.as_deref())?;
        Input::open(&self.run, self.format.as_deref())
    }

    /// The pruner that these options ask for; loads the model.
    pub fn pruner(&self) -> Result<Pruner, Error> {
        self.pruner_with(false)
    }

    /// The same, mending each run first.
    pub fn pruner_with(&self, repair: bool) -> Result<Pruner, Error> {
        let options = PruneOptions {
            repair,
            ..self.prune_options()?
        };
        Ok(Pruner::new(Arc::new(self.engine()?), options).sharing())
    }

    /// Everything here that decides what a prune writes, by the option's name.
    pub fn settings(&self, pruner: &Pruner) -> serde_json::Value {
        let options = pruner.options();
        let summary = match &options.summary {
            SummaryChoice::Given(text) => sha256(text.as_bytes()),
            _ => self.summary.clone(),
        };
        serde_json::json!({
            "spare": env!("CARGO_PKG_VERSION"),
            "--model": pruner.engine().card(),
            "--rule": pruner.rule_card(),
            "--trigger": options.trigger,
            "--summary": summary,
            "--summary-tool": self.summary_tool,
            "--visible-text": options.visible,
            "--format": self.format,
            "--provider": self.provider,
            "--pictures": format!("{:?}", self.pictures).to_lowercase(),
        })
    }

    fn engine(&self) -> Result<Engine, Error> {
        set_threads(self.threads)?;
        let engine = load(&self.model, self.mmproj.as_deref(), self.dtype, self.device)?;
        Ok(match self.pictures {
            Pictures::See => engine,
            Pictures::Placeholder => engine.with_placeholders(),
        })
    }

    fn prune_options(&self) -> Result<PruneOptions, Error> {
        let option = |option, found: String, expected: &str| Error::Option {
            option,
            found,
            expected: expected.into(),
        };
        let tool = SummaryTool::parse(&self.summary_tool).ok_or_else(|| {
            option(
                "--summary-tool",
                format!("`{}`", self.summary_tool),
                "NAME or NAME.ARG",
            )
        })?;
        Ok(PruneOptions {
            trigger: self.trigger,
            summary: self.summary_choice()?,
            tool,
            rule: self.rule.rule()?,
            score: self.rule.score()?,
            plan: PlanOptions {
                keep_atoms: self.keep_atoms,
                ..PlanOptions::default()
            },
            evidence: match self.evidence {
                EvidenceName::Extract => EvidenceBuilder::Extract,
                EvidenceName::Generate => EvidenceBuilder::Generate,
            },
            visible: match self.visible_text {
                None => VisibleText::Auto,
                Some(Visible::Prune) => VisibleText::Prune,
                Some(Visible::Keep) => VisibleText::Keep,
            },
            format: self.format.clone(),
            provider: self.provider.clone(),
            repair: false,
        })
    }

    fn summary_choice(&self) -> Result<SummaryChoice, Error> {
        let text = match self.summary.as_str() {
            "run" => return Ok(SummaryChoice::Run),
            "generate" => return Ok(SummaryChoice::Generate),
            text => match text.strip_prefix('@') {
                None => text.to_owned(),
                Some(path) => std::fs::read_to_string(path).map_err(|source| Error::Io {
                    path: path.into(),
                    action: "reading the summary",
                    source,
                })?,
            },
        };
        if text.trim().is_empty() {
            let found = format!("`{}`, which is empty", self.summary);
            return Err(Error::Option {
                option: "--summary",
                found,
                expected: "run, generate, a text or @FILE".into(),
            });
        }
        Ok(SummaryChoice::Given(text))
    }

    /// Where relative picture paths start.
    pub fn picture_root(&self) -> PathBuf {
        let folder = || {
            self.run
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new("."))
        };
        self.images_from
            .clone()
            .unwrap_or_else(|| folder().to_owned())
    }
}

/// Loads the named checkpoint.
pub(crate) fn load(
    model: &str,
    mmproj: Option<&Path>,
    dtype: WeightDtype,
    device: DeviceChoice,
) -> Result<Engine, Error> {
    if model == "board" && mmproj.is_none() {
        #[cfg(feature = "embedded-model")]
        return Engine::board_as(dtype);
        #[cfg(not(feature = "embedded-model"))]
        return Err(Error::Option {
            option: "--model",
            found: "board, which this build does not carry".into(),
            expected: super::model::EXPECTED.into(),
        });
    }
    super::model::load(model, mmproj, dtype, device)
}

/// One pool for all numeric work. The environment is read by candle and rayon when they first need it.
pub(crate) fn set_threads(threads: Option<usize>) -> Result<(), Error> {
    match threads {
        None => Ok(()),
        Some(0) => Err(Error::Option {
            option: "--threads",
            found: "0".into(),
            expected: "at least 1".into(),
        }),
        Some(count) => {
            spare_models::set_threads(count);
            Ok(())
        }
    }
}
