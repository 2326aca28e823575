//! What do the settings of the published rule do? Every episode is played once up to its first summary and gone on from once a setting.

use std::sync::Arc;

use spare_models::Control;
use spare_models::image::ImageError;

use super::Set;
use super::outcome::stale;
use crate::error::Error;
use crate::eval::act::{Acted, Actor, Scored, Stop, Tools};
use crate::eval::world::{Environment, Knobs, grade};
use crate::plan::Trigger;
use crate::pruner::{PruneOptions, Pruner};
use crate::rules::Paper;
use crate::score::ScoreOptions;
use crate::trajectory::{Part, ToolCall, Trajectory};

/// One point of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Sensitive tokens that make a segment sensitive.
    pub kappa: usize,
    /// The normalised divergence above which a token is sensitive.
    pub tau: f64,
    /// K of the truncated divergence.
    pub top_k: usize,
    /// When it prunes.
    pub trigger: Trigger,
}

impl Default for Setting {
    fn default() -> Self {
        let Paper { kappa, tau, .. } = Paper::published();
        Self {
            kappa,
            tau,
            top_k: ScoreOptions::default().top_k,
            trigger: Trigger::Model,
        }
    }
}

impl Setting {
    /// Its name in tables.
    pub fn name(&self) -> String {
        let trigger = match self.trigger {
            Trigger::Model => "model".to_owned(),
            Trigger::Fixed(every) => format!("fixed:{every}"),
            Trigger::PreAnswer => "pre-answer".to_owned(),
        };
        format!(
            "kappa {} tau {} k {} {trigger}",
            self.kappa, self.tau, self.top_k
        )
    }

    fn pruner(&self, actor: &Actor) -> Pruner {
        let options = PruneOptions {
            trigger: self.trigger,
            rule: Arc::new(Paper {
                kappa: self.kappa,
                tau: self.tau,
                ..Paper::published()
            }),
            score: ScoreOptions {
                top_k: self.top_k,
                ..ScoreOptions::default()
            },
            ..PruneOptions::default()
        };
        Pruner::new(Arc::clone(&actor.engine), options)
    }
}

impl Tools for Environment {
    fn answer(&self, _: &Trajectory, call: &ToolCall) -> Result<Vec<Part>, Error> {
        Environment::answer(self, call).map_err(drawn)
    }
}

fn drawn(error: ImageError) -> Error {
    Error::Option {
        option: "world",
        found: error.to_string(),
        expected: "a board that can be drawn".into(),
    }
}

/// Plays one episode of the world: first without pruning, then with every setting, in order.
///
/// # Errors
/// Those of the model and of drawing.
pub fn sweep(
    actor: &Actor,
    (set, knobs): (Set, &Knobs),
    (seed, index): (u64, usize),
    settings: &[Setting],
    control: &Control<'_>,
) -> Result<Vec<Scored>, Error> {
    let world = Environment::new(knobs.task(seed, index), seed, index).map_err(drawn)?;
    let (mut acting, conflicts) = match set {
        Set::Standard => (actor.acting(world.start().map_err(drawn)?), Vec::new()),
        Set::Conflict => {
            let opening = world.opening(knobs, seed, index).map_err(drawn)?;
            (actor.acting(opening.run), opening.conflicts)
        }
    };
    let stop = match set {
        Set::Standard => actor.go(&mut acting, &world, usize::MAX, control)?,
        Set::Conflict => Stop::Summary,
    };
    let right = world.task.answer(&world.task.values());
    let scored = |acted: Acted| {
        let answer = match &acted.stop {
            Stop::Answer(text) => text.as_str(),
            _ => "",
        };
        let repeats = || conflicts.iter().any(|c| stale(&world.task, c, answer));
        let right = grade(answer, &right);
        Scored {
            right: f64::from(u8::from(right)),
            answered: matches!(acted.stop, Stop::Answer(_)),
            stale: (set == Set::Conflict).then(|| !right && repeats()),
            summaries: acted.summaries,
            reasoning: acted.reasoning,
            kept: acted.kept,
            pushed: acted.pushed,
            seconds: acted.seconds,
        }
    };
    let pruners = settings.iter().map(|setting| Some(setting.pruner(actor)));
    std::iter::once(None)
        .chain(pruners)
        .map(|pruner| {
            let begun = (acting.clone(), stop.clone());
            let acted = actor.finish(begun, pruner.as_ref(), &world, control)?;
            Ok(scored(acted))
        })
        .collect()
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::engine::Engine;
    use crate::eval::agent::parse;
    use crate::eval::world::DEV_SEED;
    use crate::replay::PictureRoot;

    /// Where everything is sensitive nothing goes but for what evidence shortens; where nothing is, everything goes. The trigger decides when.
    #[test]
    fn settings_do_what_they_say() {
        let actor = Actor {
            engine: Engine::board().unwrap().into(),
            turns: 12,
            max_tokens: 200,
            root: PictureRoot::new("."),
            parse,
        };
        let own = Setting::default();
        let settings = [
            Setting { tau: 2.0, ..own },
            Setting { tau: -1.0, ..own },
            Setting {
                tau: 2.0,
                trigger: Trigger::Fixed(2),
                ..own
            },
            Setting {
                tau: 2.0,
                trigger: Trigger::PreAnswer,
                ..own
            },
        ];
        let knobs = Knobs::conflict();
        let (mut kept, mut answered) = ([0usize; 5], [0usize; 5]);
        for index in 0..4 {
            let at = (DEV_SEED, index);
            let found = sweep(
                &actor,
                (Set::Conflict, &knobs),
                at,
                &settings,
                &Control::none(),
            )
            .unwrap();
            assert_eq!(found.len(), 5);
            for (which, scored) in found.iter().enumerate() {
                assert!(scored.summaries >= 1 && scored.reasoning >= scored.kept);
                // What stood before the summary; later reasoning differs with what the model goes on to write.
                kept[which] += scored.kept;
                answered[which] += usize::from(scored.answered);
            }
        }
        println!("kept {kept:?}, answered {answered:?}");
        assert!(kept[1] < kept[2], "{kept:?}");
        assert!(kept[1] < kept[0], "{kept:?}");
        assert!(kept[3] < kept[0], "{kept:?}");
    }

    #[test]
    fn names_say_every_value() {
        let setting = Setting {
            trigger: Trigger::Fixed(3),
            ..Setting::default()
        };
        assert_eq!(setting.name(), "kappa 2 tau 0.2 k 20 fixed:3");
    }
}
