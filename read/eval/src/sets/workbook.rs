//! E4, workbooks: several sheets of nearly the same rows, a header that is not in the first row, merged labels, formulas with their results, days as numbers, a hidden sheet.

use fastrand::Rng;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Formula, Workbook, XlsxError};

use super::table::row;
use super::workbook_ods::ods;
use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set, Spot};
use crate::language::ENGLISH;

/// What a cell holds.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// Nothing, or covered by the merged cell above.
    Empty,
    /// Words.
    Text(String),
    /// A number.
    Number(f64),
    /// Year, month, day.
    Day(u16, u8, u8),
    /// A formula and its result.
    Formula(String, f64),
}

/// Rows of one sheet.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub name: String,
    pub hidden: bool,
    pub rows: Vec<Vec<Cell>>,
    /// First row, last row and column of merged cells.
    pub merged: Vec<(u32, u32, u16)>,
}

const HEADER: [&str; 8] = [
    "region",
    "order id",
    "customer",
    "order date",
    "unit price",
    "quantity",
    "total",
    "tracking number",
];
const REGIONS: [&str; 5] = [
    "North Coast",
    "Highlands",
    "Lake District",
    "Old Port",
    "Eastern Plain",
];

/// What is known of a row: the sheet, the row from 1, its region, its cells as text.
struct Known {
    sheet: String,
    row: u32,
    cells: [String; 8],
}

fn day(text: &str) -> Cell {
    let mut parts = text.split('-').map(|part| part.parse::<u16>().unwrap_or(1));
    let mut next = || parts.next().unwrap_or(1);
    let (year, month, day) = (next(), next(), next());
    Cell::Day(year, month as u8, day as u8)
}

fn orders(rng: &mut Rng, name: &str, first: usize, count: usize, known: &mut Vec<Known>) -> Sheet {
    let mut sheet = Sheet {
        name: name.to_owned(),
        ..Sheet::default()
    };
    let preamble = if rng.u8(..2) == 0 { rng.usize(1..5) } else { 0 };
    for line in [
        "Shipments of the year",
        "Prepared by the order desk",
        "",
        "All prices in euro",
    ]
    .iter()
    .take(preamble)
    {
        sheet.rows.push(if line.is_empty() {
            Vec::new()
        } else {
            vec![Cell::Text((*line).to_owned())]
        });
    }
    sheet.rows.push(
        HEADER
            .iter()
            .map(|name| Cell::Text((*name).to_owned()))
            .collect(),
    );
    let mut left = 0;
    let mut region = "";
    for index in 0..count {
        let cells = row(rng, first + index);
        let cell = |at: usize| cells.get(at).map(String::as_str).unwrap_or_default();
        let at = sheet.rows.len() as u32;
        let begins = left == 0;
        if begins {
            left = rng.usize(1..7).min(count - index);
            region = REGIONS
                .get(rng.usize(..REGIONS.len()))
                .copied()
                .unwrap_or_default();
            if left > 1 {
                sheet.merged.push((at, at + left as u32 - 1, 0));
            }
        }
        left -= 1;
        let (price, quantity): (f64, f64) = (
            cell(4).parse().unwrap_or(1.0),
            cell(5).parse().unwrap_or(1.0),
        );
        let total = (price * quantity * 100.0).round() / 100.0;
        sheet.rows.push(vec![
            if begins {
                Cell::Text(region.to_owned())
            } else {
                Cell::Empty
            },
            Cell::Text(cell(0).to_owned()),
            Cell::Text(cell(1).to_owned()),
            day(cell(3)),
            Cell::Number(price),
            Cell::Number(quantity),
            Cell::Formula(format!("E{0}*F{0}", at + 1), total),
            Cell::Text(cell(7).to_owned()),
        ]);
        known.push(Known {
            sheet: name.to_owned(),
            row: at + 1,
            cells: [
                region.to_owned(),
                cell(0).to_owned(),
                cell(1).to_owned(),
                cell(3).to_owned(),
                price.to_string(),
                quantity.to_string(),
                total.to_string(),
                cell(7).to_owned(),
            ],
        });
    }
    sheet
}

