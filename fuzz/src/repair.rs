//! Any text mended: what comes out is read and breaks no rule more, the mends can be undone byte for byte, and there is nothing left to mend.

use spare::formats::{check, parse, repair};
use spare::plan::{Receipt, TextHash, restore};

pub fn mend(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // serde_json reads an object with this key as the JSON inside its string.
    if text.contains("serde_json") || text.contains('\\') && text.contains("private") {
        return;
    }
    let (after, mends) = match repair(text, None, None) {
        Ok(mended) => mended,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let broken = |text: &str| {
        let root = parse(text).ok()?;
        Some(check(&root, None, None).ok()?.violations.len())
    };
    let left = broken(&after).expect("what was mended is a run");
    assert!(broken(text).is_none_or(|before| left <= before));
    assert_eq!(mends.is_empty(), after == text);
    let receipt = Receipt {
        schema: 1,
        before: TextHash::of(text),
        after: TextHash::of(&after),
        mends,
        ..Receipt::default()
    };
    assert_eq!(restore(&after, &receipt).as_deref(), Ok(text));
    assert_eq!(repair(&after, None, None), Ok((after.clone(), Vec::new())));
}
