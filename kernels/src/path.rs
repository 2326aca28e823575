//! Which instructions do the kernels run on, and how is one set forced?

use std::sync::OnceLock;

/// Environment variable that names the path of [`Path::current`]: `portable`, `avx2`, `avx512`,
/// `avx512bf16` or `amx`. A name this CPU cannot run, or an unknown one, is ignored.
pub const PATH_VARIABLE: &str = "SPARE_KERNELS_PATH";

/// Instruction set of a kernel. Results differ between paths by rounding only, within a path not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path {
    /// AMX tiles of bf16 where both operands are bf16, [`Path::Avx512`] elsewhere.
    Amx,
    /// AVX-512 with dot products of bf16 pairs where both operands are bf16, [`Path::Avx512`] elsewhere.
    Avx512Bf16,
    /// AVX-512F: bf16 widened to f32, fused multiply-add.
    Avx512,
    /// AVX2 and FMA.
    Avx2,
    /// No instruction set beyond the target's own; multiply and add are rounded separately.
    Portable,
}

impl Path {
    /// Every path, the fastest first.
    pub const ALL: [Self; 5] = [
        Self::Amx,
        Self::Avx512Bf16,
        Self::Avx512,
        Self::Avx2,
        Self::Portable,
    ];

    /// Whether this CPU can run the path.
    #[must_use]
    pub fn available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Self::Avx2.available() && is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => Self::Avx512.available() && is_x86_feature_detected!("avx512bf16"),
            #[cfg(target_arch = "x86_64")]
            Self::Amx => Self::Avx512.available() && crate::simd::amx::available(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Whether the product of bf16 by bf16 has instructions of its own, faster than widening both: then a model in
    /// bf16 rounds the rows it multiplies, as it does on a GPU.
    #[must_use]
    pub fn multiplies_bf16(self) -> bool {
        matches!(self, Self::Amx | Self::Avx512Bf16) && self.available()
    }

    /// Whether the path is the better choice where it is available. Intel's cores from Sapphire Rapids on (they have
    /// AVX512-FP16) begin a `vdpbf16ps` every other cycle, which is slower than widening: 144 against 231 GFLOP/s measured.
    fn pays(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self == Self::Avx512Bf16 {
            return !is_x86_feature_detected!("avx512fp16");
        }
        true
    }

    /// The path of this process: the one that [`PATH_VARIABLE`] names, else the fastest this CPU can run.
    /// Read once.
    #[must_use]
    pub fn current() -> Self {
        static CURRENT: OnceLock<Path> = OnceLock::new();
        *CURRENT.get_or_init(|| {
            let forced = std::env::var(PATH_VARIABLE).ok();
            let named = |path: &Self| forced.as_deref() == Some(path.name());
            let mut available = Self::ALL.into_iter().filter(|path| path.available());
            available
                .clone()
                .find(named)
                .or_else(|| available.find(|path| path.pays()))
                .unwrap_or(Self::Portable)
        })
    }

    /// The name that [`PATH_VARIABLE`] takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amx => "amx",
            Self::Avx512Bf16 => "avx512bf16",
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    /// The path to run when `self` is asked for: itself, or the portable one where the CPU lacks it.
    pub(crate) fn or_portable(self) -> Self {
        if self.available() {
            self
        } else {
            Self::Portable
        }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
