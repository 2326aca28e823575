//! Pages as PDF objects: Courier, whose letters are all six tenths wide, so that every place is known; lines drawn whole or word by word.

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str};

/// Points from line to line.
pub(super) const LINE: f64 = 12.0;
const SIZE: f32 = 9.0;
const HEIGHT: f32 = 842.0;

/// What stands on a page; places count from the upper left corner.
#[derive(Default)]
pub(super) struct Page {
    /// Left, baseline, words.
    pub lines: Vec<(f64, f64, String)>,
    /// Larger words.
    pub headings: Vec<(f64, f64, String)>,
    /// Heights of rules.
    pub rules: Vec<f64>,
    /// Heights of bars, from 0 to 1.
    pub bars: Vec<f64>,
    /// Only a picture.
    pub scan: bool,
    /// Lines in a font whose codes no table maps to letters.
    pub coded: Vec<String>,
}

impl Page {
    pub fn heading(&mut self, left: f64, y: f64, words: &str) {
        self.headings.push((left, y, words.to_owned()));
    }

    fn content(&self, spaced: bool) -> Content {
        let mut content = Content::new();
        content.set_line_width(0.5);
        for y in &self.rules {
            let y = HEIGHT - *y as f32;
            content.move_to(50.0, y).line_to(545.0, y).stroke();
        }
        for (at, bar) in self.bars.iter().enumerate() {
            content
                .rect(
                    60.0 + 50.0 * at as f32,
                    HEIGHT - 400.0,
                    30.0,
                    250.0 * *bar as f32,
                )
                .fill_nonzero();
        }
        if self.scan {
            content
                .save_state()
                .transform([495.0, 0.0, 0.0, 700.0, 50.0, 70.0])
                .x_object(Name(b"Scan"))
                .restore_state();
        }
        content.begin_text();
        for (left, y, words) in &self.headings {
            content
                .set_font(Name(b"H"), 14.0)
                .set_text_matrix([1.0, 0.0, 0.0, 1.0, *left as f32, HEIGHT - *y as f32])
                .show(Str(words.as_bytes()));
        }
        for (left, y, words) in &self.lines {
            content.set_font(Name(b"F"), SIZE).set_text_matrix([
                1.0,
                0.0,
                0.0,
                1.0,
                *left as f32,
                HEIGHT - *y as f32,
            ]);
            if spaced {
                content.show(Str(words.as_bytes()));
            } else {
                // The width of a space as a move, and no space.
                let mut show = content.show_positioned();
                let mut items = show.items();
                for (at, word) in words.split(' ').enumerate() {
                    if at > 0 {
                        items.adjust(-600.0);
                    }
                    items.show(Str(word.as_bytes()));
                }
            }
        }
        for (at, words) in self.coded.iter().enumerate() {
            let coded: Vec<u8> = words
                .bytes()
                .map(|byte| byte.wrapping_sub(31) % 96 + 1)
                .collect();
            content
                .set_font(Name(b"C"), SIZE)
                .set_text_matrix([
                    1.0,
                    0.0,
                    0.0,
                    1.0,
                    50.0,
                    HEIGHT - 90.0 - at as f32 * LINE as f32,
                ])
                .show(Str(&coded));
        }
        content.end_text();
        content
    }
}

/// The file.
pub(super) fn write(pages: &[Page], spaced: bool) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let mut last = 0;
    let mut next = || {
        last += 1;
        Ref::new(last)
    };
    let (catalog, tree, courier, bold, coded, glyph, scan) =
        (next(), next(), next(), next(), next(), next(), next());
    let ids: Vec<(Ref, Ref)> = pages.iter().map(|_| (next(), next())).collect();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree)
        .kids(ids.iter().map(|(page, _)| *page))
        .count(pages.len() as i32);
    for (id, name) in [(courier, &b"Courier"[..]), (bold, b"Helvetica-Bold")] {
        pdf.type1_font(id)
            .base_font(Name(name))
            .encoding_predefined(Name(b"WinAnsiEncoding"));
    }
    // A font of drawn boxes under names of no list, without a table of letters.
    let mut font = pdf.type3_font(coded);
    font.bbox(Rect::new(0.0, 0.0, 600.0, 700.0))
        .matrix([0.001, 0.0, 0.0, 0.001, 0.0, 0.0])
        .first_char(1)
        .last_char(96)
        .widths([600.0; 96]);
    font.char_procs().pair(Name(b"zz"), glyph);
    font.encoding_custom()
        .differences()
        .consecutive(1, [Name(b"zz"); 96]);
    font.finish();
    let mut shape = Content::new();
    shape.start_shape_glyph(600.0, 50.0, 0.0, 550.0, 650.0);
    shape.rect(50.0, 0.0, 450.0, 600.0).stroke();
    pdf.stream(glyph, &shape.finish());
    let pixels: Vec<u8> = (0..124_u32 * 175)
        .map(|at| {
            if (at / 124) % 7 < 3 && (at * 2_654_435_761) % 5 < 3 {
                40
            } else {
                245
            }
        })
        .collect();
    let mut picture = pdf.image_xobject(scan, &pixels);
    picture.width(124).height(175).color_space().device_gray();
    picture.bits_per_component(8);
    picture.finish();
    for (page, (id, content)) in pages.iter().zip(&ids) {
        let mut object = pdf.page(*id);
        object
            .parent(tree)
            .media_box(Rect::new(0.0, 0.0, 595.0, HEIGHT))
            .contents(*content);
        let mut resources = object.resources();
        resources
            .fonts()
            .pair(Name(b"F"), courier)
            .pair(Name(b"H"), bold)
            .pair(Name(b"C"), coded);
        resources.x_objects().pair(Name(b"Scan"), scan);
        resources.finish();
        object.finish();
        pdf.stream(*content, &page.content(spaced).finish());
    }
    pdf.finish()
}
