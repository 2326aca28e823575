//! The world that agents are measured in: its episodes are those that were committed to before anything was trained.

#![cfg(feature = "engine")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use sha2::{Digest, Sha256};
use spare::eval::world::{DEV_SEED, Environment, Knobs, TEST_SEED, TRAIN_SEED};

/// The first 16 digits of the hash over 12 whole episodes with their pictures.
fn hash(knobs: &Knobs, seed: u64) -> String {
    let mut hash = Sha256::new();
    for index in 0..12 {
        let world = Environment::new(knobs.task(seed, index), seed, index).unwrap();
        let (run, pictures) = world.episode(knobs, seed, index).unwrap().to_openai();
        hash.update(run.to_string());
        pictures.iter().for_each(|(_, bytes)| hash.update(bytes));
        let opening = knobs.summaries == 100;
        if opening {
            let run = world.opening(knobs, seed, index).unwrap().run;
            hash.update(run.with_pictures_as("[picture]").to_json());
        }
    }
    spare::plan::hex(&hash.finalize())[..16].to_owned()
}

#[test]
fn the_episodes_are_those_that_were_committed_to() {
    let found = [TRAIN_SEED, DEV_SEED, TEST_SEED].map(|seed| {
        [Knobs::default(), Knobs::standard(), Knobs::conflict()].map(|knobs| hash(&knobs, seed))
    });
    let expected = [
        ["2d6c69ed0937756e", "5edff3194bf70be8", "4ea38afd178c3c2a"],
        ["a52eea0921698f46", "4d3c7b1a2ed8ba03", "30d952a8322bbfc4"],
        ["13ee22e08cafddc4", "759bf7cbb307789a", "4ad4cdcd374de21c"],
    ];
    assert_eq!(found, expected);
}
