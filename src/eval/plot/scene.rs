//! Which lines, marks and words make a plot?

use super::{Mark, Plot};
use crate::eval::Estimate;

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

/// Which side of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The outline of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Disc,
    Square,
    Diamond,
    Triangle,
}

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Line {
        from: (f64, f64),
        to: (f64, f64),
        colour: Colour,
        width: f64,
    },
    /// A filled mark around a place.
    Mark {
        at: (f64, f64),
        form: Form,
        radius: f64,
        colour: Colour,
        /// Whether it is a point of the plot, not of the legend.
        point: bool,
    },
    /// `at` is on the base line.
    Text {
        at: (f64, f64),
        text: String,
        anchor: Anchor,
        bold: bool,
    },
}

/// Shapes on a white ground, later ones over earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}

impl Scene {
    /// Place and colour of every point.
    #[cfg(test)]
    pub(super) fn points(&self) -> Vec<(f64, f64, Colour)> {
        let of = |shape: &Shape| match shape {
            Shape::Mark {
                at,
                colour,
                point: true,
                ..
            } => Some((at.0, at.1, *colour)),
            _ => None,
        };
        self.shapes.iter().filter_map(of).collect()
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: Colour, width: f64) {
        self.shapes.push(Shape::Line {
            from,
            to,
            colour,
            width,
        });
    }

    fn text(&mut self, at: (f64, f64), text: impl Into<String>, anchor: Anchor, bold: bool) {
        self.shapes.push(Shape::Text {
            at,
            text: text.into(),
            anchor,
            bold,
        });
    }
}

const LEFT: f64 = 56.0;
const TOP: f64 = 64.0;
const INNER: (f64, f64) = (480.0, 330.0);
/// Least width of the legend, and what a letter takes of it.
const LEGEND: (f64, f64) = (150.0, 7.4);
const ROW: f64 = 20.0;
const GREY: Colour = [150, 150, 150];
const PALE: Colour = [228, 228, 228];

/// Paul Tol's bright and muted colours, which people tell apart who see few of them.
const COLOURS: [Colour; 10] = [
    [34, 34, 34],
    [68, 119, 170],
    [238, 102, 119],
    [34, 136, 51],
    [204, 187, 68],
    [102, 204, 238],
    [170, 51, 119],
    [136, 34, 85],
    [17, 119, 51],
    [221, 119, 34],
];
const FORMS: [Form; 4] = [Form::Disc, Form::Square, Form::Diamond, Form::Triangle];

/// An axis from `low` to `high` with ticks at multiples of `step`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// An axis in per cent over values and their intervals.
    fn over<'a>(values: impl Iterator<Item = &'a Estimate>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for e in values {
            for end in [e.low, e.value, e.high] {
                if end.is_finite() {
                    (low, high) = (low.min(100.0 * end), high.max(100.0 * end));
                }
            }
        }
        if low > high {
            (low, high) = (0.0, 100.0);
        }
        // A share lies between 0 and 100; an axis goes beyond only where an interval does.
        let within = (low >= 0.0, high <= 100.0);
        let wanted = 5.0 - (high - low);
        if wanted > 0.0 {
            match high + wanted <= 100.0 {
                true => high += wanted,
                false => low -= wanted,
            }
        }
        let span = high - low;
        let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
        let step = steps.into_iter().find(|step| span / step <= 8.0);
        let step = step.unwrap_or(span / 8.0);
        let margin = span * 0.04;
        let low = ((low - margin) / step).floor() * step;
        let high = ((high + margin) / step).ceil() * step;
        Self {
            low: if within.0 { low.max(0.0) } else { low },
            high: if within.1 { high.min(100.0) } else { high },
            step,
        }
    }

    /// Where a value in per cent stands, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let Self { low, high, step } = *self;
        let count = ((high - low) / step).round() as usize;
        (0..=count).map(move |i| low + i as f64 * step)
    }
}

