//! Secrets are taken out of what is shown; the anchor still names their bytes.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// The pattern of each kind of secret; the group is what is taken out.
const PATTERNS: [(&str, &str); 8] = [
    (
        "private key",
        r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z))",
    ),
    ("access key", r"\b((?:AKIA|ASIA)[0-9A-Z]{16})\b"),
    (
        "token",
        r"\b((?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_|npm_|pypi-)[0-9A-Za-z_-]{16,})",
    ),
    (
        "api key",
        r"\b((?:sk|pk|rk)[-_](?:[a-z]+[-_])*[0-9A-Za-z_-]{20,})",
    ),
    (
        "web token",
        r"\b(eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*)",
    ),
    ("api key", r"\b(AIza[0-9A-Za-z_-]{35})"),
    ("password", r"://[^/\s:@]+:([^/\s:@]+)@"),
    (
        "password",
        r#"(?i)(?:^|[^0-9a-z])(?:[0-9a-z]+[_-])*(?:password|passwd|passphrase|secret|api[_-]?key|secret[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret)["']?\s*[:=]\s*["']?([^\s"',;|}]{6,})"#,
    ),
];

static SECRETS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    PATTERNS
        .iter()
        .filter_map(|(kind, pattern)| Some((*kind, Regex::new(pattern).ok()?)))
        .collect()
});

static ENCODED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[0-9A-Za-z+/]{40,}={0,2}").ok());

/// `text` without secrets, and how many were taken out.
///
/// ```
/// let (text, count) = spare_read::redact("key AKIAIOSFODNN7EXAMPLE");
/// assert_eq!((text.as_str(), count), ("key [redacted access key]", 1));
/// ```
pub fn redact(text: &str) -> (String, usize) {
    let mut text = text.to_owned();
    let mut count = 0;
    for (kind, pattern) in SECRETS.iter() {
        let mut out = String::new();
        let mut last = 0;
        for found in pattern
            .captures_iter(&text)
            .filter_map(|found| found.get(1))
        {
            if found.start() < last || found.as_str().starts_with("[redacted") {
                continue;
            }
            out.push_str(text.get(last..found.start()).unwrap_or_default());
            out.push_str(&format!("[redacted {kind}]"));
            last = found.end();
            count += 1;
        }
        if last > 0 {
            out.push_str(text.get(last..).unwrap_or_default());
            text = out;
        }
    }
    let (text, more) = redact_material(text);
    (text, count + more)
}

/// Takes out what can only be encoded binary data, such as a line of a key whose first line is not shown.
fn redact_material(text: String) -> (String, usize) {
    let is_encoded = |run: &str| {
        let count = |is: fn(&char) -> bool| run.chars().filter(is).count();
        let longest_word = run
            .split(|letter: char| !letter.is_ascii_lowercase())
            .map(str::len)
            .max()
            .unwrap_or(0);
        let slashes = count(|letter| *letter == '/');
        count(char::is_ascii_uppercase) >= 6
            && count(char::is_ascii_lowercase) >= 6
            && count(char::is_ascii_digit) >= 3
            && longest_word <= 7
            && slashes * 12 <= run.len()
    };
    let mut out = String::new();
    let mut last = 0;
    let mut count = 0;
    for run in ENCODED
        .iter()
        .flat_map(|pattern| pattern.find_iter(&text))
        .filter(|run| is_encoded(run.as_str()))
    {
        out.push_str(text.get(last..run.start()).unwrap_or_default());
        out.push_str("[redacted encoded data]");
        last = run.end();
        count += 1;
    }
    if count == 0 {
        return (text, 0);
    }
    out.push_str(text.get(last..).unwrap_or_default());
    (out, count)
}

/// Whether a file of this name is never read: environment files, keys, stores of credentials.
pub fn holds_credentials(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let example =
        name.ends_with(".example") || name.ends_with(".sample") || name.ends_with(".template");
    (name == ".env" || name.starts_with(".env.")) && !example
        || ["pem", "key", "p12", "pfx", "jks", "keystore", "kdbx"].contains(&extension.as_str())
        || [
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ed25519",
            ".netrc",
            ".pgpass",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            "credentials",
            "credentials.json",
            ".htpasswd",
            "shadow",
        ]
        .contains(&name.as_str())
        || path.components().any(|part| {
            [".ssh", ".gnupg", ".aws"].contains(&part.as_os_str().to_string_lossy().as_ref())
        })
}
