//! Hostile headers are refused by name, at once. `memory.rs` measures what they cost.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use spare_models::ModelError;
use spare_models::checkpoint::gguf::GgufCheckpoint;

use super::writer::{ARRAY, BOOL, Gguf, TEXT, U32, array, minimal, text};

/// A hostile file and what its refusal has to say.
pub struct Hostile {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub says: &'static [&'static str],
}

/// A minimal file after a change.
fn changed(change: impl FnOnce(&mut Gguf)) -> Vec<u8> {
    let mut file = minimal();
    change(&mut file);
    file.bytes()
}

/// A metadata entry whose bytes are given.
fn entry(kind: u32, value: Vec<u8>) -> Vec<u8> {
    changed(|file| file.entries.insert(0, (b"x".into(), kind, value)))
}

/// Arrays of one array each, `depth` of them in one another.
fn nested(depth: usize) -> Vec<u8> {
    (0..depth).fold(array(U32, &[]), |inner, _| array(ARRAY, &[inner]))
}

/// Two tensors of 32 bytes.
fn two(change: impl FnOnce(&mut Gguf)) -> Vec<u8> {
    changed(|file| {
        file.tensor("blk.0.attn_norm.weight", &[8], 0, &[0; 32]);
        file.tensor("blk.0.ffn_norm.weight", &[8], 0, &[0; 32]);
        change(file);
    })
}

fn last(file: &mut Gguf) -> &mut super::writer::Tensor {
    file.tensors.last_mut().unwrap()
}

pub fn all() -> Vec<Hostile> {
    let case = |name, bytes, says| Hostile { name, bytes, says };
    let valid = minimal().bytes();
    let absurd = u64::MAX.to_le_bytes();
    let mut cases = vec![
        case("nothing", Vec::new(), &["magic", "4 bytes"][..]),
        case(
            "magic of the other order",
            changed(|f| f.magic = *b"FUGG"),
            &["magic", "\"FUGG\"", "\"GGUF\""],
        ),
        case(
            "a zip",
            b"PK\x03\x04 and more".into(),
            &["magic", "PK\\x03\\x04"],
        ),
        case(
            "version 1",
            changed(|f| f.version = 1),
            &["version 1", "version 2 or 3"],
        ),
        case(
            "version 4",
            changed(|f| f.version = 4),
            &["version 4", "version 2 or 3"],
        ),
        case(
            "big-endian",
            changed(|f| f.version = 3u32.swap_bytes()),
            &["version 3, big-endian", "little-endian"],
        ),
        case(
            "2^63 tensors",
            changed(|f| f.tensor_count = Some(1 << 63)),
            &["tensor count", "9223372036854775808 tensors"],
        ),
        case(
            "a tensor too many",
            changed(|f| f.tensor_count = Some(2)),
            &["name of tensor 1"],
        ),
        case(
            "2^64 - 1 entries",
            changed(|f| f.entry_count = Some(u64::MAX)),
            &["metadata count", "18446744073709551615"],
        ),
        case(
            "40,000 entries in a short file",
            changed(|f| f.entry_count = Some(40_000)),
            &["40000 metadata entries", "bytes are left"],
        ),
        case(
            "a string of 2^64 - 1 bytes",
            entry(TEXT, absurd.into()),
            &["metadata \"x\"", "a string of 18446744073709551615 bytes"],
        ),
        case(
            "a string behind the end",
            entry(TEXT, 100_000u64.to_le_bytes().into()),
            &["metadata \"x\"", "100000 bytes", "left of the file"],
        ),
        case(
            "a string that is no UTF-8",
            entry(TEXT, [&3u64.to_le_bytes()[..], b"a\xffb"].concat()),
            &["byte 0xff at 1", "UTF-8"],
        ),
        case(
            "2^61 array elements",
            entry(
                ARRAY,
                [&U32.to_le_bytes()[..], &(1u64 << 61).to_le_bytes()].concat(),
            ),
            &["2305843009213693952 array elements"],
        ),
        case(
            "2^60 empty strings",
            entry(
                ARRAY,
                [&TEXT.to_le_bytes()[..], &(1u64 << 60).to_le_bytes()].concat(),
            ),
            &["array elements"],
        ),
        case(
            "arrays in arrays",
            entry(ARRAY, nested(5)),
            &["more than 4 arrays in one another"],
        ),
        case(
            "a thousand arrays in one another",
            entry(ARRAY, nested(1000)),
            &["more than 4 arrays in one another"],
        ),
        case(
            "arrays of absurd arrays",
            entry(
                ARRAY,
                array(ARRAY, &[[&ARRAY.to_le_bytes()[..], &absurd].concat()]),
            ),
            &["array elements"],
        ),
        case("value type 13", entry(13, vec![0; 8]), &["value type 13"]),
        case("boolean 2", entry(BOOL, vec![2]), &["boolean 2", "0 or 1"]),
        case(
            "a key twice",
            changed(|f| {
                f.entries
                    .push((b"llama.block_count".into(), U32, vec![1, 0, 0, 0]))
            }),
            &["metadata \"llama.block_count\"", "twice"],
        ),
        case(
            "an empty key",
            changed(|f| f.entries[0].0.clear()),
            &["key of metadata entry 0", "0 bytes"],
        ),
        case(
            "a key of 70,000 bytes",
            changed(|f| f.entries[0].0 = vec![b'k'; 70_000]),
            &["key of metadata entry 0", "70000 bytes"],
        ),
        case(
            "alignment 0",
            changed(|f| f.number("general.alignment", 0)),
            &["general.alignment", "found 0", "a power of two from 8"],
        ),
        case(
            "alignment 24",
            changed(|f| f.number("general.alignment", 24)),
            &["found 24", "a power of two"],
        ),
        case(
            "alignment 2^31",
            changed(|f| f.number("general.alignment", 1 << 31)),
            &["found 2147483648"],
        ),
        case(
            "alignment as a string",
            changed(|f| f.text("general.alignment", "32")),
            &["no whole number"],
        ),
        case(
            "no dimensions",
            changed(|f| last(f).dims.clear()),
            &["0 dimensions", "1 to 4"],
        ),
        case(
            "5 dimensions",
            changed(|f| last(f).dims = vec![1; 5]),
            &["5 dimensions", "1 to 4"],
        ),
        case(
            "2^32 - 1 dimensions",
            changed(|f| last(f).dim_count = Some(u32::MAX)),
            &["4294967295 dimensions"],
        ),
        case(
            "dimension 0",
            changed(|f| last(f).dims = vec![8, 0]),
            &["dimensions [8, 0]"],
        ),
        case(
            "a product of 2^66",
            changed(|f| last(f).dims = vec![1 << 33, 1 << 33]),
            &["token_embd.weight", "below 2^63"],
        ),
        case(
            "2^63 bytes",
            changed(|f| last(f).dims = vec![1 << 61]),
            &["below 2^63"],
        ),
        case(
            "more bytes than the file",
            changed(|f| last(f).dims = vec![8, 5000]),
            &["160000 bytes at offset 0", "bytes of a file"],
        ),
        case(
            "rows of no whole blocks",
            changed(|f| last(f).kind = 2),
            &["rows of 8 numbers in Q4_0", "multiple of 32"],
        ),
        case(
            "type 4",
            changed(|f| last(f).kind = 4),
            &["type Q4_2", "one of F32"],
        ),
        case(
            "type 1000",
            changed(|f| last(f).kind = 1000),
            &["type number 1000"],
        ),
        case(
            "offset behind the file",
            changed(|f| last(f).offset = Some(1 << 20)),
            &["offset 1048576"],
        ),
        case(
            "offset 2^64 - 32",
            changed(|f| last(f).offset = Some(u64::MAX - 31)),
            &["offset 18446744073709551584"],
        ),
        case(
            "offset 1",
            changed(|f| last(f).offset = Some(1)),
            &["offset 1", "a multiple of 32"],
        ),
        case(
            "two tensors in one place",
            two(|f| last(f).offset = Some(128)),
            &[
                "ffn_norm.weight",
                "bytes after those of \"blk.0.attn_norm.weight\"",
            ],
        ),
        case(
            "two tensors of one name",
            two(|f| last(f).name = "blk.0.attn_norm.weight".into()),
            &["blk.0.attn_norm.weight", "twice"],
        ),
        case(
            "a name of 300 bytes",
            changed(|f| last(f).name = "n".repeat(300)),
            &["name of tensor 0", "300 bytes"],
        ),
    ];
    for (id, name) in [
        (16, "IQ2_XXS"),
        (20, "IQ4_NL"),
        (23, "IQ4_XS"),
        (34, "TQ1_0"),
        (39, "MXFP4"),
    ] {
        let bytes = changed(|f| last(f).kind = id);
        cases.push(case(
            name,
            bytes,
            [
                &["type IQ2_XXS"][..],
                &["type IQ4_NL"],
                &["type IQ4_XS"],
                &["type TQ1_0"],
                &["type MXFP4"],
            ][[16, 20, 23, 34, 39].iter().position(|n| *n == id).unwrap()],
        ));
    }
    for end in [3, 7, 23, 100, valid.len() - 100, valid.len() - 1] {
        let says: &[&str] = if end < 600 {
            &["left of the file"]
        } else {
            &["token_embd.weight", "bytes of a file"]
        };
        cases.push(case("cut short", valid[..end].to_vec(), says));
    }
    cases
}

