//! `spare read`: a preview of a file or folder, bounded evidence for a question, and what an anchor stands on. Needs no model.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use spare_read::{
    Action, Anchor, EvidencePack, EvidenceState, Intent, Need, Preview, Purpose, ReadRequest, Root,
    Scope, Session, Status, Verdict, Want, extract::Worker, make_visible,
};

use super::output;
use crate::Error;

/// Read a large file or folder in small, anchored pieces.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Serve the Model Context Protocol on standard input and output; nothing outside of ROOT is read.
    #[cfg(feature = "mcp")]
    #[arg(long, value_name = "ROOT", num_args = 0..=1, default_missing_value = ".")]
    mcp: Option<PathBuf>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// What it is, how large it is and how it is built.
    Preview(PreviewArgs),
    /// Evidence for a question: spans with anchors, a status for every need, what was searched.
    Ask(AskArgs),
    /// Load the bytes of an anchor again and compare a claim with them. Exit code 1 where they do not say it.
    Verify(VerifyArgs),
    /// The text at an anchor.
    Raw(RawArgs),
    /// A picture, a page or a part of one as a PNG file.
    Picture(PictureArgs),
    /// Parses one file from standard input within limits; this program starts itself so.
    #[command(hide = true)]
    Worker {
        /// What to do, as JSON.
        job: String,
    },
    /// Old tool results of a run as one line each, with the anchors that fetch what they showed.
    Mask(super::read_mask::Args),
    /// A Claude Code PreToolUse hook: reads an event, refuses whole reads of large files, approves nothing.
    Hook,
}

