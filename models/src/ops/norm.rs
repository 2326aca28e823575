//! How are rows normalised?

use candle_core::{
    CpuStorage, CustomOp1, CustomOp3, Error, Layout, Result, Shape, Storage, Tensor,
};
use rayon::prelude::*;
use spare_kernels::layer;

use super::{failed, min_rows, values};

/// `x / sqrt(mean(x²) + eps) * weight` over the last dimension, in the rounding order of transformers.
#[derive(Debug, Clone)]
pub(crate) struct RmsNorm {
    pub(crate) weight: Tensor,
    pub(crate) eps: f64,
}

impl RmsNorm {
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if x.device().is_cpu() {
            x.apply_op1_no_bwd(&Rms(self))
        } else {
            self.composed(x)
        }
    }

    /// Hands the norm's parameters to a kernel.
    pub(super) fn on_cpu<T>(&self, kernel: impl FnOnce(layer::RmsNorm<'_>) -> T) -> Result<T> {
        let (storage, layout) = self.weight.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else {
            return Err(Error::Msg("a norm on another device than its input".into()));
        };
        Ok(kernel(layer::RmsNorm {
            weight: values(storage, layout)?,
            epsilon: self.eps as f32,
        }))
    }

    fn composed(&self, x: &Tensor) -> Result<Tensor> {
        let variance = x.sqr()?.mean_keepdim(candle_core::D::Minus1)?;
        let scale = (variance + self.eps)?.sqrt()?;
        x.broadcast_div(&scale)?.broadcast_mul(&self.weight)
    }
}

/// Two passes: the mean first, then the mean of the squared distances, so that a large mean costs no digits.
#[derive(Debug, Clone)]
pub(crate) struct LayerNorm {
    pub(crate) weight: Tensor,
    pub(crate) bias: Tensor,
    pub(crate) eps: f64,
}

impl LayerNorm {
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if x.device().is_cpu() {
            x.apply_op3_no_bwd(&self.weight, &self.bias, &Layer(self.eps))
        } else {
            self.composed(x)
        }
    }

    fn composed(&self, x: &Tensor) -> Result<Tensor> {
        let last = candle_core::D::Minus1;
        let centred = x.broadcast_sub(&x.mean_keepdim(last)?)?;
        let variance = centred.sqr()?.mean_keepdim(last)?;
        centred
            .broadcast_div(&(variance + self.eps)?.sqrt()?)?
            .broadcast_mul(&self.weight)?
            .broadcast_add(&self.bias)
    }
}

struct Rms<'a>(&'a RmsNorm);

impl CustomOp1 for Rms<'_> {
    fn name(&self) -> &'static str {
        "rms_norm_f32"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = values(x, layout)?;
        let out = self.0.on_cpu(|norm| layer::rms_norm(x, norm))?;
        let out = out.map_err(failed)?;
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }
}

struct Layer(f64);

impl CustomOp3 for Layer {
    fn name(&self) -> &'static str {
        "layer_norm_f32"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (weight, bias) = (values(weight, weight_layout)?, values(bias, bias_layout)?);
        let x = values(x, x_layout)?;
        let width = weight.len().max(1);
        let mut out = vec![0f32; x.len()];
        out.par_chunks_exact_mut(width)
            .zip(x.par_chunks_exact(width))
            .with_min_len(min_rows(width))
            .for_each(|(out, row)| {
                let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / width as f64;
                let squares: f64 = row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum();
                let scale = (squares / width as f64 + self.0).sqrt().recip();
                for (((out, &v), weight), bias) in out.iter_mut().zip(row).zip(weight).zip(bias) {
                    *out = ((f64::from(v) - mean) * scale) as f32 * weight + bias;
                }
            });
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::Device;

    use super::*;

    const WIDTH: usize = 12;

    /// Rows with a large mean: a one-pass variance loses every digit here.
    fn rows() -> Vec<f32> {
        (0..WIDTH * 5)
            .map(|i| 4000.0 + ((i * 37 % 101) as f32 - 50.0) / 16.0)
            .collect()
    }

    fn params(scale: f32) -> Vec<f32> {
        (0..WIDTH).map(|i| 1.0 + scale * (i as f32 - 5.0)).collect()
    }

    fn largest(a: &Tensor, b: &[f64]) -> f64 {
        let a = a.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(a.len(), b.len());
        a.iter()
            .zip(b)
            .map(|(x, y)| (f64::from(*x) - y).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn layer_norm_equals_f64() {
        let device = &Device::Cpu;
        let norm = LayerNorm {
            weight: Tensor::new(params(0.1), device).unwrap(),
            bias: Tensor::new(params(-0.2), device).unwrap(),
            eps: 1e-6,
        };
        let x = Tensor::from_vec(rows(), (5, WIDTH), device).unwrap();
        let exact: Vec<f64> = rows()
            .chunks(WIDTH)
            .flat_map(|row| {
                let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / WIDTH as f64;
                let variance = row
                    .iter()
                    .map(|&v| (f64::from(v) - mean).powi(2))
                    .sum::<f64>()
                    / WIDTH as f64;
                let row: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
                (0..WIDTH)
                    .map(|i| {
                        (row[i] - mean) / (variance + 1e-6).sqrt() * f64::from(params(0.1)[i])
                            + f64::from(params(-0.2)[i])
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(largest(&norm.forward(&x).unwrap(), &exact) < 1e-6);
        assert!(largest(&norm.composed(&x).unwrap(), &exact) < 2e-3);
    }

    #[test]
    fn rms_norm_equals_f64() {
        let device = &Device::Cpu;
        let norm = RmsNorm {
            weight: Tensor::new(params(0.1), device).unwrap(),
            eps: 1e-6,
        };
        let values: Vec<f32> = rows().iter().map(|v| v - 3999.0).collect();
        let x = Tensor::from_vec(values.clone(), (5, WIDTH), device).unwrap();
        let exact: Vec<f64> = values
            .chunks(WIDTH)
            .flat_map(|row| {
                let squares = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
                let scale = (squares / WIDTH as f64 + 1e-6).sqrt();
                (0..WIDTH)
                    .map(|i| f64::from(row[i]) / scale * f64::from(params(0.1)[i]))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(largest(&norm.forward(&x).unwrap(), &exact) < 1e-6);
        assert!(largest(&norm.composed(&x).unwrap(), &exact) < 1e-6);
    }
}
