//! Does a rule keep what the future of the run depends on? The divergence of what the model wrote afterwards, with and without a
//! segment, and with and without all that a plan takes.

use spare_models::Control;
use spare_models::prompt::Chat;

use super::{Case, Contender, Curve, Outcome};
use crate::engine::Engine;
use crate::error::Error;
use crate::evidence::TASK_STATE;
use crate::pruner::EventContext;
use crate::replay::{PictureRoot, future};
use crate::score::{Difference, LocalScorer, ReadFuture};
use crate::trajectory::{Part, Role, Segment, Trajectory};

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

/// What came after an event, and how much of it hangs on each candidate.
pub struct Held {
    view: Trajectory,
    from: usize,
    pictures: Vec<(usize, String)>,
    whole: ReadFuture,
    /// Tokens of the future.
    pub tokens: usize,
    /// Every candidate, left out alone.
    pub segments: Vec<LeftOut>,
}

/// Leaves out one segment of `shown` after the other. `sigma` stands where the model can read it.
pub(crate) fn hold(
    engine: &Engine,
    scorer: &mut LocalScorer,
    context: &EventContext<'_>,
    shown: &[&Segment],
    root: &PictureRoot,
) -> Result<Held, Error> {
    let control = Control::default();
    let run = told(engine, context)?;
    let at = context.event.at;
    // The turn that carries the summary is no future; an answer is.
    let from = at + usize::from(context.event.recorded.is_some());
    let end = run.messages.len();
    let view = engine.view(&run, end)?.into_owned();
    let pictures = scorer.pictures(&view, end, root)?;
    let base = future(&engine.prompter, &view, from, end, shown, &pictures)?;
    let tokens = base.written.len();
    let whole = scorer.read_future(base, &control)?;
    let mut out = Held {
        view,
        from,
        pictures,
        whole,
        tokens,
        segments: Vec::new(),
    };
    for (index, segment) in shown.iter().enumerate() {
        let edit = (*segment, "");
        let kl = |d: Option<Difference>| d.map(|d| d.kl);
        out.segments.push(LeftOut {
            segment: segment.index,
            needed: false,
            counterfactual: kl(out.without(engine, scorer, &[edit])?),
            knockout: kl(scorer.knockout(&out.whole, index, &control)?),
        });
    }
    Ok(out)
}

impl Held {
    /// The same future behind the history with some segments replaced; none where it is tokenised otherwise there.
    pub fn without(
        &self,
        engine: &Engine,
        scorer: &LocalScorer,
        edits: &[(&Segment, &str)],
    ) -> Result<Option<Difference>, Error> {
        let mut edited = self.view.clone();
        for (segment, text) in edits {
            edited.replace(segment.message, segment.slot, &segment.range, text);
        }
        let end = edited.messages.len();
        let other = future(
            &engine.prompter,
            &edited,
            self.from,
            end,
            &[],
            &self.pictures,
        )?;
        scorer.counterfactual(&self.whole, &other, &Control::default())
    }
}

/// Measures one case; `found`: what each rule made of it.
pub fn yardstick(
    engine: &Engine,
    scorer: &mut LocalScorer,
    case: &Case<'_>,
    found: &[(&Contender, &Outcome)],
    root: &PictureRoot,
) -> Result<Yardstick, Error> {
    let segments = &case.subject.segments;
    let scored = case.measured.scores.segments.iter();
    let shown: Vec<&Segment> = scored.filter_map(|s| segments.get(s.segment)).collect();
    let context = EventContext {
        run: case.run(),
        segments,
        event: case.event(),
        sigma: &case.variant.text,
    };
    let held = hold(engine, scorer, &context, &shown, root)?;
    let mut out = Yardstick {
        id: case.subject.id().to_owned(),
        variant: case.variant.name.clone(),
        future_tokens: held.tokens,
        segments: held.segments.clone(),
        plans: Vec::new(),
    };
    for left in &mut out.segments {
        let outcome = found.first().map(|(_, o)| *o);
        let own = outcome.and_then(|o| o.segments.iter().find(|s| s.segment == left.segment));
        left.needed = own.is_some_and(|s| s.standings.contains(&super::Standing::Needed));
    }
    for (contender, outcome) in found {
        let planned = outcome.plan.segments.iter();
        let edits = planned.filter_map(|p| Some((segments.get(p.segment)?, p.text.as_deref()?)));
        if let Some(d) = held.without(engine, scorer, &edits.collect::<Vec<_>>())? {
            let name = contender.name.clone();
            out.plans.push((name, d.kl, d.logq - d.logp));
        }
    }
    Ok(out)
}

