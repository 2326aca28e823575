//! The whole way of one run: events, contexts, scores, decisions, plan, edits, receipt. Each arrow is a value that can be looked at.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use serde_json::json;
use spare_models::Control;

use crate::engine::Engine;
use crate::error::Error;
use crate::evidence::{self, Source};
use crate::formats::{self, Edit, WireFormat, provider};
use crate::plan::{
    self, Event, EventInput, EventPlan, EventReceipt, PlanOptions, Receipt, SummaryReceipt,
    TextHash, Trigger,
};
use crate::replay::{self, PictureRoot, Plan, SIGMA_FORM};
use crate::rules::{Covered, Decision, Pass, Rule};
use crate::score::{self, EventScores, LocalScorer, ScoreOptions};
use crate::summary::{self, Sigma, SummaryChoice, SummaryTool};
use crate::trajectory::{Segment, Trajectory, VisibleText, segments};

/// Who writes evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvidenceBuilder {
    /// Rules over the segment's text; no model.
    #[default]
    Extract,
    /// The loaded model; where its lines are not faithful or too long, the rules.
    Generate,
}

/// Settings of a pruning.
#[derive(Clone)]
pub struct PruneOptions {
    /// When events stand.
    pub trigger: Trigger,
    /// Whence the summary comes.
    pub summary: SummaryChoice,
    /// Which tool carries it.
    pub tool: SummaryTool,
    /// What decides.
    pub rule: Arc<dyn Rule>,
    /// How tokens are scored.
    pub score: ScoreOptions,
    /// How verdicts become text.
    pub plan: PlanOptions,
    /// Who writes evidence.
    pub evidence: EvidenceBuilder,
    /// Whether text beside tool calls is reasoning.
    pub visible: VisibleText,
    /// The wire format, where it is not to be told from the content.
    pub format: Option<String>,
    /// Whose rules the history must obey; None means every rule known for the format.
    pub provider: Option<String>,
    /// Mend what can be mended without a choice before anything else (see [`formats::repair`]).
    pub repair: bool,
}

impl Default for PruneOptions {
    fn default() -> Self {
        Self {
            trigger: Trigger::Model,
            summary: SummaryChoice::Run,
            tool: SummaryTool::default(),
            rule: Arc::new(Covered::default()),
            score: ScoreOptions::default(),
            plan: PlanOptions::default(),
            evidence: EvidenceBuilder::Extract,
            visible: VisibleText::Auto,
            format: None,
            provider: None,
            repair: false,
        }
    }
}

/// What happened at one event.
pub struct EventOutcome {
    /// The event.
    pub event: Event,
    /// Why nothing was decided, where nothing was.
    pub skipped: Option<String>,
    /// The summary it was decided with.
    pub sigma: Option<Sigma>,
    /// The contexts that were replayed.
    pub replay: Option<Plan>,
    /// The numbers.
    pub scores: EventScores,
    /// What the rule said.
    pub decisions: Vec<Decision>,
    /// What changes.
    pub plan: EventPlan,
}

/// What happened to one run.
pub struct Pruned {
    /// The history afterwards.
    pub history: Trajectory,
    /// All segments of the run as it was.
    pub segments: Vec<Segment>,
    /// Events in order.
    pub events: Vec<EventOutcome>,
}

impl Pruned {
    /// Every segment that changes, with what replaces it.
    pub fn texts(&self) -> impl Iterator<Item = (&Segment, &str)> {
        let plans = self.events.iter().flat_map(|e| &e.plan.segments);
        plans.filter_map(|plan| Some((self.segments.get(plan.segment)?, plan.text.as_deref()?)))
    }
}

/// What one event is measured on.
pub(crate) struct EventContext<'a> {
    /// The history as it stands at the event.
    pub run: &'a Trajectory,
    pub segments: &'a [Segment],
    pub event: &'a Event,
    pub sigma: &'a str,
}

