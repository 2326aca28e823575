//! In which types does a GGUF file store numbers, and which of them are read?

use candle_core::quantized::GgmlDType;

/// Types that are read, as numbered by the format.
const READ: [(u32, GgmlDType, &str); 15] = [
    (0, GgmlDType::F32, "F32"),
    (1, GgmlDType::F16, "F16"),
    (2, GgmlDType::Q4_0, "Q4_0"),
    (3, GgmlDType::Q4_1, "Q4_1"),
    (6, GgmlDType::Q5_0, "Q5_0"),
    (7, GgmlDType::Q5_1, "Q5_1"),
    (8, GgmlDType::Q8_0, "Q8_0"),
    (9, GgmlDType::Q8_1, "Q8_1"),
    (10, GgmlDType::Q2K, "Q2_K"),
    (11, GgmlDType::Q3K, "Q3_K"),
    (12, GgmlDType::Q4K, "Q4_K"),
    (13, GgmlDType::Q5K, "Q5_K"),
    (14, GgmlDType::Q6K, "Q6_K"),
    (15, GgmlDType::Q8K, "Q8_K"),
    (30, GgmlDType::BF16, "BF16"),
];

/// Types that files have and candle does not read, so that a refusal can name them.
const UNREAD: [(u32, &str); 22] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
    (42, "Q2_0"),
];

/// The type with this number, else what it is called.
pub(super) fn of(id: u32) -> Result<GgmlDType, String> {
    if let Some((_, dtype, _)) = READ.iter().find(|(read, ..)| *read == id) {
        return Ok(*dtype);
    }
    Err(match UNREAD.iter().find(|(unread, _)| *unread == id) {
        Some((_, name)) => format!("type {name}"),
        None => format!("type number {id}"),
    })
}

/// What a type is called in GGUF.
pub(super) fn name(dtype: GgmlDType) -> &'static str {
    let found = READ.iter().find(|(_, read, _)| *read == dtype);
    found.map_or("", |(.., name)| name)
}

/// All names, for messages.
pub(super) fn names() -> String {
    READ.map(|(.., name)| name).join(", ")
}

/// Bytes of `elements` numbers; `None` where they are no whole blocks or too many.
pub(super) fn bytes(dtype: GgmlDType, elements: u64) -> Option<u64> {
    let block = dtype.block_size() as u64;
    if !elements.is_multiple_of(block) {
        return None;
    }
    (elements / block).checked_mul(dtype.type_size() as u64)
}
