//! Evidence in the loaded model's own words: it is asked once for each segment, in a chat of its own, and believed only where
//! [`super::check()`] finds its lines faithful.

use spare_models::prompt::Chat;
use spare_models::{Control, KvCache, PreparedPrompt};

use super::{Evidence, HEADER, Source};
use crate::engine::Engine;
use crate::error::Error;

/// Tokens that the model may write for one segment.
pub const MAX_EVIDENCE_TOKENS: usize = 128;

/// What the model is asked.
fn request(segment: &str) -> String {
    format!(
        "Below is what an agent thought before one step. List the values it holds as short lines, word for word, one value a line: \
         text read off pictures as `Text: ...`, numbers as `Number: ...`, boxes as `Box: [...]`. Leave out everything else.\n\n{segment}"
    )
}

/// The model's lines for one segment; None where it writes nothing.
pub(crate) fn generate(
    engine: &Engine,
    source: &Source<'_>,
    control: &Control,
) -> Result<Option<Evidence>, Error> {
    let chat = Chat {
        messages: vec![serde_json::json!({"role": "user", "content": request(source.text)})],
        add_generation_prompt: true,
        ..Chat::default()
    };
    let rendering = engine.prompter.render(&chat)?;
    let mut ids = engine.prompter.encode(&rendering, &[])?.ids;
    ids.extend(engine.prompter.encode_text(&format!("{HEADER}\n"))?);
    let prompt = PreparedPrompt::new(&engine.model, ids, Vec::new())?;
    let stop = engine.model.eos();
    let mut written = engine.model.greedy(
        &prompt,
        &mut KvCache::new(),
        MAX_EVIDENCE_TOKENS,
        stop,
        control,
    )?;
    if written.last().is_some_and(|id| stop.contains(id)) {
        written.pop();
    }
    let evidence = Evidence::from_text(&engine.prompter.decode(&written)?);
    Ok(Some(evidence).filter(|e| !e.is_empty()))
}
