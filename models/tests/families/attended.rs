//! The slow path that shows where tokens look is the fast path, and its shares are shares.

use candle_core::Device;
use spare_models::{Control, KvCache, ModelError, WeightDtype, load};

use crate::golden::{BOARD, all, apart, folder, seeing};

/// Largest difference of a hidden state after the final norm, whose values are of the order of 1.
const SAME: f32 = 1e-5;

#[test]
fn its_hidden_states_are_those_of_the_fast_path() {
    for golden in all() {
        let prompt = golden.prompt();
        let (model, len) = (&golden.model, prompt.len());
        let rows: Vec<usize> = (0..len).collect();
        let control = Control::none();
        let mut cache = KvCache::new();
        let fast = model
            .prefill(&prompt, 0..len, &mut cache, &rows, &control)
            .unwrap();
        let scale = fast.values.iter().fold(1f32, |most, v| most.max(v.abs()));
        // From the start, and behind a cache that holds a part of the prompt.
        for held in [0, len / 3, len - 1] {
            let mut beginning = cache.fork();
            beginning.truncate(held).unwrap();
            let slow = model
                .attended(&prompt, &beginning, &rows[held..], &[], &control)
                .unwrap();
            let gap = apart(&slow.hidden.values, &fast.values[held * fast.width..]);
            println!("{} behind {held}: {gap:.1e} of {scale:.1}", golden.name);
            assert!(gap <= SAME * scale, "{}: {gap:e}", golden.name);
            assert_eq!(beginning.len(), held, "the cache is not changed");
        }
    }
}

#[test]
fn shares_add_up_to_one_and_nobody_looks_ahead() {
    for golden in seeing() {
        let prompt = golden.prompt();
        let len = prompt.len();
        let pictures: Vec<_> = prompt.pictures().iter().map(|p| p.tokens.clone()).collect();
        let mut text = Vec::new();
        let mut at = 0;
        for picture in &pictures {
            text.push(at..picture.start);
            at = picture.end;
        }
        text.push(at..len);
        let row = len / 2;
        let groups = [pictures, text, vec![0..len], vec![row + 1..len], vec![0..1]];
        let control = Control::none();
        let of = |rows: &[usize]| {
            golden
                .model
                .attended(&prompt, &KvCache::new(), rows, &groups, &control)
                .unwrap()
                .shares
        };
        let one = of(&[row]);
        assert!(one.len() > 1);
        for shares in &one {
            assert!(
                (shares[0] + shares[1] - 1.0).abs() < 1e-5,
                "{}: {shares:?}",
                golden.name
            );
            assert!((shares[2] - 1.0).abs() < 1e-5 && shares[3] == 0.0);
            assert!(shares[0] > 0.0 && shares[1] > 0.0);
        }
        // The first token sees itself alone; several tokens give the mean of each.
        let first = of(&[0]);
        assert!(first.iter().all(|shares| (shares[4] - 1.0).abs() < 1e-6));
        for ((both, a), b) in of(&[0, row]).iter().zip(&first).zip(&one) {
            for ((both, a), b) in both.iter().zip(a).zip(b) {
                assert!((both - (a + b) / 2.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn rows_outside_are_refused() {
    let model = load(&folder(BOARD), WeightDtype::F32, &Device::Cpu).unwrap();
    let prompt = spare_models::PreparedPrompt::new(&model, vec![40, 41, 42], Vec::new()).unwrap();
    let control = Control::none();
    let refused = |rows: &[usize]| {
        model
            .attended(&prompt, &KvCache::new(), rows, &[], &control)
            .unwrap_err()
    };
    assert!(matches!(
        refused(&[]),
        ModelError::Range { what: "rows", .. }
    ));
    assert!(matches!(
        refused(&[3]),
        ModelError::Range { what: "row", .. }
    ));
}
