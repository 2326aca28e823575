//! The committed agent acts in the world as its card says, and the table is the same on one thread and on two.

#![cfg(feature = "engine")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::{Value, json};
use spare::eval::agent::{Method, Played, Player, Set, Table};
use spare::eval::world::DEV_SEED;
use spare::{Control, Engine, WeightDtype};

/// A few episodes with every method.
fn played(threads: usize) -> Vec<Vec<Played>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/pretrained/agent");
    let player = Player::new(Arc::new(Engine::load(&folder, WeightDtype::F32).unwrap()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        [(Set::Standard, 0..5), (Set::Conflict, 3..5)]
            .into_par_iter()
            .flat_map(|(set, range)| range.into_par_iter().map(move |index| (set, index)))
            .map(|(set, index)| {
                player
                    .play(set, DEV_SEED, index, &Method::ALL, &Control::none())
                    .unwrap()
            })
            .collect()
    })
}

/// Everything but the seconds.
fn table(episodes: &[Vec<Played>]) -> Value {
    let mut table = json!(Table::of(episodes));
    for row in table["rows"].as_array_mut().unwrap() {
        row["seconds"] = Value::Null;
    }
    table
}

#[test]
fn the_committed_agent_answers_and_the_table_hangs_on_no_thread() {
    let two = played(2);
    let one = played(1);
    assert_eq!(table(&one), table(&two));
    let answers: Vec<(&str, bool)> = one
        .iter()
        .map(|episode| (episode[0].answer.as_str(), episode[0].right))
        .collect();
    assert_eq!(
        answers,
        [
            ("green diamond = 5", true),
            ("count = 1", true),
            ("cell = (0, 1)", false),
            ("largest = green diamond", false),
            ("purple circle = 1, red circle = 3", true),
            ("total = 5", false),
            ("purple circle = 1, red circle = 3", true),
        ]
    );
    // What a method leaves of the history is all that differs between methods.
    for episode in &one {
        let full = episode.iter().find(|p| p.method == Method::Full).unwrap();
        assert_eq!(full.kept, full.reasoning);
        assert!(episode.iter().all(|p| p.kept <= p.reasoning));
        if full.summaries == 0 {
            assert!(episode.iter().all(|p| p.answer == full.answer));
        }
    }
}