/// The contexts of an event and the numbers of the passes that `needs` names.
pub(crate) fn measure(
    engine: &Engine,
    scorer: &mut LocalScorer,
    context: &EventContext<'_>,
    needs: &[Pass],
    options: ScoreOptions,
    root: &PictureRoot,
    control: &Control,
) -> Result<(Plan, EventScores), Error> {
    let EventContext {
        run,
        segments,
        event,
        sigma,
    } = *context;
    let view = engine.view(run, event.at)?;
    let pictures = scorer.pictures(&view, event.at, root)?;
    let prompter = &engine.prompter;
    let replay = replay::build(prompter, &view, event, segments, sigma, &pictures)?;
    let mut scores = scorer.score(&replay, options, control)?;
    let stays = plan::staying_text(run, event, segments);
    score::locate(&mut scores, segments, sigma, &stays);
    if needs.contains(&Pass::Bare) && !scores.segments.is_empty() {
        let bare = replay::build_bare(prompter, &view, event, segments, &pictures, &replay)?;
        let values = score::values_of(sigma);
        scorer.score_bare(&bare, &values, segments, &mut scores, control)?;
    }
    Ok((replay, scores))
}

/// Prunes runs with one engine and one set of options. Cheap to clone and to share.
#[derive(Clone)]
pub struct Pruner {
    engine: Arc<Engine>,
    options: PruneOptions,
    shared: Option<Arc<score::Shared>>,
}

impl Pruner {
    /// A pruner on a loaded model.
    pub fn new(engine: Arc<Engine>, options: PruneOptions) -> Self {
        Self {
            engine,
            options,
            shared: None,
        }
    }

    /// The same, for many runs: the tower sees each distinct picture once, and the beginning that a run has in common with the one before
    /// (system prompt, tools) is computed once. Takes up to 256 MB and the KV cache of 2,048 tokens; no result changes.
    #[must_use]
    pub fn sharing(mut self) -> Self {
        self.shared = Some(Arc::default());
        self
    }

    /// The settings.
    pub fn options(&self) -> &PruneOptions {
        &self.options
    }

    /// The loaded model.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Decides every undecided event of a run. Later events see the edits of earlier ones. Opens pictures only when an event is scored.
    pub fn prune(
        &self,
        run: &Trajectory,
        root: &PictureRoot,
        control: &Control,
    ) -> Result<Pruned, Error> {
        self.prune_from(run, &mut self.scorer(), root, control)
    }

    /// A scorer for a run.
    pub(crate) fn scorer(&self) -> LocalScorer {
        LocalScorer::new(Arc::clone(&self.engine)).sharing(self.shared.clone())
    }

    /// [`prune`](Self::prune) with what is known of the run already.
    pub(crate) fn prune_from(
        &self,
        run: &Trajectory,
        scorer: &mut LocalScorer,
        root: &PictureRoot,
        control: &Control,
    ) -> Result<Pruned, Error> {
        let options = &self.options;
        let segments = segments(run, options.visible);
        let supplied = options.summary != SummaryChoice::Run;
        let events = plan::events(run, &segments, options.trigger, &options.tool, supplied);
        let mut out = Pruned {
            history: run.clone(),
            segments,
            events: Vec::new(),
        };
        for event in events {
            let outcome = self.decide(&out, event, scorer, root, control)?;
            for segment in &outcome.plan.segments {
                let (Some(text), Some(source)) = (&segment.text, out.segments.get(segment.segment))
                else {
                    continue;
                };
                out.history
                    .replace(source.message, source.slot, &source.range, text);
            }
            out.events.push(outcome);
        }
        Ok(out)
    }

