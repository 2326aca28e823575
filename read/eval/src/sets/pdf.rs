//! E8, PDF reports: two columns in either order of drawing, words without spaces between them, tables, figures with captions, hyphens at line ends, scanned pages and pages whose letters no table maps.

use fastrand::Rng;

use super::document::{Fact, World, question};
use super::pdf_page::{LINE, Page, write};
use crate::case::{Asked, Case, CaseFile, Fit, Gold, Purpose, Set, Spot};
use crate::language::{ENGLISH, Language, word};

const NAME: &str = "report.pdf";
/// Letters of a line of one column, and lines of one.
const WIDTH: usize = 42;
const LINES: usize = 54;
const LEFT: [f64; 2] = [50.0, 310.0];
const TOP: f64 = 70.0;

/// Words of one column, a line each, and where facts stand in them.
#[derive(Default)]
struct Column {
    lines: Vec<String>,
    /// The fact's number, first and last line.
    facts: Vec<(usize, usize, usize)>,
}

impl Column {
    /// Adds sentences as one wrapped paragraph; a marked one remembers its lines.
    fn paragraph(&mut self, sentences: &[(Option<usize>, String)], hyphens: bool, rng: &mut Rng) {
        let mut line = String::new();
        for (mark, sentence) in sentences {
            let mut first = None;
            for word in sentence.split(' ') {
                let room = WIDTH.saturating_sub(line.len() + usize::from(!line.is_empty()));
                let letters = word.bytes().all(|byte| byte.is_ascii_lowercase());
                if word.len() > room
                    && hyphens
                    && letters
                    && word.len() >= 8
                    && room >= 5
                    && rng.bool()
                {
                    let (head, tail) = word.split_at(room - 1);
                    if tail.len() >= 3 {
                        if !line.is_empty() {
                            line.push(' ');
                        }
                        line.push_str(head);
                        line.push('-');
                        first.get_or_insert(self.lines.len());
                        self.lines.push(std::mem::take(&mut line));
                        line.push_str(tail);
                        continue;
                    }
                }
                if word.len() > room {
                    self.lines.push(std::mem::take(&mut line));
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
                first.get_or_insert(self.lines.len());
            }
            if let (Some(mark), Some(first)) = (mark, first) {
                self.facts.push((*mark, first, self.lines.len()));
            }
        }
        self.lines.push(line);
        self.lines.push(String::new());
    }
}

fn filler(rng: &mut Rng) -> (Option<usize>, String) {
    (None, ENGLISH.sentence(rng))
}

/// E8. One seed in three has a page without a text that can be read: there no absence is asked for.
pub fn pdf_report(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0xE8);
    let mut world = World::new(&ENGLISH);
    let pages = rng.usize(3..30);
    let unreadable = seed.is_multiple_of(3);
    let (hyphens, interleaved, spaced) = (rng.bool(), rng.bool(), rng.bool());
    let mut facts: Vec<(Fact, Vec<Spot>)> = Vec::new();
    let mut out = Vec::new();
    let mut asked = Vec::new();
    for number in 1..=pages {
        let mut page = Page::default();
        page.heading(50.0, 50.0, &format!("Part {number}"));
        match rng.u8(..6) {
            0 => table(&mut page, number, &mut world, &mut facts, &mut rng),
            1 => figure(&mut page, number, &mut asked, &mut rng),
            2 if unreadable => {
                if rng.bool() {
                    page.scan = true;
                } else {
                    let sentences: Vec<String> =
                        (0..20).map(|_| ENGLISH.sentence(&mut rng)).collect();
                    page.coded = sentences;
                }
            }
            _ => columns(
                &mut page,
                number,
                &mut world,
                &mut facts,
                (hyphens, interleaved),
                &mut rng,
            ),
        }
        out.push(page);
    }
    let mut order: Vec<usize> = (0..facts.len()).collect();
    rng.shuffle(&mut order);
    for (fact, spots) in order.iter().take(6).filter_map(|at| facts.get(*at)) {
        let (question, loose) = question(&ENGLISH, &mut rng, fact);
        let gold = spots.iter().map(|spot| Gold {
            path: NAME.into(),
            bytes: 0..0,
            answer: fact.value.clone(),
            spot: Some(spot.clone()),
        });
        let kind = match (fact.telling, loose) {
            ("table", _) => "table",
            (_, true) => "loose words",
            _ => "sentence",
        };
        asked.push(Asked {
            question,
            gold: gold.collect(),
            kind,
        });
    }
    if !unreadable {
        for _ in 0..2 {
            let (entity, attribute) = (ENGLISH.entity(&mut rng), ENGLISH.attribute(&mut rng));
            if world.forbid(&entity, attribute) {
                let missing = Fact {
                    value: String::new(),
                    entity,
                    attribute,
                    telling: "sentence",
                };
                asked.push(Asked {
                    question: question(&ENGLISH, &mut rng, &missing).0,
                    gold: Vec::new(),
                    kind: "not there",
                });
            }
        }
    }
    Case {
        set: Set::Pdf,
        seed,
        kind: format!(
            "{}{}{}{}",
            if interleaved {
                "interleaved"
            } else {
                "by column"
            },
            if spaced { "" } else { ", words apart" },
            if hyphens { ", hyphens" } else { "" },
            if unreadable { ", unreadable pages" } else { "" },
        ),
        files: vec![CaseFile {
            path: NAME.into(),
            bytes: write(&out, spaced),
        }],
        target: NAME.into(),
        asked,
        fit: Fit::Sparse,
        purpose: Purpose::Lookup,
    }
}

