//! Where is computed?

use std::fmt;
use std::str::FromStr;

use candle_core::Device;

use crate::ModelError;

/// A device by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeviceChoice {
    /// The first CUDA device where this build can use one and there is one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this number.
    Cuda(usize),
}

impl DeviceChoice {
    /// Opens the device.
    ///
    /// # Errors
    /// [`ModelError::Device`] where a CUDA device is asked for by number and cannot be had.
    pub fn open(self) -> Result<Device, ModelError> {
        match self {
            Self::Cpu => Ok(Device::Cpu),
            Self::Auto => Ok(cuda(0).unwrap_or(Device::Cpu)),
            Self::Cuda(number) => cuda(number),
        }
    }
}

/// One explicit stream: with the default handle candle keeps a stream a host thread and orders nothing between them.
#[cfg(feature = "cuda")]
fn cuda(number: usize) -> Result<Device, ModelError> {
    let refuse = |found: String| ModelError::Device { number, found };
    let device = Device::new_cuda_with_stream(number).map_err(|e| refuse(e.to_string()))?;
    // Sums in full precision: these are the library's defaults, and exactness rests on them.
    candle_core::cuda::set_gemm_reduced_precision_f32(false);
    candle_core::cuda::set_gemm_reduced_precision_f16(false);
    candle_core::cuda::set_gemm_reduced_precision_bf16(false);
    Ok(device)
}

#[cfg(not(feature = "cuda"))]
fn cuda(number: usize) -> Result<Device, ModelError> {
    Err(ModelError::Device {
        number,
        found: "a build without the feature `cuda`".into(),
    })
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.strip_prefix("cuda:")?.parse().ok();
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            other => number(other)
                .map(Self::Cuda)
                .ok_or_else(|| "expected auto, cpu or cuda:N with N from 0".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for choice in [DeviceChoice::Auto, DeviceChoice::Cpu, DeviceChoice::Cuda(3)] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        assert!(
            "cuda:-1".parse::<DeviceChoice>().is_err() && "gpu".parse::<DeviceChoice>().is_err()
        );
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_build_without_cuda_says_so() {
        assert!(DeviceChoice::Auto.open().is_ok_and(|d| d.is_cpu()));
        let error = DeviceChoice::Cuda(1)
            .open()
            .map(drop)
            .map_err(|e| e.to_string());
        assert_eq!(
            error,
            Err(
                "device cuda:1: found a build without the feature `cuda`, expected a CUDA device"
                    .into()
            )
        );
    }
}
