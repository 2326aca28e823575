//! Real saved runs of other people's agents, where they are at hand. They are not part of this repository.
#![cfg(feature = "embedded-model")]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use spare::plan::restore;
use spare::replay::PictureRoot;
use spare::summary::SummaryChoice;
use spare::{Control, Engine, PruneOptions, Pruner};

fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(path);
    if !path.exists() {
        println!("skipped: no {}", path.display());
        return None;
    }
    Some(path)
}

/// A Qwen3-VL run in OpenAI chat form: photographs, zoomed crops, reasoning as text beside the calls, no summary call.
/// The embedded model understands none of it; the machinery must.
#[test]
fn the_hop_inn_run_keeps_its_calls_pictures_boxes_and_values() {
    let Some(path) = shared("trajectories/qwen3vl-hop-inn/trajectory.json") else {
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let sigma = "Question: where was the picture taken? Done: zoomed into the hanging sign, the vertical signs, the amenities sign and the plate. \
                 Evidence: the pub is the Hop Inn; its phone number begins 02380. Open: the address.";
    let options = PruneOptions {
        summary: SummaryChoice::Given(sigma.to_owned()),
        ..PruneOptions::default()
    };
    let pruner = Pruner::new(Arc::new(Engine::board().unwrap()), options);
    let root = PictureRoot::new(path.parent().unwrap());
    let (after, receipt, pruned) = pruner
        .prune_text(&text, 0, &root, &Control::default())
        .unwrap();

    assert_eq!(pruned.segments.len(), 4);
    let (mut was, mut now): (Value, Value) = (
        serde_json::from_str(&text).unwrap(),
        serde_json::from_str(&after).unwrap(),
    );
    assert!(after.contains(sigma), "the summary stands in the history");
    // These stood in reasoning only, and the summary leaves them out.
    for value in [
        "02380 557723",
        "HOP INN",
        "BAR MENU AVAILABLE",
        "WEDNESDAY NIGHTS IS SPICE NIGHT",
        "Tea/Coffee",
    ] {
        assert!(after.contains(value), "{value} is lost");
    }
    assert_eq!(pruned.events[0].plan.survival.lost, Vec::<String>::new());
    // Everything but the text of the four turns is as it was.
    for segment in &pruned.segments {
        for run in [&mut was, &mut now] {
            *run.pointer_mut(&segment.places[0].pointer).unwrap() = Value::Null;
        }
    }
    assert_eq!(was, now);
    assert!(after.len() < text.len());
    assert_eq!(restore(&after, &receipt).unwrap(), text);
    // Decided once: no picture is opened again, nothing changes.
    let nowhere = PictureRoot::new("nowhere");
    let (again, _, _) = pruner
        .prune_text(&after, 0, &nowhere, &Control::default())
        .unwrap();
    assert_eq!(again, after);
}
