//! The worker's side: takes its limits, reads the file from standard input, writes the outcome to standard output. It opens nothing and has no name of the file.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

use super::{Bounds, Extract, Fault, Format, PictureJob, Shown};

/// What a worker is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub format: Format,
    pub bounds: Bounds,
    /// A picture instead of text.
    pub picture: Option<PictureJob>,
}

/// What a worker says: one of these as a line of JSON, behind it the bytes of a picture.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Extract(Extract),
    /// Width and height of what is shown, and of the whole.
    Picture {
        size: (u32, u32),
        of: (u32, u32),
    },
    Fault(Fault),
}

/// Runs as a worker: the program that [`super::Worker`] names calls this with the argument it was given.
///
/// # Errors
/// An argument that is no job, input or output that breaks.
pub fn serve(job: &str) -> std::io::Result<()> {
    let job: Job = serde_json::from_str(job).map_err(std::io::Error::other)?;
    confine(&job.bounds)?;
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(job.bounds.input + 1)
        .read_to_end(&mut bytes)?;
    let (outcome, picture) = run(&job, bytes);
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &outcome)?;
    out.write_all(b"\n")?;
    out.write_all(&picture)?;
    out.flush()
}

/// Memory, processor time, and no file can be written.
#[cfg(unix)]
fn confine(bounds: &Bounds) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, most) in [
        (Resource::As, bounds.memory),
        (Resource::Cpu, bounds.seconds),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        )?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn confine(_bounds: &Bounds) -> std::io::Result<()> {
    Ok(())
}

/// The work in this process, without limits on memory and time: for tests and fuzzing.
///
/// # Errors
/// What is wrong with the file.
pub fn serve_bytes(format: Format, bytes: Vec<u8>, bounds: Bounds) -> Result<Extract, Fault> {
    extract(format, bytes, &bounds)
}

pub(super) fn run(job: &Job, bytes: Vec<u8>) -> (Outcome, Vec<u8>) {
    if bytes.len() as u64 > job.bounds.input {
        let over = Fault::over(bytes.len() as u64, "bytes", job.bounds.input);
        return (Outcome::Fault(over), Vec::new());
    }
    match &job.picture {
        Some(picture) => match show(job.format, &bytes, picture, &job.bounds) {
            Ok(Shown { size, of, png }) => (Outcome::Picture { size, of }, png),
            Err(fault) => (Outcome::Fault(fault), Vec::new()),
        },
        None => match extract(job.format, bytes, &job.bounds) {
            Ok(extract) => (Outcome::Extract(extract), Vec::new()),
            Err(fault) => (Outcome::Fault(fault), Vec::new()),
        },
    }
}

#[cfg_attr(not(feature = "office"), allow(unused_variables))]
fn extract(format: Format, bytes: Vec<u8>, bounds: &Bounds) -> Result<Extract, Fault> {
    match format {
        #[cfg(feature = "office")]
        Format::Workbook => super::workbook::extract(bytes, bounds),
        #[cfg(feature = "pdf")]
        Format::Pdf => super::pdf::extract(bytes, bounds),
        #[cfg(feature = "picture")]
        Format::Picture => super::picture::extract(&bytes, bounds),
        #[cfg(feature = "archive")]
        Format::Zip | Format::Tar | Format::Gzip => super::archive::extract(format, &bytes, bounds),
        #[cfg(feature = "parquet")]
        Format::Parquet => super::columns::extract(bytes, bounds),
        #[allow(unreachable_patterns)]
        other => Err(Fault::new(other.name(), "a format of this build")),
    }
}

#[cfg_attr(
    not(any(feature = "pdf", feature = "picture")),
    allow(unused_variables)
)]
fn show(format: Format, bytes: &[u8], job: &PictureJob, bounds: &Bounds) -> Result<Shown, Fault> {
    match format {
        #[cfg(feature = "pdf")]
        Format::Pdf => super::pdf::show(bytes, job, bounds),
        #[cfg(feature = "picture")]
        Format::Picture => super::picture::show(bytes, job, bounds),
        other => Err(Fault::new(other.name(), "a picture or a PDF document")),
    }
}
