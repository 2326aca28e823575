//! A small hub on the loopback interface: lists, metadata on redirects, content at another address, and every fault on request.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Content of a repository at one commit: name, bytes, whether in large file storage.
pub type Files = Vec<(&'static str, Vec<u8>, bool)>;

/// What goes wrong with an answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Another status, with headers and a body.
    Status(u16, Vec<(&'static str, String)>, &'static str),
    /// The connection closes behind so many bytes of the body.
    Truncated(usize),
    /// Nothing comes behind so many bytes of the body; none means no answer at all.
    Stalled(Option<usize>),
    /// The whole file, whatever range was asked for.
    Whole,
    /// One byte is another.
    Corrupt,
    /// No length is announced; the connection ends the body.
    Unsized,
    /// More bytes than announced, without a length.
    Longer,
    /// Another value of a header of the answer.
    Header(&'static str, String),
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    /// Whether the content's address was asked, not the hub's.
    pub content: bool,
}

/// Files of a commit by name: content, and whether it lies in large file storage.
type Stored = BTreeMap<String, (Vec<u8>, bool)>;

#[derive(Default)]
struct State {
    /// By `owner/name`: revisions and commits.
    revisions: BTreeMap<(String, String), String>,
    commits: BTreeMap<(String, String), Stored>,
    faults: Vec<(&'static str, String, usize, Fault)>,
    log: Vec<Request>,
}

/// A running hub; it stops when dropped.
pub struct Hub {
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    port: u16,
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn git_blob(bytes: &[u8]) -> String {
    let header = format!("blob {}\0", bytes.len());
    hex(&Sha1::new()
        .chain_update(header)
        .chain_update(bytes)
        .finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Hub {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, content] = [0, 1].map(|i: usize| listeners[i].local_addr().unwrap().port());
        for (listener, is_content) in listeners.into_iter().zip([false, true]) {
            let (state, stop) = (state.clone(), stop.clone());
            listener.set_nonblocking(true).unwrap();
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Ok((stream, _)) = listener.accept() else {
                        thread::sleep(Duration::from_millis(2));
                        continue;
                    };
                    let (state, stop) = (state.clone(), stop.clone());
                    thread::spawn(move || {
                        stream.set_nonblocking(false).unwrap();
                        // The other side may hang up whenever it likes.
                        let _ = serve(stream, &state, &stop, is_content, content);
                    });
                }
            });
        }
        Self { state, stop, port }
    }

    /// The hub's address.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes `revision` of a repository stand for a new commit with these files.
    pub fn commit(&self, repo: &str, revision: &str, commit: &str, files: Files) {
        let mut state = self.state.lock().unwrap();
        let files = files
            .into_iter()
            .map(|(name, bytes, large)| (name.to_owned(), (bytes, large)))
            .collect();
        let key = (repo.to_owned(), commit.to_owned());
        state.revisions.insert(key.clone(), commit.to_owned());
        state.commits.insert(key, files);
        let key = (repo.to_owned(), revision.to_owned());
        state.revisions.insert(key, commit.to_owned());
    }

    /// The next `times` requests with this method whose path holds `part` go wrong.
    pub fn fault(&self, method: &'static str, part: &str, times: usize, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state.faults.push((method, part.to_owned(), times, fault));
    }

    /// Everything asked since the last call.
    pub fn log(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Until nobody listens any more.
        let end = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn read(stream: &TcpStream, content: bool) -> std::io::Result<Option<Request>> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut request = Request {
        method: method.into(),
        path: path.replace("%2F", "/"),
        headers: BTreeMap::new(),
        content,
    };
    loop {
        let mut line = String::new();
        lines.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => {
                let name = name.to_ascii_lowercase();
                request.headers.insert(name, value.into())
            }
            None => return Ok(Some(request)),
        };
    }
}

fn serve(
    mut stream: TcpStream,
    state: &Mutex<State>,
    stop: &AtomicBool,
    is_content: bool,
    content: u16,
) -> std::io::Result<()> {
    let Some(request) = read(&stream, is_content)? else {
        return Ok(());
    };
    let (mut answer, fault) = {
        let mut state = state.lock().unwrap();
        state.log.push(request.clone());
        let fault = state
            .faults
            .iter_mut()
            .find(|(method, part, times, _)| {
                *times > 0 && *method == request.method && request.path.contains(part.as_str())
            })
            .map(|(_, _, times, fault)| {
                *times -= 1;
                fault.clone()
            });
        let whole = matches!(fault, Some(Fault::Whole));
        (answer(&state, &request, content, whole), fault)
    };
    let (mut sized, mut cut, mut waits) = (true, usize::MAX, false);
    match fault {
        Some(Fault::Status(status, headers, body)) => {
            let headers = headers.into_iter().map(|(n, v)| (n.to_owned(), v));
            answer = Answer {
                status,
                headers: headers.collect(),
                body: body.into(),
            };
        }
        Some(Fault::Truncated(at)) => cut = at,
        Some(Fault::Stalled(None)) => {
            wait(stop);
            return Ok(());
        }
        Some(Fault::Stalled(Some(at))) => (cut, waits) = (at, true),
        Some(Fault::Corrupt) => answer.body[7] ^= 1,
        Some(Fault::Unsized) => sized = false,
        Some(Fault::Longer) => {
            answer.body.extend(b"more");
            sized = false;
        }
        Some(Fault::Header(name, value)) => {
            answer.headers.retain(|(n, _)| n != name);
            answer.headers.push((name.into(), value));
        }
        Some(Fault::Whole) | None => {}
    }
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", answer.status);
    if sized {
        head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    if request.method != "HEAD" {
        stream.write_all(&answer.body[..cut.min(answer.body.len())])?;
        stream.flush()?;
        if waits {
            wait(stop);
        }
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    // What the other side still sends must not turn into a reset that throws the answer away.
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

fn wait(stop: &AtomicBool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
}

fn answer(state: &State, request: &Request, content: u16, whole: bool) -> Answer {
    let path = request.path.split('?').next().unwrap_or_default();
    let found = match request.content {
        true => path
            .strip_prefix("/blobs/")
            .and_then(|etag| blob(state, etag))
            .map(|bytes| ranged(bytes, request, whole)),
        false => hub(state, path, content),
    };
    found.unwrap_or_else(|| Answer {
        status: 404,
        headers: vec![("x-error-code".into(), "EntryNotFound".into())],
        body: Vec::new(),
    })
}

fn blob(state: &State, etag: &str) -> Option<Vec<u8>> {
    let files = state.commits.values().flat_map(BTreeMap::values);
    files
        .map(|(bytes, _)| bytes)
        .find(|bytes| sha256(bytes) == etag)
        .cloned()
}

/// The content's address has an etag of its own, which is nobody's sum.
fn ranged(bytes: Vec<u8>, request: &Request, whole: bool) -> Answer {
    let mut headers = vec![("ETag".to_owned(), format!("\"{}\"", "9".repeat(64)))];
    let range = request.headers.get("range").filter(|_| !whole);
    let Some(range) = range.and_then(|r| r.strip_prefix("bytes=")) else {
        return Answer {
            status: 200,
            headers,
            body: bytes,
        };
    };
    let (start, end) = range.split_once('-').unwrap();
    let start: usize = start.parse().unwrap();
    let end = end.parse().map_or(bytes.len(), |last: usize| last + 1);
    let total = bytes.len();
    headers.push((
        "Content-Range".into(),
        format!("bytes {start}-{}/{total}", end - 1),
    ));
    Answer {
        status: 206,
        headers,
        body: bytes[start..end].to_vec(),
    }
}

fn hub(state: &State, path: &str, content: u16) -> Option<Answer> {
    let ok = |headers, body| {
        Some(Answer {
            status: 200,
            headers,
            body,
        })
    };
    if let Some(rest) = path.strip_prefix("/api/models/") {
        let mut parts = rest.splitn(4, '/');
        let repo = format!("{}/{}", parts.next()?, parts.next()?);
        let (kind, revision) = (parts.next()?, parts.next()?);
        let commit = state
            .revisions
            .get(&(repo.clone(), revision.trim_end_matches('/').into()))?;
        let files = state.commits.get(&(repo.clone(), commit.clone()))?;
        let body = match kind {
            "revision" => {
                let names: Vec<Value> = files.keys().map(|n| json!({"rfilename": n})).collect();
                json!({"_id": "1", "id": repo, "sha": commit, "siblings": names})
            }
            _ => files.iter().map(|(name, file)| entry(name, file)).collect(),
        };
        let headers = vec![("Content-Type".into(), "application/json".into())];
        return ok(headers, body.to_string().into_bytes());
    }
    // Small files are redirected on the same host, as the public hub does.
    let cached = path.strip_prefix("/cached/");
    let mut parts = cached.unwrap_or(path.strip_prefix('/')?).splitn(5, '/');
    let repo = format!("{}/{}", parts.next()?, parts.next()?);
    parts.next().filter(|part| *part == "resolve")?;
    let commit = state.revisions.get(&(repo.clone(), parts.next()?.into()))?;
    let name = parts.next()?;
    let (bytes, large) = state.commits.get(&(repo, commit.clone()))?.get(name)?;
    let mut headers = vec![("X-Repo-Commit".to_owned(), commit.clone())];
    if *large {
        let etag = sha256(bytes);
        headers.extend([
            ("X-Linked-Etag".into(), format!("\"{etag}\"")),
            ("X-Linked-Size".into(), bytes.len().to_string()),
            // Another host by name and by port.
            (
                "Location".into(),
                format!("http://localhost:{content}/blobs/{etag}"),
            ),
        ]);
    } else if cached.is_none() {
        headers.push(("Location".into(), format!("/cached{path}")));
    } else {
        headers.push(("ETag".into(), format!("\"{}\"", git_blob(bytes))));
        return ok(headers, bytes.clone());
    }
    Some(Answer {
        status: if *large { 302 } else { 307 },
        headers,
        body: b"a redirect".to_vec(),
    })
}

fn entry(name: &str, (bytes, large): &(Vec<u8>, bool)) -> Value {
    let mut entry =
        json!({"type": "file", "path": name, "size": bytes.len(), "oid": git_blob(bytes)});
    if *large {
        entry["lfs"] = json!({"oid": sha256(bytes), "size": bytes.len(), "pointerSize": 134});
    }
    entry
}
