//! Archives: what lies in them, one line an entry. Nothing is unpacked but the stream of a gzip file, as far as a limit allows.

use std::io::{Cursor, Read};

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use super::cells::cell;
use super::{Bounds, Extract, Fault, Format, Part};

pub(super) fn extract(format: Format, bytes: &[u8], bounds: &Bounds) -> Result<Extract, Fault> {
    match format {
        Format::Zip => zip(bytes, bounds),
        Format::Tar => tar(bytes, bounds),
        _ => gzip(bytes, bounds),
    }
}

fn listed(
    header: &str,
    lines: Vec<String>,
    notes: Vec<String>,
    unread: Vec<(String, String)>,
) -> Extract {
    let mut text = format!("{header}\n");
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    // What the entries hold was not looked at.
    let mut unread = unread;
    unread.push(("entries".into(), "only listed".into()));
    Extract {
        parts: vec![Part {
            table: true,
            text,
            ..Part::default()
        }],
        notes,
        unread,
    }
}

fn zip(bytes: &[u8], bounds: &Bounds) -> Result<Extract, Fault> {
    let mut zip =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| Fault::new(error, "a ZIP archive"))?;
    if zip.len() > bounds.entries {
        return Err(Fault::over(
            zip.len() as u64,
            "entries",
            bounds.entries as u64,
        ));
    }
    let (mut lines, mut unread) = (Vec::new(), Vec::new());
    let (mut out, mut packed) = (0_u64, 0_u64);
    for at in 0..zip.len() {
        match zip.by_index_raw(at) {
            Ok(entry) => {
                out = out.saturating_add(entry.size());
                packed = packed.saturating_add(entry.compressed_size());
                let day = entry.last_modified().map_or_else(String::new, |moment| {
                    format!(
                        "{:04}-{:02}-{:02}",
                        moment.year(),
                        moment.month(),
                        moment.day()
                    )
                });
                lines.push(format!(
                    "{}\t{}\t{}\t{day}\t{}",
                    cell(&entry.name().unwrap_or_default()),
                    entry.size(),
                    entry.compressed_size(),
                    if entry.encrypted() { "encrypted" } else { "" }
                ));
            }
            Err(error) => unread.push((format!("entry {at}"), error.to_string())),
        }
    }
    let mut notes = vec![format!(
        "{} entries, {out} bytes from {packed}",
        lines.len()
    )];
    if out > packed.saturating_mul(bounds.ratio) {
        notes.push(format!(
            "unpacks to more than {} bytes for each: do not unpack it without a limit",
            bounds.ratio
        ));
    }
    Ok(listed(
        "name\tbytes\tpacked\tmodified\tnote",
        lines,
        notes,
        unread,
    ))
}

fn tar(bytes: impl Read, bounds: &Bounds) -> Result<Extract, Fault> {
    let mut archive = tar::Archive::new(bytes);
    let mut lines = Vec::new();
    let mut unread = Vec::new();
    let entries = archive
        .entries()
        .map_err(|error| Fault::new(error, "a TAR archive"))?;
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                unread.push((format!("entry {}", lines.len()), error.to_string()));
                break;
            }
        };
        if lines.len() >= bounds.entries {
            return Err(Fault::over(
                lines.len() as u64 + 1,
                "entries",
                bounds.entries as u64,
            ));
        }
        let kind = match entry.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => "",
            tar::EntryType::Directory => "folder",
            tar::EntryType::Symlink | tar::EntryType::Link => "link",
            _ => "special",
        };
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let size = entry.header().size().unwrap_or(0);
        lines.push(format!("{}\t{size}\t{kind}", cell(&name)));
    }
    if lines.is_empty() && !unread.is_empty() {
        return Err(Fault::new("no entry that can be read", "a TAR archive"));
    }
    let notes = vec![format!("{} entries", lines.len())];
    Ok(listed("name\tbytes\tnote", lines, notes, unread))
}

/// Counts what comes out, and ends where it is too much for what went in.
struct Counted<R> {
    inner: R,
    out: u64,
    most: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(into)?;
        self.out += read as u64;
        if self.out > self.most {
            return Err(std::io::Error::other(format!(
                "more than {} unpacked bytes",
                self.most
            )));
        }
        Ok(read)
    }
}

fn gzip(bytes: &[u8], bounds: &Bounds) -> Result<Extract, Fault> {
    let most = (bytes.len() as u64)
        .saturating_mul(bounds.ratio)
        .max(1 << 20);
    let open = || Counted {
        inner: MultiGzDecoder::new(bytes),
        out: 0,
        most,
    };
    let mut head = Vec::new();
    open()
        .take(512)
        .read_to_end(&mut head)
        .map_err(|error| Fault::new(error, "gzip data"))?;
    if head.get(257..262) == Some(b"ustar") {
        return tar(open(), bounds);
    }
    let mut stream = open();
    let out = std::io::copy(&mut stream, &mut std::io::sink())
        .map_err(|error| Fault::new(error, "gzip data"))?;
    let name = stream
        .inner
        .header()
        .and_then(flate2::GzHeader::filename)
        .map(String::from_utf8_lossy);
    let line = format!(
        "{}\t{out}\t{}",
        cell(&name.unwrap_or_default()),
        bytes.len()
    );
    Ok(listed(
        "name\tbytes\tpacked",
        vec![line],
        Vec::new(),
        Vec::new(),
    ))
}
