//! The sets, one generator each: a seed in, a case out. The same seed gives the same bytes.

mod absent;
mod bundle;
mod code;
mod code_languages;
mod document;
mod draft;
mod hostile;
mod native;
mod rounds;
mod table;
mod tree;
mod tree_formats;

pub use absent::absent_fact;
pub use bundle::{bundle_audit, bundle_named};
pub use code::source_code;
pub use document::needle_document;
pub use hostile::{HostileFile, hostile_files};
pub use native::native_fit;
pub use rounds::{Rounds, rounds};
pub use table::{Dialect, large_table, table_lookup};
pub use tree::tree_lookup;

use crate::case::{Case, Set};

/// The case of `set` and `seed`; none for the sets that are no plain questions (hostile, rounds) or have no generator yet (workbooks, PDF, pictures).
pub fn case(set: Set, seed: u64) -> Option<Case> {
    match set {
        Set::NeedleDocument => Some(needle_document(seed)),
        Set::AbsentFact => Some(absent_fact(seed)),
        Set::TableLookup => Some(table_lookup(seed)),
        Set::Tree => Some(tree_lookup(seed)),
        Set::BundleAudit => Some(bundle_audit(seed)),
        Set::Code => Some(source_code(seed)),
        Set::NativeFit => Some(native_fit(seed)),
        Set::Workbook | Set::Pdf | Set::Picture | Set::Hostile | Set::Rounds => None,
    }
}

/// The sets that `case` makes.
pub const GENERATED: [Set; 7] = [
    Set::NeedleDocument,
    Set::AbsentFact,
    Set::TableLookup,
    Set::Tree,
    Set::BundleAudit,
    Set::Code,
    Set::NativeFit,
];
