//! `spare eval omissions`: what hangs on one statement of a summary?

use crate::cli::decided::{self, Decided};
use crate::cli::options::Common;
use crate::cli::output::print;
use crate::evidence::clauses;
use crate::plan::Verdict;
use crate::summary::SummaryChoice;
use crate::trajectory::atoms;
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
    decided::each(&args.common, |decided| print(table(decided)?.as_bytes()))
}

fn table(decided: &Decided<'_>) -> Result<String, Error> {
    let Decided {
        number,
        run,
        pruned: whole,
        pruner,
        root,
    } = decided;
    let Some(outcome) = whole.events.iter().find(|e| e.sigma.is_some()) else {
        return Ok(format!("run {number}: no summary\n"));
    };
    let sigma = outcome.sigma.as_ref().map_or("", |s| s.text.as_str());
    let verdicts = planned(whole).map(|(segment, verdict)| format!("{segment} {}", verdict.name()));
    let verdicts: Vec<String> = verdicts.collect();
    let mut out = format!(
        "run {number}: {}; lost: {}\n",
        verdicts.join(", "),
        lost(whole)
    );
    for (statement, rest) in omissions(sigma) {
        let options = PruneOptions {
            summary: SummaryChoice::Given(rest),
            ..pruner.options().clone()
        };
        let pruner = Pruner::new(pruner.engine().clone(), options);
        let found = pruner.prune(run, root, &Control::default())?;
        let pairs = planned(whole).zip(planned(&found));
        let changed = pairs.filter(|((_, before), (_, after))| before != after);
        let changes: Vec<String> = changed
            .map(|((segment, before), (_, after))| {
                format!("{segment}: {} -> {}", before.name(), after.name())
            })
            .collect();
        let statement = statement.replace('\n', " ");
        let changes = some_or(changes, "no verdict changes");
        out.push_str(&format!(
            "  without \"{statement}\": {changes}; lost: {}\n",
            lost(&found)
        ));
    }
    Ok(out)
}

/// The entries, or what to say where there are none.
fn some_or(entries: Vec<String>, none: &str) -> String {
    if entries.is_empty() {
        none.to_owned()
    } else {
        entries.join(", ")
    }
}

fn lost(pruned: &Pruned) -> String {
    let lost = pruned.events.iter().flat_map(|e| &e.plan.survival.lost);
    some_or(lost.cloned().collect(), "nothing")
}

fn planned(pruned: &Pruned) -> impl Iterator<Item = (usize, Verdict)> + '_ {
    let plans = pruned.events.iter().flat_map(|e| &e.plan.segments);
    plans.map(|p| (p.segment, p.verdict))
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
