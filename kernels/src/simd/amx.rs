//! What is a product of bf16 tiles on AMX?
//!
//! The intrinsics are not stable in Rust; the instructions are, in inline assembly. A function configures the
//! tiles, uses and releases them within one assembly block, so that no tile outlives it.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::*;
use std::sync::OnceLock;

use super::tile::{DEPTH, GROUP, TILE};

/// Whether this CPU has AMX with bf16 and this process may use it. Linux hands tile registers out on demand:
/// the first call asks.
pub(crate) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        // Leaf 7, EDX: bit 22 AMX-BF16, bit 24 AMX-TILE.
        const BITS: u32 = 1 << 22 | 1 << 24;
        let features = if __cpuid(0).eax >= 7 {
            __cpuid_count(7, 0).edx
        } else {
            0
        };
        features & BITS == BITS
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bf16")
            && permitted()
    })
}

#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: a request for permission; it touches no memory of ours, and a kernel that does not know it says so.
    unsafe {
        libc::syscall(
            libc::SYS_arch_prctl,
            ARCH_REQ_XCOMP_PERM,
            XFEATURE_XTILEDATA,
        ) == 0
    }
}

#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// What `ldtilecfg` reads: palette 1, bytes a row and rows of the tiles 0 to 7.
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

impl Config {
    /// Sums in tiles 0 and 1 (upper rows), 2 and 3; left operands in 4 and 5, right ones in 6 and 7.
    fn of(upper: u8, lower: u8) -> Self {
        Self {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
            rows: [
                upper, upper, lower, lower, upper, lower, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
        }
    }
}

/// Asks for 512 bytes of `b` at an offset: four steps ahead, a quarter of a step at a time. Panels cross a page every other
/// step, where the hardware's own prefetch stops: without this, products of weights that lie in memory ran at half the rate
/// (779 to 1,047 against 1,560 to 1,712 GFLOP/s on the mean). Beyond the weight's end nothing is read.
macro_rules! ahead {
    ($at:literal) => {
        concat!(
            "prefetcht0 [{b} + ",
            $at,
            "]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 64]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 128]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 192]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 256]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 320]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 384]\n",
            "prefetcht0 [{b} + ",
            $at,
            " + 448]"
        )
    };
}

/// `c [rows, 32] (+)= a [rows, 32 steps] * b [16 steps, 32]`: see [`super::table::TileMatrix`].
///
/// `tdpbf16ps` adds the product of the lower halves, then that of the upper ones; denormals (operands, sums)
/// are 0.
///
/// # Safety
/// AMX is there; `1 <= rows <= 32`, `steps >= 1`; bounds as in [`super::table::TileMatrix`].
pub(super) unsafe fn tile_matrix(
    rows: usize,
    steps: usize,
    a: (*const u32, usize),
    b: *const u32,
    c: *mut f32,
    c_row: usize,
    add: bool,
) {
    debug_assert!((1..=2 * GROUP).contains(&rows) && steps > 0);
    let (a, group) = a;
    let upper = rows.min(GROUP);
    let lower = rows - upper;
    #[allow(clippy::cast_possible_truncation)]
    let config = Config::of(upper as u8, lower.max(1) as u8);
    let c_bytes = c_row * size_of::<f32>();
    if lower == 0 {
        // SAFETY: reads `steps` tiles of `upper` rows at `a` (64 bytes a row, 1024 a tile), of 16 rows of 128
        // bytes at `b`; reads (if `add`) and writes `upper` rows of 128 bytes at `c`, `c_bytes` apart: the
        // caller's bounds. Every tile used is configured here and released here.
        unsafe {
            asm!(
                "ldtilecfg [{config}]",
                "test {add:e}, {add:e}",
                "jnz 3f",
                "tilezero tmm0",
                "tilezero tmm1",
                "jmp 2f",
                "3:",
                "tileloadd tmm0, [{c} + {c_bytes}*1]",
                "tileloadd tmm1, [{c} + {c_bytes}*1 + 64]",
                "2:",
                "tileloadd tmm4, [{a} + {b_bytes}*1]",
                "tileloadd tmm6, [{b} + {b_bytes}*2]",
                ahead!("8192"),
                ahead!("8704"),
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b} + {b_bytes}*2 + 64]",
                ahead!("9216"),
                ahead!("9728"),
                "tdpbf16ps tmm1, tmm4, tmm7",
                "add {a}, 1024",
                "add {b}, 2048",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{c} + {c_bytes}*1], tmm0",
                "tilestored [{c} + {c_bytes}*1 + 64], tmm1",
                "tilerelease",
                config = in(reg) &raw const config,
                add = in(reg) u32::from(add),
                c = in(reg) c,
                c_bytes = in(reg) c_bytes,
                b_bytes = in(reg) 64_usize,
                a = inout(reg) a => _,
                b = inout(reg) b => _,
                steps = inout(reg) steps => _,
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
        return;
    }
    // SAFETY: as above, with a second group of `lower` rows `group` words behind the first and `lower` more rows
    // of `c`.
    unsafe {
        asm!(
            "ldtilecfg [{config}]",
            "test {add:e}, {add:e}",
            "jnz 3f",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "jmp 2f",
            "3:",
            "tileloadd tmm0, [{c} + {c_bytes}*1]",
            "tileloadd tmm1, [{c} + {c_bytes}*1 + 64]",
            "tileloadd tmm2, [{c_lower} + {c_bytes}*1]",
            "tileloadd tmm3, [{c_lower} + {c_bytes}*1 + 64]",
            "2:",
            "tileloadd tmm6, [{b} + {b_bytes}*2]",
            "tileloadd tmm4, [{a} + {b_bytes}*1]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            ahead!("8192"),
            "tileloadd tmm7, [{b} + {b_bytes}*2 + 64]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            ahead!("8704"),
            "tileloadd tmm5, [{a_lower} + {b_bytes}*1]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            ahead!("9216"),
            "tdpbf16ps tmm3, tmm5, tmm7",
            ahead!("9728"),
            "add {a}, 1024",
            "add {a_lower}, 1024",
            "add {b}, 2048",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{c} + {c_bytes}*1], tmm0",
            "tilestored [{c} + {c_bytes}*1 + 64], tmm1",
            "tilestored [{c_lower} + {c_bytes}*1], tmm2",
            "tilestored [{c_lower} + {c_bytes}*1 + 64], tmm3",
            "tilerelease",
            config = in(reg) &raw const config,
            add = in(reg) u32::from(add),
            c = in(reg) c,
            c_lower = in(reg) c.add(GROUP * c_row),
            c_bytes = in(reg) c_bytes,
            b_bytes = in(reg) 64_usize,
            a = inout(reg) a => _,
            a_lower = inout(reg) a.add(group) => _,
            b = inout(reg) b => _,
            steps = inout(reg) steps => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// `count` values, rounded to bf16 (nearest even), as rows of 32 that begin [`TILE`] words apart; what is missing
/// in the last one is 0.
///
/// # Safety
/// AVX512-BF16 is there; `from` is readable over `count` values, `to` writable over 16 words from
/// `TILE * i` on for every `i < count / 32` rounded up.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn narrow_row(count: usize, from: *const f32, to: *mut u32) {
    let whole = count / DEPTH;
    for i in 0..whole {
        // SAFETY: 32 values are readable from `32 i` on and 16 words writable from `TILE * i` on; `__m512bh` is
        // 512 plain bits.
        unsafe {
            let low = _mm512_loadu_ps(from.add(i * DEPTH));
            let high = _mm512_loadu_ps(from.add(i * DEPTH + GROUP));
            let both = _mm512_cvtne2ps_pbh(high, low);
            let bits = std::mem::transmute::<__m512bh, __m512i>(both);
            _mm512_storeu_si512(to.add(i * TILE).cast(), bits);
        }
    }
    let rest = count % DEPTH;
    if rest > 0 {
        let mask = (1_u32 << rest) - 1;
        #[allow(clippy::cast_possible_truncation)]
        let (low, high) = (mask as u16, (mask >> GROUP) as u16);
        // SAFETY: a masked load touches only the `rest` values that are there; 16 words are writable.
        unsafe {
            let from = from.add(whole * DEPTH);
            let low = _mm512_maskz_loadu_ps(low, from);
            let high = _mm512_maskz_loadu_ps(high, from.wrapping_add(GROUP));
            let both = _mm512_cvtne2ps_pbh(high, low);
            let bits = std::mem::transmute::<__m512bh, __m512i>(both);
            _mm512_storeu_si512(to.add(whole * TILE).cast(), bits);
        }
    }
}

/// `to [pairs, width]` words of two bf16 from `from [rows, width]`: neighbouring rows become a word, the first one its lower
/// half; `pairs` is `rows / 2` rounded up, a missing row is 0.
///
/// # Safety
/// AVX512-BF16 is there; `width` is a multiple of 16; `from` is readable over `rows * width` values, `to` writable over
/// `pairs * width` words.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn pair_rows(rows: usize, width: usize, from: *const f32, to: *mut u32) {
    for pair in 0..rows.div_ceil(2) {
        for column in (0..width).step_by(GROUP) {
            // SAFETY: `column + 16 <= width`, and the second row of a pair is read only where there is one; `__m256bh`
            // is 256 plain bits.
            unsafe {
                let from = from.add(2 * pair * width + column);
                let high = if 2 * pair + 1 < rows {
                    _mm512_loadu_ps(from.add(width))
                } else {
                    _mm512_setzero_ps()
                };
                let low = _mm512_cvtneps_pbh(_mm512_loadu_ps(from));
                let low = std::mem::transmute::<__m256bh, __m256i>(low);
                let high = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(high));
                let high = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(high));
                let words = _mm512_or_si512(high, _mm512_cvtepu16_epi32(low));
                _mm512_storeu_si512(to.add(pair * width + column).cast(), words);
            }
        }
    }
}

