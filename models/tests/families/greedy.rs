//! The board checkpoint says what transformers' `generate` says.

use candle_core::Device;
use safetensors::SafeTensors;
use serde_json::Value;
use spare_models::image::Grid;
use spare_models::{Control, KvCache, PreparedPrompt, WeightDtype, load};

use crate::golden::{BOARD, data, folder, normalised};

const PATCH: usize = 8;

/// `[height, width, 3]` to patches in merge-cell order, channel before time, the still picture standing for two frames.
fn patches(rgb: &[u8], height: usize, width: usize) -> (Grid, Vec<u8>) {
    let grid = Grid {
        t: 1,
        h: height / PATCH,
        w: width / PATCH,
    };
    let mut out = Vec::new();
    for cell in 0..grid.h / 2 * (grid.w / 2) {
        let (cell_row, cell_column) = (cell / (grid.w / 2), cell % (grid.w / 2));
        for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (top, left) = (
                (cell_row * 2 + row) * PATCH,
                (cell_column * 2 + column) * PATCH,
            );
            for channel in 0..3 {
                for _frame in 0..2 {
                    for y in top..top + PATCH {
                        out.extend(
                            (left..left + PATCH).map(|x| rgb[(y * width + x) * 3 + channel]),
                        );
                    }
                }
            }
        }
    }
    (grid, out)
}

fn ids(value: &Value) -> Vec<u32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_u64().unwrap() as u32)
        .collect()
}

#[test]
fn greedy_ids_are_those_of_transformers() {
    let model = load(&folder(BOARD), WeightDtype::Auto, &Device::Cpu).unwrap();
    let golden: Value =
        serde_json::from_slice(&std::fs::read(data("qwen3_vl/greedy.json")).unwrap()).unwrap();
    let pictures = std::fs::read(data("qwen3_vl/greedy.safetensors")).unwrap();
    let pictures = SafeTensors::deserialize(&pictures).unwrap();
    assert_eq!(model.eos(), ids(&golden["eos"]));
    let contexts = golden["contexts"].as_array().unwrap();
    assert_eq!(contexts.len(), 10);
    let (mut ended, mut written) = (0, 0);
    for context in contexts {
        let features = context["pictures"].as_array().unwrap().iter().map(|name| {
            let picture = pictures.tensor(name.as_str().unwrap()).unwrap();
            let (grid, values) = patches(picture.data(), picture.shape()[0], picture.shape()[1]);
            (
                model.encode_picture(grid, &normalised(&values)).unwrap(),
                [0; 32],
            )
        });
        let prompt =
            PreparedPrompt::with_pictures(&model, ids(&context["ids"]), features.collect())
                .unwrap();
        let mut cache = KvCache::new();
        let got = model
            .greedy(&prompt, &mut cache, 60, model.eos(), &Control::none())
            .unwrap();
        assert_eq!(got, ids(&context["generated"]), "{}", context["run"]);
        assert_eq!(cache.len(), prompt.len() + got.len() - 1);
        written += got.len();
        ended += usize::from(model.eos().contains(got.last().unwrap()));
        // Again from a cache that holds the whole prompt already.
        cache.truncate(prompt.len()).unwrap();
        let again = model
            .greedy(&prompt, &mut cache, 5, model.eos(), &Control::none())
            .unwrap();
        assert_eq!(again, got[..5]);
    }
    println!("10 contexts, {written} ids, {ended} of them ended by themselves");
    assert!(ended > 0 && ended < 10, "both ways of ending should occur");
}
