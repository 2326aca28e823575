//! How does a summary say the same in words of its own? A stress test: nothing here may be learnt by a rule.

const OTHER_WORDS: &[(&str, &str)] = &[
    ("bicycles", "bikes"),
    ("chairs", "seats"),
    ("people", "persons"),
    ("bottles", "flasks"),
    ("windows", "panes"),
    ("boats", "ships"),
    ("boxes", "crates"),
    ("lamps", "lights"),
    ("by the fence", "along the railing"),
    ("on the left", "at the left side"),
    ("near the water", "close to the river"),
    ("in the front row", "at the very front"),
    ("under the roof", "beneath the canopy"),
    ("at the corner", "where the streets meet"),
    ("water meter", "water gauge"),
    ("gas meter", "gas gauge"),
    ("pressure gauge", "manometer"),
    ("mileage counter", "odometer"),
    ("power meter", "electricity meter"),
    ("motorbike", "motorcycle"),
    ("car", "automobile"),
    ("van", "transporter"),
    ("truck", "lorry"),
    ("taxi", "cab"),
    ("bus", "coach"),
    ("staircase", "stairs"),
    ("jacket", "coat"),
    ("basket", "hamper"),
    ("notebook", "pad"),
    ("middle", "central"),
    ("upper", "top"),
    ("lower", "bottom"),
];

/// A statement about a thing of some kind, by its short name.
pub(super) fn statement(kind: &str, short: &str, value: &str) -> String {
    let mut thing = short.to_owned();
    for (word, other) in OTHER_WORDS {
        thing = thing.replace(word, other);
    }
    let without = |tail: &str| thing.strip_suffix(tail).unwrap_or(&thing).to_owned();
    match kind {
        "count" => format!("{value} {thing}"),
        "house" => format!("{value} stands on the {}", without(" number")),
        "meter" => format!("the {thing} shows {value}"),
        "plate" => format!("the {} is registered as {value}", without(" plate")),
        "sign" => format!("{value} is written at the {}", without(" sign")),
        "price" => format!("{value} to pay for the {}", without(" price")),
        "time" => format!("the train to {} leaves at {value}", without(" departure")),
        "box" => format!("the {} lies within {value}", without(" box")),
        "sum" => format!("both together make {value}"),
        _ => format!("they differ by {value}"),
    }
}
