//! The parent's side: starts a worker, hands it the opened file, ends it when it takes too long.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::job::{Job, Outcome, run};
use super::{Bounds, Extract, Fault, Format};
use crate::error::{Error, Result};
use crate::limits::{Limits, Stop};
use crate::source::Object;

/// Who parses formats whose bytes are not their text.
#[derive(Debug, Clone, Default)]
pub struct Worker {
    program: Program,
    /// How much it may use.
    pub bounds: Bounds,
}

#[derive(Debug, Clone, Default)]
enum Program {
    /// Such formats are not read.
    #[default]
    None,
    /// A program, and the arguments before the job; it calls [`super::serve`].
    Process(PathBuf, Vec<String>),
    /// This process.
    Here,
}

/// A picture of a picture or a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PictureJob {
    /// The page, from 1; 1 for a picture.
    pub page: u32,
    /// Left, top, width, height: pixels of a picture, points of a page. All of it without.
    pub area: Option<[f64; 4]>,
    /// The longer side of what is shown is at most so many pixels.
    pub side: u32,
}

/// Pixels as a PNG file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The PNG file.
    pub png: Vec<u8>,
    /// Its width and height.
    pub size: (u32, u32),
    /// Width and height of the whole: pixels of a picture, points of a page.
    pub of: (u32, u32),
}

/// Waits between two looks at a worker.
const LOOK: Duration = Duration::from_millis(2);

impl Worker {
    /// A program, and the arguments before the job. It must call [`super::serve`] with its last argument.
    pub fn process(program: PathBuf, arguments: &[&str]) -> Self {
        Self {
            program: Program::Process(
                program,
                arguments.iter().map(|text| (*text).to_owned()).collect(),
            ),
            bounds: Bounds::default(),
        }
    }

    /// This process: a file that makes a parser loop or allocate without end takes the process with it. For trusted files and tests.
    pub fn in_process() -> Self {
        Self {
            program: Program::Here,
            bounds: Bounds::default(),
        }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    pub(crate) fn extract(
        &self,
        object: &Object,
        format: Format,
        limits: &Limits,
    ) -> Result<Extract> {
        match self.call(object, format, None, limits)? {
            (Outcome::Extract(extract), _) => Ok(extract),
            (Outcome::Fault(fault), _) => Err(faulty(object, fault)),
            (Outcome::Picture { .. }, _) => {
                Err(faulty(object, Fault::new("a picture", "text of a worker")))
            }
        }
    }

    pub(crate) fn picture(
        &self,
        object: &Object,
        format: Format,
        job: PictureJob,
        limits: &Limits,
    ) -> Result<Picture> {
        if let Some(area) = job
            .area
            .filter(|area| !area.iter().all(|side| side.is_finite()))
        {
            // JSON has no such numbers: the job would not arrive.
            let [left, top, width, height] = area;
            return Err(faulty(
                object,
                Fault::new(
                    format_args!("box {left},{top},{width},{height}"),
                    "a box within the page or the picture",
                ),
            ));
        }
        match self.call(object, format, Some(job), limits)? {
            (Outcome::Picture { size, of }, png) => Ok(Picture { png, size, of }),
            (Outcome::Fault(fault), _) => Err(faulty(object, fault)),
            (Outcome::Extract(_), _) => {
                Err(faulty(object, Fault::new("text", "a picture of a worker")))
            }
        }
    }

    fn call(
        &self,
        object: &Object,
        format: Format,
        picture: Option<PictureJob>,
        limits: &Limits,
    ) -> Result<(Outcome, Vec<u8>)> {
        let bounds = Bounds {
            seconds: self.bounds.seconds.min(limits.time.as_secs().max(1)),
            ..self.bounds
        };
        let job = Job {
            format,
            bounds,
            picture,
        };
        match &self.program {
            Program::None => Err(Error::Unsupported {
                path: object.path.clone().into(),
                found: format.name(),
            }),
            Program::Here => Ok(run(&job, object.read_all(bounds.input)?)),
            Program::Process(program, arguments) => {
                let text = serde_json::to_string(&job).unwrap_or_default();
                let io = |action| {
                    let path = program.clone();
                    move |source| Error::Io {
                        path,
                        action,
                        source,
                    }
                };
                let mut command = Command::new(program);
                command
                    .args(arguments)
                    .arg(text)
                    .env_clear()
                    .stdin(object.stdio()?)
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null());
                #[cfg(unix)]
                std::os::unix::process::CommandExt::process_group(&mut command, 0);
                let mut child = command.spawn().map_err(io("start as a worker"))?;
                // Outlives its processor time only where it sleeps.
                let deadline = Instant::now() + Duration::from_secs(bounds.seconds * 2);
                let most = bounds.text * 2 + (64 << 20);
                let said = listen(&mut child, most, deadline, &limits.stop)
                    .map_err(io("listen to a worker"));
                let status = child.wait().map_err(io("wait for a worker"));
                match (said?, status?) {
                    (Ok(said), status) if status.success() => answer(&said).ok_or_else(|| {
                        faulty(
                            object,
                            Fault::new("a broken answer of the worker", "one JSON line"),
                        )
                    }),
                    (Err(why), _) => Err(faulty(
                        object,
                        Fault::new(why, "a file that is parsed in the time given"),
                    )),
                    (Ok(_), status) => Err(faulty(
                        object,
                        Fault::new(
                            format_args!("a file that ended its worker ({status})"),
                            "a file that is parsed within the limits",
                        ),
                    )),
                }
            }
        }
    }
}

fn answer(said: &[u8]) -> Option<(Outcome, Vec<u8>)> {
    let end = memchr::memchr(b'\n', said)?;
    let outcome = serde_json::from_slice(said.get(..end)?).ok()?;
    Some((outcome, said.get(end + 1..)?.to_vec()))
}

/// All that the worker says, once it has ended; why it was killed where it was.
fn listen(
    child: &mut Child,
    most: u64,
    deadline: Instant,
    stop: &Stop,
) -> std::io::Result<std::result::Result<Vec<u8>, &'static str>> {
    let Some(out) = child.stdout.take() else {
        return Ok(Err("a worker without output"));
    };
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        out.take(most + 1).read_to_end(&mut said).map(|_| said)
    });
    // A worker that still holds its output, or that closed it and stays, is ended; the thread above ends with the output, and nobody waits for it.
    while !reader.is_finished() || child.try_wait()?.is_none() {
        let why = if Instant::now() > deadline {
            "a file that took too long"
        } else if stop.is_set() {
            "a call that was stopped"
        } else {
            std::thread::sleep(LOOK);
            continue;
        };
        end(child)?;
        return Ok(Err(why));
    }
    let said = reader.join().unwrap_or_else(|_| Ok(Vec::new()))?;
    Ok(if said.len() as u64 > most {
        Err("more text than is allowed")
    } else {
        Ok(said)
    })
}

/// Kills a worker, and what it may have started: that would hold its output open.
fn end(child: &mut Child) -> std::io::Result<()> {
    #[cfg(unix)]
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        let killed = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        if killed.is_ok() {
            return Ok(());
        }
    }
    child.kill()
}

fn faulty(object: &Object, fault: Fault) -> Error {
    Error::Broken {
        path: object.path.clone().into(),
        found: fault.found,
        expected: fault.expected,
    }
}
