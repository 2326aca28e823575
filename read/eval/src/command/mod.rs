//! The commands, a file each.

mod agent;
mod documents;
mod evidence;
mod fit;
mod hostile;
mod large;
mod pictures;
mod rounds;
mod speed;
mod write;

pub(crate) use agent::agent;
pub(crate) use documents::documents;
pub(crate) use evidence::evidence;
pub(crate) use fit::fit;
pub(crate) use hostile::hostile;
pub(crate) use large::large;
pub(crate) use pictures::pictures;
pub(crate) use rounds::rounds;
pub(crate) use speed::speed;
pub(crate) use write::write;

use crate::Options;
use spare_read_eval::Error;

/// The twelve sets: evidence of eight, pictures, hostile files, rounds, and the agent, whose table has the set for native reading too.
pub(crate) fn all(options: &Options) -> Result<(), Error> {
    println!("## Evidence (E1 to E8)\n");
    evidence(options)?;
    println!("## Pictures (E9)\n");
    pictures(options)?;
    println!("\n## Hostile files (E11)\n");
    hostile(options)?;
    println!("\n## Rounds (E12)\n");
    rounds(options)?;
    println!("\n## A scripted agent under every policy (E1 to E3, E5 to E7, E10)\n");
    agent(options)
}
