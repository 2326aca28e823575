//! Evidence against known spans, a line a set.

use std::io::Write;

use spare_read_eval::case::Set;
use spare_read_eval::sets::{self, BINARY, GENERATED};
use spare_read_eval::{Error, measure, table};

use crate::{Options, worker};

pub(crate) fn evidence(options: &Options) -> Result<(), Error> {
    let seeds = options.split()?;
    let budget = options.number("--budget", 1_200.0)? as usize;
    let mut log = options.log()?;
    let mut outcomes = Vec::new();
    let wanted = |set: Set| {
        options.value("--set").is_none_or(|name| {
            serde_json::to_string(&set).is_ok_and(|known| known.trim_matches('"') == name)
        })
    };
    let worker = worker()?;
    for set in GENERATED
        .into_iter()
        .chain(BINARY)
        .filter(|set| *set != Set::NativeFit && wanted(*set))
    {
        for seed in seeds.clone() {
            let Some(case) = sets::case(set, seed) else {
                continue;
            };
            let folder = tempfile::tempdir()?;
            for outcome in measure::case(&case, folder.path(), budget, &worker)? {
                if let Some(log) = &mut log {
                    writeln!(log, "{}", serde_json::to_string(&outcome)?)?;
                }
                outcomes.push(outcome);
            }
        }
    }
    println!(
        "budget {budget} tokens, seeds {seeds:?}\n\n{}",
        table::evidence(&outcomes)
    );
    if options.has("--parts") {
        println!("{}", table::breakdown(&outcomes));
    }
    Ok(())
}
