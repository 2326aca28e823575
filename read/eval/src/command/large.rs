//! One table larger than memory should hold.

use std::io::Write;

use spare_read::{ReadRequest, Root, Session, Status};
use spare_read_eval::{Error, sets};

use crate::Options;

/// Ten rows of one large table, the last among them.
pub(crate) fn large(options: &Options) -> Result<(), Error> {
    let (rows, seed) = (
        options.number("--rows", 1e7)? as usize,
        options.number("--seed", 9_000.0)? as u64,
    );
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.csv");
    let asked = {
        let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
        let asked = sets::large_table(seed, rows, &mut out)?;
        out.flush()?;
        asked
    };
    println!(
        "{rows} rows, {} bytes, seed {seed}",
        std::fs::metadata(&path)?.len()
    );
    let mut found = 0;
    for asked in &asked {
        let mut session = Session::new(Root::open(folder.path())?);
        let start = std::time::Instant::now();
        let pack = session.read(
            std::path::Path::new("large.csv"),
            &ReadRequest {
                force: true,
                ..ReadRequest::question(asked.question.as_str())
            },
        )?;
        let hit = asked.gold.iter().all(|gold| {
            pack.spans.iter().any(|span| {
                span.anchor.bytes.start <= gold.bytes.start as u64
                    && gold.bytes.end as u64 <= span.anchor.bytes.end
                    && span.text.contains(&gold.answer)
            })
        });
        found += usize::from(hit);
        println!(
            "{:?} {:.2} s {}",
            pack.needs
                .first()
                .map_or(Status::NotSearched, |need| need.status),
            start.elapsed().as_secs_f64(),
            if hit { "found" } else { "missed" }
        );
    }
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "{found} of {}; {}",
        asked.len(),
        memory
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .unwrap_or("peak memory unknown")
    );
    Ok(())
}
