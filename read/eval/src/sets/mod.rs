//! The sets, one generator each: a seed in, a case out. The same seed gives the same bytes.

mod absent;
mod bundle;
mod code;
mod code_languages;
mod document;
mod draft;
mod hostile;
mod native;
mod pdf;
mod pdf_page;
mod picture;
mod rounds;
mod table;
mod tree;
mod tree_formats;
mod workbook;
mod workbook_ods;

pub use absent::absent_fact;
pub use bundle::{bundle_audit, bundle_named};
pub use code::source_code;
pub use document::needle_document;
pub use hostile::{HostileFile, hostile_files};
pub use native::native_fit;
pub use pdf::pdf_report;
pub use picture::{Picture, picture};
pub use rounds::{Rounds, rounds};
pub use table::{Dialect, large_table, table_lookup};
pub use tree::tree_lookup;
pub use workbook::workbook;

use crate::case::{Case, Set};

/// The case of `set` and `seed`; none for the sets that are no plain questions (hostile, rounds, pictures).
pub fn case(set: Set, seed: u64) -> Option<Case> {
    match set {
        Set::NeedleDocument => Some(needle_document(seed)),
        Set::AbsentFact => Some(absent_fact(seed)),
        Set::TableLookup => Some(table_lookup(seed)),
        Set::Tree => Some(tree_lookup(seed)),
        Set::BundleAudit => Some(bundle_audit(seed)),
        Set::Code => Some(source_code(seed)),
        Set::NativeFit => Some(native_fit(seed)),
        Set::Workbook => Some(workbook(seed)),
        Set::Pdf => Some(pdf_report(seed)),
        Set::Picture | Set::Hostile | Set::Rounds => None,
    }
}

/// The sets whose files are no text; a scripted agent without readers gets nothing from them.
pub const BINARY: [Set; 2] = [Set::Workbook, Set::Pdf];

/// The sets of text that `case` makes.
pub const GENERATED: [Set; 7] = [
    Set::NeedleDocument,
    Set::AbsentFact,
    Set::TableLookup,
    Set::Tree,
    Set::BundleAudit,
    Set::Code,
    Set::NativeFit,
];
