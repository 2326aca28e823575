//! Adapters as others read them.

use spare_models::train::{LoraSettings, TrainModel, Trainer};

use crate::files::{NAMES, floats, golden, model, sequences};
use crate::runs::settings;

fn adapted() -> TrainModel {
    let mut adapted = model(NAMES[0]);
    let targets = ["q_proj", "v_proj", "down_proj"].map(str::to_owned);
    let lora = LoraSettings {
        rank: 3,
        alpha: 6.0,
        targets: targets.to_vec(),
        seed: 5,
    };
    adapted.params_mut().adapt(lora).unwrap();
    adapted
}

#[test]
fn an_exported_adapter_gives_the_logits_of_transformers_with_peft() {
    let mut adapted = adapted();
    adapted
        .params_mut()
        .load_adapters(&golden("train/adapter"))
        .unwrap();
    let expected = &floats(&golden("train/adapter.safetensors"))["logits"];
    let got = adapted.all_logits(&sequences(NAMES[0])[0]).unwrap();
    assert_eq!(got.len(), expected.len());
    let far = got.iter().zip(expected);
    let far = far.fold(0f32, |far, (a, b)| far.max((a - b).abs()));
    assert!(far < 1e-4, "{far}");
    // What is written again is what peft read.
    let folder = tempfile::tempdir().unwrap();
    let params = adapted.params();
    params.save_adapters(folder.path(), "gqa2-untied").unwrap();
    for file in ["adapter_model.safetensors", "adapter_config.json"] {
        let read = |folder: &std::path::Path| std::fs::read(folder.join(file)).unwrap();
        assert!(
            read(folder.path()) == read(&golden("train/adapter")),
            "{file}"
        );
    }
}

/// Run by hand: what it trains differs in its last bits from machine to machine.
#[test]
#[ignore = "writes the adapter that adapter.py reads"]
fn export() {
    let mut trainer = Trainer::new(adapted(), settings("model.visual."));
    while !trainer.done() {
        trainer.learn(&sequences(NAMES[0])).unwrap();
    }
    let params = trainer.model().params();
    params
        .save_adapters(&golden("train/adapter"), "gqa2-untied")
        .unwrap();
}
