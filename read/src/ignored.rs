//! What `.gitignore` files say, on the way down a folder.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Why a file was left out.
pub(crate) const IGNORED: &str = "ignored by .gitignore";

/// The rules of the folders above, the outermost first.
#[derive(Default)]
pub(crate) struct Ignored {
    levels: Vec<(PathBuf, Gitignore)>,
}

impl Ignored {
    /// Adds the rules of a folder; says how many levels there were before.
    pub fn enter(&mut self, folder: &Path, rules: Option<String>) -> usize {
        let level = self.levels.len();
        if let Some(rules) = rules {
            let mut builder = GitignoreBuilder::new(".");
            for line in rules.lines() {
                // A line that is no pattern ignores nothing.
                let _ = builder.add_line(None, line);
            }
            if let Ok(rules) = builder.build() {
                self.levels.push((folder.to_owned(), rules));
            }
        }
        level
    }

    /// Forgets the rules of folders below a level.
    pub fn leave(&mut self, level: usize) {
        self.levels.truncate(level);
    }

    /// Whether the innermost rule that speaks of a path ignores it.
    pub fn is(&self, path: &Path, folder: bool) -> bool {
        for (of, rules) in self.levels.iter().rev() {
            let inner = path.strip_prefix(of).unwrap_or(path);
            let said = rules.matched(inner, folder);
            if !said.is_none() {
                return said.is_ignore();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_rules_come_first_and_a_bang_takes_back() {
        let mut ignored = Ignored::default();
        ignored.enter(Path::new("."), Some("*.log\n/build/\n[broken".into()));
        let level = ignored.enter(Path::new("kept"), Some("!important.log".into()));
        let is = |ignored: &Ignored, path: &str, folder| ignored.is(Path::new(path), folder);
        assert!(is(&ignored, "a.log", false) && is(&ignored, "kept/a.log", false));
        assert!(!is(&ignored, "kept/important.log", false));
        assert!(is(&ignored, "build", true) && !is(&ignored, "build", false));
        assert!(!is(&ignored, "kept/build", true) && !is(&ignored, "a.txt", false));
        ignored.leave(level);
        assert!(is(&ignored, "kept/important.log", false));
    }
}
