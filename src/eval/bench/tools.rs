//! What answers a model's calls: a crop that runs here, and recorded results for everything else.

use serde_json::Value;
use spare_models::image::{self, Resizer, RgbImage, encode_png};

use super::{BenchTask, Recorded};
use crate::error::{Error, PictureProblem};
use crate::eval::act::Tools;
use crate::replay::{PictureRoot, picture_error};
use crate::trajectory::{Message, Part, Picture, ToolCall, Trajectory};

/// Longest side of a crop, in pixels; smaller ones are enlarged to it, at most fourfold.
const SIDE: u32 = 672;

/// The tools of a task.
pub struct BenchTools<'a> {
    /// The task.
    pub task: &'a BenchTask,
    /// Where its pictures are.
    pub root: &'a PictureRoot,
}

/// How calls were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Replayed {
    /// By the result of the same call.
    pub exact: usize,
    /// By the result of the same tool's call that came as late, with other arguments.
    pub near: usize,
    /// By a tool that runs here.
    pub run: usize,
    /// Not at all.
    pub missed: usize,
}

enum Found<'a> {
    Exact(&'a Recorded),
    Near(&'a Recorded),
    Here,
    Nothing,
}

impl BenchTools<'_> {
    /// `before`: calls of the same tool before this one.
    fn find(&self, call: &ToolCall, before: usize) -> Found<'_> {
        let arguments: Value = serde_json::from_str(&call.arguments_text()).unwrap_or(Value::Null);
        let own = || self.task.recorded.iter().filter(|r| r.name == call.name);
        if let Some(found) = own().find(|r| same(&r.arguments, &arguments)) {
            return Found::Exact(found);
        }
        match own().nth(before) {
            Some(found) => Found::Near(found),
            None if call.name == "crop" && own().next().is_none() => Found::Here,
            None => Found::Nothing,
        }
    }

    /// How the calls of a run were answered.
    pub fn replayed(&self, run: &Trajectory) -> Replayed {
        let mut out = Replayed::default();
        let all: Vec<&ToolCall> = run.messages.iter().flat_map(|m| &m.calls).collect();
        for (at, call) in all.iter().enumerate() {
            if call.name == "summarize_the_task" {
                continue;
            }
            let before = all.iter().take(at).filter(|other| other.name == call.name);
            match self.find(call, before.count()) {
                Found::Exact(_) => out.exact += 1,
                Found::Near(_) => out.near += 1,
                Found::Here => out.run += 1,
                Found::Nothing => out.missed += 1,
            }
        }
        out
    }

    fn crop(&self, run: &Trajectory, call: &ToolCall) -> Result<Vec<Part>, Error> {
        let refuse = |text: &str| Ok(vec![Part::text(text)]);
        let arguments: Value = serde_json::from_str(&call.arguments_text()).unwrap_or(Value::Null);
        let pictures: Vec<&Picture> = run.messages.iter().flat_map(Message::pictures).collect();
        let number = arguments.get("picture").map_or(Some(1), Value::as_u64);
        let picture = number.and_then(|n| pictures.get(usize::try_from(n).ok()?.checked_sub(1)?));
        let Some(picture) = picture else {
            return refuse(&format!(
                "There are {} pictures; `picture` is 1 to {}.",
                pictures.len(),
                pictures.len()
            ));
        };
        let sides = arguments.get("box").and_then(Value::as_array);
        let sides: Option<Vec<f64>> = sides.and_then(|s| s.iter().map(Value::as_f64).collect());
        let Some([left, top, right, bottom]) =
            sides.as_deref().and_then(|s| <[f64; 4]>::try_from(s).ok())
        else {
            return refuse("`box` is four numbers: left, top, right and bottom in thousandths.");
        };
        let within = |v: f64| (0.0..=1000.0).contains(&v);
        if ![left, top, right, bottom].into_iter().all(within) || left >= right || top >= bottom {
            return refuse("`box` lies within 0 to 1000, left before right and top before bottom.");
        }
        let of = |error: image::ImageError| picture_error(picture, PictureProblem::Image(error));
        let whole = image::decode(&self.root.open(picture)?).map_err(of)?;
        let part = cut(&whole, [left, top, right, bottom]);
        let (width, height) = part.dimensions();
        let scale = (f64::from(SIDE) / f64::from(width.max(height))).min(4.0);
        let sized = |side: u32| ((f64::from(side) * scale).round() as u32).max(1);
        let part = match scale > 1.0 {
            true => image::resize(&part, sized(width), sized(height), Resizer::Pil)
                .map_err(of)?
                .into_owned(),
            false => part,
        };
        Ok(vec![Part::picture_bytes(encode_png(&part).map_err(of)?)])
    }
}

/// The part of a picture between sides in thousandths, at least one pixel each way.
fn cut(whole: &RgbImage, [left, top, right, bottom]: [f64; 4]) -> RgbImage {
    let (width, height) = whole.dimensions();
    let place = |share: f64, of: u32| (share / 1000.0 * f64::from(of)).round() as u32;
    let (x, y) = (
        place(left, width).min(width.saturating_sub(1)),
        place(top, height).min(height.saturating_sub(1)),
    );
    let size = (
        place(right, width).max(x + 1) - x,
        place(bottom, height).max(y + 1) - y,
    );
    RgbImage::from_fn(size.0, size.1, |column, row| {
        let pixel = whole.get_pixel_checked(x + column, y + row);
        pixel.copied().unwrap_or([0; 3].into())
    })
}

