//! Which seeds belong to which split. They were fixed before any reader existed; a number of another split is no result.

use std::ops::Range;

/// Seeds that readers are mended on and gate weights are fitted on.
pub const DEV: Range<u64> = 1_000..1_040;
/// Seeds that results are reported on.
pub const TEST: Range<u64> = 9_000..9_060;
