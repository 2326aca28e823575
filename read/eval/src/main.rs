//! `spare-read-eval table|agent|fit|large`: evidence against known spans, a scripted agent under every policy, the gate's weights, one large table.

use std::io::Write;

use spare_read::extract::Worker;
use spare_read::{Gate, ReadRequest, Root, Session, Status};
use spare_read_eval::case::Set;
use spare_read_eval::sets::{self, BINARY, GENERATED};
use spare_read_eval::simulate::{POLICIES, Policy, Task};
use spare_read_eval::{Error, documents as crates, fit, measure, seeds, table};

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
        Some("fit") => fit(&options),
        Some("agent") => agent(&options),
        Some("large") => large(&options),
        Some("pictures") => pictures(&options),
        Some("worker") => Ok(spare_read::extract::serve(
            options.0.last().map_or("", String::as_str),
        )?),
        Some("documents") => documents(&options),
        _ => Err(Error::Usage("expected `table [--split dev|test] [--budget TOKENS] [--set NAME] [--log FILE] [--parts]`, `agent [--split dev|test] [--fixed TOKENS] [--log FILE]`, `fit [--out FILE]` `large [--rows N] [--seed N]`, `pictures [--split dev|test]` or `documents --sources FOLDER [--budget TOKENS]`".into())),
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

/// This program again, in a process of its own.
fn worker() -> Result<Worker, Error> {
    Ok(Worker::process(std::env::current_exe()?, &["worker"]))
}

/// Tokens of a whole picture, and of an overview and the part that matters; whether the part has the pixels of the file.
fn pictures(options: &Options) -> Result<(), Error> {
    let (mut whole, mut parts, mut same, mut count) = (0_u64, 0_u64, 0, 0);
    let patches = |(width, height): (u32, u32)| u64::from(width.div_ceil(32) * height.div_ceil(32));
    for seed in split(options) {
        let picture = sets::picture(seed);
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join(picture.name), &picture.bytes)?;
        let session = Session::new(Root::open(folder.path())?).with_worker(worker()?);
        let path = std::path::Path::new(picture.name);
        let overview = session.picture(path, 1, None, 512)?;
        let [left, top, width, height] = picture.region;
        let margin = 16;
        let area = [
            left.saturating_sub(margin),
            top.saturating_sub(margin),
            (width + 2 * margin).min(picture.size.0 - left.saturating_sub(margin)),
            (height + 2 * margin).min(picture.size.1 - top.saturating_sub(margin)),
        ];
        let part = session.picture(path, 1, Some(area.map(f64::from)), 1_024)?;
        let decode = |bytes: &[u8]| {
            image::load_from_memory(bytes)
                .map(|picture| picture.to_rgb8())
                .map_err(std::io::Error::other)
        };
        let cut =
            image::imageops::crop_imm(&decode(&picture.bytes)?, area[0], area[1], area[2], area[3])
                .to_image();
        same += usize::from(decode(&part.png)? == cut);
        whole += patches(overview.of);
        parts += patches(overview.size) + patches(part.size);
        count += 1;
    }
    println!(
        "{count} pictures: {whole} tokens whole, {parts} as an overview and the part ({:.1} %); {same} parts with the pixels of the file",
        100.0 * parts as f64 / whole as f64
    );
    Ok(())
}

fn split(options: &Options) -> std::ops::Range<u64> {
    if options.value("--split") == Some("test") {
        seeds::TEST
    } else {
        seeds::DEV
    }
}

