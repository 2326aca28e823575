//! Does a rule keep what the future of the run depends on? The divergence of what the model wrote afterwards, with and without a
//! segment, and with and without all that a plan takes.

use spare_models::Control;
use spare_models::prompt::Chat;

use super::{Case, Contender, Curve, Outcome};
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
