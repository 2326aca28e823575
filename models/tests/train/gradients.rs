//! Numbers of one batch.

use spare_models::image::Grid;
use spare_models::train::{Sequence, TrainError, TrainPicture};
use spare_models::{Control, Device, KvCache, PreparedPrompt, WeightDtype, load};

use crate::files::{NAMES, floats, folder, golden, model, sequences};

#[test]
fn every_gradient_is_that_of_pytorch() {
    for name in NAMES {
        let model = model(name);
        let sequences = sequences(name);
        let expected = floats(&golden(&format!("train/{name}.safetensors")));
        let loss = model.run(&sequences, false).unwrap().loss;
        let want = f64::from(expected["loss"][0]);
        assert!((loss - want).abs() < 1e-5 * want, "{name}: {loss} {want}");
        let got = model.gradients(&sequences).unwrap();
        assert_eq!(got.len() + 1, expected.len(), "{name}: other tensors");
        let mut worst = (0f32, "");
        for (tensor, got) in &got {
            let want = &expected[tensor];
            assert_eq!(got.len(), want.len(), "{name}: {tensor}");
            let top = want.iter().fold(0f32, |top, g| top.max(g.abs()));
            assert!(top > 0.0, "{name}: {tensor} has no gradient");
            let pairs = got.iter().zip(want);
            let far = pairs.fold(0f32, |far, (a, b)| far.max((a - b).abs())) / top;
            if far > worst.0 {
                worst = (far, tensor);
            }
        }
        println!(
            "{name}: largest distance {:.1e} of the tensor's largest gradient, {}",
            worst.0, worst.1
        );
        assert!(worst.0 < 1e-4, "{name}: {worst:?}");
    }
}

#[test]
fn logits_are_those_of_inference() {
    for name in NAMES {
        let trained = model(name);
        let model = load(&folder(name), WeightDtype::F32, &Device::Cpu).unwrap();
        for sequence in sequences(name) {
            let pictures = sequence.pictures.iter().enumerate();
            let pictures = pictures.map(|(i, p)| {
                let features = model.encode_picture(p.grid, &p.values).unwrap();
                (features, [i as u8; 32])
            });
            let prompt =
                PreparedPrompt::with_pictures(&model, sequence.ids.clone(), pictures.collect())
                    .unwrap();
            let rows: Vec<usize> = (0..prompt.len()).collect();
            let mut cache = KvCache::new();
            let hidden = model
                .prefill(
                    &prompt,
                    0..prompt.len(),
                    &mut cache,
                    &rows,
                    &Control::none(),
                )
                .unwrap();
            let expected = model.logits(&hidden).unwrap();
            let got = trained.all_logits(&sequence).unwrap();
            assert_eq!(got.len(), expected.len());
            let far = got.iter().zip(&expected);
            let far = far.fold(0f32, |far, (a, b)| far.max((a - b).abs()));
            assert!(far < 1e-4, "{name}: {far}");
        }
    }
}

#[test]
fn batches_that_do_not_hang_together_are_refused() {
    let model = model(NAMES[0]);
    let good = sequences(NAMES[0]).remove(0);
    let refused = |change: &dyn Fn(&mut Sequence), says: &str| {
        let mut bad = good.clone();
        change(&mut bad);
        match model.run(&[good.clone(), bad], false) {
            Err(error @ TrainError::Batch { sequence: 1, .. }) => {
                assert!(error.to_string().contains(says), "{error}");
            }
            other => panic!("{says}: {other:?}"),
        }
    };
    refused(&|s| s.weights.truncate(3), "3 weights");
    refused(&|s| s.ids[0] = 203, "ids below 203");
    refused(&|s| drop(s.pictures.pop()), "a picture for it");
    refused(
        &|s| {
            s.pictures.push(TrainPicture {
                grid: Grid { t: 1, h: 2, w: 2 },
                values: Vec::new().into(),
            });
        },
        "0 placeholders in a row",
    );
    let still = Sequence {
        weights: vec![0.0; good.ids.len()],
        ..good.clone()
    };
    let error = model.run(&[still], false).unwrap_err().to_string();
    assert!(error.contains("no target"), "{error}");
}
