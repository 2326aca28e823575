//! E5, trees: one value in JSON, JSON lines, YAML or XML, among records that look alike.

use fastrand::Rng;

use super::tree_formats::{Node, write};
use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set};

const SERVICE: [&str; 14] = [
    "checkout",
    "catalog",
    "billing",
    "search",
    "mailer",
    "gateway",
    "ledger",
    "profile",
    "inventory",
    "scheduler",
    "thumbnailer",
    "translator",
    "recommender",
    "auditor",
];
const REGION: [&str; 8] = [
    "eu-west", "eu-north", "us-east", "us-west", "ap-south", "ap-east", "sa-east", "af-south",
];
const FIELD: [(&str, &str); 8] = [
    ("timeoutSeconds", "timeout seconds"),
    ("maxRetries", "max retries"),
    ("listenPort", "listen port"),
    ("memoryLimit", "memory limit"),
    ("poolSize", "pool size"),
    ("queueDepth", "queue depth"),
    ("cacheEntries", "cache entries"),
    ("batchWindow", "batch window"),
];

fn one<T: Copy>(rng: &mut Rng, from: &[T], fallback: T) -> T {
    from.get(rng.usize(..from.len().max(1)))
        .copied()
        .unwrap_or(fallback)
}

/// A field, its mark and its value.
type Value = (usize, usize, String);

/// One record, and the values of its fields.
fn record(
    rng: &mut Rng,
    id: usize,
    service: &str,
    region: &str,
    nested: bool,
    next_mark: &mut usize,
) -> (Node, Vec<Value>) {
    let mut values = Vec::new();
    let mut fields = Vec::new();
    for (field, (name, _)) in FIELD.iter().enumerate() {
        let value = rng.u32(10..60_000).to_string();
        let mark = *next_mark;
        *next_mark += 1;
        values.push((field, mark, value.clone()));
        fields.push(((*name).to_owned(), Node::Number(value, Some(mark))));
    }
    let limits = if nested {
        vec![("limits".to_owned(), Node::Object(fields))]
    } else {
        fields
    };
    let mut entries = vec![
        ("id".to_owned(), Node::Text(format!("svc-{id:05}"))),
        ("name".to_owned(), Node::Text(service.to_owned())),
        ("region".to_owned(), Node::Text(region.to_owned())),
        (
            "owners".to_owned(),
            Node::Array(vec![
                Node::Text(format!("team-{}", rng.u8(1..40))),
                Node::Text(format!("team-{}", rng.u8(40..80))),
            ]),
        ),
    ];
    entries.extend(limits);
    (Node::Object(entries), values)
}

/// E5.
pub fn tree_lookup(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE5);
    let format = one(
        &mut rng,
        &["json", "json-compact", "jsonl", "yaml", "xml"],
        "json",
    );
    let most = if format == "jsonl" { 4.0 } else { 3.0 };
    let count = 10_f64.powf(1.3 + (most - 1.3) * rng.f64()) as usize;
    let keyed = matches!(format, "json" | "yaml") && rng.u8(..3) == 0;
    let nested = rng.bool();
    let mut next_mark = 0;
    let mut records = Vec::new();
    let mut known: Vec<(String, String, String, Vec<Value>)> = Vec::new();
    for id in 0..count {
        let (service, region) = (
            one(&mut rng, &SERVICE, "checkout"),
            one(&mut rng, &REGION, "eu-west"),
        );
        let service = if count > 80 {
            format!("{service}-{}", id / 80)
        } else {
            service.to_owned()
        };
        if known
            .iter()
            .any(|(_, other, place, _)| *other == service && place == region)
        {
            continue;
        }
        let (node, values) = record(&mut rng, id, &service, region, nested, &mut next_mark);
        known.push((
            format!("svc-{id:05}"),
            service.clone(),
            region.to_owned(),
            values,
        ));
        records.push((format!("{service}.{region}"), node));
    }
    let (text, marks) = write(format, records, keyed);
    let extension = format.split('-').next().unwrap_or(format);
    let path = format!("services.{extension}");
    let mut asked = Vec::new();
    for index in 0..6 {
        let Some((id, service, region, values)) = known.get(rng.usize(..known.len().max(1))) else {
            continue;
        };
        let (field, mark, value) = rng.choice(values).cloned().unwrap_or_default();
        let name = FIELD.get(field).map_or("", |(_, name)| *name);
        if index == 5 {
            let question = match rng.u8(..2) {
                0 => format!("What is the {name} of svc-{}?", 70_000 + rng.u32(..9_000)),
                _ => format!("What is the {name} of the service {service} in region me-central?"),
            };
            asked.push(Asked {
                question,
                gold: Vec::new(),
                kind: "no such record",
            });
            continue;
        }
        let (question, kind) = match rng.u8(..3) {
            0 => (format!("What is the {name} of {id}?"), "by id"),
            1 => (
                format!("What is the {name} of the service {service} in {region}?"),
                "by two fields",
            ),
            _ => (format!("{service} {region} {name}"), "by two fields"),
        };
        let bytes = marks.get(mark).cloned().unwrap_or_default();
        asked.push(Asked {
            question,
            gold: vec![Gold {
                path: path.clone(),
                bytes,
                answer: value,
                spot: None,
            }],
            kind,
        });
    }
    Case {
        set: Set::Tree,
        seed,
        kind: format!(
            "{format}{}{}",
            if keyed { "/keyed" } else { "" },
            if nested { "/nested" } else { "" }
        ),
        files: vec![CaseFile {
            path: path.clone(),
            bytes: text.into_bytes(),
        }],
        target: path,
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}
