//! What is there to learn from one board?

use serde::{Deserialize, Serialize};
use spare_models::image::ImageError;

use crate::eval::Random;
use crate::eval::phrases::{LOCATE, NEED};
use crate::eval::world::{Environment, Knobs, Task, Thing};
use crate::trajectory::{Message, Part, ToolCall, Trajectory};

/// One sort of run to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lesson {
    /// What does the picture of a cell show?
    Look,
    /// Where on the board is a thing?
    Find,
    /// Where are all things of the board?
    Survey,
    /// Where are these things, in this order?
    Places,
    /// The first turn of an episode without the system prompt; every other time the question is only where the thing is.
    First,
    /// A whole episode of the expert.
    Episode,
    /// Such an episode behind its last summary, where all methods prune in equal shares.
    Pruned,
    /// Values told in words: what follows from them?
    Told,
}

/// The lesson number `index` of a seed, not pruned yet, and the sentences in it that are not learnt.
///
/// # Errors
/// Where a picture cannot be written.
pub fn lesson(
    kind: Lesson,
    knobs: &Knobs,
    seed: u64,
    index: usize,
) -> Result<(Trajectory, Vec<String>), ImageError> {
    let task = knobs.task(seed, index);
    let mut random = Random::new(seed.rotate_left(17), index);
    let world = Environment::new(task, seed, index)?;
    Ok(match kind {
        Lesson::Episode | Lesson::Pruned => {
            let episode = world.episode(knobs, seed, index)?;
            (episode.run, episode.guesses)
        }
        Lesson::Look => (look(&world, &mut random)?, Vec::new()),
        Lesson::Find => (find(&world, &mut random)?, Vec::new()),
        Lesson::Survey => (survey(&world)?, Vec::new()),
        Lesson::Places => (places(&world, &mut random)?, Vec::new()),
        Lesson::First => (first(&world, &mut random)?, Vec::new()),
        Lesson::Told => (world.told(knobs, seed, index)?, Vec::new()),
    })
}

fn some<'a>(task: &'a Task, random: &mut Random) -> Option<&'a Thing> {
    task.things.get(random.below(task.things.len()))
}

fn look(world: &Environment, random: &mut Random) -> Result<Trajectory, ImageError> {
    let mut run = Trajectory::new(Vec::new());
    let Some(thing) = some(&world.task, random) else {
        return Ok(run);
    };
    // A bar's height is said by its tool; its picture is learnt from a crop all the same.
    let tool = match thing.tool() {
        "read_bar" => "crop",
        tool => tool,
    };
    let mut parts = world.answer(&ToolCall::written("look", tool, thing.place()))?;
    parts.push(Part::text("What is shown?"));
    let answer = format!("{} = {}", thing.name(), thing.value);
    run.push(Message::user_parts(parts))
        .push(Message::assistant(None, answer, Vec::new()));
    Ok(run)
}

fn asked(world: &Environment, question: &str) -> Result<Trajectory, ImageError> {
    let mut run = world.start()?;
    run.tools.clear();
    let first = run
        .messages
        .iter()
        .position(|m| m.pictures().next().is_some());
    run.messages.drain(..first.unwrap_or(0));
    if let Some(user) = run.messages.first_mut() {
        user.parts.truncate(1);
        user.parts.push(Part::text(question));
    }
    Ok(run)
}

fn find(world: &Environment, random: &mut Random) -> Result<Trajectory, ImageError> {
    let Some(thing) = some(&world.task, random) else {
        return world.start();
    };
    let mut run = asked(world, &format!("Where is the {}?", thing.name()))?;
    let call = ToolCall::written("call_1", thing.tool(), thing.place());
    run.push(Message::assistant(None, "", vec![call]));
    Ok(run)
}

fn located(thing: &Thing, random: &mut Random) -> String {
    let cell = format!("({}, {})", thing.cell.0, thing.cell.1);
    let sentence = random.pick(LOCATE).replace("{a}", &thing.name());
    sentence.replace("{v}", &cell)
}

fn first(world: &Environment, random: &mut Random) -> Result<Trajectory, ImageError> {
    let Some(thing) = world.task.asked().first() else {
        return world.start();
    };
    let question = match random.chance(50) {
        true => format!("Where is the {}?", thing.name()),
        false => world.task.question(),
    };
    let mut run = asked(world, &question)?;
    let thought = format!("{} {}", located(thing, random), random.pick(NEED));
    let call = ToolCall::written("call_1", thing.tool(), thing.place());
    run.push(Message::assistant(Some(thought), "", vec![call]));
    Ok(run)
}

/// In the order of a survey the row of the next thing is guessed from the last one; here it is not.
fn places(world: &Environment, random: &mut Random) -> Result<Trajectory, ImageError> {
    let things = &world.task.things;
    let names: Vec<String> = things.iter().map(|t| t.name()).collect();
    let mut run = asked(world, &format!("Where are the {}?", names.join(", the ")))?;
    let each = things.iter().map(|thing| located(thing, random));
    let thought = each.collect::<Vec<_>>().join(" ");
    run.push(Message::assistant(Some(thought), "done", Vec::new()));
    Ok(run)
}

fn survey(world: &Environment) -> Result<Trajectory, ImageError> {
    let mut run = asked(world, "Where is everything?")?;
    let mut things: Vec<_> = world.task.things.iter().collect();
    things.sort_by_key(|thing| (thing.cell.1, thing.cell.0));
    let each = things
        .iter()
        .map(|t| format!("The {} is in cell ({}, {}).", t.name(), t.cell.0, t.cell.1));
    let thought = each.collect::<Vec<_>>().join(" ");
    run.push(Message::assistant(Some(thought), "done", Vec::new()));
    Ok(run)
}