    fn decide(
        &self,
        so_far: &Pruned,
        event: Event,
        scorer: &mut LocalScorer,
        root: &PictureRoot,
        control: &Control,
    ) -> Result<EventOutcome, Error> {
        let options = &self.options;
        let mut out = EventOutcome {
            skipped: None,
            sigma: None,
            replay: None,
            scores: EventScores {
                kl: options.score.kl,
                ..EventScores::default()
            },
            decisions: Vec::new(),
            plan: EventPlan::default(),
            event,
        };
        if out.event.decided {
            out.skipped = Some("an earlier pruning decided it".into());
            return Ok(out);
        }
        let no_summary = || {
            format!(
                "no summary: found no call of `{}` with a string `{}`",
                options.tool.name, options.tool.argument
            )
        };
        if options.summary == SummaryChoice::Run && out.event.recorded.is_none() {
            out.skipped = Some(no_summary());
            return Ok(out);
        }
        if out.event.candidates.is_empty() {
            out.skipped = Some("no reasoning stands before it".into());
            return Ok(out);
        }
        let run = &so_far.history;
        let view = self.engine.view(run, out.event.at)?;
        let sigma = match &options.summary {
            SummaryChoice::Given(text) => Some(Sigma::given(text.trim())),
            SummaryChoice::Run => out.event.recorded.clone(),
            SummaryChoice::Generate => {
                let pictures = scorer.pictures(&view, out.event.at, root)?;
                let trunk =
                    replay::trunk_ids(&self.engine.prompter, &view, out.event.at, &pictures)?;
                let spans: Vec<_> = trunk
                    .pictures
                    .iter()
                    .cloned()
                    .zip(pictures.into_iter().map(|(_, key)| key))
                    .collect();
                match summary::generate(
                    &self.engine,
                    scorer,
                    &trunk.ids,
                    &spans,
                    &options.tool,
                    control,
                )? {
                    Ok(sigma) => Some(sigma),
                    Err(unusable) => {
                        out.skipped = Some(unusable.reason().into());
                        return Ok(out);
                    }
                }
            }
        };
        let Some(sigma) = sigma.filter(|s| !s.text.trim().is_empty()) else {
            out.skipped = Some(no_summary());
            return Ok(out);
        };
        let (replay, scores) = measure(
            &self.engine,
            scorer,
            &EventContext {
                run,
                segments: &so_far.segments,
                event: &out.event,
                sigma: &sigma.text,
            },
            options.rule.needs(),
            options.score,
            root,
            control,
        )?;
        out.scores = scores;
        out.decisions = options.rule.decide(&out.scores);
        let failed = RefCell::new(None);
        let write = |source: &Source<'_>| match evidence::generate(&self.engine, source, control) {
            Ok(evidence) => evidence,
            Err(error) => {
                failed.replace(Some(error));
                None
            }
        };
        out.plan = plan::build(
            &EventInput {
                run,
                event: &out.event,
                segments: &so_far.segments,
                sigma: &sigma,
                scores: &out.scores,
                decisions: &out.decisions,
                hidden: &replay.hidden,
                count: &|text| self.engine.count(text),
                writer: (options.evidence == EvidenceBuilder::Generate).then_some(&write),
            },
            &options.plan,
        );
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        out.replay = Some(replay);
        out.sigma = Some(sigma);
        Ok(out)
    }

    /// Reads the text of one record in the format that it has, or that the options name.
    pub fn read(&self, text: &str) -> Result<(Trajectory, &'static dyn WireFormat), Error> {
        let value = formats::parse(text)?;
        let format = formats::format_of(&value, self.options.format.as_deref())?;
        let mut run = format.read(&value)?;
        for provider in provider::of(format, self.options.provider.as_deref())? {
            provider.freeze(&value, &mut run);
        }
        Ok((run, format))
    }

    /// Prunes the text of one record: the text afterwards and its receipt. Errors beside those of reading and scoring: a history that would break
    /// rules which the run does not break.
    pub fn prune_text(
        &self,
        text: &str,
        record: usize,
        root: &PictureRoot,
        control: &Control,
    ) -> Result<(String, Receipt, Pruned), Error> {
        let names = (
            self.options.format.as_deref(),
            self.options.provider.as_deref(),
        );
        let (mut mended, mut mends) = (Cow::Borrowed(text), Vec::new());
        if self.options.repair {
            let (text, done) = formats::repair(text, names.0, names.1)?;
            (mended, mends) = (Cow::Owned(text), done);
        }
        let (run, format) = self.read(&mended)?;
        let pruned = self.prune(&run, root, control)?;
        let edits: Vec<Edit> = pruned
            .texts()
            .flat_map(|(segment, new)| format.edits(segment, new))
            .collect();
        let (after, replaced) = formats::apply(&mended, &edits)?;
        if !replaced.is_empty() {
            let check = |text: &str| formats::check(&formats::parse(text)?, names.0, names.1);
            let violations =
                formats::worse(&check(&mended)?.violations, &check(&after)?.violations);
            if !violations.is_empty() {
                return Err(Error::Worse { violations });
            }
        }
        let mut receipt = self.receipt(&run, text, &after, replaced, record, &pruned);
        receipt.mends = mends;
        Ok((after, receipt, pruned))
    }

    /// Call this when the model has called `summarize_the_task`: decides the events that are new and edits the history in place.
    /// The receipt's byte ranges count in the JSON of `{"messages": ...}` that [`Trajectory::to_json`] gives.
    pub fn on_summary(&self, history: &mut Trajectory) -> Result<Receipt, Error> {
        self.on_summary_with(history, &PictureRoot::new("."), &Control::default())
    }

    /// The same with a picture root, a cancel flag and progress.
    pub fn on_summary_with(
        &self,
        history: &mut Trajectory,
        root: &PictureRoot,
        control: &Control,
    ) -> Result<Receipt, Error> {
        self.on_summary_from(history, &mut self.scorer(), root, control)
    }

    pub(crate) fn on_summary_from(
        &self,
        history: &mut Trajectory,
        scorer: &mut LocalScorer,
        root: &PictureRoot,
        control: &Control,
    ) -> Result<Receipt, Error> {
        let before = history.to_json();
        let pruned = self.prune_from(history, scorer, root, control)?;
        let edits: Vec<Edit> = pruned
            .texts()
            .filter_map(|(s, text)| {
                let place = history.template_place(s.message, s.slot, &s.range)?;
                let text = text.to_owned();
                Some(Edit::Text { place, text })
            })
            .collect();
        let (after, replaced) = formats::apply(&before, &edits)?;
        let receipt = self.receipt(history, &before, &after, replaced, 0, &pruned);
        *history = pruned.history;
        Ok(receipt)
    }

    fn receipt(
        &self,
        run: &Trajectory,
        before: &str,
        after: &str,
        replaced: Vec<formats::Replaced>,
        record: usize,
        pruned: &Pruned,
    ) -> Receipt {
        let options = &self.options;
        let scored = pruned.events.iter().any(|e| e.replay.is_some());
        let message = |segment: usize| pruned.segments.get(segment).map_or(0, |s| s.message);
        Receipt {
            schema: 1,
            record,
            id: run.id.clone(),
            container: None,
            error: None,
            mends: Vec::new(),
            before: TextHash::of(before),
            after: TextHash::of(after),
            replaced,
            rule: if scored {
                self.rule_card()
            } else {
                serde_json::Value::Null
            },
            model: scored.then(|| self.engine.card()),
            blind: self.engine.is_blind(),
            masked: Vec::new(),
            events: pruned
                .events
                .iter()
                .map(|e| {
                    let mut receipt = EventReceipt {
                        event: e.event.index,
                        at: e.event.at,
                        skipped: e.skipped.clone(),
                        summary: e.sigma.as_ref().map(|s| SummaryReceipt {
                            source: s.source,
                            sha256: s.sha256(),
                        }),
                        ..EventReceipt::default()
                    };
                    if e.replay.is_some() {
                        let (min, max) = e.scores.range();
                        receipt.nats = Some((min, max));
                        receipt.uninformative = options.rule.uninformative(max);
                        receipt.record(&e.plan, message);
                    }
                    receipt
                })
                .collect(),
        }
    }

    /// What decides, as receipts have it.
    pub(crate) fn rule_card(&self) -> serde_json::Value {
        json!({
            "rule": self.options.rule.card(),
            "top_k": self.options.score.top_k,
            "kl": self.options.score.kl,
            "sigma_form": SIGMA_FORM,
            "keep_atoms": self.options.plan.keep_atoms,
            "evidence": format!("{:?}", self.options.evidence).to_lowercase(),
        })
    }
}
