//! Does a rule keep what the future of the run depends on? The divergence of what the model wrote afterwards, with and without a
//! segment, and with and without all that a plan takes.

use spare_models::Control;
use spare_models::prompt::Chat;

use super::{Case, Contender, Outcome};
use crate::engine::Engine;
use crate::error::Error;
use crate::replay::{Future, PictureRoot, future};
use crate::score::{Difference, LocalScorer};
use crate::trajectory::{Part, Segment, Trajectory};

/// One candidate under the yardstick.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LeftOut {
    /// Its number in the run.
    pub segment: usize,
    /// Whether it holds a needed value.
    pub needed: bool,
    /// With the tail recomputed; none where the future is tokenised otherwise.
    pub counterfactual: Option<f64>,
    /// With the segment masked only.
    pub knockout: Option<f64>,
}

/// One case.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Yardstick {
    /// The run.
    pub id: String,
    /// The summary.
    pub variant: String,
    /// Tokens of the future.
    pub future_tokens: usize,
    /// Every candidate, left out alone.
    pub segments: Vec<LeftOut>,
    /// For each rule: the divergence of the future once its whole plan is applied, and what that does to `log p` of the recorded future.
    pub plans: Vec<(String, f64, f64)>,
}

/// Measures one case; `found`: what each rule made of it.
pub fn yardstick(
    engine: &Engine,
    scorer: &mut LocalScorer,
    case: &Case<'_>,
    found: &[(&Contender, &Outcome)],
    root: &PictureRoot,
) -> Result<Yardstick, Error> {
    let control = Control::default();
    let run = told(engine, case)?;
    let segments = &case.subject.segments;
    let at = case.event().at;
    let end = run.messages.len();
    let view = engine.view(&run, end)?.into_owned();
    let pictures = scorer.pictures(&view, end, root)?;
    let shown: Vec<&Segment> = case
        .measured
        .scores
        .segments
        .iter()
        .filter_map(|s| segments.get(s.segment))
        .collect();
    let read = |run: &Trajectory, segments: &[&Segment]| -> Result<Future, Error> {
        future(&engine.prompter, run, at + 1, end, segments, &pictures)
    };
    let base = read(&view, &shown)?;
    let mut out = Yardstick {
        id: case.subject.id().to_owned(),
        variant: case.variant.name.clone(),
        future_tokens: base.written.len(),
        ..Yardstick::default()
    };
    let whole = scorer.read_future(base, &control)?;
    for (index, segment) in shown.iter().enumerate() {
        let mut without = view.clone();
        without.replace(segment.message, segment.slot, &segment.range, "");
        let without = read(&without, &[])?;
        let kl = |d: Option<Difference>| d.map(|d| d.kl);
        let outcome = found.first().map(|(_, o)| *o);
        let own = outcome.and_then(|o| o.segments.iter().find(|s| s.segment == segment.index));
        out.segments.push(LeftOut {
            segment: segment.index,
            needed: own.is_some_and(|s| s.standings.contains(&super::Standing::Needed)),
            counterfactual: kl(scorer.counterfactual(&whole, &without, &control)?),
            knockout: kl(scorer.knockout(&whole, index, &control)?),
        });
    }
    for (contender, outcome) in found {
        let mut pruned = view.clone();
        for planned in &outcome.plan.segments {
            if let (Some(text), Some(segment)) = (&planned.text, segments.get(planned.segment)) {
                pruned.replace(segment.message, segment.slot, &segment.range, text);
            }
        }
        let pruned = read(&pruned, &[])?;
        if let Some(d) = scorer.counterfactual(&whole, &pruned, &control)? {
            out.plans
                .push((contender.name.clone(), d.kl, d.logq - d.logp));
        }
    }
    Ok(out)
}

/// The run with its summary where the model can read it: a template that shows no calls would hide it.
fn told(engine: &Engine, case: &Case<'_>) -> Result<Trajectory, Error> {
    let mut run = case.run().clone();
    let at = case.event().at;
    let view = engine.view(&run, at + 1)?;
    let chat = Chat {
        messages: view.template_messages(at + 1),
        tools: view.tools.clone(),
        ..Chat::default()
    };
    let sigma = case.variant.text.lines().next().unwrap_or("");
    let shown = engine.prompter.render(&chat)?.text.contains(sigma);
    if !shown && let Some(message) = run.messages.get_mut(at) {
        let text = message.parts.iter_mut().find_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        if let Some(text) = text {
            text.text.push_str(&format!("\n{}", case.variant.text));
        }
    }
    Ok(run)
}
