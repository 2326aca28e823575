//! Prompts and pictures that do not fit the model are refused.

use spare_models::image::Grid;
use spare_models::{Control, KvCache, ModelError, PreparedPrompt};

use crate::edited::edited;
use crate::golden::Golden;

#[test]
fn prompts_that_do_not_fit_are_refused() {
    let golden = Golden::open("qwen3_vl/gqa1-tied");
    let model = &golden.model;
    let prompt = golden.prompt();
    let features = |i: usize| (prompt.pictures()[i].features.clone(), [0; 32]);
    let refuse = |ids: &[u32], pictures: Vec<_>| {
        PreparedPrompt::with_pictures(model, ids.to_vec(), pictures)
            .unwrap_err()
            .to_string()
    };
    let (pad, video) = (5, 6);
    assert!(refuse(&[1, 203], vec![]).contains("token 1: found id 203, expected an id below 203"));
    assert!(refuse(&[1, video], vec![]).contains("token 1: found video placeholder 6"));
    assert!(
        refuse(&[1, pad, pad], vec![])
            .contains("token 1: found 2 picture placeholders, expected a picture")
    );
    assert!(
        refuse(&[1, pad, pad, 2], vec![features(1)])
            .contains("found 2 picture placeholders, expected 8")
    );
    assert!(refuse(&[1, 2], vec![features(1)]).contains("found a picture, expected a run"));
    // Two pictures whose runs touch are one run to transformers.
    let touching = [vec![1], vec![pad; 15 + 8], vec![2]].concat();
    assert!(
        refuse(&touching, vec![features(0), features(1)]).contains("found 23 picture placeholders")
    );
    // In the wrong order.
    assert!(
        refuse(&golden.ids, vec![features(1), features(0)])
            .contains("found 15 picture placeholders, expected 8")
    );

    let cut = prompt.pictures()[0].tokens.start + 1;
    let error = prompt
        .splice(model, cut, &[9], prompt.len())
        .unwrap_err()
        .to_string();
    assert!(error.contains("a cut through the picture at"), "{error}");
    assert!(prompt.splice(model, 2, &[9], cut).is_err());
    assert!(prompt.splice(model, 3, &[9], 2).is_err());
    assert!(prompt.splice(model, 3, &[pad], prompt.len()).is_err());
    assert!(prompt.splice(model, 3, &[9], prompt.len() + 1).is_err());
    // Pictures beyond the end are dropped.
    let first = prompt.pictures()[0].tokens.end;
    assert_eq!(
        prompt
            .splice(model, 2, &[9], first)
            .unwrap()
            .pictures()
            .len(),
        1
    );

    // Features of another model with the same shapes.
    let twin = Golden::open("qwen3_vl/gqa1-tied");
    let error = PreparedPrompt::new(&twin.model, golden.ids.clone(), prompt.pictures().to_vec())
        .unwrap_err();
    assert!(error.to_string().contains("features of another model"));
}

#[test]
fn pictures_that_do_not_fit_are_refused() {
    let golden = Golden::open("qwen3_vl/gqa1-tied");
    let encode = |t, h, w, values: &[f32]| {
        golden
            .model
            .encode_picture(Grid { t, h, w }, values)
            .unwrap_err()
            .to_string()
    };
    let mut values = golden.pixels[0].clone();
    assert!(
        encode(1, 6, 8, &values)
            .contains("pixel values: found 5760, expected 6 * 8 patches of 96 values")
    );
    assert!(
        encode(1, 5, 12, &values)
            .contains("patch rows and columns: found 5 x 12, expected positive multiples of 2")
    );
    assert!(encode(2, 6, 10, &values).contains("frames: found 2, expected 1"));
    assert!(encode(1, 0, 0, &[]).contains("positive multiples"));
    assert!(encode(1, usize::MAX - 1, usize::MAX - 1, &values).contains("pixel values"));
    values[7] = f32::NAN;
    assert!(encode(1, 6, 10, &values).contains("found NaN at 7"));
}

/// Weights that are finite but overflow on the way: an error, not an answer. Queries and keys meet in attention alone, whose weights are finite
/// whatever the scores' size; a family with norms within heads never gets there.
#[test]
fn values_that_overflow_are_an_error() {
    for (name, matrices) in [
        ("qwen3_vl/gqa1-tied", &["mlp.down_proj"][..]),
        ("qwen3/gqa1-tied", &["mlp.down_proj"]),
        ("llama/linear", &["self_attn.q_proj", "self_attn.k_proj"]),
        ("llama/linear", &["self_attn.v_proj"]),
    ] {
        let model = edited(
            name,
            |_| {},
            |t| {
                for matrix in matrices {
                    let part = format!("layers.0.{matrix}.weight");
                    let key = t.keys().find(|k| k.ends_with(&part)).unwrap().clone();
                    let bytes = &mut t.get_mut(&key).unwrap().2;
                    *bytes = 1e38f32.to_le_bytes().repeat(bytes.len() / 4);
                }
            },
        )
        .unwrap();
        let prompt = PreparedPrompt::new(&model, vec![11, 12, 13], Vec::new()).unwrap();
        let (mut cache, ctl) = (KvCache::new(), Control::none());
        let error = model.prefill(&prompt, 0..3, &mut cache, &[2], &ctl);
        assert!(
            matches!(error, Err(ModelError::NotFinite { .. })),
            "{name} {matrices:?}"
        );
    }
}
