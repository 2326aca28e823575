//! What can be read in a picture, what does it look like at first glance, and how is it written?

use crate::eval::Random;

/// Something to be read off a picture.
pub(super) struct Item {
    /// `the plate of the grey van`.
    pub(super) about: String,
    /// `grey van plate`.
    pub(super) short: String,
    pub(super) kind: &'static str,
    pub(super) value: String,
    /// Another way of writing the value, which a summary may use.
    pub(super) spoken: Option<String>,
    /// The value as a number, where it can be added.
    pub(super) number: Option<u32>,
    /// What it looks like at first.
    pub(super) guess: String,
}

const COLOURS: &[&str] = &[
    "red", "grey", "blue", "green", "white", "black", "yellow", "brown",
];
const VEHICLES: &[&str] = &["car", "van", "truck", "taxi", "bus", "motorbike"];
const PLACES: &[&str] = &[
    "door",
    "bakery",
    "gate",
    "counter",
    "bridge",
    "staircase",
    "garage",
    "window",
];
const GOODS: &[&str] = &[
    "bread", "cheese", "lamp", "umbrella", "notebook", "teapot", "jacket", "basket", "candle",
    "honey",
];
const THINGS: &[&str] = &[
    "bicycles", "chairs", "birds", "people", "bottles", "windows", "boats", "boxes", "lamps",
    "trees",
];
const WHERE: &[&str] = &[
    "by the fence",
    "on the left",
    "near the water",
    "in the front row",
    "under the roof",
    "at the corner",
];
const SIDES: &[&str] = &["left", "right", "upper", "lower", "middle"];
const METERS: &[&str] = &[
    "water meter",
    "gas meter",
    "pressure gauge",
    "mileage counter",
    "power meter",
];
const CITIES: &[&str] = &[
    "Leeds", "Porto", "Turin", "Lyon", "Basel", "Ghent", "Cork", "Malmo",
];
const SIGNS: &[&str] = &[
    "Keep Clear",
    "Mind the Step",
    "Fresh Eggs",
    "Closed on Mondays",
    "Ring for Service",
    "No Entry",
    "Staff Only",
    "Half Price",
    "Wet Paint",
    "Please Wait Here",
    "Last Exit",
    "Cash Only",
    "Pull to Open",
    "Quiet Zone",
    "Boat Hire",
    "Summer Sale",
];
const WORDS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

fn letters(random: &mut Random, n: usize) -> String {
    const ABC: &[u8] = b"ABCDEFGHJKLMNPRSTUVWXYZ";
    let letter = |r: &mut Random| char::from(ABC.get(r.below(ABC.len())).copied().unwrap_or(b'A'));
    (0..n).map(|_| letter(random)).collect()
}

/// `text` with one of its digits changed to another; the first stays no zero.
pub(super) fn misread(random: &mut Random, text: &str) -> String {
    let digits: Vec<usize> = text
        .char_indices()
        .filter(|(_, c)| c.is_ascii_digit())
        .map(|(i, _)| i)
        .collect();
    let Some(&at) = digits.get(random.below(digits.len())) else {
        return text.to_owned();
    };
    let old = text.as_bytes().get(at).map_or(0, |b| usize::from(b - b'0'));
    let mut new = (old + random.within(1, 9)) % 10;
    if new == 0 {
        new = if old == 5 { 6 } else { 5 };
    }
    let mut out = text.to_owned();
    out.replace_range(at..=at, &new.to_string());
    out
}

fn money(cents: u32) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

impl Item {
    /// A thing to read. One-, two- and four-digit numbers are half of all.
    pub(super) fn any(random: &mut Random) -> Self {
        match random.below(12) {
            0..=2 => Self::count(random, 1),
            3 => Self::count(random, 2),
            4 => Self::house(random),
            5 | 6 => Self::meter(random),
            7 => Self::plate(random),
            8 => Self::sign(random),
            9 => Self::price(random),
            10 => Self::time(random),
            _ => Self::bbox(random),
        }
    }

    fn new(kind: &'static str, about: String, short: String, value: String, guess: String) -> Self {
        Self {
            about,
            short,
            kind,
            value,
            spoken: None,
            number: None,
            guess,
        }
    }

    fn count(random: &mut Random, digits: usize) -> Self {
        let (things, place) = (random.pick(THINGS), random.pick(WHERE));
        let n = if digits == 1 {
            random.within(2, 9)
        } else {
            random.within(10, 60)
        };
        let mut guess = if digits == 1 {
            random.within(2, 9)
        } else {
            n + random.within(1, 9)
        };
        if guess == n {
            guess = if n == 9 { 2 } else { n + 1 };
        }
        let mut item = Self::new(
            "count",
            format!("the number of {things} {place}"),
            format!("{things} {place}"),
            n.to_string(),
            guess.to_string(),
        );
        item.spoken = WORDS.get(n).map(|w| (*w).to_owned());
        item.number = Some(n as u32);
        item
    }

