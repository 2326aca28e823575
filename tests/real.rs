//! Real saved runs of other people's agents, where they are at hand. They are not part of this repository.
#![cfg(feature = "embedded-model")]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use spare::formats::{Records, check, detect, format_of, parse, worse};
use spare::plan::restore;
use spare::replay::PictureRoot;
use spare::summary::SummaryChoice;
use spare::trajectory::{Role, Trajectory};
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

/// What stays, whatever goes: everything that is not said by the model, its calls, the pictures; and behind a numbered thought the action.
fn kept(run: &Trajectory) -> Vec<String> {
    let message = |m: &spare::trajectory::Message| {
        let texts = m.parts.iter().map(|part| match part {
            spare::trajectory::Part::Text(text) if m.role == Role::Assistant => {
                let action = text.text.find("ACTION ").unwrap_or(text.text.len());
                text.text[action..].to_owned()
            }
            other => format!("{other:?}"),
        });
        let texts: String = texts.collect();
        format!("{:?} {:?} {:?} {texts}", m.role, m.calls, m.answers)
    };
    run.messages.iter().map(message).collect()
}

/// Every run of the folder: told apart by its content, read, pruned with a summary from outside, checked, restored.
#[test]
fn every_real_run_goes_the_whole_way() {
    let Some(folder) = shared("trajectories") else {
        return;
    };
    let files = [
        ("qwen3vl-hop-inn/trajectory.json", "openai-chat", 1, 4),
        (
            "visual-sketchpad/blink_spatial-val_Spatial_Relation_1/output.json",
            "react",
            1,
            1,
        ),
        ("visual-sketchpad/geometry-2079/output.json", "react", 1, 1),
        (
            "visual-sketchpad/graph_max_flow-5/output.json",
            "react",
            1,
            2,
        ),
        (
            "llama-factory/reason_tool_use_demo_50.jsonl",
            "llama-factory",
            50,
            62,
        ),
    ];
    let options = PruneOptions {
        summary: SummaryChoice::Given(
            "Question: as asked. Done: the calls above. Open: the answer.".into(),
        ),
        ..PruneOptions::default()
    };
    let pruner = Pruner::new(Arc::new(Engine::board().unwrap()), options);
    for (name, format, records, before_events) in files {
        let path = folder.join(name);
        let root = PictureRoot::new(path.parent().unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let (container, reader) = detect(Some(&path), None, &bytes[..]).unwrap();
        let (mut count, mut pruned_segments, mut changed) = (0, 0, 0);
        for record in Records::new(reader, container) {
            let record = record.unwrap();
            let text = record.text().unwrap();
            let value = parse(text).unwrap();
            assert_eq!(format_of(&value, None).unwrap().name(), format, "{name}");
            let (after, receipt, pruned) = pruner
                .prune_text(text, count, &root, &Control::default())
                .unwrap();
            let now = parse(&after).unwrap();
            let read = |value| format_of(value, None).unwrap().read(value).unwrap();
            assert_eq!(kept(&read(&value)), kept(&read(&now)), "{name}, {count}");
            let broken = |value| check(value, None, None).unwrap().violations;
            assert_eq!(worse(&broken(&value), &broken(&now)), [], "{name}, {count}");
            assert_eq!(restore(&after, &receipt).unwrap(), text, "{name}, {count}");
            let lost = |e: &spare::EventOutcome| e.plan.survival.lost.len();
            assert_eq!(pruned.events.iter().map(lost).sum::<usize>(), 0, "{name}");
            let nowhere = PictureRoot::new("nowhere");
            let (again, _, _) = pruner
                .prune_text(&after, count, &nowhere, &Control::default())
                .unwrap();
            assert_eq!(again, after, "{name}, {count}");
            count += 1;
            changed += usize::from(after != text);
            let plans = pruned.events.iter().map(|e| e.plan.segments.len());
            pruned_segments += plans.sum::<usize>();
        }
        assert_eq!((count, pruned_segments), (records, before_events), "{name}");
        println!(
            "{name}: {count} x {format}, {pruned_segments} segments decided, {changed} runs changed"
        );
        assert!(changed > 0, "{name}");
    }
}