/// Turns a block of 16 rows of 16 words: word `j` of row `i` of `from` becomes word `i` of row `j` of `to`. Rows begin
/// `from_row` and `to_row` words apart.
///
/// # Safety
/// AVX-512F is there; `from` is readable over 16 words from `from_row * i` on for every `i < 16`, `to` writable likewise.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn turn(from: *const u32, from_row: usize, to: *mut u32, to_row: usize) {
    // SAFETY: rows `i < 16`.
    unsafe {
        let mut r: [__m512i; 16] =
            std::array::from_fn(|i| _mm512_loadu_si512(from.add(i * from_row).cast()));
        // Pairs of words, then fours, within quarters of a register.
        let mut t = r;
        for i in 0..8 {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..4 {
            r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        // Quarter `q` of `r[4 * i + j]` now holds column `4 * q + j` of rows `4 * i..4 * i + 4`: even and odd
        // quarters of two registers are put together, twice.
        for j in 0..4 {
            t[j] = _mm512_shuffle_i32x4::<0x88>(r[j], r[j + 4]);
            t[j + 4] = _mm512_shuffle_i32x4::<0xDD>(r[j], r[j + 4]);
            t[j + 8] = _mm512_shuffle_i32x4::<0x88>(r[j + 8], r[j + 12]);
            t[j + 12] = _mm512_shuffle_i32x4::<0xDD>(r[j + 8], r[j + 12]);
        }
        for j in 0..4 {
            for (column, value) in [
                (j, _mm512_shuffle_i32x4::<0x88>(t[j], t[j + 8])),
                (j + 4, _mm512_shuffle_i32x4::<0x88>(t[j + 4], t[j + 12])),
                (j + 8, _mm512_shuffle_i32x4::<0xDD>(t[j], t[j + 8])),
                (j + 12, _mm512_shuffle_i32x4::<0xDD>(t[j + 4], t[j + 12])),
            ] {
                _mm512_storeu_si512(to.add(column * to_row).cast(), value);
            }
        }
    }
}

/// Multiplies every one of `rows` rows of 32 values by the 32 of `by`.
///
/// # Safety
/// AVX-512F is there; `values` is readable and writable over `rows * 32` values.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn scale_rows(rows: usize, by: &[f32; 32], values: *mut f32) {
    // SAFETY: `row < rows`, two halves of 16 values each.
    unsafe {
        let (low, high) = (
            _mm512_loadu_ps(by.as_ptr()),
            _mm512_loadu_ps(by.as_ptr().add(GROUP)),
        );
        for row in 0..rows {
            let at = values.add(row * 2 * GROUP);
            _mm512_storeu_ps(at, _mm512_mul_ps(_mm512_loadu_ps(at), low));
            let at = at.add(GROUP);
            _mm512_storeu_ps(at, _mm512_mul_ps(_mm512_loadu_ps(at), high));
        }
    }
}
