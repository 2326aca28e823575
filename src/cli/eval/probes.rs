//! What the last contexts of played episodes say: forced choice and attention to pictures.

use rayon::prelude::*;

use crate::eval::agent::{Method, Played, Player, Probe, Probes, Set, probe};
use crate::eval::world::Environment;
use crate::{Control, Error};

/// Looks at the last context of every episode under every method.
pub(super) fn run(
    player: &Player,
    set: Set,
    seed: u64,
    played: &[Vec<Played>],
) -> Result<Probes, Error> {
    let drawn = |error: spare_models::image::ImageError| Error::Option {
        option: "world",
        found: error.to_string(),
        expected: "a board that can be drawn".into(),
    };
    let each = |episode: &Vec<Played>| -> Result<Vec<(Method, Probe)>, Error> {
        let Some(first) = episode.first() else {
            return Ok(Vec::new());
        };
        let knobs = match set {
            Set::Standard => &player.standard,
            Set::Conflict => &player.conflict,
        };
        let task = knobs.task(seed, first.index);
        let world = Environment::new(task, seed, first.index).map_err(drawn)?;
        let mut stale = Vec::new();
        if set == Set::Conflict {
            let opening = world.opening(knobs, seed, first.index).map_err(drawn)?;
            for conflict in opening.conflicts {
                let mut values = world.task.values();
                if let Some(value) = values.get_mut(conflict.step) {
                    value.clone_from(&conflict.stale);
                }
                stale.push(world.task.answer(&values));
            }
        }
        let control = Control::none();
        let probes = episode.iter().map(|played| {
            let found = probe(
                &player.engine,
                &played.run,
                &first.expected,
                &stale,
                &control,
            )?;
            Ok((played.method, found))
        });
        probes.collect()
    };
    let found: Result<Vec<_>, Error> = played.par_iter().map(each).collect();
    Ok(Probes::of(&found?))
}
