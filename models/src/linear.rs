//! How is a weight matrix kept, and what is its product with a batch of rows?

use std::sync::Arc;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{
    CpuStorage, CustomOp1, DType, Error, Layout, Module, Result, Shape, Storage, Tensor,
};
use half::{bf16, f16};
use spare_kernels::Path;
use spare_kernels::attention::Products;
use spare_kernels::gemm::{Activations, Packed, PackedBf16, PackedF32, product};

use crate::ops::{failed, values};

/// A weight `[out, in]` in the type it is kept in.
#[derive(Debug, Clone)]
pub(crate) enum Matrix {
    /// f32, bf16 or f16, on a device other than the CPU; f16 on the CPU too.
    Dense(Tensor),
    /// f32 or bf16 on the CPU, in the order that the kernels read it in.
    Packed(PackedMatrix),
    /// In blocks of a GGML type. On the CPU the product also rounds the rows it is given, to 8 bits.
    Quantised(QMatMul),
}

/// A weight `[out, in]` in host memory; cloning shares it.
#[derive(Debug, Clone)]
pub(crate) enum PackedMatrix {
    F32(Arc<PackedF32>),
    Bf16(Arc<PackedBf16>),
}

impl PackedMatrix {
    /// Packs row-major `[rows, width]`.
    pub(crate) fn of_f32(values: &[f32], (rows, width): (usize, usize)) -> Result<Self> {
        let packed = PackedF32::pack(values, rows, width).map_err(failed)?;
        Ok(Self::F32(Arc::new(packed)))
    }

    /// Widens and packs row-major `[rows, width]`.
    pub(crate) fn of_f16(values: &[f16], (rows, width): (usize, usize)) -> Result<Self> {
        let packed = PackedF32::pack_f16(values, rows, width).map_err(failed)?;
        Ok(Self::F32(Arc::new(packed)))
    }

    /// Packs row-major `[rows, width]`.
    pub(crate) fn of_bf16(values: &[bf16], (rows, width): (usize, usize)) -> Result<Self> {
        let packed = PackedBf16::pack(values, rows, width).map_err(failed)?;
        Ok(Self::Bf16(Arc::new(packed)))
    }

    /// As the kernels take it.
    pub(crate) fn weight(&self) -> Packed<'_> {
        match self {
            Self::F32(weight) => Packed::F32(weight),
            Self::Bf16(weight) => Packed::Bf16(weight),
        }
    }

    /// Whether [`product`](Self::product) rounds the rows it is given to bf16: beside a bf16 weight, where the CPU multiplies
    /// bf16 by bf16 faster than it widens them.
    pub(crate) fn rounds_rows(&self) -> bool {
        matches!(self, Self::Bf16(_)) && Path::current().multiplies_bf16()
    }

    /// `rows · selfᵀ` for row-major f32 `rows` of the weight's width, summed in f32. A row's result depends on that row alone.
    pub(crate) fn product(&self, rows: &[f32]) -> Result<Vec<f32>> {
        let rows = if self.rounds_rows() {
            Activations::F32AsBf16(rows)
        } else {
            Activations::F32(rows)
        };
        product(rows, self.weight()).map_err(failed)
    }

    /// Appends row `row` of the weight to `out`; false where there is none.
    pub(crate) fn push_row(&self, row: usize, out: &mut Vec<f32>) -> bool {
        let before = out.len();
        match self {
            Self::F32(weight) => out.extend(weight.row(row).into_iter().flatten()),
            Self::Bf16(weight) => {
                out.extend(weight.row(row).into_iter().flatten().map(bf16::to_f32));
            }
        }
        out.len() > before
    }
}

impl Matrix {
    pub(crate) fn quantised(tensor: QTensor) -> Result<Self> {
        Ok(Self::Quantised(QMatMul::from_arc(Arc::new(tensor))?))
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

    /// The weight where it lies packed in host memory and nothing is added to its product.
    pub(crate) fn packed(&self) -> Option<&PackedMatrix> {
        match (&self.weight, &self.bias) {
            (Matrix::Packed(weight), None) => Some(weight),
            _ => None,
        }
    }

    /// What attention beside this weight is computed in: bf16 where this product rounds its rows too.
    pub(crate) fn products(&self) -> Products {
        match &self.weight {
            Matrix::Packed(weight) if weight.rounds_rows() => Products::Bf16,
            _ => Products::F32,
        }
    }

    /// `[n, in]` to `[n, out]`, in and out f32.
    ///
    /// On the CPU nothing but the weight is rounded, unless [`PackedMatrix::rounds_rows`]. On another device `x` is narrowed to bf16 beside a bf16 weight and sums are
    /// kept in f32; f16 is widened there too, for it overflows.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = match &self.weight {
            Matrix::Packed(weight) => x.apply_op1_no_bwd(&Product(weight))?,
            Matrix::Quantised(weight) => weight.forward(x)?,
            Matrix::Dense(weight) if weight.dtype() == DType::BF16 && !x.device().is_cpu() => x
                .to_dtype(DType::BF16)?
                .matmul(&weight.t()?)?
                .to_dtype(DType::F32)?,
            Matrix::Dense(weight) if x.device().is_cpu() => {
                x.apply_op1_no_bwd(&Product(&widened(weight)?))?
            }
            Matrix::Dense(weight) => x.matmul(&weight.to_dtype(DType::F32)?.t()?)?,
        };
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// An f16 weight on the CPU, packed in f32 for the length of one product.
fn widened(weight: &Tensor) -> Result<PackedMatrix> {
    let (storage, layout) = weight.storage_and_layout();
    let (Storage::Cpu(storage), (rows, width)) = (&*storage, weight.dims2()?) else {
        return Err(Error::Msg(
            "a weight on another device than its input".into(),
        ));
    };
    let values = layout.contiguous_offsets();
    let values = values.and_then(|(start, end)| storage.as_slice::<f16>().ok()?.get(start..end));
    PackedMatrix::of_f16(values.unwrap_or_default(), (rows, width))
}

struct Product<'a>(&'a PackedMatrix);

impl CustomOp1 for Product<'_> {
    fn name(&self) -> &'static str {
        "packed_product_f32"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let out = self.0.product(values(x, layout)?)?;
        let n = layout.shape().dims2()?.0;
        Ok((CpuStorage::F32(out), (n, self.0.weight().out()).into()))
    }
}
