//! A device that draws nothing and remembers every letter with its box.

use hayro::hayro_interpret::font::{Glyph, GlyphRun};
use hayro::hayro_interpret::hayro_cmap::BfString;
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask,
};
use hayro::kurbo::{BezPath, Point, Rect};

/// A letter, or a few that one glyph draws.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub text: String,
    /// Left end of the baseline, from the upper left corner.
    pub x: f64,
    pub y: f64,
    /// Where the next letter would stand.
    pub end: f64,
    /// Height of the font.
    pub size: f64,
}

/// What a page draws.
pub(super) struct Glyphs {
    pub found: Vec<Letter>,
    /// Glyphs that no table maps to a letter.
    pub unmapped: usize,
    pub invisible: usize,
    pub pictures: usize,
    /// The sum of the areas of all pictures, and a box around them.
    covered: f64,
    around: Option<Rect>,
    /// Lines and areas that are drawn.
    pub paths: usize,
    page: Rect,
}

/// Letters of one page; more are no page.
const MOST: usize = 500_000;
/// Letters on a picture that may be a stamp or a page number; with so many it has a text layer or is a background.
const ON_PICTURE: usize = 100;

impl Glyphs {
    pub fn new(page: Rect) -> Self {
        Self {
            found: Vec::new(),
            unmapped: 0,
            invisible: 0,
            pictures: 0,
            covered: 0.0,
            around: None,
            paths: 0,
            page,
        }
    }

    /// The share of the page under pictures, in one piece or in strips, on which hardly a letter stands: a scan, where it is large.
    pub fn bare_pictures(&self) -> f64 {
        let Some(around) = self.around else {
            return 0.0;
        };
        let on_them = self
            .found
            .iter()
            .filter(|letter| around.contains(Point::new(letter.x, letter.y)));
        if on_them.take(ON_PICTURE).count() == ON_PICTURE {
            return 0.0;
        }
        self.covered.min(around.area()) / self.page.area().max(f64::MIN_POSITIVE)
    }
}

impl<'a> Device<'a> for Glyphs {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.paths += 1;
    }

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, mode: &DrawMode) {
        for glyph in run.glyphs() {
            let place = props.transform * glyph.transform();
            let width = match &**glyph {
                Glyph::Outline(outline) => outline.advance_width(),
                Glyph::Type3(drawn) => drawn.advance_width(),
            };
            let origin = place * Point::ZERO;
            let end = place * Point::new(f64::from(width.unwrap_or(500.0)), 0.0);
            let top = place * Point::new(0.0, 1_000.0);
            let size = (top - origin).hypot();
            let sound = [origin.x, origin.y, end.x, size]
                .into_iter()
                .all(f64::is_finite);
            if !sound || !self.page.inflate(1.0, 1.0).contains(origin) || self.found.len() >= MOST {
                continue;
            }
            let text = match glyph.as_unicode() {
                Some(BfString::Char(letter)) => letter.to_string(),
                Some(BfString::String(text)) => text,
                None => String::new(),
            };
            let known = !text.is_empty()
                && !text.chars().all(|letter| {
                    letter.is_control()
                        || letter == '\u{FFFD}'
                        || ('\u{E000}'..='\u{F8FF}').contains(&letter)
                });
            if !known {
                self.unmapped += 1;
                continue;
            }
            self.invisible +=
                usize::from(matches!(mode, DrawMode::Invisible) && !text.trim().is_empty());
            self.found.push(Letter {
                text,
                x: origin.x.min(end.x),
                y: origin.y,
                end: origin.x.max(end.x),
                size,
            });
        }
    }

    fn draw_image(&mut self, picture: Image<'a, '_>, props: ImageDrawProps<'a>) {
        let pixels = Rect::new(
            0.0,
            0.0,
            f64::from(picture.width()),
            f64::from(picture.height()),
        );
        let area = props
            .transform
            .transform_rect_bbox(pixels)
            .intersect(self.page);
        self.pictures += 1;
        if area.area().is_finite() && area.area() > 0.0 {
            self.covered += area.area();
            self.around = Some(self.around.map_or(area, |around| around.union(area)));
        }
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
