//! A scene in pixels: coverage by the distance of a pixel's centre from an edge, words from a strip of glyphs.

use spare_models::image::{ImageError, RgbImage};

use super::glyphs::Glyphs;
use super::scene::{Anchor, Colour, Form, Scene, Shape};
use super::svg::corners;

/// Pixels of a unit.
const SCALE: f64 = 2.0;

/// Draws a scene on white.
pub(super) fn draw(scene: &Scene) -> Result<RgbImage, ImageError> {
    let glyphs = Glyphs::load()?;
    let (width, height) = (SCALE * scene.width, SCALE * scene.height);
    let mut picture = RgbImage::from_pixel(width as u32, height as u32, [255; 3].into());
    let up = |(x, y): (f64, f64)| (SCALE * x, SCALE * y);
    for shape in &scene.shapes {
        match shape {
            Shape::Line {
                from,
                to,
                colour,
                width,
            } => {
                let (from, to, half) = (up(*from), up(*to), SCALE * width / 2.0);
                cover(&mut picture, around(&[from, to], half), *colour, |at| {
                    half + 0.5 - to_segment(at, from, to)
                });
            }
            Shape::Mark {
                at,
                form: Form::Disc,
                radius,
                colour,
                ..
            } => {
                let (at, radius) = (up(*at), SCALE * radius);
                cover(&mut picture, around(&[at], radius), *colour, |(x, y)| {
                    radius + 0.5 - (x - at.0).hypot(y - at.1)
                });
            }
            Shape::Mark {
                at,
                form,
                radius,
                colour,
                ..
            } => {
                let corners: Vec<_> = corners(*form, *at, *radius).into_iter().map(up).collect();
                cover(&mut picture, around(&corners, 0.0), *colour, |at| {
                    inside(at, &corners) + 0.5
                });
            }
            Shape::Text {
                at,
                text,
                anchor,
                bold,
            } => {
                let at = up(*at);
                let width = glyphs.width(text) as f64;
                let left = match anchor {
                    Anchor::Start => at.0,
                    Anchor::Middle => at.0 - width / 2.0,
                    Anchor::End => at.0 - width,
                };
                glyphs.write(&mut picture, (left, at.1), text, *bold);
            }
        }
    }
    Ok(picture)
}

/// Left, top, right and bottom of what lies within `more` of some places.
type Frame = (f64, f64, f64, f64);

fn around(places: &[(f64, f64)], more: f64) -> Frame {
    let mut frame = (
        f64::INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
    );
    for (x, y) in places {
        frame = (
            frame.0.min(x - more - 1.0),
            frame.1.min(y - more - 1.0),
            frame.2.max(x + more + 1.0),
            frame.3.max(y + more + 1.0),
        );
    }
    frame
}

/// Mixes `colour` over the pixels of a frame, as much as `share` of a pixel's centre says, from 0 to 1.
fn cover(picture: &mut RgbImage, frame: Frame, colour: Colour, share: impl Fn((f64, f64)) -> f64) {
    let (width, height) = picture.dimensions();
    let ends = |low: f64, high: f64, end: u32| {
        let clip = |v: f64| v.clamp(0.0, f64::from(end)) as u32;
        clip(low.floor())..clip(high.ceil())
    };
    for y in ends(frame.1, frame.3, height) {
        for x in ends(frame.0, frame.2, width) {
            let share = share((f64::from(x) + 0.5, f64::from(y) + 0.5)).clamp(0.0, 1.0);
            if let Some(pixel) = picture.get_pixel_mut_checked(x, y) {
                mix(&mut pixel.0, colour, share);
            }
        }
    }
}

/// `share` of `over` and the rest of what was there.
pub(super) fn mix(pixel: &mut [u8; 3], over: Colour, share: f64) {
    for (value, over) in pixel.iter_mut().zip(over) {
        let mixed = f64::from(*value) * (1.0 - share) + f64::from(over) * share;
        *value = mixed.round() as u8;
    }
}

fn to_segment((x, y): (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx * dx + dy * dy;
    let along = match length > 0.0 {
        true => (((x - from.0) * dx + (y - from.1) * dy) / length).clamp(0.0, 1.0),
        false => 0.0,
    };
    (x - from.0 - along * dx).hypot(y - from.1 - along * dy)
}

/// How far inside a convex outline, given clockwise on the screen, a place is; negative outside.
fn inside((x, y): (f64, f64), corners: &[(f64, f64)]) -> f64 {
    let next = corners.iter().cycle().skip(1);
    let edges = corners.iter().zip(next);
    let depth = edges.map(|(a, b)| {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        ((y - a.1) * dx - (x - a.0) * dy) / dx.hypot(dy)
    });
    depth.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_depths() {
        assert_eq!(to_segment((3.0, 4.0), (0.0, 0.0), (0.0, 0.0)), 5.0);
        assert_eq!(to_segment((5.0, 2.0), (0.0, 0.0), (10.0, 0.0)), 2.0);
        assert_eq!(to_segment((13.0, 4.0), (0.0, 0.0), (10.0, 0.0)), 5.0);
        for form in [Form::Square, Form::Diamond, Form::Triangle] {
            let corners = corners(form, (50.0, 50.0), 10.0);
            assert!(inside((50.0, 50.0), &corners) > 4.0, "{form:?}");
            assert!(inside((50.0, 80.0), &corners) < -10.0, "{form:?}");
        }
        let mut pixel = [255; 3];
        mix(&mut pixel, [0, 100, 255], 0.5);
        assert_eq!(pixel, [128, 178, 255]);
    }
}
