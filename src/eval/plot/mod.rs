//! How does accuracy stand against tokens removed? One plot as SVG and PNG, its numbers as CSV and JSON.
//!
//! A plot is a list of shapes (`scene`) that two writers draw: one in vectors, one in pixels. Both need nothing but this crate and its PNG
//! encoder.

mod glyphs;
mod raster;
mod scene;
mod svg;

use std::fmt::Write as _;

use serde::Serialize;
use spare_models::image::{ImageError, encode_png};

use super::Estimate;

/// One point with its intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// What it is of.
    pub name: String,
    /// From left to right.
    pub x: Estimate,
    /// From bottom to top.
    pub y: Estimate,
}

/// Points with intervals in both directions. Values are shares, shown in per cent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// What is shown.
    pub title: String,
    /// What stands along the horizontal axis.
    pub x: String,
    /// What stands along the vertical axis.
    pub y: String,
    /// The points.
    pub marks: Vec<Mark>,
}

impl Plot {
    /// As SVG.
    pub fn svg(&self) -> String {
        svg::write(&scene::of(self))
    }

    /// As PNG, two pixels for each unit of the SVG.
    ///
    /// # Errors
    /// Where the picture cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>, ImageError> {
        encode_png(&raster::draw(&scene::of(self))?)
    }

    /// A line a point, shares from 0 to 1.
    pub fn csv(&self) -> String {
        let mut out = String::from("name,x,x_low,x_high,y,y_low,y_high\n");
        for Mark { name, x, y } in &self.marks {
            let name = match name.contains([',', '"']) {
                true => format!("\"{}\"", name.replace('"', "\"\"")),
                false => name.clone(),
            };
            let _ = writeln!(
                out,
                "{name},{:.5},{:.5},{:.5},{:.5},{:.5},{:.5}",
                x.value, x.low, x.high, y.value, y.low, y.high
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use spare_models::image::decode;

    use super::*;

    fn estimate(value: f64, width: f64) -> Estimate {
        Estimate {
            value,
            low: value - width,
            high: value + width,
            n: 100.0,
        }
    }

    fn plot(marks: &[(&str, f64, f64)]) -> Plot {
        Plot {
            title: "Accuracy & tokens <300 episodes>".into(),
            x: "reasoning tokens removed, %".into(),
            y: "right answers, %".into(),
            marks: marks
                .iter()
                .map(|(name, x, y)| Mark {
                    name: (*name).into(),
                    x: estimate(*x, 0.02),
                    y: estimate(*y, 0.05),
                })
                .collect(),
        }
    }

    /// The colour of a mark stands where its numbers say, in both writers.
    #[test]
    fn points_stand_where_their_numbers_say() {
        let plot = plot(&[("full", 0.0, 0.8), ("a,b", 0.5, 0.7), ("none", 1.0, 0.6)]);
        let scene = scene::of(&plot);
        let picture = decode(&plot.png().unwrap()).unwrap();
        let (width, height) = picture.dimensions();
        assert_eq!(
            (width, height),
            (2 * scene.width as u32, 2 * scene.height as u32)
        );
        let points = scene.points();
        assert_eq!(points.len(), 3);
        for (x, y, colour) in &points {
            let pixel = picture.get_pixel((2.0 * x) as u32, (2.0 * y) as u32);
            assert_eq!(&pixel.0, colour, "{x} {y}");
        }
        // Equally far apart from left to right, and from top to bottom.
        let [a, b, c] = [points[0], points[1], points[2]];
        assert!(((b.0 - a.0) - (c.0 - b.0)).abs() < 1e-6 && b.0 > a.0);
        assert!(((b.1 - a.1) - (c.1 - b.1)).abs() < 1e-6 && b.1 > a.1);
        let svg = plot.svg();
        assert!(
            svg.contains("Accuracy &amp; tokens &lt;300 episodes&gt;"),
            "{svg}"
        );
        assert_eq!(svg.matches("class=\"mark\"").count(), 3);
        assert!(plot.csv().contains("\"a,b\",0.50000,0.48000,0.52000"));
    }

    #[test]
    fn nothing_many_and_broken_numbers_are_drawn_too() {
        plot(&[]).png().unwrap();
        let broken = plot(&[("nothing", f64::NAN, 0.5), ("fine", 0.3, 0.5)]);
        assert_eq!(scene::of(&broken).points().len(), 1);
        assert!(!broken.svg().contains("NaN"));
        let names: Vec<String> = (0..60).map(|i| format!("kappa {i}")).collect();
        let many: Vec<(&str, f64, f64)> = names.iter().map(|n| (n.as_str(), 0.4, 0.5)).collect();
        let many = plot(&many);
        assert!(many.svg().contains("kappa 59"));
        many.png().unwrap();
    }
}