#[test]
fn hostile_headers_are_refused_by_name_within_a_second() {
    let cases = all();
    assert!(cases.len() >= 50);
    for Hostile { name, bytes, says } in cases {
        let start = Instant::now();
        let error = GgufCheckpoint::from_bytes(Cow::Owned(bytes), None).unwrap_err();
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{name} took {:?}",
            start.elapsed()
        );
        assert!(
            matches!(error, ModelError::Format { .. }),
            "{name}: {error}"
        );
        let message = error.to_string();
        for word in ["GGUF in memory", ": found ", ", expected "]
            .iter()
            .chain(says)
        {
            assert!(
                message.contains(word),
                "{name}: {word:?} is not in {message:?}"
            );
        }
        assert!(message.len() < 700, "{name}: {} characters", message.len());
    }
}

/// Every beginning of a valid file, and every file with one byte changed, opens or is refused; none of them panics.
#[test]
fn damaged_headers_never_panic() {
    let valid = minimal().bytes();
    for end in 0..valid.len() {
        drop(GgufCheckpoint::from_bytes(
            Cow::Owned(valid[..end].to_vec()),
            None,
        ));
    }
    for at in 0..valid.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff, valid[at] ^ 1, valid[at] ^ 0x20] {
            let mut bytes = valid.clone();
            bytes[at] = byte;
            drop(GgufCheckpoint::from_bytes(Cow::Owned(bytes), None));
        }
    }
}

/// A vocabulary of 150,000 tokens is read in well under a second.
#[test]
fn long_vocabularies_are_read_at_once() {
    let tokens: Vec<String> = (0..150_000).map(|i| format!("t{i}")).collect();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut file = minimal();
    file.texts("tokenizer.ggml.tokens", &tokens);
    file.numbers("tokenizer.ggml.token_type", &vec![1; tokens.len()]);
    file.texts("tokenizer.ggml.merges", &[]);
    file.set("x", TEXT, text("y"));
    let bytes = file.bytes();
    let start = Instant::now();
    GgufCheckpoint::from_bytes(Cow::Owned(bytes), None).unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}
