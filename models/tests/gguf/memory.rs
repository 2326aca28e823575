//! What a hostile file costs: measured in a process of its own, as the system counts it.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use spare_models::checkpoint::gguf::open;

use super::hostile;
use super::writer::{ARRAY, TEXT, minimal, text};

const FILE: &str = "SPARE_TEST_GGUF";
const LIMIT_KB: u64 = 100_000;

/// The most memory that this process ever held, in kB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Processor time of this process. Time on the clock says little where other processes compute as well.
fn spent() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name in brackets: state is field 3, user and system time are fields 14 and 15, in hundredths.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let hundredths = fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * hundredths))
}

/// Not a test by itself: opens the file that the variable names and says what that cost.
#[test]
#[ignore = "run by hostile_files_cost_little in a process of its own"]
fn child() {
    let file = std::env::var(FILE).unwrap();
    let (before, started) = (peak().unwrap(), spent().unwrap());
    let error = open(Path::new(&file), None).unwrap_err();
    let (kb, took) = (peak().unwrap() - before, spent().unwrap() - started);
    println!("cost {kb} kB {} ms: {error}", took.as_millis());
}

/// Files too long for the table of `hostile.rs`: all that a header may cost.
fn long(folder: &Path) -> Vec<(&'static str, std::path::PathBuf)> {
    let mut files = Vec::new();
    let mut write = |name: &'static str, parts: &[&[u8]], length: u64| {
        let path = folder.join(name.replace(' ', "-"));
        let mut file = std::fs::File::create(&path).unwrap();
        for part in parts {
            file.write_all(part).unwrap();
        }
        // A hole: it takes no space on the disk and reads as zeros.
        file.set_len(length.max(file.metadata().unwrap().len()))
            .unwrap();
        files.push((name, path));
    };
    let head = |tensors: u64, entries: u64| {
        [
            &b"GGUF\x03\0\0\0"[..],
            &tensors.to_le_bytes(),
            &entries.to_le_bytes(),
        ]
        .concat()
    };
    let key = text("k");
    let array = |kind: u32, count: u64| {
        [
            &key[..],
            &ARRAY.to_le_bytes(),
            &kind.to_le_bytes(),
            &count.to_le_bytes(),
        ]
        .concat()
    };
    write("zeros", &[&head(1, 0)], 8 << 30);
    write(
        "strings up to the limit",
        &[&head(0, 2), &array(TEXT, (32 << 20) / 8 - 100)],
        8 << 30,
    );
    write(
        "strings over the limit",
        &[&head(0, 1), &array(TEXT, 1 << 29)],
        8 << 30,
    );
    write(
        "bytes over the limit",
        &[&head(0, 1), &array(0, 7 << 30)],
        8 << 30,
    );
    let arrays = [&9u32.to_le_bytes()[..], &0u64.to_le_bytes()]
        .concat()
        .repeat(2_500_000);
    write(
        "empty arrays",
        &[&head(0, 2), &array(ARRAY, 2_500_000), &arrays],
        0,
    );
    let entries: Vec<u8> = (0..65_536u32)
        .flat_map(|i| [text(&format!("{i:05}")), 0u32.to_le_bytes().into(), vec![0]].concat())
        .collect();
    write("65536 entries", &[&head(1, 65_536), &entries], 0);
    let table: Vec<u8> = (0..65_536u32)
        .flat_map(|i| {
            let dims = [1u32.to_le_bytes().to_vec(), 8u64.to_le_bytes().into()].concat();
            [
                text(&format!("{i:06}")),
                dims,
                0u32.to_le_bytes().into(),
                vec![0; 8],
            ]
            .concat()
        })
        .collect();
    write(
        "65536 tensors in one place",
        &[&head(65_536, 0), &table],
        1 << 30,
    );
    // The longest vocabulary and the most merges that are read, and a fault in the last of them.
    let mut file = minimal();
    let tokens: Vec<String> = (0..1 << 19).map(|i| format!("{i:x}")).collect();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    file.texts("tokenizer.ggml.tokens", &tokens);
    file.numbers("tokenizer.ggml.token_type", &vec![1; tokens.len()]);
    let mut merges = vec!["a b"; 1 << 20];
    merges[(1 << 20) - 1] = "a";
    file.texts("tokenizer.ggml.merges", &merges);
    write("a million merges", &[&file.bytes()], 0);
    merges.push("a b");
    file.texts("tokenizer.ggml.merges", &merges);
    write("a merge too many", &[&file.bytes()], 0);
    let mut file = minimal();
    let names: Vec<String> = (0..65_000).map(|i| format!("n{i}")).collect();
    for name in &names {
        file.tensors.push(super::writer::Tensor {
            name: name.clone(),
            ..file.tensors[0].clone()
        });
    }
    write("65000 tensors without a place", &[&file.bytes()], 0);
    let mut file = minimal();
    file.number("llama.block_count", i32::MAX as u32);
    write("2147483647 layers", &[&file.bytes()], 0);
    files
}

#[test]
fn hostile_files_cost_little() {
    if peak().is_none() {
        eprintln!("skipped: this system has no /proc/self/status");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut files = long(folder.path());
    for (i, case) in hostile::all().into_iter().enumerate() {
        let path = folder.path().join(format!("{i}.gguf"));
        std::fs::write(&path, &case.bytes).unwrap();
        files.push((case.name, path));
    }
    for (name, path) in files {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["memory::child", "--exact", "--ignored", "--nocapture"])
            .env(FILE, &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {text}");
        let cost = text.split_once("cost ").unwrap().1;
        let (cost, error) = cost.split_once(" ms: ").unwrap();
        let (kb, ms) = cost.split_once(" kB ").unwrap();
        let (kb, ms): (u64, u64) = (kb.parse().unwrap(), ms.parse().unwrap());
        let error = error.lines().next().unwrap();
        println!("{name}: {kb} kB, {ms} ms: {error}");
        assert!(kb < LIMIT_KB, "{name}: {kb} kB");
        assert!(ms < 1000, "{name}: {ms} ms");
    }
}
