//! What does the world answer to a call?

use serde_json::{Value, json};
use spare_models::image::{ImageError, RgbImage, encode_png};

use super::draw;
use super::question::Task;
use super::scene::{Figure, SIDE};
use crate::eval::Random;
use crate::summary::{SUMMARY_ANSWER, summarize_the_task};
use crate::trajectory::{Message, Part, ToolCall, Trajectory};

const SYSTEM: &str = "You answer questions about a board of shapes. Use crop to zoom into a cell and summarize_the_task to note the state.";

/// A task with its picture.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The task.
    pub task: Task,
    board: RgbImage,
}

impl Environment {
    /// Draws a task's board; `seed` and `index` only move things within their cells.
    ///
    /// # Errors
    /// None that the sizes drawn here can cause.
    pub fn new(task: Task, seed: u64, index: usize) -> Result<Self, ImageError> {
        let mut random = Random::new(!seed, index);
        let board = draw::board(&task.things, &mut random)?;
        Ok(Self { task, board })
    }

    /// The board in full, which no agent sees.
    pub fn board(&self) -> &RgbImage {
        &self.board
    }

    /// The run before the agent's first turn.
    ///
    /// # Errors
    /// Where a picture cannot be written.
    pub fn start(&self) -> Result<Trajectory, ImageError> {
        let overview = encode_png(&draw::overview(&self.board)?)?;
        let mut run = Trajectory::new(tools());
        run.push(Message::system(SYSTEM));
        run.push(Message::user_parts(vec![
            Part::picture_bytes(overview),
            Part::text(self.task.question()),
        ]));
        Ok(run)
    }

    /// What a call brings. A call that makes no sense is answered in words, as a tool would.
    ///
    /// # Errors
    /// Where a picture cannot be written.
    pub fn answer(&self, call: &ToolCall) -> Result<Vec<Part>, ImageError> {
        if call.name == "summarize_the_task" {
            return Ok(vec![Part::text(SUMMARY_ANSWER)]);
        }
        let arguments = call.arguments_text();
        let Some(cell) = cell(&arguments) else {
            return Ok(vec![Part::text("There is no such cell.")]);
        };
        let side = match call.name.as_str() {
            "crop" => 48,
            "zoom" => 96,
            "read_bar" => {
                let bars = self.task.things.iter().filter(|t| t.figure == Figure::Bar);
                let here = bars.clone().find(|t| t.cell == cell);
                return Ok(vec![Part::text(match here {
                    Some(bar) => format!("The bar reads {}.", bar.value),
                    None => "There is no bar in this cell.".into(),
                })]);
            }
            _ => return Ok(vec![Part::text("There is no such tool.")]),
        };
        let picture = encode_png(&draw::cell(&self.board, cell, side)?)?;
        Ok(vec![Part::picture_bytes(picture)])
    }
}

/// `{"cell": [column, row]}` with a cell on the board.
fn cell(arguments: &str) -> Option<(usize, usize)> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    let cell = value.get("cell")?.as_array()?;
    let at = |i: usize| usize::try_from(cell.get(i)?.as_u64()?).ok();
    let cell = (at(0)?, at(1)?);
    (cell.0 < SIDE && cell.1 < SIDE).then_some(cell)
}

/// The tools that an agent has.
pub fn tools() -> Vec<Value> {
    let of = |name: &str, description: &str| {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": {"type": "object",
            "properties": {"cell": {"type": "array", "items": {"type": "integer"}, "description": "column and row, 0 to 2"}}, "required": ["cell"]}}})
    };
    vec![
        of("crop", "Zoom into one cell of the board."),
        of("zoom", "Zoom into one cell of the board, twice as large."),
        of("read_bar", "Say how high the bar in a cell is."),
        summarize_the_task(),
    ]
}
