//! Any receipt on any text: the original, proved by its hash, or an error. The first line is the receipt, the rest the text.

use spare::plan::{Receipt, TextHash, restore};

pub fn restore_receipt(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (line, body) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(mut receipt) = serde_json::from_str::<Receipt>(line) else {
        return;
    };
    check(body, &receipt);
    // The same receipt, as if it were the right one for the text.
    receipt.schema = 1;
    receipt.after = TextHash::of(body);
    check(body, &receipt);
    let again = serde_json::to_string(&receipt).expect("a receipt is JSON");
    assert_eq!(
        serde_json::from_str::<Receipt>(&again).ok().as_ref(),
        Some(&receipt)
    );
}

fn check(body: &str, receipt: &Receipt) {
    match restore(body, receipt) {
        Ok(original) => assert_eq!(TextHash::of(&original), receipt.before),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
