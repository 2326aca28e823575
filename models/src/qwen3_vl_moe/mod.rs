//! What does Qwen3-VL with experts fix in code? What the dense Qwen3-VL does; the experts stand in the shared decoder, the
//! tower is the dense model's.

use crate::decoder::TextStyle;

pub(crate) const TEXT: TextStyle = crate::qwen3_vl::TEXT;