/// Equal but for spaces around texts and for numbers written as texts.
fn same(a: &Value, b: &Value) -> bool {
    let plain = |value: &Value| match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, own)| b.get(name).is_some_and(|other| same(own, other)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => plain(a) == plain(b),
    }
}

impl Tools for BenchTools<'_> {
    fn answer(&self, run: &Trajectory, call: &ToolCall) -> Result<Vec<Part>, Error> {
        let calls = run.messages.iter().flat_map(|m| &m.calls);
        // The call itself stands in the run already.
        let before = calls
            .filter(|other| other.name == call.name)
            .count()
            .saturating_sub(1);
        match self.find(call, before) {
            Found::Exact(found) | Found::Near(found) => Ok(found.result.clone()),
            Found::Here => self.crop(run, call),
            Found::Nothing => Ok(vec![Part::text(format!(
                "{} has no result here; go on with what you know.",
                call.name
            ))]),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::super::Answer;
    use super::*;
    use crate::trajectory::PictureSource;

    fn task(recorded: Vec<Recorded>) -> BenchTask {
        let whole = RgbImage::from_fn(100, 50, |x, y| [x as u8, y as u8, 7].into());
        BenchTask {
            id: "a".into(),
            question: "?".into(),
            pictures: vec![Part::picture_bytes(encode_png(&whole).unwrap())],
            earlier: Vec::new(),
            answer: Answer::Ungraded,
            tools: Vec::new(),
            recorded,
        }
    }

    fn said(parts: &[Part]) -> String {
        Message::user_parts(parts.to_vec()).text()
    }

    #[test]
    fn a_crop_shows_its_part_and_bad_boxes_are_answered_in_words() {
        let task = task(Vec::new());
        let root = PictureRoot::new(".");
        let tools = BenchTools {
            task: &task,
            root: &root,
        };
        let run = task.start();
        let ask = |arguments: Value| {
            tools
                .answer(&run, &ToolCall::new("c", "crop", arguments))
                .unwrap()
        };
        let parts = ask(json!({"picture": 1, "box": [500, 0, 1000, 500]}));
        let Part::Picture(picture) = &parts[0] else {
            unreachable!("a crop is a picture");
        };
        let PictureSource::Bytes(bytes) = &picture.source else {
            unreachable!("a crop is in memory");
        };
        let crop = image::decode(bytes).unwrap();
        assert_eq!(crop.dimensions(), (200, 100));
        let middle = crop.get_pixel(100, 50).0;
        assert!(
            (middle[0] as i32 - 75).abs() <= 1 && (middle[1] as i32 - 12).abs() <= 1,
            "{middle:?}"
        );
        for (arguments, says) in [
            (
                json!({"picture": 2, "box": [0, 0, 1, 1]}),
                "There are 1 pictures",
            ),
            (
                json!({"picture": 0, "box": [0, 0, 1, 1]}),
                "There are 1 pictures",
            ),
            (json!({"box": [0, 0, 1]}), "four numbers"),
            (json!({"box": [5, 0, 5, 1000]}), "left before right"),
            (json!({"box": [0, 0, 1001, 1]}), "0 to 1000"),
        ] {
            assert!(said(&ask(arguments)).contains(says), "{says}");
        }
        // The smallest box is one pixel.
        assert!(matches!(
            ask(json!({"box": [999.9, 999.9, 1000, 1000]}))[0],
            Part::Picture(_)
        ));
    }

    #[test]
    fn recorded_calls_answer_exactly_then_in_their_order_then_not_at_all() {
        let recorded = |name: &str, arguments: Value, text: &str| Recorded {
            name: name.into(),
            arguments,
            result: vec![Part::text(text)],
        };
        let task = task(vec![
            recorded("OCR", json!({"image": "a.jpg"}), "first"),
            recorded("OCR", json!({"image": "b.jpg", "n": 2}), "second"),
        ]);
        let root = PictureRoot::new(".");
        let tools = BenchTools {
            task: &task,
            root: &root,
        };
        let mut run = task.start();
        let mut ask = |name: &str, arguments: Value| {
            let call = ToolCall::new("c", name, arguments);
            run.push(Message::assistant(None, "", vec![call.clone()]));
            let parts = tools.answer(&run, &call).unwrap();
            run.push(Message::tool("c", parts.clone()));
            said(&parts)
        };
        assert_eq!(ask("OCR", json!({"image": " b.jpg", "n": "2"})), "second");
        assert_eq!(ask("OCR", json!({"image": "c.jpg"})), "second");
        assert!(ask("OCR", json!({"image": "d.jpg"})).contains("no result here"));
        assert!(ask("Calculator", json!({})).contains("no result here"));
        let found = tools.replayed(&run);
        assert_eq!(
            found,
            Replayed {
                exact: 1,
                near: 1,
                run: 0,
                missed: 2
            }
        );
    }
}
