//! `spare read --mcp` as a client sees it: the handshake, every tool, bad input, cancellation, confinement, and what the tools cost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A server over a folder, after the handshake.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    fn start(root: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_spare"))
            .args(["read", "--mcp"])
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self {
            child,
            input,
            output: BufReader::new(output),
            id: 0,
        }
    }

    fn over(root: &Path) -> Self {
        let mut client = Self::start(root);
        let answer = client.request("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}));
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(answer["result"]["serverInfo"]["name"], "spare-read");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("a line of JSON and nothing else")
    }

    fn post(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The text of a tool's answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, failed) = self.call(tool, arguments);
        assert!(!failed, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    fn error(&mut self, tool: &str, arguments: Value) -> String {
        let (text, failed) = self.call(tool, arguments);
        assert!(failed, "{text}");
        text
    }

    /// The end of input is the end of the server.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let filler = "A gardener walked past the museum in winter and said nothing.\n\n".repeat(2_000);
    std::fs::write(
        folder.path().join("notes.md"),
        format!(
            "{filler}The gauge of the Harbour is 4711.\n\n{filler}The gauge of the Mill is 12.\n"
        ),
    )
    .unwrap();
    folder
}

#[test]
fn all_tools_answer() {
    let folder = folder();
    let mut client = Client::over(folder.path());
    let preview = client.json("sro_preview", json!({"path": "notes.md"}));
    assert_eq!(preview["files"][0]["kind"], "text");
    let card = client.json("sro_card", json!({"path": "notes.md"}));
    assert_eq!(
        (&card["type"], &card["sparse_recommended"]),
        (&json!("text"), &json!(true))
    );
    let pack = client.json(
        "sro_read",
        json!({"path": "notes.md", "questions": ["gauge of the Harbour", "colour of the Barn"]}),
    );
    let statuses: Vec<&Value> = pack["needs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|need| &need["status"])
        .collect();
    assert_eq!(statuses, ["supported", "absent"]);
    let anchor = pack["untrusted_spans"][0]["anchor"].clone();
    assert_eq!(
        client.json("sro_raw", json!({"anchor": anchor}))["untrusted_text"],
        "The gauge of the Harbour is 4711."
    );
    let verdict = |client: &mut Client, claim: &str| {
        client.json("sro_raw", json!({"anchor": anchor, "claim": claim}))["verdict"].clone()
    };
    assert_eq!(
        verdict(&mut client, "gauge of the Harbour is 4711"),
        "supported"
    );
    assert_eq!(
        verdict(&mut client, "gauge of the Harbour is 4712"),
        "contradicted"
    );
    std::fs::write(folder.path().join("notes.md"), "Rewritten.\n").unwrap();
    assert_eq!(
        verdict(&mut client, "gauge of the Harbour is 4711"),
        "stale"
    );
    assert!(
        client
            .error("sro_raw", json!({"anchor": anchor}))
            .contains("the file has changed")
    );
    client.end();
}

/// The state outlives a call, whatever name the object has.
#[test]
fn rounds_go_on_between_calls() {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap();
    let mut client = Client::over(folder.path());
    let ask = |client: &mut Client, path: &Path| {
        client.json(
            "sro_read",
            json!({"path": path, "questions": ["gauge of the Harbour"], "mode": "refine"}),
        )
    };
    let first = ask(&mut client, Path::new("notes.md"));
    assert_eq!(
        (&first["round"]["n"], &first["round"]["new_spans"]),
        (&json!(1), &json!(1))
    );
    let second = ask(&mut client, &root.join("notes.md"));
    assert_eq!(second["round"]["n"], 2);
    assert_ne!(
        second["untrusted_spans"][0]["anchor"],
        first["untrusted_spans"][0]["anchor"]
    );
    client.end();
}

#[test]
fn the_names_of_the_reference_are_understood() {
    let folder = folder();
    let mut client = Client::over(folder.path());
    let hint = json!({"goal": "gauges", "slots": [{"id": "harbour", "question": "gauge of the Harbour"}], "want": "fact", "type_hint": "text"});
    let pack = client.json(
        "sro_read",
        json!({"target": {"path": "notes.md"}, "mode": "collect", "hint": hint}),
    );
    assert_eq!(
        (&pack["needs"][0]["id"], &pack["needs"][0]["status"]),
        (&json!("harbour"), &json!("supported"))
    );
    client.end();
}

#[test]
fn bad_input_is_named_and_the_server_goes_on() {
    let folder = folder();
    let mut client = Client::over(folder.path());
    // What is no JSON has no id to answer to.
    client.send("{broken");
    client.send("[]");
    assert_eq!(client.receive()["error"]["code"], -32600);
    assert_eq!(
        client.request("no/method", json!({}))["error"]["code"],
        -32601
    );
    let unknown = client.request("tools/call", json!({"name": "sro_write", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("found `sro_write`, expected sro_preview")
    );
    for (arguments, what) in [
        (json!({}), "missing field `path`"),
        (json!({"path": 3}), "found 3, expected a path"),
        (
            json!({"path": "notes.md"}),
            "expected a goal, a needle or a need",
        ),
        (
            json!({"path": "notes.md", "colour": 1}),
            "unknown field `colour`",
        ),
        (
            json!({"path": "notes.md", "questions": ["a"], "mode": "skim"}),
            "unknown variant `skim`",
        ),
        (
            json!({"path": "notes.md", "questions": vec!["a b"; 13]}),
            "found 13, expected at most 12",
        ),
        (
            json!({"path": "absent.md", "questions": ["a"]}),
            "absent.md: look up",
        ),
    ] {
        let error = client.error("sro_read", arguments);
        assert!(error.contains(what), "{error}");
    }
    assert!(
        client
            .error("sro_raw", json!({"anchor": "notes.md:1"}))
            .contains("expected PATH:LINE-LINE@BYTE-BYTE#CONTENT")
    );
    assert_eq!(
        client.json("sro_card", json!({"path": "notes.md"}))["files"],
        1
    );
    client.end();
}

#[test]
fn nothing_outside_of_the_root_is_read() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(
        outside.path().join("secret.txt"),
        "The gauge of the Vault is 1.",
    )
    .unwrap();
    let folder = folder();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        outside.path().join("secret.txt"),
        folder.path().join("link.txt"),
    )
    .unwrap();
    std::fs::write(folder.path().join(".env"), "KEY=1").unwrap();
    let mut client = Client::over(folder.path());
    let secret: PathBuf = outside.path().join("secret.txt");
    for path in [
        json!("../secret.txt"),
        json!("a/../../secret.txt"),
        json!("link.txt"),
        json!(secret),
        json!("/etc/hostname"),
        json!(".env"),
    ] {
        for tool in ["sro_preview", "sro_card"] {
            client.error(tool, json!({"path": path}));
        }
        client.error(
            "sro_read",
            json!({"path": path, "questions": ["gauge of the Vault"]}),
        );
    }
    for anchor in [
        "../secret.txt:1@0-9#0123456789abcdef",
        "link.txt:1@0-9#0123456789abcdef",
        "/etc/hostname:1@0-2#0123456789abcdef",
    ] {
        client.error("sro_raw", json!({"anchor": anchor}));
    }
    client.end();
}

#[test]
fn a_cancelled_call_is_not_answered_and_holds_up_nothing() {
    let folder = folder();
    let filler =
        "A gardener walked past the museum in winter and said nothing.\n\n".repeat(1_000_000);
    std::fs::write(folder.path().join("long.md"), filler).unwrap();
    let mut client = Client::over(folder.path());
    let id = client.post("tools/call", json!({"name": "sro_read", "arguments": {"path": "long.md", "questions": ["gauge of the Harbour"]}}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "test"}}).to_string());
    // The next answer is the next call's, not the cancelled one's.
    assert_eq!(
        client.json("sro_card", json!({"path": "notes.md"}))["files"],
        1
    );
    client.end();
}

/// A PNG file of one colour with a dark box.
fn picture() -> Vec<u8> {
    let mut pixels = image::RgbImage::from_pixel(800, 600, image::Rgb([240, 240, 240]));
    for (x, y) in (100..140).flat_map(|x| (50..70).map(move |y| (x, y))) {
        pixels.put_pixel(x, y, image::Rgb([10, 10, 10]));
    }
    let mut bytes = std::io::Cursor::new(Vec::new());
    pixels
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

#[test]
fn a_picture_is_shown_small_and_a_part_of_it_as_it_is() {
    let folder = folder();
    std::fs::write(folder.path().join("roof.png"), picture()).unwrap();
    let mut client = Client::over(folder.path());
    let mut shown = |tool: &str, arguments: Value| {
        let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let blocks = answer["result"]["content"].as_array().unwrap().clone();
        let picture = blocks.last().unwrap();
        assert_eq!(picture["mimeType"], "image/png", "{answer}");
        let data = base64::Engine::decode(
            &base64::engine::general_purpose::STANDARD,
            picture["data"].as_str().unwrap(),
        );
        image::load_from_memory(&data.unwrap()).unwrap().to_rgb8()
    };
    let small = shown("sro_preview", json!({"path": "roof.png"}));
    assert_eq!(small.dimensions(), (512, 384));
    let part = shown(
        "sro_raw",
        json!({"path": "roof.png", "box": [100, 50, 40, 20]}),
    );
    assert_eq!(part.dimensions(), (40, 20));
    assert!(part.pixels().all(|pixel| pixel.0 == [10, 10, 10]));
    let error = client.error("sro_raw", json!({"path": "notes.md"}));
    assert!(
        error.contains("expected a picture or a PDF document"),
        "{error}"
    );
    assert!(
        client
            .error("sro_raw", json!({}))
            .contains("expected an anchor or a path")
    );
    client.end();
}

/// A later revision has no handshake.
#[test]
fn a_client_without_a_handshake_is_served() {
    let folder = folder();
    let mut client = Client::start(folder.path());
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let answer = client.request("tools/list", json!({"_meta": meta}));
    assert_eq!(
        answer["result"]["tools"].as_array().map(Vec::len),
        Some(4),
        "{answer}"
    );
    client.end();
}

/// Counted with the Qwen3 vocabulary: both as the server lists them and as the chat template shows them.
#[test]
fn the_tools_cost_under_600_tokens() {
    let path = std::env::var_os("SPARE_QWEN3_TOKENIZER").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/qwen3-tokenizer/tokenizer.json"),
        PathBuf::from,
    );
    if !path.exists() {
        assert!(
            std::env::var_os("SPARE_REQUIRE_FETCHED").is_none_or(|v| v != "1"),
            "no tokenizer at {}",
            path.display()
        );
        println!(
            "skipped: no tokenizer at {} (.ci/fetch-tokenizer brings it)",
            path.display()
        );
        return;
    }
    let tokenizer = tokenizers::Tokenizer::from_file(path).unwrap();
    let count = |text: &str| tokenizer.encode_fast(text, false).unwrap().len();
    let folder = folder();
    let mut client = Client::over(folder.path());
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let shown: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| json!({"type": "function", "function": {"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"]}}).to_string())
        .collect();
    let (listed, shown) = (count(&listed.to_string()), count(&shown.join("\n")));
    println!("tools: {listed} tokens as listed, {shown} in a chat template");
    assert!(
        listed < 600 && shown < 600,
        "{listed} listed, {shown} shown"
    );
    client.end();
}
