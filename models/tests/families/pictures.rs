//! Does each picture count, by itself, in its place and in all of its values?

use spare_models::{Control, KvCache, Model, ModelError, PreparedPrompt};

use crate::golden::{Golden, apart, seeing};

/// A picture's features depend on it alone, and each picture moves what comes after it.
#[test]
fn pictures_are_encoded_apart_and_matter() {
    for golden in seeing() {
        let encode = |i: usize, pixels: &[f32]| {
            golden
                .model
                .encode_picture(golden.grids[i], pixels)
                .unwrap()
        };
        let prompt = golden.prompt();
        for (i, picture) in prompt.pictures().iter().enumerate() {
            // Encoded again after the other one: equal to the bit.
            let again = golden
                .model
                .vision_states(golden.grids[i], &golden.pixels[i])
                .unwrap();
            encode(1 - i, &golden.pixels[1 - i]);
            assert!(
                again.merged
                    == golden
                        .model
                        .vision_states(golden.grids[i], &golden.pixels[i])
                        .unwrap()
                        .merged
            );
            let mut changed = golden.pixels[i].clone();
            changed[5] = -changed[5] + 0.25;
            let mut pictures = prompt.pictures().to_vec();
            pictures[i].features = encode(i, &changed);
            pictures[i].key = [99; 32];
            let other = PreparedPrompt::new(&golden.model, golden.ids.clone(), pictures).unwrap();
            // Same ids, another key: the common prefix ends at the picture.
            assert_eq!(prompt.common_prefix(&other), picture.tokens.start);
            let last = [prompt.len() - 1];
            let run = |p| {
                golden
                    .model
                    .prefill(
                        p,
                        0..prompt.len(),
                        &mut KvCache::new(),
                        &last,
                        &Control::none(),
                    )
                    .unwrap()
            };
            assert!(run(&prompt) != run(&other), "{} picture {i}", golden.name);
            // A cache with the first picture is not a prefix of the other prompt.
            let mut cache = KvCache::new();
            golden
                .model
                .prefill(
                    &prompt,
                    0..picture.tokens.end,
                    &mut cache,
                    &[],
                    &Control::none(),
                )
                .unwrap();
            let from = cache.len()..other.len();
            let error = golden
                .model
                .prefill(&other, from, &mut cache, &[], &Control::none())
                .unwrap_err();
            assert!(
                matches!(error, ModelError::Cache { token, .. } if token == picture.tokens.start)
            );
        }
    }
}

/// Both frames that a still picture stands for go through the patch weights.
#[test]
fn the_second_frame_of_a_patch_counts() {
    for golden in seeing() {
        let (grid, pixels) = (golden.grids[0], &golden.pixels[0]);
        // A row holds for each of three channels two frames.
        let frame = pixels.len() / (grid.h * grid.w) / 6;
        let states = |pixels: &[f32]| golden.model.vision_states(grid, pixels).unwrap().merged;
        let plain = states(pixels);
        for at in [0, frame] {
            let mut changed = pixels.clone();
            changed[at] = -changed[at] + 0.5;
            let moved = apart(&states(&changed), &plain);
            assert!(moved > 1e-3, "{}: value {at} moves {moved:e}", golden.name);
        }
    }
}

/// A model that ignored its pictures would still write fluent text: another picture changes the most likely next token.
#[test]
fn another_picture_changes_the_top_token() {
    for golden in seeing() {
        let model = &golden.model;
        let after = golden.prompt().pictures()[0].tokens.end..golden.ids.len();
        let rows: Vec<usize> = after.collect();
        let tops = |prompt: &PreparedPrompt| -> Vec<Option<usize>> {
            let range = 0..prompt.len();
            let hidden = model
                .prefill(prompt, range, &mut KvCache::new(), &rows, &Control::none())
                .unwrap();
            let logits = model.logits(&hidden).unwrap();
            let rows = logits.chunks(model.vocab_size());
            rows.map(|row| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])))
                .collect()
        };
        let prompt = golden.prompt();
        let mut pictures = prompt.pictures().to_vec();
        let turned: Vec<f32> = golden.pixels[0].iter().rev().copied().collect();
        pictures[0].features = model.encode_picture(golden.grids[0], &turned).unwrap();
        pictures[0].key = [77; 32];
        let other = PreparedPrompt::new(model, golden.ids.clone(), pictures).unwrap();
        assert_ne!(tops(&prompt), tops(&other), "{}", golden.name);
    }
}

/// Nothing of a call stays in the model: text after a prompt with pictures is as it is alone.
#[test]
fn a_prompt_leaves_nothing_behind() {
    for golden in seeing() {
        let text: Vec<u32> = (20..50).collect();
        let run = |model: &Model| {
            let prompt = PreparedPrompt::new(model, text.clone(), Vec::new()).unwrap();
            let rows: Vec<usize> = (0..prompt.len()).collect();
            let (range, mut cache) = (0..prompt.len(), KvCache::new());
            model
                .prefill(&prompt, range, &mut cache, &rows, &Control::none())
                .unwrap()
        };
        let fresh = run(&Golden::open(golden.name).model);
        golden.logits(&golden.prompt(), &mut KvCache::new(), &[]);
        assert!(run(&golden.model) == fresh, "{}", golden.name);
    }
}

/// Three pictures: each stands where the text before it ends, spans its grid, and moves what follows by its longer side.
#[test]
fn three_pictures_have_the_positions_of_their_cells() {
    for golden in seeing() {
        let model = &golden.model;
        let grids = [golden.grids[1], golden.grids[0], golden.grids[1]];
        let pixels = [&golden.pixels[1], &golden.pixels[0], &golden.pixels[1]];
        let pad = golden.prompt().pictures()[0].tokens.start;
        let pad = golden.ids[pad];
        let (mut ids, mut expected, mut next) = (vec![11, 12], vec![[0; 3], [1; 3]], 2);
        for grid in grids {
            let (rows, columns) = ((grid.h / 2) as i32, (grid.w / 2) as i32);
            for cell in 0..rows * columns {
                ids.push(pad);
                expected.push([next, next + cell / columns, next + cell % columns]);
            }
            next += rows.max(columns);
            for id in [13, 14, 15] {
                ids.push(id);
                expected.push([next; 3]);
                next += 1;
            }
        }
        let pictures = (0u8..).zip(grids).zip(pixels);
        let pictures = pictures
            .map(|((i, grid), pixels)| (model.encode_picture(grid, pixels).unwrap(), [i; 32]))
            .collect();
        let prompt = PreparedPrompt::with_pictures(model, ids, pictures).unwrap();
        let axes = &prompt.positions().axes;
        let got: Vec<[i32; 3]> = (0..prompt.len())
            .map(|i| [axes[0][i], axes[1][i], axes[2][i]])
            .collect();
        assert_eq!(got, expected, "{}", golden.name);
        assert_eq!(prompt.positions().next(), next, "{}", golden.name);
    }
}