#[derive(clap::Args)]
struct PreviewArgs {
    /// File or folder; nothing outside of it is read.
    path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct AskArgs {
    /// File or folder; nothing outside of it is read.
    path: PathBuf,
    /// The question; further questions are needs of their own.
    #[arg(required_unless_present = "intent")]
    questions: Vec<String>,
    /// The whole intent as JSON, with goal, needs, needles, want, scope, purpose, must_keep.
    #[arg(long, value_name = "JSON", conflicts_with = "questions")]
    intent: Option<String>,
    /// An exact string to look for.
    #[arg(long, value_name = "TEXT")]
    needle: Vec<String>,
    /// scout, focus, collect, refine or verify.
    #[arg(long, default_value = "focus", value_parser = word::<Action>)]
    action: Action,
    /// fact, count, verbatim, table, schema or list.
    #[arg(long, default_value = "fact", value_parser = word::<Want>)]
    want: Want,
    /// new, narrow (within what was returned) or expand (outside of it).
    #[arg(long, default_value = "new", value_parser = word::<Scope>)]
    scope: Scope,
    /// lookup, compute, edit or whole; all but lookup are read natively.
    #[arg(long, default_value = "lookup", value_parser = word::<Purpose>)]
    purpose: Purpose,
    /// Most tokens of the answer.
    #[arg(long, value_name = "TOKENS", default_value_t = 1_200)]
    budget: usize,
    /// Read sparsely whatever the gate says.
    #[arg(long)]
    force: bool,
    /// Where the state of the conversation is kept between calls.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct VerifyArgs {
    /// The file or folder that was asked.
    path: PathBuf,
    /// An anchor of its answer.
    #[arg(required_unless_present = "receipt")]
    anchor: Option<String>,
    /// What the text should say; without it, only whether the file is unchanged.
    #[arg(default_value = "")]
    claim: String,
    /// All lines of evidence of this receipt of `spare prune` that have an anchor, instead of one.
    #[arg(long, value_name = "FILE", conflicts_with = "anchor")]
    receipt: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct RawArgs {
    /// The file or folder that was asked.
    path: PathBuf,
    /// An anchor of its answer.
    anchor: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct PictureArgs {
    /// A picture or a PDF document.
    path: PathBuf,
    /// The page, from 1.
    #[arg(long, default_value_t = 1)]
    page: u32,
    /// Left, top, width and height: pixels of a picture, points of a page. All of it without.
    #[arg(long = "box", value_name = "X,Y,W,H", value_parser = area)]
    area: Option<[f64; 4]>,
    /// Most pixels of the longer side.
    #[arg(long, default_value_t = 1_024)]
    side: u32,
    /// The PNG file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

fn area(text: &str) -> Result<[f64; 4], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
    let four = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    four.ok_or_else(|| format!("found `{text}`, expected four numbers X,Y,W,H"))
}

/// Formats that are no text are parsed by this program again, in a process that can be killed.
pub(super) fn worker() -> Worker {
    match std::env::current_exe() {
        Ok(program) => Worker::process(program, &["read", "worker"]),
        Err(_) => Worker::default(),
    }
}

fn print(text: &str) -> Result<(), Error> {
    output::print(text.as_bytes())
}

fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| error.to_string())
}

/// False where a claim does not hold.
pub(crate) fn run(args: &Args) -> Result<bool, Error> {
    #[cfg(feature = "mcp")]
    if let Some(root) = &args.mcp {
        return super::read_mcp::serve(root).map(|()| true);
    }
    let Some(verb) = &args.verb else {
        return Ok(true);
    };
    match verb {
        Verb::Preview(args) => {
            let (session, path) = open(&args.path)?;
            let preview = session.preview(&path)?;
            print(&if args.json {
                line(&preview)
            } else {
                describe(&preview)
            })?;
            Ok(true)
        }
        Verb::Ask(args) => ask(args).map(|()| true),
        Verb::Verify(args) => {
            let (session, _) = open(&args.path)?;
            if let Some(receipt) = &args.receipt {
                let checked = super::read_receipt::verify(&session, receipt, args.json)?;
                print(&checked.text)?;
                return Ok(checked.all);
            }
            let anchor = args.anchor.as_deref().unwrap_or_default();
            let verification = session.verify(&anchor.parse::<Anchor>()?, &args.claim)?;
            let plain = || {
                format!(
                    "{}: {}\n",
                    json_word(&verification.verdict),
                    verification.text
                )
            };
            print(&if args.json {
                line(&verification)
            } else {
                plain()
            })?;
            Ok(verification.verdict == Verdict::Supported)
        }
        Verb::Picture(args) => {
            let (session, path) = open(&args.path)?;
            let picture = session.picture(&path, args.page, args.area, args.side)?;
            std::fs::write(&args.output, &picture.png).map_err(|source| Error::Io {
                path: args.output.clone(),
                action: "write",
                source,
            })?;
            let ((width, height), (of_width, of_height)) = (picture.size, picture.of);
            print(&format!(
                "{width} x {height} pixels of {of_width} x {of_height}\n"
            ))?;
            Ok(true)
        }
        Verb::Worker { job } => {
            spare_read::extract::serve(job).map_err(|source| Error::Io {
                path: "standard input".into(),
                action: "work on",
                source,
            })?;
            Ok(true)
        }
        Verb::Mask(args) => super::read_mask::run(args).map(|()| true),
        Verb::Hook => {
            print(&super::read_hook::respond())?;
            Ok(true)
        }
        Verb::Raw(args) => {
            let (session, _) = open(&args.path)?;
            let anchor: Anchor = args.anchor.parse()?;
            let text = session.raw(&anchor)?;
            print(&if args.json {
                line(&serde_json::json!({"anchor": anchor.to_string(), "untrusted_text": text}))
            } else {
                format!("{text}\n")
            })?;
            Ok(true)
        }
    }
}

fn open(path: &Path) -> Result<(Session, PathBuf), Error> {
    let (root, relative) = Root::of(path)?;
    Ok((Session::new(root).with_worker(worker()), relative))
}

fn ask(args: &AskArgs) -> Result<(), Error> {
    let (mut session, path) = open(&args.path)?;
    let io = |path: &Path, action| {
        let path = path.to_owned();
        move |source| Error::Io {
            path,
            action,
            source,
        }
    };
    let bad = |path: &Path, error: serde_json::Error| {
        Error::Read(spare_read::Error::Intent {
            field: "state or intent",
            found: format!("{}: {error}", path.display()),
            expected: "JSON as this program writes it",
        })
    };
    if let Some(file) = args.state.as_deref().filter(|file| file.exists()) {
        let text = std::fs::read_to_string(file).map_err(io(file, "read"))?;
        session.state =
            serde_json::from_str::<EvidenceState>(&text).map_err(|error| bad(file, error))?;
    }
    let intent = match &args.intent {
        Some(text) => serde_json::from_str::<Intent>(text)
            .map_err(|error| bad(Path::new("--intent"), error))?,
        None => {
            let needs = args
                .questions
                .iter()
                .enumerate()
                .map(|(at, question)| Need {
                    id: format!("n{}", at + 1),
                    question: question.clone(),
                    aliases: Vec::new(),
                })
                .collect();
            Intent {
                goal: String::new(),
                needs,
                needles: args.needle.clone(),
                want: args.want,
                scope: args.scope,
                purpose: args.purpose,
                must_keep: Vec::new(),
            }
        }
    };
    let request = ReadRequest {
        action: args.action,
        intent,
        budget_tokens: args.budget,
        force: args.force,
    };
    let pack = session.read(&path, &request)?;
    if let Some(file) = &args.state {
        let text = serde_json::to_string(&session.state).map_err(|error| bad(file, error))?;
        std::fs::write(file, text).map_err(io(file, "write"))?;
    }
    print(&if args.json {
        line(&pack)
    } else {
        answer(&pack)
    })
}

fn line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

pub(super) fn json_word(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_default()
        .trim_matches('"')
        .to_owned()
}

fn describe(preview: &Preview) -> String {
    let mut out = format!(
        "{} file(s), {} bytes, about {} tokens\n",
        preview.file_count, preview.bytes, preview.tokens
    );
    for file in &preview.files {
        let kind = file
            .kind
            .map_or_else(|| "not readable".to_owned(), |kind| json_word(&kind));
        let _ = write!(
            out,
            "\n{}: {kind}, {} bytes",
            make_visible(&file.path),
            file.bytes
        );
        if let Some(outline) = &file.outline {
            let _ = write!(out, ", {} {}", outline.units, outline.unit);
            for (title, texts) in [
                ("", &outline.parts),
                ("sample: ", &outline.samples),
                ("note: ", &outline.notes),
            ] {
                texts.iter().for_each(|text| {
                    let _ = write!(out, "\n  {title}{text}");
                });
            }
            if outline.more > 0 {
                let _ = write!(out, "\n  and {} more", outline.more);
            }
        }
        if let Some(problem) = &file.problem {
            let _ = write!(out, "\n  {}", make_visible(problem));
        }
        out.push('\n');
    }
    for (path, note) in &preview.notes {
        let _ = writeln!(out, "note: {path}: {note}");
    }
    for (what, why) in &preview.unread {
        let _ = writeln!(out, "not read: {what}: {why}");
    }
    preview.skipped.iter().for_each(|(path, reason)| {
        let _ = writeln!(out, "left out: {} ({reason})", make_visible(path));
    });
    out
}

fn answer(pack: &EvidencePack) -> String {
    let gate = &pack.gate;
    let mut out = format!(
        "gate: {} ({}): s {} c {} r {} b {}, weights {:?}\n",
        json_word(&gate.mode),
        gate.reason,
        gate.s,
        gate.c,
        gate.r,
        gate.b,
        gate.weights
    );
    for need in &pack.needs {
        let _ = write!(
            out,
            "\n{}: {}",
            make_visible(&need.id),
            json_word(&need.status)
        );
        if !need.unmatched.is_empty() && need.status != Status::Supported {
            let _ = write!(out, "; not matched: {}", need.unmatched.join(", "));
        }
        if !need.values.is_empty() {
            let _ = write!(out, "; values: {}", need.values.join(", "));
        }
        out.push('\n');
        for span in need.spans.iter().filter_map(|at| pack.spans.get(*at)) {
            let context = if span.context.is_empty() {
                String::new()
            } else {
                format!("  [{}]", span.context)
            };
            let _ = writeln!(
                out,
                "  {}{context}\n    {}",
                span.anchor,
                span.text.trim_end().replace('\n', "\n    ")
            );
        }
    }
    for span in &pack.content {
        let _ = writeln!(out, "\n{}\n{}", span.anchor, span.text);
    }
    let coverage = &pack.coverage;
    let _ = writeln!(
        out,
        "\nsearched {} of {} bytes, {} units; next: {}",
        coverage.searched,
        coverage.bytes,
        coverage.units,
        json_word(&pack.next)
    );
    coverage.skipped.iter().for_each(|(path, reason)| {
        let _ = writeln!(out, "left out: {path} ({reason})");
    });
    pack.native.iter().for_each(|range| {
        let _ = writeln!(
            out,
            "read natively: {} bytes {}-{}",
            make_visible(&range.path),
            range.bytes.0,
            range.bytes.1
        );
    });
    out
}
