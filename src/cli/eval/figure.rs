//! A plot on disk: SVG and PNG, its numbers beside it.

use std::path::Path;

use super::write;
use crate::Error;
use crate::eval::plot::Plot;

/// Writes `NAME.svg`, `NAME.png`, `NAME.csv` and `NAME.json` into a folder.
pub(super) fn save(folder: &Path, name: &str, plot: &Plot) -> Result<(), Error> {
    let path = |suffix: &str| folder.join(format!("{name}.{suffix}"));
    write(&path("svg"), plot.svg().as_bytes())?;
    write(&path("png"), &plot.png()?)?;
    write(&path("csv"), plot.csv().as_bytes())?;
    let json = serde_json::json!(plot).to_string() + "\n";
    write(&path("json"), json.as_bytes())
}
