//! `--sweep`: a grid of settings from the command line, and its table.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::figure;
use super::write;
use crate::cli::options::parse_trigger;
use crate::cli::output::print;
use crate::eval::act::{Actor, Scored, Standings};
use crate::eval::agent::{Player, Set, Setting, parse, sweep};
use crate::plan::Trigger;
use crate::replay::PictureRoot;
use crate::{Control, Error};

const EXPECTED: &str = "kappa=N,..., tau=X,..., k=N,... or trigger=model|fixed:N|pre-answer,...";

/// The settings that `NAME=VALUE,VALUE` lists span, the last list turning fastest. What is not named stays as published.
pub(super) fn grid(lists: &[String]) -> Result<Vec<Setting>, Error> {
    let wrong = |found: &str, expected: &str| Error::Option {
        option: "--sweep",
        found: format!("`{found}`"),
        expected: expected.to_owned(),
    };
    let mut settings = vec![Setting::default()];
    let mut named: Vec<&str> = Vec::new();
    for list in lists {
        let (name, values) = list.split_once('=').ok_or_else(|| wrong(list, EXPECTED))?;
        if named.contains(&name) {
            return Err(wrong(list, &format!("one list for {name}")));
        }
        named.push(name);
        let mut next = Vec::new();
        for setting in &settings {
            for value in values.split(',') {
                let mut setting = *setting;
                let number = || value.parse::<usize>().ok().filter(|n| *n > 0);
                let count = || number().ok_or_else(|| wrong(value, "a whole number of at least 1"));
                match name {
                    "kappa" => setting.kappa = count()?,
                    "k" => setting.top_k = count()?,
                    "tau" => {
                        let tau = value.parse::<f64>().ok().filter(|tau| tau.is_finite());
                        setting.tau = tau.ok_or_else(|| wrong(value, "a number"))?;
                    }
                    "trigger" => {
                        let trigger: Result<Trigger, String> = parse_trigger(value);
                        setting.trigger = trigger.map_err(|expected| wrong(value, &expected))?;
                    }
                    _ => return Err(wrong(list, EXPECTED)),
                }
                next.push(setting);
            }
        }
        settings = next;
    }
    Ok(settings)
}

/// Plays the episodes of a set with every setting, and without pruning first.
pub(super) fn run(
    player: &Player,
    set: Set,
    (seed, episodes): (u64, usize),
    settings: &[Setting],
    output: Option<&Path>,
) -> Result<(), Error> {
    let actor = Actor {
        engine: player.engine.clone(),
        turns: player.turns,
        max_tokens: 256,
        root: PictureRoot::new("."),
        parse,
    };
    let knobs = match set {
        Set::Standard => &player.standard,
        Set::Conflict => &player.conflict,
    };
    let done = AtomicUsize::new(0);
    let played: Result<Vec<Vec<Scored>>, Error> = (0..episodes)
        .into_par_iter()
        .map(|index| {
            let played = sweep(
                &actor,
                (set, knobs),
                (seed, index),
                settings,
                &Control::none(),
            );
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(20) || done == episodes {
                eprintln!("{done}/{episodes} episodes");
            }
            played
        })
        .collect();
    let full = std::iter::once("full".to_owned());
    let names: Vec<String> = full.chain(settings.iter().map(Setting::name)).collect();
    let standings = Standings::of(&names, &played?);
    if let Some(folder) = output {
        let json = serde_json::json!(standings).to_string() + "\n";
        write(&folder.join("sweep.json"), json.as_bytes())?;
        write(&folder.join("sweep.csv"), standings.csv().as_bytes())?;
        let title = format!("The published rule over {episodes} episodes of the world");
        figure::save(folder, "sweep-plot", &standings.plot(title))?;
    }
    print(standings.text().as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn lists(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_owned()).collect()
    }

    #[test]
    fn a_grid_is_every_combination() {
        let found = grid(&lists(&[
            "kappa=1,3",
            "tau=0.1,0.5,0.9",
            "trigger=model,fixed:2",
        ]))
        .unwrap();
        assert_eq!(found.len(), 12);
        let own = Setting::default();
        assert_eq!(
            found[0],
            Setting {
                kappa: 1,
                tau: 0.1,
                ..own
            }
        );
        assert_eq!(found[11].name(), "kappa 3 tau 0.9 k 20 fixed:2");
        assert_eq!(grid(&[]).unwrap(), [own]);
    }

    #[test]
    fn what_is_no_grid_is_named() {
        for (text, says) in [
            ("kappa", "`kappa`"),
            ("kappa=0", "a whole number of at least 1"),
            ("tau=x", "a number"),
            ("k=1,,2", "a whole number"),
            ("trigger=never", "fixed:N"),
            ("beta=1", "expected kappa=N"),
        ] {
            let error = grid(&lists(&[text])).unwrap_err().to_string();
            assert!(
                error.contains(says) && error.starts_with("--sweep"),
                "{error}"
            );
        }
        let twice = grid(&lists(&["k=1", "k=2"])).unwrap_err().to_string();
        assert!(twice.contains("one list for k"), "{twice}");
    }
}