    fn house(random: &mut Random) -> Self {
        let colour = random.pick(COLOURS);
        let value = random.within(11, 98).to_string();
        let guess = misread(random, &value);
        Self::new(
            "house",
            format!("the house number on the {colour} door"),
            format!("{colour} door number"),
            value,
            guess,
        )
    }

    fn meter(random: &mut Random) -> Self {
        let (side, meter) = (random.pick(SIDES), random.pick(METERS));
        let n = random.within(1000, 9899);
        let guess = misread(random, &n.to_string());
        let mut item = Self::new(
            "meter",
            format!("the reading of the {side} {meter}"),
            format!("{side} {meter}"),
            n.to_string(),
            guess,
        );
        item.number = Some(n as u32);
        item
    }

    fn plate(random: &mut Random) -> Self {
        let (colour, vehicle) = (random.pick(COLOURS), random.pick(VEHICLES));
        let value = format!(
            "{}{} {}",
            letters(random, 2),
            random.within(10, 98),
            letters(random, 3)
        );
        let guess = misread(random, &value);
        Self::new(
            "plate",
            format!("the plate of the {colour} {vehicle}"),
            format!("{colour} {vehicle} plate"),
            value,
            guess,
        )
    }

    fn sign(random: &mut Random) -> Self {
        let place = random.pick(PLACES);
        let at = random.below(SIGNS.len());
        let sign = |i: usize| {
            format!(
                "\"{}\"",
                SIGNS.get(i % SIGNS.len()).copied().unwrap_or("Open")
            )
        };
        let guess = sign(at + random.within(1, SIGNS.len() - 1));
        Self::new(
            "sign",
            format!("the sign above the {place}"),
            format!("{place} sign"),
            sign(at),
            guess,
        )
    }

    fn price(random: &mut Random) -> Self {
        let goods = random.pick(GOODS);
        let cents = (random.within(2, 89) * 100 + random.within(1, 19) * 5) as u32;
        let value = money(cents);
        let guess = misread(random, &value);
        let mut item = Self::new(
            "price",
            format!("the price of the {goods}"),
            format!("{goods} price"),
            value,
            guess,
        );
        item.spoken = Some(format!("{}.{:02} dollars", cents / 100, cents % 100));
        item.number = Some(cents);
        item
    }

    fn time(random: &mut Random) -> Self {
        let city = random.pick(CITIES);
        let (hour, minute) = (random.within(10, 22), random.within(10, 58));
        let value = format!("{hour}:{minute}");
        let guess = format!("{}:{minute}", if hour == 22 { 12 } else { hour + 1 });
        Self::new(
            "time",
            format!("the departure time of the {city} train"),
            format!("{city} departure"),
            value,
            guess,
        )
    }

    fn bbox(random: &mut Random) -> Self {
        let (colour, goods) = (random.pick(COLOURS), random.pick(GOODS));
        let corner: Vec<usize> = (0..2).map(|_| random.within(20, 480)).collect();
        let size: Vec<usize> = (0..2).map(|_| random.within(40, 300)).collect();
        let boxed = |c: &[usize]| match (c, size.as_slice()) {
            ([x, y], [w, h]) => format!("[{x}, {y}, {}, {}]", x + w, y + h),
            _ => String::new(),
        };
        let value = boxed(&corner);
        let moved: Vec<usize> = corner.iter().map(|c| c + random.within(11, 60)).collect();
        Self::new(
            "box",
            format!("the box of the {colour} {goods}"),
            format!("{colour} {goods} box"),
            value,
            boxed(&moved),
        )
    }

    /// What two readings of one kind give together: their sum, or how far they are apart.
    pub(super) fn derived(random: &mut Random, first: &Self, second: &Self) -> Option<Self> {
        if first.kind != second.kind {
            return None;
        }
        let (a, b) = (first.number?, second.number?);
        let sum = random.chance(50) || a == b;
        let n = if sum { a + b } else { a.abs_diff(b) };
        let what = match first.kind {
            "count" => "counts",
            "price" => "prices",
            _ => "readings",
        };
        let (kind, name) = if sum {
            ("sum", "sum of the two")
        } else {
            ("difference", "difference between the two")
        };
        let value = if first.kind == "price" {
            money(n)
        } else {
            n.to_string()
        };
        Some(Self::new(
            kind,
            format!("the {name} {what}"),
            format!("{} of the {what}", if sum { "sum" } else { "difference" }),
            value,
            String::new(),
        ))
    }
}
