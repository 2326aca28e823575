//! Every run of the input decided, nothing written: what `score` and `explain` look at.

use super::options::Common;
use crate::replay::PictureRoot;
use crate::{Control, Error, Pruned};

/// Decides one run after the other and hands each result to `each` with its number.
pub(crate) fn each(
    common: &Common,
    mut each: impl FnMut(usize, &Pruned) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut input = common.input()?;
    let pruner = common.pruner()?;
    let root = PictureRoot::new(common.picture_root());
    let mut number = 0;
    while let Some(record) = input.next()? {
        if record.is_blank() {
            continue;
        }
        let decide = || -> Result<Pruned, Error> {
            let (run, _) = pruner.read(record.text()?)?;
            pruner.prune(&run, &root, &Control::default())
        };
        let pruned = decide().map_err(|error| error.in_record(input.place(&record)))?;
        each(number, &pruned)?;
        number += 1;
    }
    Ok(())
}