/// E4.
pub fn workbook(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE4);
    let count = 10_f64.powf(1.5 + 2.0 * rng.f64()) as usize;
    let years = rng.u16(2..5);
    let mut known = Vec::new();
    let mut sheets: Vec<Sheet> = (0..years)
        .map(|at| {
            orders(
                &mut rng,
                &format!("Year {}", 2020 + at),
                usize::from(at) * count,
                count,
                &mut known,
            )
        })
        .collect();
    // A hidden sheet of sites and their attributes.
    let mut sites = Sheet {
        name: "Sites".into(),
        hidden: true,
        ..Sheet::default()
    };
    let attributes = ["storage limit", "floor area"];
    sites.rows.push(
        ["site", "storage limit", "floor area"]
            .map(|name| Cell::Text(name.into()))
            .to_vec(),
    );
    let mut told: Vec<(String, [u32; 2])> = Vec::new();
    while told.len() < 12 {
        let name = ENGLISH.entity(&mut rng);
        if told.iter().all(|(other, _)| *other != name) {
            let values = [rng.u32(100..1_000), rng.u32(100..1_000)];
            sites.rows.push(vec![
                Cell::Text(name.clone()),
                Cell::Number(f64::from(values[0])),
                Cell::Number(f64::from(values[1])),
            ]);
            told.push((name, values));
        }
    }
    sheets.insert(rng.usize(..=sheets.len()), sites);
    let mut asked = Vec::new();
    let row_of = |sheet: &str, row: u32, answer: &str| Gold {
        path: String::new(),
        bytes: 0..0,
        answer: answer.to_owned(),
        spot: Some(Spot::Row {
            sheet: sheet.to_owned(),
            row,
        }),
    };
    for index in 0..7 {
        let at = if index == 0 {
            known.len() - 1
        } else {
            rng.usize(..known.len())
        };
        let Some(of) = known.get(at) else { continue };
        let (column, kind) = [
            (4, "last row"),
            (0, "merged label"),
            (6, "formula"),
            (3, "day"),
            (2, "text"),
            (5, "number"),
            (0, "merged label"),
        ]
        .get(index)
        .copied()
        .unwrap_or((4, "number"));
        let name = HEADER.get(column).copied().unwrap_or_default();
        let question = match rng.u8(..3) {
            0 => format!("What is the {name} of order {}?", of.cells[1]),
            1 => format!("{} {name}", of.cells[1]),
            _ => format!(
                "Which {name} belongs to the tracking number {}?",
                of.cells[7]
            ),
        };
        asked.push(Asked {
            question,
            gold: vec![row_of(
                &of.sheet,
                of.row,
                of.cells.get(column).map_or("", String::as_str),
            )],
            kind,
        });
    }
    let site = rng.usize(..told.len());
    if let Some((name, values)) = told.get(site) {
        let column = rng.usize(..2);
        let (attribute, value) = (
            attributes.get(column).copied().unwrap_or_default(),
            values.get(column).copied().unwrap_or_default(),
        );
        asked.push(Asked {
            question: format!("What is the {attribute} of the {name}?"),
            gold: vec![row_of("Sites", site as u32 + 2, &value.to_string())],
            kind: "hidden sheet",
        });
    }
    let beyond = 100_000 + usize::from(years) * count * 3 + rng.usize(10..900);
    asked.push(Asked {
        question: format!("What is the unit price of order ORD-{beyond}?"),
        gold: Vec::new(),
        kind: "no such row",
    });
    let open_document = rng.u8(..3) == 0;
    let (path, bytes) = if open_document {
        ("shipments.ods", ods(&sheets))
    } else {
        ("shipments.xlsx", xlsx(&sheets).unwrap_or_default())
    };
    for gold in asked.iter_mut().flat_map(|asked| &mut asked.gold) {
        gold.path = path.to_owned();
    }
    Case {
        set: Set::Workbook,
        seed,
        kind: if open_document { "ods" } else { "xlsx" }.into(),
        files: vec![CaseFile {
            path: path.into(),
            bytes,
        }],
        target: path.into(),
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}

fn xlsx(sheets: &[Sheet]) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    book.set_properties(
        &DocProperties::new().set_creation_datetime(&ExcelDateTime::from_ymd(2026, 1, 1)?),
    );
    let date = Format::new().set_num_format("dd/mm/yyyy");
    // Excel opens with a visible sheet.
    let mut active = true;
    for sheet in sheets {
        let page = book.add_worksheet();
        page.set_name(&sheet.name)?;
        page.set_hidden(sheet.hidden);
        if !sheet.hidden && std::mem::take(&mut active) {
            page.set_active(true);
            page.set_first_tab(true);
        }
        for (first, last, column) in &sheet.merged {
            page.merge_range(*first, *column, *last, *column, "", &Format::new())?;
        }
        for (at, cells) in (0_u32..).zip(&sheet.rows) {
            for (column, cell) in (0_u16..).zip(cells) {
                match cell {
                    Cell::Empty => continue,
                    Cell::Text(text) => page.write(at, column, text.as_str())?,
                    Cell::Number(number) => page.write(at, column, *number)?,
                    Cell::Day(year, month, day) => page.write_datetime_with_format(
                        at,
                        column,
                        ExcelDateTime::from_ymd(*year, *month, *day)?,
                        &date,
                    )?,
                    Cell::Formula(formula, result) => page.write_formula(
                        at,
                        column,
                        Formula::new(formula).set_result(result.to_string()),
                    )?,
                };
            }
        }
    }
    book.save_to_buffer()
}
