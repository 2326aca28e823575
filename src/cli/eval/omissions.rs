//! `spare eval omissions`: what hangs on one statement of a summary?

use crate::cli::options::Common;
use crate::cli::output::print;
use crate::evidence::clauses;
use crate::plan::Verdict;
use crate::replay::PictureRoot;
use crate::summary::SummaryChoice;
use crate::trajectory::{Trajectory, atoms};
use crate::{Control, Error, PruneOptions, Pruned, Pruner};

/// Leave one statement after the other out of a run's summary: which verdicts change, and which values are lost?
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
}

/// Statements of a summary that hold a value, each with the summary without it.
fn omissions(sigma: &str) -> Vec<(String, String)> {
    let values = atoms(sigma);
    let mut out = Vec::new();
    for clause in clauses(sigma, &values) {
        let inside = values
            .iter()
            .any(|a| clause.start <= a.start && a.end <= clause.end);
        let (Some(before), Some(own), Some(after)) = (
            sigma.get(..clause.start),
            sigma.get(clause.clone()),
            sigma.get(clause.end..),
        ) else {
            continue;
        };
        let rest = format!("{}{after}", before.trim_end_matches([' ', ',']));
        if inside && !rest.trim().is_empty() {
            out.push((own.trim().to_owned(), rest));
        }
    }
    out
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let mut input = args.common.input()?;
    let pruner = args.common.pruner()?;
    let root = PictureRoot::new(args.common.picture_root());
    let mut number = 0;
    while let Some(record) = input.next()? {
        if record.is_blank() {
            continue;
        }
        let decide = || -> Result<String, Error> {
            let (run, _) = pruner.read(record.text()?)?;
            let whole = pruner.prune(&run, &root, &Control::default())?;
            one(number, &pruner, &run, &whole, &root)
        };
        let text = decide().map_err(|error| error.in_record(input.place(&record)))?;
        print(text.as_bytes())?;
        number += 1;
    }
    Ok(())
}

fn one(
    number: usize,
    pruner: &Pruner,
    run: &Trajectory,
    whole: &Pruned,
    root: &PictureRoot,
) -> Result<String, Error> {
    let mut out = String::new();
    let Some(outcome) = whole.events.iter().find(|e| e.sigma.is_some()) else {
        return Ok(format!("run {number}: no summary\n"));
    };
    let sigma = outcome.sigma.as_ref().map_or("", |s| s.text.as_str());
    out.push_str(&format!("run {number}: {}", verdicts(whole)));
    for (statement, rest) in omissions(sigma) {
        let options = PruneOptions {
            summary: SummaryChoice::Given(rest),
            ..pruner.options().clone()
        };
        let pruner = Pruner::new(pruner.engine().clone(), options);
        let found = pruner.prune(run, root, &Control::default())?;
        let mut changes = String::new();
        let pairs = planned(whole).zip(planned(&found));
        for ((segment, before), (_, after)) in pairs {
            if before != after {
                changes.push_str(&format!(" {segment}: {} -> {}", name(before), name(after)));
            }
        }
        let lost = found.events.iter().flat_map(|e| &e.plan.survival.lost);
        let lost: Vec<&str> = lost.map(String::as_str).collect();
        out.push_str(&format!(
            "  without \"{}\":{}",
            statement.replace('\n', " "),
            if changes.is_empty() {
                " no verdict changes"
            } else {
                &changes
            }
        ));
        out.push_str(&format!(
            "; lost: {}\n",
            if lost.is_empty() {
                "nothing".to_owned()
            } else {
                lost.join(", ")
            }
        ));
    }
    Ok(out)
}

fn planned(pruned: &Pruned) -> impl Iterator<Item = (usize, Verdict)> + '_ {
    let plans = pruned.events.iter().flat_map(|e| &e.plan.segments);
    plans.map(|p| (p.segment, p.verdict))
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Delete => "delete",
        Verdict::Evidence => "evidence",
        Verdict::Keep => "keep",
        Verdict::Frozen => "frozen",
        Verdict::Invisible => "invisible",
    }
}

fn verdicts(pruned: &Pruned) -> String {
    let each = planned(pruned).map(|(segment, verdict)| format!("{segment} {}", name(verdict)));
    let lost = pruned.events.iter().flat_map(|e| &e.plan.survival.lost);
    let lost: Vec<&str> = lost.map(String::as_str).collect();
    format!(
        "{}; lost: {}\n",
        each.collect::<Vec<_>>().join(", "),
        if lost.is_empty() {
            "nothing".to_owned()
        } else {
            lost.join(", ")
        }
    )
}

#[cfg(test)]
mod tests {
    use super::omissions;

    #[test]
    fn each_statement_with_a_value_goes_alone() {
        let found = omissions("Done: 2 calls. Evidence: plate BW14 WDZ, price $5. Open: nothing.");
        let rests: Vec<&str> = found.iter().map(|(_, rest)| rest.as_str()).collect();
        assert_eq!(
            rests,
            [
                " Evidence: plate BW14 WDZ, price $5. Open: nothing.",
                "Done: 2 calls. price $5. Open: nothing.",
                "Done: 2 calls. Evidence: plate BW14 WDZ Open: nothing.",
            ]
        );
    }
}
