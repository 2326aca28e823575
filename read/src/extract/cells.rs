//! Rows as lines of cells between tabs, as the reader of tables takes them.

/// A cell of one line, without tabs and line ends. One that begins with a quote is quoted, since readers of tables would take the quote for their own.
pub(super) fn cell(text: &str) -> String {
    let flat: String = text
        .chars()
        .map(|letter| {
            if matches!(letter, '\t' | '\n' | '\r') {
                ' '
            } else {
                letter
            }
        })
        .collect();
    if flat.starts_with('"') {
        format!("\"{}\"", flat.replace('"', "\"\""))
    } else {
        flat
    }
}

/// Widest row that others are filled up to: one cell far to the right must not make every row long.
#[cfg(feature = "office")]
const WIDE: usize = 256;

/// A line of a sheet. `wide` is the width of the widest row so far: a row that says something in two cells or more is filled up to it, since one without its last cells belongs to the same table as its header. A title alone stays narrow.
#[cfg(feature = "office")]
pub(super) fn line(mut cells: Vec<String>, wide: &mut usize) -> String {
    let width = cells
        .iter()
        .rposition(|cell| !cell.is_empty())
        .map_or(0, |last| last + 1);
    cells.truncate(width);
    if cells.iter().filter(|cell| !cell.is_empty()).count() > 1 {
        if width <= WIDE {
            *wide = width.max(*wide);
        }
        cells.resize(width.max(*wide), String::new());
    }
    cells.join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_a_row_is_replaced_or_quoted() {
        assert_eq!(cell("a\tb\r\nc"), "a b  c");
        assert_eq!(cell("\"so\" it"), "\"\"\"so\"\" it\"");
        assert_eq!(cell("so \"it\""), "so \"it\"");
    }

    #[cfg(feature = "office")]
    #[test]
    fn rows_are_as_wide_as_their_header_and_titles_stay_narrow() {
        let mut wide = 0;
        let mut of = |cells: &[&str]| {
            line(
                cells.iter().map(|cell| (*cell).to_owned()).collect(),
                &mut wide,
            )
        };
        assert_eq!(of(&["Stock of May", "", ""]), "Stock of May");
        assert_eq!(of(&["site", "count", "note"]), "site\tcount\tnote");
        assert_eq!(of(&["a", "1", ""]), "a\t1\t");
        assert_eq!(of(&["", "", "Sum"]), "\t\tSum");
        assert_eq!(of(&["", "", ""]), "");
        let mut far = vec![""; 300];
        far[0] = "b";
        far[299] = "stray";
        assert_eq!(of(&far).matches('\t').count(), 299);
        assert_eq!(of(&["c", "2", ""]), "c\t2\t");
    }
}
