//! How is a weight matrix kept, and what is its product with a batch of rows?

use std::sync::Arc;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{DType, Module, Result, Tensor};

/// A weight `[out, in]` in the type it is kept in.
#[derive(Debug, Clone)]
pub(crate) enum Matrix {
    /// f32, bf16 or f16.
    Dense(Tensor),
    /// In blocks of a GGML type. On the CPU the product also rounds the rows it is given, to 8 bits.
    Quantised(QMatMul),
}

impl Matrix {
    pub(crate) fn quantised(tensor: QTensor) -> Result<Self> {
        Ok(Self::Quantised(QMatMul::from_arc(Arc::new(tensor))?))
    }

    /// `x · selfᵀ`: `[n, in]` to `[n, out]`, in and out f32.
    ///
    /// On the CPU a 16-bit weight is widened for the length of this product, so nothing but the weight is rounded. On another
    /// device `x` is narrowed to bf16 beside a bf16 weight and sums are kept in f32; f16 is widened there too, for it overflows.
    fn product(&self, x: &Tensor) -> Result<Tensor> {
        let weight = match self {
            Self::Quantised(weight) => return weight.forward(x),
            Self::Dense(weight) => weight,
        };
        if weight.dtype() == DType::BF16 && !x.device().is_cpu() {
            return x
                .to_dtype(DType::BF16)?
                .matmul(&weight.t()?)?
                .to_dtype(DType::F32);
        }
        x.matmul(&weight.to_dtype(DType::F32)?.t()?)
    }
}

/// `x · weightᵀ + bias`.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    weight: Matrix,
    bias: Option<Tensor>,
}

impl Linear {
    /// `bias` is `[out]`, f32.
    pub(crate) fn new(weight: Matrix, bias: Option<Tensor>) -> Self {
        Self { weight, bias }
    }

    /// `[n, in]` to `[n, out]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.weight.product(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}
