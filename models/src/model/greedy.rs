//! What does the model itself say next?

use super::Model;
use crate::{Control, KvCache, ModelError, PreparedPrompt};

impl Model {
    /// Decodes greedily behind `prompt`: the most probable id at each step, ties to the lower one.
    ///
    /// Ends after `max_new` ids or with the first id of `stop`, which is part of the answer, as in transformers' `generate`.
    /// `cache` may hold any beginning of the prompt; afterwards it holds the prompt and all new ids but the last.
    ///
    /// # Errors
    /// Those of [`prefill`](Self::prefill); [`ModelError::Prompt`] where the model writes a picture placeholder.
    pub fn greedy(
        &self,
        prompt: &PreparedPrompt,
        cache: &mut KvCache,
        max_new: usize,
        stop: &[u32],
        ctl: &Control,
    ) -> Result<Vec<u32>, ModelError> {
        let mut answer = Vec::new();
        if prompt.is_empty() || max_new == 0 {
            return Ok(answer);
        }
        let mut context = prompt.clone();
        // The last token is pushed again where the cache already holds it: its row is needed.
        cache.truncate(context.len() - 1)?;
        loop {
            let last = context.len() - 1;
            let hidden = self.prefill(&context, cache.len()..context.len(), cache, &[last], ctl)?;
            let id = argmax(&self.logits(&hidden)?).ok_or_else(|| ModelError::NotFinite {
                place: format!("logits of token {last}"),
            })?;
            answer.push(id);
            if answer.len() == max_new || stop.contains(&id) {
                return Ok(answer);
            }
            if self
                .placeholder_ids()
                .is_some_and(|(image, video)| id == image || id == video)
            {
                return Err(ModelError::Prompt {
                    token: context.len(),
                    found: format!("generated placeholder {id}"),
                    expected: "text".into(),
                });
            }
            context.push_text(id);
        }
    }
}

/// The index of the largest value, the lowest on ties; `None` where a value is not finite.
fn argmax(logits: &[f32]) -> Option<u32> {
    let mut best: Option<(u32, f32)> = None;
    for (id, &value) in (0u32..).zip(logits) {
        if !value.is_finite() {
            return None;
        }
        if best.is_none_or(|(_, top)| value > top) {
            best = Some((id, value));
        }
    }
    best.map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_id_and_nan_is_no_answer() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, 2.0]), Some(1));
        assert_eq!(argmax(&[1.0, f32::NAN]), None);
        assert_eq!(argmax(&[]), None);
    }
}
