//! PDF: text with a box for every line, columns in reading order, rows of tables with their header; a page or a part of one as a picture. Pages without letters are named.

mod glyphs;
mod layout;
mod lines;
mod render;
mod rows;

use hayro::hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};
use hayro::hayro_syntax::{LoadPdfError, Pdf};
use hayro::kurbo::Rect;

use super::{Bounds, Extract, Fault, Part, Place};
use glyphs::Glyphs;
use layout::Line;

pub(super) use render::show;

/// Letters that no table maps, as a share of a page, above which its text is no text.
const UNMAPPED: f64 = 0.2;
/// Share of a page under one picture without letters above which it is a scan.
const SCAN: f64 = 0.5;

fn open(bytes: Vec<u8>) -> Result<Pdf, Fault> {
    Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(_) => {
            Fault::new("an encrypted document", "one without a password")
        }
        _ => Fault::new("no readable structure", "a PDF document"),
    })
}

pub(super) fn extract(bytes: Vec<u8>, bounds: &Bounds) -> Result<Extract, Fault> {
    let pdf = open(bytes)?;
    let pages = pdf.pages();
    if pages.is_empty() {
        return Err(Fault::new("no page", "a PDF document"));
    }
    if pages.len() > bounds.pages {
        return Err(Fault::over(
            pages.len() as u64,
            "pages",
            bounds.pages as u64,
        ));
    }
    let cache = InterpreterCache::new();
    let mut extract = Extract {
        notes: vec![format!("{} pages", pages.len())],
        ..Extract::default()
    };
    let mut part = Part::default();
    for (number, page) in (1_u32..).zip(pages.iter()) {
        let transform = page.initial_transform(true);
        let (width, height) = page.render_dimensions();
        let area = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let mut context = Context::new(
            hayro::hayro_interpret::TransformExt::to_kurbo(&transform),
            area,
            &cache,
            page.xref(),
            InterpreterSettings::default(),
        );
        let mut glyphs = Glyphs::new(area);
        interpret_page(page, &mut context, &mut glyphs);
        if let Some(why) = missing(&glyphs) {
            extract.unread.push((format!("page {number}"), why));
        }
        if glyphs.invisible > 0 {
            extract.notes.push(format!(
                "page {number}: {} invisible letters",
                glyphs.invisible
            ));
        }
        write(&mut part, number, layout::lines(glyphs.found));
        if part.text.len() as u64 > bounds.text {
            extract.unread.push((
                format!("pages from {}", number + 1),
                format!("more than {} bytes of text", bounds.text),
            ));
            break;
        }
    }
    extract.parts.push(part);
    Ok(extract)
}

/// Why the letters of a page are not all that it says; none where they are.
fn missing(glyphs: &Glyphs) -> Option<String> {
    let letters = glyphs.found.len() + glyphs.unmapped;
    let drawn = glyphs.paths + glyphs.pictures;
    let bare = glyphs.bare_pictures();
    if letters == 0 && drawn > 0 {
        Some("no text layer: look at the page as a picture".into())
    } else if bare >= SCAN {
        Some(format!(
            "no text layer on pictures that cover {:.0} % of the page: look at them",
            100.0 * bare
        ))
    } else if glyphs.unmapped as f64 > UNMAPPED * letters as f64 {
        Some(format!(
            "{} of {letters} letters have no code that says which they are: look at the page as a picture",
            glyphs.unmapped
        ))
    } else {
        None
    }
}

/// Adds the lines of a page, a line a paragraph: where a column ends says nothing. A word that a hyphen parts there is put together again.
fn write(part: &mut Part, page: u32, lines: Vec<Line>) {
    let mut first = true;
    // Whether the line before ended within a word.
    let mut joins = false;
    for line in lines {
        let joined = std::mem::take(&mut joins);
        if joined && (line.opens || !line.text.starts_with(char::is_lowercase)) {
            part.text.push('-');
        }
        if std::mem::take(&mut first) {
            // Pages are apart already.
        } else if line.opens {
            part.text.push_str("\n\n");
        } else if line.breaks && !joined {
            part.text.push('\n');
        } else if !joined || part.text.ends_with('-') {
            part.text.push(' ');
        }
        part.places.push(Place {
            byte: part.text.len() as u64,
            page,
            area: line.area.map(|number| number as f32),
        });
        if line.heading {
            part.text.push_str("## ");
        }
        let word = line
            .text
            .strip_suffix('-')
            .filter(|head| head.ends_with(char::is_lowercase));
        joins = word.is_some();
        part.text.push_str(word.unwrap_or(&line.text));
    }
    part.text.push_str(if joins { "-\n\n" } else { "\n\n" });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, opens: bool, breaks: bool) -> Line {
        Line {
            text: text.into(),
            area: [0.0; 4],
            opens,
            breaks,
            heading: false,
        }
    }

    #[test]
    fn a_paragraph_is_a_line_and_parted_words_are_whole() {
        let mut part = Part::default();
        let page = vec![
            line("The clinic opened on 18 January", true, false),
            line("2019. It has a store-", false, false),
            line("house of the Trans-", false, false),
            line("Alpine firm, built-", false, false),
            line("in 1980", false, false),
            line("- beds: 12", false, true),
            line("Next.", true, true),
        ];
        write(&mut part, 1, page);
        write(&mut part, 2, vec![line("Other.", true, true)]);
        assert_eq!(
            part.text,
            "The clinic opened on 18 January 2019. It has a storehouse of the Trans- Alpine firm, builtin 1980\n- beds: 12\n\nNext.\n\nOther.\n\n"
        );
        assert_eq!(part.places.len(), 8);
        assert!(part.places.is_sorted_by_key(|place| place.byte));
    }
}
