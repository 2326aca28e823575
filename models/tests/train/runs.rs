//! Runs of several steps.

use spare_models::train::{
    LoraSettings, Rate, SavedDtype, Schedule, Settings, TrainModel, Trainer,
};
use spare_models::{Checkpoint, Device, WeightDtype, load};

use crate::files::{NAMES, folder, model, sequences};

pub fn settings(still: &str) -> Settings {
    Settings {
        schedule: Schedule {
            peak: 3e-3,
            warmup: 3,
            steps: 12,
            floor: 0.1,
        },
        betas: (0.9, 0.98),
        decay: 0.05,
        clip: 1.0,
        rates: vec![Rate {
            prefix: still.into(),
            factor: 0.0,
        }],
    }
}

#[test]
fn a_resumed_run_is_the_same_run() {
    let batch = sequences(NAMES[1]);
    let still = "model.visual.blocks.0.";
    let mut whole = Trainer::new(model(NAMES[1]), settings(still));
    let mut losses = Vec::new();
    while !whole.done() {
        losses.push(whole.learn(&batch).unwrap().outcome.loss);
    }
    assert!(
        losses[11] < losses[0] * 0.8,
        "nothing was learnt: {losses:?}"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut first = Trainer::new(model(NAMES[1]), settings(still));
    for loss in &losses[..5] {
        assert_eq!(first.learn(&batch).unwrap().outcome.loss, *loss);
    }
    first.save(folder.path()).unwrap();
    assert!(Trainer::is_saved(folder.path()));
    let mut second = Trainer::resume(model(NAMES[1]), settings(still), folder.path()).unwrap();
    assert_eq!(second.step(), 5);
    for loss in &losses[5..] {
        assert_eq!(second.learn(&batch).unwrap().outcome.loss, *loss);
    }
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    whole.model().params().save(&a, SavedDtype::F32).unwrap();
    second.model().params().save(&b, SavedDtype::F32).unwrap();
    assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap());
    // Other settings are another run, and torn files are told.
    let other = settings("model.visual.");
    let error = Trainer::resume(model(NAMES[1]), other, folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("settings of another run"),
        "{error}"
    );
    second
        .model()
        .params()
        .save(&folder.path().join("model.safetensors"), SavedDtype::F32)
        .unwrap();
    let error = Trainer::resume(model(NAMES[1]), settings(still), folder.path()).unwrap_err();
    assert!(error.to_string().contains("add up to"), "{error}");
}

#[test]
fn what_stands_still_does_not_move_and_what_is_saved_loads() {
    let batch = sequences(NAMES[0]);
    let mut trainer = Trainer::new(model(NAMES[0]), settings("model.visual."));
    let before = trainer.model().gradients(&batch).unwrap();
    assert!(before.keys().all(|name| !name.starts_with("model.visual.")));
    trainer.learn(&batch).unwrap();
    let out = tempfile::tempdir().unwrap();
    for file in ["config.json", "generation_config.json"] {
        std::fs::copy(folder(NAMES[0]).join(file), out.path().join(file)).unwrap();
    }
    for dtype in [SavedDtype::F32, SavedDtype::Bf16] {
        let weights = out.path().join("model.safetensors");
        trainer.model().params().save(&weights, dtype).unwrap();
        load(out.path(), WeightDtype::F32, &Device::Cpu).unwrap();
    }
    let moved = TrainModel::load(&Checkpoint::open(out.path()).unwrap()).unwrap();
    let fresh = TrainModel::load(&Checkpoint::open(&folder(NAMES[0])).unwrap()).unwrap();
    let names: Vec<&str> = fresh.params().names().collect();
    assert_eq!(names, moved.params().names().collect::<Vec<_>>());
}

#[test]
fn adapters_change_nothing_at_first_learn_merge_and_come_back() {
    let batch = sequences(NAMES[0]);
    let lora = || LoraSettings {
        rank: 3,
        alpha: 6.0,
        targets: ["q_proj", "v_proj", "down_proj"]
            .map(str::to_owned)
            .to_vec(),
        seed: 5,
    };
    let plain = model(NAMES[0]);
    let mut adapted = model(NAMES[0]);
    adapted.params_mut().adapt(lora()).unwrap();
    let before = plain.all_logits(&batch[0]).unwrap();
    assert_eq!(before, adapted.all_logits(&batch[0]).unwrap());
    let mut trainer = Trainer::new(adapted, settings("model.visual."));
    assert!(
        trainer
            .model()
            .params()
            .trained()
            .all(|(name, _)| name.contains(".lora_"))
    );
    let first = trainer.learn(&batch).unwrap().outcome.loss;
    for _ in 0..8 {
        trainer.learn(&batch).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    trainer.save(folder.path()).unwrap();
    let mut fresh = model(NAMES[0]);
    fresh.params_mut().adapt(lora()).unwrap();
    let mut resumed = Trainer::resume(fresh, settings("model.visual."), folder.path()).unwrap();
    let (a, b) = (
        trainer.learn(&batch).unwrap(),
        resumed.learn(&batch).unwrap(),
    );
    assert_eq!(a.outcome.loss, b.outcome.loss);
    assert!(a.outcome.loss < first * 0.95, "{first} {}", a.outcome.loss);
    // The adapters of the saved state, merged into the plain weights, are the same model.
    let mut merged = model(NAMES[0]);
    merged.params_mut().adapt(lora()).unwrap();
    merged
        .params_mut()
        .load_adapters(&folder.path().join("adapter"))
        .unwrap();
    let beside = merged.all_logits(&batch[0]).unwrap();
    merged.params_mut().merge().unwrap();
    let inside = merged.all_logits(&batch[0]).unwrap();
    let pairs = || beside.iter().zip(&inside);
    assert!(pairs().all(|(a, b)| (a - b).abs() < 1e-4));
    assert!(
        beside
            .iter()
            .zip(&before)
            .any(|(a, b)| (a - b).abs() > 1e-2)
    );
    let none = LoraSettings {
        targets: vec!["no_proj".into()],
        ..lora()
    };
    let error = model(NAMES[0]).params_mut().adapt(none).unwrap_err();
    assert!(error.to_string().contains("no_proj"), "{error}");
}
