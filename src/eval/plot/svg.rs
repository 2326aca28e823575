//! A scene in vectors.

use std::fmt::Write as _;

use super::scene::{Anchor, Colour, Form, Scene, Shape};

/// The whole file.
pub(super) fn write(scene: &Scene) -> String {
    let (width, height) = (scene.width, scene.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for shape in &scene.shapes {
        match shape {
            Shape::Line {
                from,
                to,
                colour,
                width,
            } => {
                let _ = writeln!(
                    out,
                    "<line x1=\"{:.2}\" y1=\"{:.2}\" x2=\"{:.2}\" y2=\"{:.2}\" stroke=\"{}\" stroke-width=\"{width}\"/>",
                    from.0,
                    from.1,
                    to.0,
                    to.1,
                    hex(*colour)
                );
            }
            Shape::Mark {
                at,
                form,
                radius,
                colour,
                point,
            } => {
                let class = if *point { " class=\"mark\"" } else { "" };
                let corners = corners(*form, *at, *radius);
                let fill = hex(*colour);
                let _ = match corners.is_empty() {
                    true => writeln!(
                        out,
                        "<circle{class} cx=\"{:.2}\" cy=\"{:.2}\" r=\"{radius}\" fill=\"{fill}\"/>",
                        at.0, at.1
                    ),
                    false => {
                        let points: Vec<String> = corners
                            .iter()
                            .map(|(x, y)| format!("{x:.2},{y:.2}"))
                            .collect();
                        writeln!(
                            out,
                            "<polygon{class} points=\"{}\" fill=\"{fill}\"/>",
                            points.join(" ")
                        )
                    }
                };
            }
            Shape::Text {
                at,
                text,
                anchor,
                bold,
            } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let weight = if *bold { " font-weight=\"bold\"" } else { "" };
                let _ = writeln!(
                    out,
                    "<text x=\"{:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\"{weight}>{}</text>",
                    at.0,
                    at.1,
                    escaped(text)
                );
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Corners of a mark; none for a disc.
pub(super) fn corners(form: Form, (x, y): (f64, f64), r: f64) -> Vec<(f64, f64)> {
    let side = 0.88 * r;
    match form {
        Form::Disc => Vec::new(),
        Form::Square => vec![
            (x - side, y - side),
            (x + side, y - side),
            (x + side, y + side),
            (x - side, y + side),
        ],
        Form::Diamond => {
            let r = 1.25 * r;
            vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
        }
        Form::Triangle => {
            let r = 1.2 * r;
            vec![(x, y - r), (x + r, y + 0.8 * r), (x - r, y + 0.8 * r)]
        }
    }
}

fn hex([r, g, b]: Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
