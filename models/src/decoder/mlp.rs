//! What does the second half of a layer do to each token: one gated MLP, or a few experts out of many?

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Shape, Tensor};
use spare_kernels::layer;

use super::config::{Experts, TextConfig};
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::linear::{Linear, PackedMatrix};
use crate::ops::{failed, swiglu, values};

/// `down(silu(gate x) * up x)`.
#[derive(Debug)]
pub(crate) struct Mlp {
    pub(crate) gate: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

impl Mlp {
    /// Three linear layers under `name`.
    pub(crate) fn load(
        weights: &mut Weights,
        name: &str,
        (hidden, inner): (usize, usize),
        bias: bool,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            gate: weights.linear(&format!("{name}.gate_proj"), hidden, inner, bias)?,
            up: weights.linear(&format!("{name}.up_proj"), hidden, inner, bias)?,
            down: weights.linear(&format!("{name}.down_proj"), inner, hidden, bias)?,
        })
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let packed = (self.gate.packed(), self.up.packed(), self.down.packed());
        if let (Some(gate), Some(up), Some(down)) = packed {
            return Ok(x.apply_op1_no_bwd(&Gated { gate, up, down })?);
        }
        let inner = swiglu(self.gate.forward(x)?, &self.up.forward(x)?)?;
        Ok(self.down.forward(&inner)?)
    }
}

/// Rows whose inner states are held at once. Those of 1,024 rows take 25 MB in a model of 2 B parameters, which the allocator
/// keeps for the next layer; those of 4,096 were mapped and zeroed anew in each.
const ROWS: usize = 1024;

/// The whole MLP on packed weights, some rows at a time.
struct Gated<'a> {
    gate: &'a PackedMatrix,
    up: &'a PackedMatrix,
    down: &'a PackedMatrix,
}

impl CustomOp1 for Gated<'_> {
    fn name(&self) -> &'static str {
        "gated_mlp_f32"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let (n, width) = layout.shape().dims2()?;
        let out = self.down.weight().out();
        let mut all = Vec::new();
        for rows in values(x, layout)?.chunks((ROWS * width).max(1)) {
            let mut inner = self.gate.product(rows)?;
            layer::swiglu(&mut inner, &self.up.product(rows)?).map_err(failed)?;
            let part = self.down.product(&inner)?;
            if n <= ROWS {
                all = part;
            } else {
                all.reserve_exact(n * out - all.len());
                all.extend_from_slice(&part);
            }
        }
        Ok((CpuStorage::F32(all), (n, out).into()))
    }
}

/// The second half of one layer.
#[derive(Debug)]
pub(super) enum FeedForward {
    Dense(Mlp),
    Sparse(Sparse),
}

impl FeedForward {
    pub(super) fn load(
        config: &TextConfig,
        weights: &mut Weights,
        layer: usize,
        name: &str,
    ) -> Result<Self, ModelError> {
        match &config.experts {
            Some(experts) if experts.at(layer) => Ok(Self::Sparse(Sparse::load(
                experts,
                config.hidden,
                weights,
                name,
            )?)),
            _ => Ok(Self::Dense(Mlp::load(
                weights,
                name,
                (config.hidden, config.intermediate),
                config.biases.mlp,
            )?)),
        }
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        match self {
            Self::Dense(mlp) => mlp.forward(x),
            Self::Sparse(sparse) => sparse.forward(x),
        }
    }
}

/// A router and its experts.
#[derive(Debug)]
pub(super) struct Sparse {
    /// `[experts, hidden]`, always f32: a rounded router may pick another expert.
    router: Tensor,
    experts: Vec<Mlp>,
    per_token: usize,
}

/// For each expert the tokens that go through it, and for each of these its share.
type Routes = Vec<Vec<(u32, f32)>>;

impl Sparse {
    fn load(
        config: &Experts,
        hidden: usize,
        weights: &mut Weights,
        name: &str,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            router: weights.exact(&format!("{name}.gate.weight"), config.count, hidden)?,
            experts: super::experts::load(config, hidden, weights, &format!("{name}.experts"))?,
            per_token: config.per_token,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let (n, hidden) = x.dims2()?;
        let logits = x
            .matmul(&self.router.t()?)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let routes = route(&logits, self.experts.len(), self.per_token);
        let (mut outputs, mut shares) = (Vec::new(), Vec::with_capacity(n * self.per_token));
        // Where the outputs of a token stand among all, in the order of its experts: the order the reference adds them in.
        let mut places = vec![Vec::with_capacity(self.per_token); n];
        for (expert, tokens) in self
            .experts
            .iter()
            .zip(&routes)
            .filter(|(_, tokens)| !tokens.is_empty())
        {
            let rows: Vec<u32> = tokens.iter().map(|(token, _)| *token).collect();
            let index = Tensor::new(rows, x.device())?;
            outputs.push(expert.forward(&x.index_select(&index, 0)?)?);
            for (token, share) in tokens {
                if let Some(places) = places.get_mut(*token as usize) {
                    places.push(shares.len() as u32);
                }
                shares.push(*share);
            }
        }
        let shares = Tensor::from_vec(shares, (n * self.per_token, 1), x.device())?;
        let outputs = Tensor::cat(&outputs, 0)?.broadcast_mul(&shares)?;
        let index = Tensor::new(places.concat(), x.device())?;
        let by_token = outputs
            .index_select(&index, 0)?
            .reshape((n, self.per_token, hidden))?;
        Ok(by_token.sum(1)?.to_dtype(DType::F32)?)
    }
}

/// Softmax over the experts in f32, the `per_token` most probable ones of each token, ties to the lower index, and their
/// probabilities divided by their sum.
fn route(logits: &[f32], experts: usize, per_token: usize) -> Routes {
    let mut routes = vec![Vec::new(); experts];
    for (token, row) in (0u32..).zip(logits.chunks_exact(experts.max(1))) {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exps: Vec<f32> = row.iter().map(|v| (v - top).exp()).collect();
        let sum: f32 = exps.iter().sum();
        let probabilities: Vec<f32> = exps.iter().map(|e| e / sum).collect();
        let mut order: Vec<usize> = (0..experts).collect();
        // A stable sort: equal probabilities stay in the order of their indexes.
        order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
        order.truncate(per_token);
        let chosen: f32 = order.iter().map(|e| probabilities[*e]).sum();
        for expert in order {
            routes[expert].push((token, probabilities[expert] / chosen));
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_expert_and_shares_sum_to_one() {
        let logits = [1.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0];
        let routes = route(&logits, 4, 2);
        let of = |token: u32| -> Vec<(usize, f32)> {
            let hits = routes.iter().enumerate();
            hits.flat_map(|(e, r)| {
                r.iter()
                    .filter(|(t, _)| *t == token)
                    .map(move |(_, s)| (e, *s))
            })
            .collect()
        };
        assert_eq!(of(0), [(1, 0.5), (2, 0.5)]);
        assert_eq!(of(1), [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn every_token_keeps_its_share_whatever_the_number_of_experts() {
        let logits: Vec<f32> = (0..7 * 11).map(|i| (i as f32 * 0.7).sin() * 3.0).collect();
        let routes = route(&logits, 11, 3);
        for token in 0..7u32 {
            let shares: Vec<f32> = routes
                .iter()
                .flatten()
                .filter(|(t, _)| *t == token)
                .map(|(_, s)| *s)
                .collect();
            assert_eq!(shares.len(), 3);
            assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }
}
