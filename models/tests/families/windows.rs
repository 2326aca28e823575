//! Which blocks of Qwen2.5-VL's tower see the whole picture, and which a window?

use serde_json::{Value, json};

use crate::edited::configured;
use crate::golden::{Golden, apart};

/// Single files: with windows of two and of four merge cells, and pictures of at least three windows each way.
const NAMES: [&str; 2] = ["qwen2_5_vl/window2-flat", "qwen2_5_vl/window4-tied-nested"];

/// Merged features of the first picture under another vision_config.
fn merged(golden: &Golden, change: impl FnOnce(&mut Value)) -> Vec<f32> {
    let model = configured(golden.name, |c| change(&mut c["vision_config"])).unwrap();
    let states = model.vision_states(golden.grids[0], &golden.pixels[0]);
    states.unwrap().merged
}

/// A window larger than the picture is no window.
#[test]
fn huge_windows_equal_full_attention() {
    for golden in NAMES.map(Golden::open) {
        let plain = merged(&golden, |_| {});
        let huge = merged(&golden, |v| v["window_size"] = json!(4096));
        let depth = |v: &Value| v["depth"].as_u64().unwrap();
        let full = merged(&golden, |v| {
            v["fullatt_block_indexes"] = (0..depth(v)).collect();
        });
        // Other orders of the patches, so other orders of the sums.
        let gap = apart(&huge, &full);
        assert!(gap <= 5e-5, "{}: {gap:e}", golden.name);
        let moved = apart(&huge, &plain);
        assert!(moved > 1e-2, "{}: windows move {moved:e}", golden.name);
    }
}

/// The list names blocks by number: taking any one block in or out of it changes the features.
#[test]
fn each_block_is_what_the_list_says() {
    for golden in NAMES.map(Golden::open) {
        let plain = merged(&golden, |_| {});
        let mut depth = 0;
        configured(golden.name, |c| {
            depth = c["vision_config"]["depth"].as_u64().unwrap();
        })
        .unwrap();
        for block in 0..depth {
            let other = merged(&golden, |v| {
                let list = v["fullatt_block_indexes"].as_array_mut().unwrap();
                let before = list.len();
                list.retain(|b| *b != json!(block));
                if list.len() == before {
                    list.push(json!(block));
                }
            });
            let moved = apart(&other, &plain);
            assert!(moved > 1e-2, "{} block {block}: {moved:e}", golden.name);
        }
    }
}

/// In a picture no larger than a window all blocks see the same.
#[test]
fn a_picture_within_one_window_does_not_need_the_list() {
    let golden = Golden::open("qwen2_5_vl/window4-f16-tied");
    assert!((golden.grids[0].h, golden.grids[0].w) == (4, 6));
    let none = merged(&golden, |v| v["fullatt_block_indexes"] = json!([0]));
    let both = merged(&golden, |v| v["fullatt_block_indexes"] = json!([0, 1]));
    assert!(none == both && none == merged(&golden, |_| {}));
}

#[test]
fn windows_that_make_no_sense_are_refused() {
    let refused = |field: &str, value: Value| {
        let change = |c: &mut Value| c["vision_config"][field] = value;
        configured(NAMES[0], change).unwrap_err().to_string()
    };
    for (field, value) in [
        ("window_size", json!(1)),
        ("window_size", json!(0)),
        ("fullatt_block_indexes", json!([4])),
        ("fullatt_block_indexes", json!(["1"])),
        ("fullatt_block_indexes", Value::Null),
    ] {
        let error = refused(field, value);
        assert!(error.contains(&format!("vision_config.{field}")), "{error}");
    }
}
