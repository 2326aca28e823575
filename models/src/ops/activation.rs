//! Which nonlinearity stands where? SwiGLU in the text model, in the tower's blocks tanh GELU (Qwen3-VL), quick GELU (Qwen2-VL)
//! or SwiGLU (Qwen2.5-VL), erf GELU in all mergers.

use candle_core::{CpuStorage, InplaceOp1, InplaceOp2, Layout, Result, Tensor};
use spare_kernels::layer;

use super::{failed, values, values_mut};

/// `silu(gate) * up`. `gate` is a result that nobody else holds: on the CPU it is changed in place.
pub(crate) fn swiglu(gate: Tensor, up: &Tensor) -> Result<Tensor> {
    if gate.device().is_cpu() {
        gate.inplace_op2(up, &SwiGlu)?;
        Ok(gate)
    } else {
        gate.silu()? * up
    }
}

/// The tanh approximation of GELU. `x` is a result that nobody else holds: on the CPU it is changed in place.
pub(crate) fn gelu_tanh(x: Tensor) -> Result<Tensor> {
    if x.device().is_cpu() {
        x.inplace_op1(&GeluTanh)?;
        Ok(x)
    } else {
        x.gelu()
    }
}

/// GELU itself, by the error function.
pub(crate) fn gelu_erf(x: &Tensor) -> Result<Tensor> {
    x.gelu_erf()
}

/// `x * sigmoid(1.702 x)`, composed: only the tower of Qwen2-VL has it.
pub(crate) fn gelu_quick(x: &Tensor) -> Result<Tensor> {
    let gate = ((x * -1.702)?.exp()? + 1.0)?;
    x / gate
}

struct SwiGlu;

impl InplaceOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu_f32"
    }

    fn cpu_fwd(
        &self,
        gate: &mut CpuStorage,
        gate_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<()> {
        layer::swiglu(values_mut(gate, gate_layout)?, values(up, up_layout)?).map_err(failed)
    }
}

struct GeluTanh;

impl InplaceOp1 for GeluTanh {
    fn name(&self) -> &'static str {
        "gelu_tanh_f32"
    }

    fn cpu_fwd(&self, x: &mut CpuStorage, layout: &Layout) -> Result<()> {
        layer::gelu_tanh(values_mut(x, layout)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::Device;

    use super::*;

    fn line() -> Tensor {
        let values: Vec<f32> = (0..=800).map(|i| (i as f32 - 400.0) / 100.0).collect();
        Tensor::new(values, &Device::Cpu).unwrap()
    }

    fn apart(a: &Tensor, b: &Tensor) -> f32 {
        (a - b)
            .unwrap()
            .abs()
            .unwrap()
            .max(0)
            .unwrap()
            .to_scalar()
            .unwrap()
    }

    #[test]
    fn the_two_gelus_differ_and_are_each_right() {
        let x = line();
        assert!(apart(&gelu_tanh(line()).unwrap(), &x.gelu().unwrap()) < 1e-6);
        // Values of torch.nn.GELU at 1 and -0.5.
        let erf = gelu_erf(&x).unwrap().to_vec1::<f32>().unwrap();
        assert!((erf[500] - 0.841_344_7).abs() < 1e-6 && (erf[350] + 0.154_268_77).abs() < 1e-6);
        assert!(apart(&gelu_tanh(line()).unwrap(), &gelu_erf(&x).unwrap()) > 1e-4);
    }

    #[test]
    fn quick_gelu_equals_f64() {
        let x = line();
        let quick = gelu_quick(&x).unwrap().to_vec1::<f32>().unwrap();
        for (value, quick) in x.to_vec1::<f32>().unwrap().iter().zip(quick) {
            let exact = f64::from(*value) / (1.0 + (-1.702 * f64::from(*value)).exp());
            assert!((exact - f64::from(quick)).abs() < 1e-6);
        }
    }

    #[test]
    fn swiglu_equals_composed() {
        let (gate, up) = (line(), line().affine(-2.0, 0.5).unwrap());
        let plain = (gate.silu().unwrap() * &up).unwrap();
        assert!(apart(&swiglu(gate, &up).unwrap(), &plain) < 1e-5);
    }
}