fn number(options: &Options, name: &str, otherwise: f64) -> f64 {
    options
        .value(name)
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Fits on the development seeds at both prompts, with the purpose known and not.
fn fit(options: &Options) -> Result<(), Error> {
    let mut all = Vec::new();
    for (fixed, purpose_known) in [
        (4_000.0, true),
        (12_000.0, true),
        (4_000.0, false),
        (12_000.0, false),
    ] {
        all.extend(fit::costs(seeds::DEV, fixed, purpose_known)?);
    }
    let weights = fit::fit(
        &all,
        &format!("spare-read-eval fit, seeds {:?}", seeds::DEV),
    )?;
    let text = serde_json::to_string_pretty(&weights)? + "\n";
    match options.value("--out") {
        Some(path) => std::fs::write(path, &text)?,
        None => print!("{text}"),
    }
    let (above, modes) = fit::regret(&all, &Gate::new(weights)?);
    eprintln!(
        "{} cases, {:.2} % above the oracle; force, advisory, native, inline: {modes:?}",
        all.len(),
        above * 100.0
    );
    Ok(())
}

/// Tokens and answers of every policy, a line a set; and the gate against the oracle.
fn agent(options: &Options) -> Result<(), Error> {
    let seeds = split(options);
    let fixed = number(options, "--fixed", 12_000.0);
    let mut log = options
        .value("--log")
        .map(std::fs::File::create)
        .transpose()?;
    let gate = Gate::default();
    println!(
        "fixed prompt {fixed} tokens, seeds {seeds:?}; tokens of all tasks in thousands, share answered in brackets\n"
    );
    println!(
        "| set | tasks | {} |",
        POLICIES
            .map(|policy| serde_json::to_string(&policy)
                .unwrap_or_default()
                .trim_matches('"')
                .to_owned())
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
            let task = Task::new(&case, folder.path());
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

/// Ten rows of one large table, the last among them.
fn large(options: &Options) -> Result<(), Error> {
    let (rows, seed) = (
        number(options, "--rows", 1e7) as usize,
        number(options, "--seed", 9_000.0) as u64,
    );
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.csv");
    let asked = {
        let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
        let asked = sets::large_table(seed, rows, &mut out)?;
        out.flush()?;
        asked
    };
    println!(
        "{rows} rows, {} bytes, seed {seed}",
        std::fs::metadata(&path)?.len()
    );
    let mut found = 0;
    for asked in &asked {
        let mut session = Session::new(Root::open(folder.path())?);
        let start = std::time::Instant::now();
        let pack = session.read(
            std::path::Path::new("large.csv"),
            &ReadRequest {
                force: true,
                ..ReadRequest::question(asked.question.as_str())
            },
        )?;
        let hit = asked.gold.iter().all(|gold| {
            pack.spans.iter().any(|span| {
                span.anchor.bytes.start <= gold.bytes.start as u64
                    && gold.bytes.end as u64 <= span.anchor.bytes.end
                    && span.text.contains(&gold.answer)
            })
        });
        found += usize::from(hit);
        println!(
            "{:?} {:.2} s {}",
            pack.needs
                .first()
                .map_or(Status::NotSearched, |need| need.status),
            start.elapsed().as_secs_f64(),
            if hit { "found" } else { "missed" }
        );
    }
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "{found} of {}; {}",
        asked.len(),
        memory
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .unwrap_or("peak memory unknown")
    );
    Ok(())
}

/// Recall on files of packages; `--sources` is where cargo unpacked them (`registry/src/INDEX` of its home).
fn documents(options: &Options) -> Result<(), Error> {
    let sources = options
        .value("--sources")
        .ok_or_else(|| Error::Usage("expected --sources FOLDER".into()))?;
    let budget = number(options, "--budget", 1_200.0) as usize;
    let (mut shown, mut asked) = (0, 0);
    for document in crates::documents()? {
        let Some((status, hit)) = crates::ask(&document, std::path::Path::new(sources), budget)?
        else {
            println!("{}/{}: not here", document.package, document.file);
            continue;
        };
        asked += 1;
        shown += usize::from(hit);
        println!(
            "{} {status:?}: {}/{}: {}",
            if hit { "found " } else { "missed" },
            document.package,
            document.file,
            document.question
        );
    }
    println!(
        "{shown} of {asked}: {} %",
        spare_read_eval::statistics::rate(shown, asked)
    );
    Ok(())
}