/// The shapes of a plot.
pub(super) fn of(plot: &Plot) -> Scene {
    let whole = |m: &&Mark| m.x.value.is_finite() && m.y.value.is_finite();
    let drawn = || plot.marks.iter().filter(whole);
    let across = Axis::over(drawn().map(|m| &m.x));
    let up = Axis::over(drawn().map(|m| &m.y));
    let rows = plot.marks.len() as f64;
    let names = plot.marks.iter().map(|mark| mark.name.chars().count());
    let longest = names.max().unwrap_or(0) as f64;
    let mut scene = Scene {
        width: (LEFT + INNER.0 + LEGEND.0.max(48.0 + LEGEND.1 * longest)).ceil(),
        height: (TOP + INNER.1 + 60.0).max(TOP + ROW * rows + 20.0).ceil(),
        shapes: Vec::new(),
    };
    let (right, bottom) = (LEFT + INNER.0, TOP + INNER.1);
    let x = |value: f64| LEFT + INNER.0 * across.place(value);
    let y = |value: f64| bottom - INNER.1 * up.place(value);
    scene.text((16.0, 24.0), plot.title.clone(), Anchor::Start, true);
    scene.text((16.0, TOP - 14.0), plot.y.clone(), Anchor::Start, false);
    for tick in across.ticks() {
        scene.line((x(tick), TOP), (x(tick), bottom), PALE, 1.0);
        scene.text(
            (x(tick), bottom + 20.0),
            number(tick),
            Anchor::Middle,
            false,
        );
    }
    for tick in up.ticks() {
        scene.line((LEFT, y(tick)), (right, y(tick)), PALE, 1.0);
        scene.text(
            (LEFT - 8.0, y(tick) + 4.5),
            number(tick),
            Anchor::End,
            false,
        );
    }
    scene.line((LEFT, bottom), (right, bottom), GREY, 1.0);
    scene.line((LEFT, TOP), (LEFT, bottom), GREY, 1.0);
    let middle = (LEFT + right) / 2.0;
    scene.text(
        (middle, bottom + 44.0),
        plot.x.clone(),
        Anchor::Middle,
        false,
    );
    for (i, mark) in plot.marks.iter().enumerate() {
        let colour = COLOURS.get(i % COLOURS.len()).copied().unwrap_or(GREY);
        let form = FORMS.get(i % FORMS.len()).copied().unwrap_or(Form::Disc);
        let row = TOP + ROW * i as f64 + 6.0;
        let sign = |at: (f64, f64), point: bool| Shape::Mark {
            at,
            form,
            radius: 5.0,
            colour,
            point,
        };
        scene.shapes.push(sign((right + 20.0, row), false));
        scene.text(
            (right + 32.0, row + 4.5),
            mark.name.clone(),
            Anchor::Start,
            false,
        );
        if !whole(&mark) {
            continue;
        }
        let at = (x(100.0 * mark.x.value), y(100.0 * mark.y.value));
        if mark.x.low.is_finite() && mark.x.high.is_finite() {
            let ends = (x(100.0 * mark.x.low), x(100.0 * mark.x.high));
            scene.line((ends.0, at.1), (ends.1, at.1), colour, 1.2);
        }
        if mark.y.low.is_finite() && mark.y.high.is_finite() {
            let ends = (y(100.0 * mark.y.low), y(100.0 * mark.y.high));
            scene.line((at.0, ends.0), (at.0, ends.1), colour, 1.2);
            for end in [ends.0, ends.1] {
                scene.line((at.0 - 3.0, end), (at.0 + 3.0, end), colour, 1.2);
            }
        }
        scene.shapes.push(sign(at, true));
    }
    scene
}

/// A tick's number without a needless fraction; never `-0`.
fn number(tick: f64) -> String {
    let rounded = (tick * 10.0).round() / 10.0 + 0.0;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values_and_few_ticks() {
        let of = |low: f64, value: f64, high: f64| Estimate {
            value,
            low,
            high,
            n: 1.0,
        };
        for values in [
            vec![of(0.0, 0.5, 1.0)],
            vec![of(0.601, 0.62, 0.64), of(0.7, 0.71, 0.73)],
            vec![of(0.5, 0.5, 0.5)],
            vec![of(-0.1, 0.0, 0.05)],
            vec![of(0.0, 0.0, 0.0)],
            vec![of(1.0, 1.0, 1.0)],
            vec![],
        ] {
            let axis = Axis::over(values.iter());
            let ticks: Vec<f64> = axis.ticks().collect();
            assert!((3..=12).contains(&ticks.len()), "{axis:?}");
            let beyond = values.iter().any(|e| e.low < 0.0);
            assert_eq!(axis.low < 0.0, beyond, "{axis:?}");
            assert!(axis.high <= 100.0, "{axis:?}");
            for e in &values {
                for end in [e.low, e.high] {
                    assert!(
                        (0.0..=1.0).contains(&axis.place(100.0 * end)),
                        "{axis:?} {end}"
                    );
                }
            }
        }
        assert_eq!(
            (number(-0.0), number(12.5), number(40.0)),
            ("0".into(), "12.5".into(), "40".into())
        );
    }
}
