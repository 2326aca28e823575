//! In which of their layouts do the experts stand in the files?
//!
//! - released Qwen3-VL-MoE: `experts.gate_up_proj` `[experts, hidden, 2 * inner]` and `experts.down_proj`
//!   `[experts, inner, hidden]`, to be multiplied as `x · W`, the gate's columns first;
//! - as transformers 5 holds and saves them: `[experts, 2 * inner, hidden]` and `[experts, hidden, inner]`;
//! - one matrix an expert: `experts.{e}.{gate,up,down}_proj.weight`.
//!
//! The shape decides. Where hidden equals inner or twice inner it cannot, and the checkpoint is refused.

use super::config::Experts;
use super::mlp::Mlp;
use crate::ModelError;
use crate::checkpoint::{Stack, Weights};
use crate::linear::Linear;

pub(super) fn load(
    config: &Experts,
    hidden: usize,
    weights: &mut Weights,
    name: &str,
) -> Result<Vec<Mlp>, ModelError> {
    let inner = config.intermediate;
    let fused = format!("{name}.gate_up_proj");
    if !weights.has(&fused) {
        return (0..config.count)
            .map(|e| Mlp::load(weights, &format!("{name}.{e}"), (hidden, inner), false))
            .collect();
    }
    let down = format!("{name}.down_proj");
    let gate_up = weights.stack(&fused, config.count, (2 * inner, hidden))?;
    let down = weights.stack(&down, config.count, (hidden, inner))?;
    let experts = (0..config.count)
        .map(|e| {
            let mut part = |stack: &Stack, rows| -> Result<Linear, ModelError> {
                Ok(Linear::new(weights.slice(stack, e, rows)?, None))
            };
            Ok(Mlp {
                gate: part(&gate_up, 0..inner)?,
                up: part(&gate_up, inner..2 * inner)?,
                down: part(&down, 0..hidden)?,
            })
        })
        .collect();
    weights.done(&gate_up);
    weights.done(&down);
    experts
}
