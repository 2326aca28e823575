//! Every gradient against central differences.
#![allow(clippy::unwrap_used)]

use candle_core::{Device, Tensor, Var};

use super::*;

fn wave(dims: &[usize], step: f32) -> Vec<f32> {
    let count = dims.iter().product::<usize>();
    (0..count).map(|i| (i as f32 * step).sin()).collect()
}

/// `d sum(f(x) * w) / dx` for each input by candle and by differences of f64 sums.
fn check(inputs: &[(&[usize], f32)], f: impl Fn(&[Tensor]) -> candle_core::Result<Tensor>) {
    let values: Vec<Vec<f32>> = inputs.iter().map(|(d, s)| wave(d, *s)).collect();
    let tensors = |values: &[Vec<f32>]| -> Vec<Var> {
        let pairs = values.iter().zip(inputs);
        pairs
            .map(|(v, (dims, _))| {
                Var::from_tensor(&Tensor::from_slice(v, *dims, &Device::Cpu).unwrap()).unwrap()
            })
            .collect()
    };
    let loss = |vars: &[Var]| {
        let plain: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
        let out = f(&plain).unwrap();
        let w = Tensor::from_vec(wave(out.dims(), 0.7), out.dims(), &Device::Cpu).unwrap();
        (out * w).unwrap().sum_all().unwrap()
    };
    let value = |values: &[Vec<f32>]| f64::from(loss(&tensors(values)).to_scalar::<f32>().unwrap());
    let vars = tensors(&values);
    let grads = loss(&vars).backward().unwrap();
    for (which, var) in vars.iter().enumerate() {
        let grad = grads.get(var.as_tensor()).unwrap();
        let grad = grad.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (place, got) in grad.iter().enumerate() {
            let moved = |by: f32| {
                let mut values = values.clone();
                values[which][place] += by;
                value(&values)
            };
            let expected = (moved(5e-3) - moved(-5e-3)) / 1e-2;
            let far = (f64::from(*got) - expected).abs();
            assert!(
                far < 2e-3,
                "input {which}, value {place}: {got} against {expected}"
            );
        }
    }
}

#[test]
fn softmax_of_both_sights() {
    for sight in [Sight::All, Sight::Causal] {
        check(&[(&[2, 8, 4], 1.3)], |x| softmax(&x[0], 0.6, sight));
    }
    let x = Tensor::from_vec(wave(&[8, 4], 1.3), (8, 4), &Device::Cpu).unwrap();
    let shares = softmax(&x, 1.0, Sight::Causal).unwrap();
    let shares = shares.to_vec2::<f32>().unwrap();
    assert_eq!((shares[0][0], shares[4][0]), (1.0, 1.0));
    assert_eq!(shares[5][2..], [0.0, 0.0]);
}

#[test]
fn norms() {
    check(&[(&[3, 6], 1.1), (&[6], 0.4)], |x| {
        rms_norm(&x[0], &x[1], 1e-6)
    });
    check(&[(&[3, 6], 1.1), (&[6], 0.4), (&[6], 0.9)], |x| {
        layer_norm(&x[0], &x[1], &x[2], 1e-6)
    });
}

#[test]
fn rotary_and_gate() {
    let angles = Angles::new(&wave(&[3, 2], 2.3));
    check(&[(&[3, 2, 4], 1.1)], |x| rotate(&x[0], &angles));
    check(&[(&[3, 4], 1.9), (&[3, 4], 0.8)], |x| swiglu(&x[0], &x[1]));
}

#[test]
fn bias_and_gelu() {
    check(&[(&[66, 2], 1.1), (&[2], 0.4)], |x| add_bias(&x[0], &x[1]));
    check(&[(&[3, 5], 1.3)], |x| gelu_tanh(&(&x[0] * 3.0)?));
    let zero = Tensor::zeros(1, candle_core::DType::F32, &Device::Cpu).unwrap();
    let zero = Var::from_tensor(&zero).unwrap();
    let grads = gelu_tanh(zero.as_tensor()).unwrap().backward().unwrap();
    let slope = grads.get(zero.as_tensor()).unwrap();
    assert_eq!(slope.to_vec1::<f32>().unwrap(), [0.5]);
    let wide = Tensor::zeros((2, 3), candle_core::DType::F32, &Device::Cpu).unwrap();
    assert!(add_bias(&wide, zero.as_tensor()).is_err());
}
#[test]
fn entropy_with_weights() {
    let targets = std::sync::Arc::new(vec![(2, 1.0), (0, 0.0), (1, 3.0)]);
    check(&[(&[3, 5], 1.7)], |x| cross_entropy(&x[0], targets.clone()));
    let x = Tensor::zeros((3, 5), candle_core::DType::F32, &Device::Cpu).unwrap();
    let loss = cross_entropy(&x, targets).unwrap();
    assert!((loss.to_scalar::<f32>().unwrap() - 5f32.ln()).abs() < 1e-6);
    let none = std::sync::Arc::new(vec![(0, 0.0); 3]);
    assert!(cross_entropy(&x, none).is_err());
    let outside = std::sync::Arc::new(vec![(5, 1.0); 3]);
    assert!(cross_entropy(&x, outside).is_err());
}
