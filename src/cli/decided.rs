//! Every run of the input decided, nothing written: what `score`, `explain` and the evaluations of one run look at.

use super::options::Common;
use crate::replay::PictureRoot;
use crate::trajectory::Trajectory;
use crate::{Control, Error, Pruned, Pruner};

/// A run with what was decided, and what it was decided with.
pub(crate) struct Decided<'a> {
    pub number: usize,
    pub run: &'a Trajectory,
    pub pruned: &'a Pruned,
    pub pruner: &'a Pruner,
    pub root: &'a PictureRoot,
}

/// Decides one run after the other and hands each result to `each`; errors name the record.
pub(crate) fn each(
    common: &Common,
    mut each: impl FnMut(&Decided<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut input = common.input()?;
    let pruner = common.pruner()?;
    let root = PictureRoot::new(common.picture_root());
    let mut number = 0;
    while let Some(record) = input.next()? {
        if record.is_blank() {
            continue;
        }
        let mut decide = || -> Result<(), Error> {
            let (run, _) = pruner.read(record.text()?)?;
            let pruned = pruner.prune(&run, &root, &Control::default())?;
            each(&Decided {
                number,
                run: &run,
                pruned: &pruned,
                pruner: &pruner,
                root: &root,
            })
        };
        decide().map_err(|error| error.in_record(input.place(&record)))?;
        number += 1;
    }
    Ok(())
}