/// Two columns of prose with one to three facts.
fn columns(
    page: &mut Page,
    number: usize,
    world: &mut World<'_>,
    facts: &mut Vec<(Fact, Vec<Spot>)>,
    (hyphens, interleaved): (bool, bool),
    rng: &mut Rng,
) {
    let mut both: Vec<Vec<(f64, f64, String)>> = Vec::new();
    for left in LEFT {
        let mut column = Column::default();
        while column.lines.len() < LINES - 8 {
            let mut sentences: Vec<_> = (0..rng.usize(2..5)).map(|_| filler(rng)).collect();
            if rng.u8(..4) == 0
                && let Some(fact) = world.fact(rng, None, None)
            {
                let shape = word(rng, ENGLISH.statements);
                let said = Language::fill(shape, &fact.entity, fact.attribute, &fact.value);
                sentences.insert(rng.usize(..=sentences.len()), (Some(facts.len()), said));
                facts.push((
                    Fact {
                        telling: "sentence",
                        ..fact
                    },
                    Vec::new(),
                ));
            }
            column.paragraph(&sentences, hyphens, rng);
        }
        for (mark, first, last) in &column.facts {
            if let Some((_, spots)) = facts.get_mut(*mark) {
                let area = [
                    left,
                    TOP + *first as f64 * LINE,
                    left + WIDTH as f64 * 5.4,
                    TOP + (*last + 1) as f64 * LINE,
                ];
                spots.push(Spot::Area {
                    page: number as u32,
                    area,
                });
            }
        }
        both.push(
            column
                .lines
                .into_iter()
                .enumerate()
                .map(|(at, line)| (left, TOP + (at + 1) as f64 * LINE, line))
                .collect(),
        );
    }
    let mut lines: Vec<(f64, f64, String)> = both.concat();
    if interleaved {
        lines.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.total_cmp(&other.0)));
    }
    page.lines
        .extend(lines.into_iter().filter(|(_, _, line)| !line.is_empty()));
}

/// A ruled table of sites and two attributes.
fn table(
    page: &mut Page,
    number: usize,
    world: &mut World<'_>,
    facts: &mut Vec<(Fact, Vec<Spot>)>,
    rng: &mut Rng,
) {
    let (one, two) = (ENGLISH.attribute(rng), ENGLISH.attribute(rng));
    if one.0 == two.0 {
        return;
    }
    let at = [50.0, 250.0, 410.0];
    let mut y = TOP + LINE;
    for (x, name) in at.into_iter().zip(["site", one.0, two.0]) {
        page.lines.push((x, y, name.to_owned()));
    }
    for _ in 0..rng.usize(6..30) {
        let entity = ENGLISH.entity(rng);
        let (Some(first), Some(second)) = (
            world.fact(rng, Some(&entity), Some(one)),
            world.fact(rng, Some(&entity), Some(two)),
        ) else {
            continue;
        };
        page.rules.push(y + 4.0);
        y += LINE * 1.5;
        let area = [50.0, y - LINE, 545.0, y + 3.0];
        page.lines.push((at[0], y, entity));
        for (x, fact) in [(at[1], first), (at[2], second)] {
            page.lines.push((x, y, fact.value.clone()));
            facts.push((
                Fact {
                    telling: "table",
                    ..fact
                },
                vec![Spot::Area {
                    page: number as u32,
                    area,
                }],
            ));
        }
    }
}

/// Bars, and a caption that says what they are.
fn figure(page: &mut Page, number: usize, asked: &mut Vec<Asked>, rng: &mut Rng) {
    page.bars = (0..rng.usize(4..9)).map(|_| rng.f64()).collect();
    let entity = ENGLISH.entity(rng);
    let y = 420.0;
    let caption = format!("Figure {number}: deliveries by quarter, {entity}");
    page.lines.push((50.0, y, caption));
    if asked.iter().any(|asked| asked.question.contains(&entity)) {
        return;
    }
    asked.push(Asked {
        question: format!("Which figure shows the deliveries by quarter of the {entity}?"),
        gold: vec![Gold {
            path: NAME.into(),
            bytes: 0..0,
            answer: format!("Figure {number}"),
            spot: Some(Spot::Area {
                page: number as u32,
                area: [50.0, y - LINE, 500.0, y + 3.0],
            }),
        }],
        kind: "figure caption",
    });
}
