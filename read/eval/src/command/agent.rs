//! A scripted agent under every policy, and the gate against an oracle.

use std::io::Write;

use spare_read::Gate;
use spare_read_eval::sets::{self, GENERATED};
use spare_read_eval::simulate::{POLICIES, Policy, Task};
use spare_read_eval::{Error, fit};

use crate::Options;

/// The name of a policy; the one with a compressor is ACON only where a program compresses.
fn title(policy: Policy, compressor: bool) -> String {
    match policy {
        Policy::Compressed if compressor => "ACON".into(),
        Policy::Compressed => "compressor stub".into(),
        other => serde_json::to_string(&other)
            .unwrap_or_default()
            .trim_matches('"')
            .to_owned(),
    }
}

/// Tokens and answers of every policy, a line a set; and the gate against the oracle.
pub(crate) fn agent(options: &Options) -> Result<(), Error> {
    let seeds = options.split()?;
    let fixed = options.number("--fixed", 12_000.0)?;
    let mut log = options.log()?;
    let compressor = options.path("--compressor");
    let gate = Gate::default();
    println!(
        "fixed prompt {fixed} tokens, seeds {seeds:?}; tokens of all tasks in thousands, share answered in brackets\n"
    );
    println!(
        "| set | tasks | {} |",
        POLICIES
            .map(|policy| title(policy, compressor.is_some()))
            .join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(POLICIES.len()));
    let mut equal = Vec::new();
    for set in GENERATED {
        let mut sums = [(0.0, 0_usize, 0_usize); POLICIES.len()];
        let mut pairs = [(0.0, 0.0, 0_usize); POLICIES.len()];
        let mut tasks = 0;
        for seed in seeds.clone() {
            let Some(case) = sets::case(set, seed) else {
                continue;
            };
            let folder = tempfile::tempdir()?;
            case.write(folder.path())?;
            let task = Task::new(&case, folder.path()).with_compressor(compressor.clone());
            tasks += 1;
            let mut runs = Vec::with_capacity(POLICIES.len());
            for (policy, sum) in POLICIES.into_iter().zip(&mut sums) {
                let run = task.run(policy, fixed, &gate, true)?;
                runs.push((policy, run));
                *sum = (
                    sum.0 + run.tokens,
                    sum.1 + run.requests,
                    sum.2 + usize::from(run.answered),
                );
                if let Some(log) = &mut log {
                    writeln!(
                        log,
                        "{}",
                        serde_json::json!({"set": set, "seed": seed, "policy": policy, "fixed": fixed, "run": run})
                    )?;
                }
            }
            let spare = runs
                .iter()
                .find(|(policy, _)| *policy == Policy::Spare)
                .map(|(_, run)| *run);
            for ((_, run), pair) in runs.iter().zip(&mut pairs) {
                if let Some(spare) = spare.filter(|spare| spare.answered && run.answered) {
                    *pair = (pair.0 + spare.tokens, pair.1 + run.tokens, pair.2 + 1);
                }
            }
        }
        let name = serde_json::to_string(&set)?;
        equal.push(format!(
            "| {} | {} |",
            name.trim_matches('"'),
            pairs
                .map(|(spare, other, count)| if count == 0 {
                    "-".into()
                } else {
                    format!("{:.2} ({count})", spare / other)
                })
                .join(" | ")
        ));
        println!(
            "| {} | {tasks} | {} |",
            name.trim_matches('"'),
            sums.map(|(tokens, _, answered)| format!(
                "{:.0} ({:.0} %)",
                tokens / 1e3,
                100.0 * answered as f64 / f64::from(tasks.max(1))
            ))
            .join(" | ")
        );
    }
    println!(
        "\ntokens of `spare` for one token of each policy, over the tasks that both answer (their number in brackets)\n\n{}",
        equal.join("\n")
    );
    for purpose_known in [true, false] {
        let costs = fit::costs(seeds.clone(), fixed, purpose_known)?;
        let native: Vec<fit::Costs> = costs.iter().filter(|case| case.native).cloned().collect();
        let (all, modes) = fit::regret(&costs, &gate);
        println!(
            "\ngate, purpose {}: {:.2} % above the oracle on {} cases, {:.2} % on the {} that need all; force, advisory, native, inline: {modes:?}",
            if purpose_known { "given" } else { "unknown" },
            all * 100.0,
            costs.len(),
            fit::regret(&native, &gate).0 * 100.0,
            native.len()
        );
    }
    Ok(())
}