/// The run with its summary where the model can read it: a template that shows no calls would hide it, and one from outside stands nowhere.
fn told(engine: &Engine, context: &EventContext<'_>) -> Result<Trajectory, Error> {
    let mut run = context.run.clone();
    let end = (context.event.at + 1).min(run.messages.len());
    let view = engine.view(&run, end)?;
    let chat = Chat {
        messages: view.template_messages(end),
        tools: view.tools.clone(),
        ..Chat::default()
    };
    let first = context.sigma.lines().next().unwrap_or("");
    if engine.prompter.render(&chat)?.text.contains(first) {
        return Ok(run);
    }
    let last = usize::from(context.event.recorded.is_none());
    let turns = run.messages.iter_mut().take(end - last).rev();
    let mut turns = turns.filter(|m| m.role == Role::Assistant);
    let text = turns.find_map(|m| {
        m.parts.iter_mut().find_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        })
    });
    if let Some(text) = text {
        text.text
            .push_str(&format!("\n{TASK_STATE}{}", context.sigma));
    }
    Ok(run)
}

/// All cases that were held against their future.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Yardsticks {
    cases: Vec<Yardstick>,
}

impl Yardsticks {
    /// Adds a case.
    pub fn push(&mut self, case: Yardstick) {
        self.cases.push(case);
    }

    /// For people; nothing where no case was measured.
    pub fn table(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        if self.cases.is_empty() {
            return out;
        }
        let tokens: usize = self.cases.iter().map(|c| c.future_tokens).sum();
        let alone: Vec<&LeftOut> = self.cases.iter().flat_map(|c| &c.segments).collect();
        let both: Vec<(f64, f64)> = alone
            .iter()
            .filter_map(|s| s.counterfactual.zip(s.knockout))
            .collect();
        let (whole, masked): (Vec<f64>, Vec<f64>) = both.iter().copied().unzip();
        let ranked = |of: fn(&LeftOut) -> Option<f64>| {
            let items = alone.iter().filter_map(|s| Some((of(s)?, s.needed)));
            Curve::of(&items.collect::<Vec<_>>()).auc
        };
        let _ = writeln!(
            out,
            "\nyardstick: {} cases, {tokens} future tokens; {} segments left out alone: counterfactual finds needed ones with AUC {:.3}, knockout with {:.3}; their rank correlation {:.3}",
            self.cases.len(),
            alone.len(),
            ranked(|s| s.counterfactual),
            ranked(|s| s.knockout),
            spearman(&whole, &masked)
        );
        let _ = writeln!(
            out,
            "{:15}  D(plan), nats a future token: complete, one fact omitted  log p of the recorded future: complete, omitted",
            "rule"
        );
        let names: Vec<&str> = self.cases.first().map_or(Vec::new(), |c| {
            c.plans.iter().map(|p| p.0.as_str()).collect()
        });
        for name in names {
            let _ = write!(out, "{name:15}");
            for of in [|p: &(String, f64, f64)| p.1, |p: &(String, f64, f64)| p.2] {
                for variant in ["complete", "omit"] {
                    let cases = self.cases.iter().filter(|c| c.variant == variant);
                    let found = cases.filter_map(|c| {
                        Some((
                            of(c.plans.iter().find(|p| p.0 == name)?),
                            c.future_tokens as f64,
                        ))
                    });
                    let (sum, tokens) = found.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
                    let _ = write!(out, "  {:>12.4}", sum / tokens);
                }
            }
            out.push('\n');
        }
        out
    }
}

/// Rank correlation; ties share their middle rank.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let below = |x: f64| values.iter().filter(|v| **v < x).count() as f64;
        let same = |x: f64| values.iter().filter(|v| **v == x).count() as f64;
        values
            .iter()
            .map(|x| below(*x) + (same(*x) - 1.0) / 2.0)
            .collect()
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| {
        x.iter()
            .zip(y)
            .map(|(x, y)| (x - mx) * (y - my))
            .sum::<f64>()
    };
    product(&a, ma, &b, mb) / (product(&a, ma, &a, ma) * product(&b, mb, &b, mb)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::spearman;

    #[test]
    fn ranks_that_agree_and_that_do_not() {
        assert!((spearman(&[1.0, 2.0, 9.0], &[0.1, 0.2, 0.3]) - 1.0).abs() < 1e-12);
        assert!((spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
    }
}
