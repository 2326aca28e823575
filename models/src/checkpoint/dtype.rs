//! In which type is a tensor stored, and in which is it kept?

use std::fmt;
use std::str::FromStr;

use candle_core::quantized::GgmlDType;
use safetensors::Dtype;

/// From this many parameters on [`WeightDtype::Auto`] keeps 16-bit weights in 16 bits.
const AUTO_NARROW_FROM: u64 = 1_500_000_000;

/// In which type the weight matrices are kept in memory. Sums are f32 whatever the choice; norm weights, biases and the
/// routers of experts are always f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WeightDtype {
    /// As stored, so that no weight is rounded. Below 1.5 billion parameters 16-bit weights are widened to f32, which is
    /// faster; quantised matrices of a GGUF file stay quantised, its tables are widened.
    #[default]
    Auto,
    /// f32: exact, also for quantised files.
    F32,
    /// bf16, half the memory of f32. Exact for a bf16 checkpoint; weights stored in f32 or f16 are rounded.
    Bf16,
    /// f16 in the text model, where it has to hold every weight. The tower, whose values overflow f16, stays in bf16 where
    /// the file holds that, else in f32.
    F16,
    /// GGML's q8_0 for the matrices of the text model, whose rows are whole blocks of 32; the rest as stored.
    Q8_0,
    /// GGML's q4_K for the matrices of the text model whose rows are whole blocks of 256, q8_0 for those with blocks of
    /// 32; the rest as stored.
    Q4K,
}

impl WeightDtype {
    /// All choices.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::F32,
        Self::Bf16,
        Self::F16,
        Self::Q8_0,
        Self::Q4K,
    ];

    /// The name on the command line and in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Q8_0 => "q8_0",
            Self::Q4K => "q4_k",
        }
    }
}

impl fmt::Display for WeightDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WeightDtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text)
            .ok_or_else(|| format!("found {text}, expected one of {known}"))
    }
}

/// The type of a tensor in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    F32,
    Bf16,
    F16,
    /// Quantised in blocks.
    Blocks(GgmlDType),
    /// A safetensors type that holds no weights, or one that is not read.
    Other(Dtype),
}

impl From<Dtype> for Stored {
    fn from(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F32 => Self::F32,
            Dtype::BF16 => Self::Bf16,
            Dtype::F16 => Self::F16,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("F32"),
            Self::Bf16 => f.write_str("BF16"),
            Self::F16 => f.write_str("F16"),
            Self::Blocks(dtype) => write!(f, "{dtype:?}"),
            Self::Other(dtype) => write!(f, "{dtype:?}"),
        }
    }
}

/// The type of a tensor in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    F32,
    Bf16,
    F16,
    Blocks(GgmlDType),
}

/// Which part of the model a tensor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A matrix of the text model's layers.
    Text,
    /// Embeddings and head: gathered and swept row by row, so never kept in blocks.
    Table,
    /// The vision tower.
    Tower,
}

impl Kept {
    /// How `wanted` keeps a matrix of a model with `parameters` weights; `width` is the length of a row.
    pub(crate) fn of(
        wanted: WeightDtype,
        parameters: u64,
        part: Part,
        stored: Stored,
        width: usize,
    ) -> Self {
        let as_stored = match stored {
            Stored::F32 | Stored::Other(_) => Self::F32,
            Stored::Bf16 => Self::Bf16,
            Stored::F16 => Self::F16,
            Stored::Blocks(dtype) if part != Part::Table => Self::Blocks(dtype),
            Stored::Blocks(_) => Self::F32,
        };
        let narrow = parameters >= AUTO_NARROW_FROM;
        match (wanted, part) {
            (WeightDtype::Auto, _) => match as_stored {
                Self::Bf16 | Self::F16 if !narrow => Self::F32,
                kept => kept,
            },
            (WeightDtype::F32, _) => Self::F32,
            (WeightDtype::Bf16, _) => Self::Bf16,
            (WeightDtype::F16, Part::Tower) if stored == Stored::Bf16 => Self::Bf16,
            (WeightDtype::F16, Part::Tower) => Self::F32,
            (WeightDtype::F16, _) => Self::F16,
            (WeightDtype::Q8_0 | WeightDtype::Q4K, Part::Text) => {
                let fits = |dtype: GgmlDType| width.is_multiple_of(dtype.block_size());
                match wanted {
                    WeightDtype::Q4K if fits(GgmlDType::Q4K) => Self::Blocks(GgmlDType::Q4K),
                    _ if fits(GgmlDType::Q8_0) => Self::Blocks(GgmlDType::Q8_0),
                    _ => as_stored,
                }
            }
            (WeightDtype::Q8_0 | WeightDtype::Q4K, _) => as_stored,
        }
    }

    /// Bytes of `elements` values.
    pub(crate) fn bytes(self, elements: u64) -> u64 {
        match self {
            Self::F32 => elements * 4,
            Self::Bf16 | Self::F16 => elements * 2,
            Self::Blocks(dtype) => elements / dtype.block_size() as u64 * dtype.type_size() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_weight_is_rounded_unless_asked() {
        let of = |wanted, parameters, part, stored| Kept::of(wanted, parameters, part, stored, 512);
        let (small, large) = (1_000, AUTO_NARROW_FROM);
        for part in [Part::Text, Part::Table, Part::Tower] {
            assert_eq!(of(WeightDtype::Auto, small, part, Stored::Bf16), Kept::F32);
            assert_eq!(of(WeightDtype::Auto, large, part, Stored::Bf16), Kept::Bf16);
            assert_eq!(of(WeightDtype::Auto, large, part, Stored::F32), Kept::F32);
        }
        let q4 = Stored::Blocks(GgmlDType::Q4_1);
        assert_eq!(
            of(WeightDtype::Auto, small, Part::Text, q4),
            Kept::Blocks(GgmlDType::Q4_1)
        );
        assert_eq!(of(WeightDtype::Auto, small, Part::Table, q4), Kept::F32);
        assert_eq!(of(WeightDtype::F32, small, Part::Text, q4), Kept::F32);
    }

    #[test]
    fn the_tower_never_gets_f16_and_narrow_rows_never_blocks_that_do_not_fit() {
        let of = |wanted, part, stored, width| Kept::of(wanted, 1_000, part, stored, width);
        assert_eq!(
            of(WeightDtype::F16, Part::Tower, Stored::F16, 512),
            Kept::F32
        );
        assert_eq!(
            of(WeightDtype::F16, Part::Tower, Stored::Bf16, 512),
            Kept::Bf16
        );
        assert_eq!(
            of(WeightDtype::F16, Part::Text, Stored::Bf16, 512),
            Kept::F16
        );
        let q8 = Kept::Blocks(GgmlDType::Q8_0);
        assert_eq!(
            of(WeightDtype::Q4K, Part::Text, Stored::Bf16, 512),
            Kept::Blocks(GgmlDType::Q4K)
        );
        assert_eq!(of(WeightDtype::Q4K, Part::Text, Stored::Bf16, 96), q8);
        assert_eq!(
            of(WeightDtype::Q4K, Part::Text, Stored::Bf16, 40),
            Kept::Bf16
        );
        assert_eq!(
            of(WeightDtype::Q8_0, Part::Tower, Stored::Bf16, 512),
            Kept::Bf16
        );
        assert_eq!(q8.bytes(64), 68);
    }

    #[test]
    fn names_read_back() {
        for dtype in WeightDtype::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        assert!("f64".parse::<WeightDtype>().is_err());
    }
}
