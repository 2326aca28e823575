//! `spare-read-eval table [--split dev|test] [--budget TOKENS] [--set NAME] [--log FILE] [--parts]`

use std::io::Write;

use spare_read_eval::case::Set;
use spare_read_eval::sets::{self, GENERATED};
use spare_read_eval::{Error, measure, seeds, table};

fn main() -> std::process::ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spare-read-eval: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

struct Options(Vec<String>);

impl Options {
    fn value(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|word| word == name)
    }
}

fn run(words: Vec<String>) -> Result<(), Error> {
    let options = Options(words);
    match options.0.first().map(String::as_str) {
        Some("table") => evidence(&options),
        _ => Err(Error::Usage("expected `table [--split dev|test] [--budget TOKENS] [--set NAME] [--log FILE] [--parts]`".into())),
    }
}

fn evidence(options: &Options) -> Result<(), Error> {
    let seeds = if options.value("--split") == Some("test") {
        seeds::TEST
    } else {
        seeds::DEV
    };
    let budget = options
        .value("--budget")
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_200);
    let mut log = options
        .value("--log")
        .map(std::fs::File::create)
        .transpose()?;
    let mut outcomes = Vec::new();
    let wanted = |set: Set| {
        options.value("--set").is_none_or(|name| {
            serde_json::to_string(&set).is_ok_and(|known| known.trim_matches('"') == name)
        })
    };
    for set in GENERATED
        .into_iter()
        .filter(|set| *set != Set::NativeFit && wanted(*set))
    {
        for seed in seeds.clone() {
            let Some(case) = sets::case(set, seed) else {
                continue;
            };
            let folder = tempfile::tempdir()?;
            for outcome in measure::case(&case, folder.path(), budget)? {
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
