//! Which preprocessor configurations are honoured, and how the others are refused.

use super::GOLDEN;
use serde_json::{Value, json};
use spare_models::image::{Grid, Preprocessor, RgbImage};

fn base() -> Value {
    GOLDEN["presets"]["qwen3"].clone()
}

fn with(field: &str, value: Value) -> Value {
    let mut config = base();
    config[field] = value;
    config
}

fn without(field: &str) -> Value {
    let mut config = base();
    config.as_object_mut().unwrap().remove(field).unwrap();
    config
}

fn read(config: &Value) -> Result<Preprocessor, String> {
    Preprocessor::from_json(&config.to_string()).map_err(|error| error.to_string())
}

/// Released Qwen3-VL checkpoints carry no switches; older ones carry min_pixels and max_pixels and no size.
#[test]
fn released_forms_are_read_alike() {
    let full = read(&base()).unwrap();
    assert_eq!(full.pixel_budget(), (65_536, 16_777_216));
    assert_eq!(
        (
            full.patch_size(),
            full.temporal_patch_size(),
            full.merge_size(),
            full.row_len()
        ),
        (16, 2, 2, 1536)
    );
    let mut bare = base();
    for switch in [
        "do_resize",
        "do_rescale",
        "do_normalize",
        "do_convert_rgb",
        "rescale_factor",
        "image_processor_type",
    ] {
        bare.as_object_mut().unwrap().remove(switch).unwrap();
    }
    assert_eq!(read(&bare).unwrap(), full);
    let mut old = without("size");
    old["min_pixels"] = json!(65_536);
    old["max_pixels"] = json!(16_777_216);
    assert_eq!(read(&old).unwrap(), full);
    // Both forms at once: the older one wins, as in the reference.
    old["size"] = json!({"shortest_edge": 1, "longest_edge": 2});
    assert_eq!(read(&old).unwrap(), full);
    assert_eq!(
        read(&with(
            "image_processor_type",
            json!("Qwen2VLImageProcessorFast")
        ))
        .unwrap(),
        full
    );
    assert_eq!(
        read(&with(
            "image_processor_type",
            json!("Qwen2VLImageProcessorPil")
        ))
        .unwrap()
        .resizer()
        .name(),
        "pil"
    );
    assert_eq!(read(&with("image_mean", json!(0.5))).unwrap(), full);
    assert_eq!(read(&with("resample", json!(3))).unwrap(), full);
    assert_eq!(read(&with("do_pad", json!(false))).unwrap(), full);
    assert_eq!(read(&with("do_center_crop", json!(null))).unwrap(), full);
}

#[test]
fn a_missing_field_is_named() {
    for field in [
        "patch_size",
        "temporal_patch_size",
        "merge_size",
        "image_mean",
        "image_std",
    ] {
        let error = read(&without(field)).unwrap_err();
        assert!(error.contains(field) && error.contains("lacks"), "{error}");
    }
    assert!(
        read(&without("size"))
            .unwrap_err()
            .contains("lacks size.shortest_edge")
    );
    let half = with("size", json!({"shortest_edge": 65_536}));
    assert!(read(&half).unwrap_err().contains("lacks size.longest_edge"));
    // What is not used is not needed.
    let mut plain = without("image_mean");
    plain["do_normalize"] = json!(false);
    assert!(read(&plain).is_ok());
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    let wrong = [
        ("do_center_crop", json!(true)),
        ("do_pad", json!(true)),
        ("do_convert_rgb", json!(false)),
        ("do_resize", json!("yes")),
        ("resample", json!(2)),
        ("image_processor_type", json!("CLIPImageProcessor")),
        ("size", json!(336)),
        ("size", json!({"shortest_edge": 0, "longest_edge": 5})),
        ("size", json!({"shortest_edge": 10, "longest_edge": 5})),
        (
            "size",
            json!({"shortest_edge": 65536.5, "longest_edge": 1e9}),
        ),
        ("min_pixels", json!(-4)),
        ("patch_size", json!(0)),
        ("patch_size", json!(1_000_000_000_000_u64)),
        ("merge_size", json!("2")),
        ("temporal_patch_size", json!(-1)),
        ("rescale_factor", json!(0)),
        ("image_mean", json!([0.5, 0.5])),
        ("image_mean", json!(["a", "b", "c"])),
        ("image_std", json!([0.5, 0.0, 0.5])),
        ("image_std", json!([1e-60, 0.5, 0.5])),
    ];
    for (field, value) in wrong {
        let error = read(&with(field, value.clone())).unwrap_err();
        assert!(
            error.contains(field) && error.contains("found") && error.contains("expected"),
            "{field} {value}: {error}"
        );
    }
    for text in ["", "{", "[]", "null", "3"] {
        let error = Preprocessor::from_json(text).unwrap_err().to_string();
        assert!(error.contains("not a json object"), "{error}");
    }
}

#[test]
fn sizes_that_cannot_be_processed_are_refused() {
    let fixed = read(&with("do_resize", json!(false))).unwrap();
    assert_eq!(fixed.grid_for(64, 32).unwrap(), Grid { t: 1, h: 2, w: 4 });
    let error = fixed.grid_for(64, 48).unwrap_err().to_string();
    assert!(
        error.contains("64 x 48") && error.contains("multiples of 32"),
        "{error}"
    );
    let usual = read(&base()).unwrap();
    for (width, height) in [(0, 5), (5, 0), (201, 1), (1, 201)] {
        assert!(usual.grid_for(width, height).is_err());
        assert!(usual.process(&RgbImage::new(width, height)).is_err());
        assert!(fixed.process(&RgbImage::new(width, height)).is_err());
    }
    // A budget that no memory holds is refused before anything is allocated.
    let endless = read(&base()).unwrap().with_pixel_budget(1 << 60, 1 << 61);
    assert!(
        endless
            .process(&RgbImage::new(8, 8))
            .unwrap_err()
            .to_string()
            .contains("too large")
    );
}

#[test]
fn tokens_follow_from_the_grid() {
    let grid = read(&base()).unwrap().grid_for(1280, 720).unwrap();
    assert_eq!(grid, Grid { t: 1, h: 44, w: 80 });
    assert_eq!(
        (
            grid.patches(),
            grid.tokens(2),
            grid.tokens(1),
            grid.tokens(0)
        ),
        (3520, 880, 3520, 0)
    );
}
