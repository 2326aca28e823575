//! Writes the files of one case and prints what is asked of it, to try a reader by hand.

use spare_read_eval::Error;
use spare_read_eval::case::Set;
use spare_read_eval::sets::{self, BINARY, GENERATED};

use crate::Options;

/// A line of JSON a question, with the known places.
pub(crate) fn write(options: &Options) -> Result<(), Error> {
    let usage = || Error::Usage("expected write --set NAME --seed N --out FOLDER".into());
    let (Some(name), Some(folder)) = (options.value("--set"), options.path("--out")) else {
        return Err(usage());
    };
    let seed = options.number("--seed", 0.0)? as u64;
    let is =
        |set: &Set| serde_json::to_string(set).is_ok_and(|known| known.trim_matches('"') == name);
    let set = GENERATED.into_iter().chain(BINARY).find(is);
    let case = set
        .and_then(|set| sets::case(set, seed))
        .ok_or_else(usage)?;
    case.write(&folder)?;
    for asked in &case.asked {
        println!("{}", serde_json::to_string(asked)?);
    }
    Ok(())
}
