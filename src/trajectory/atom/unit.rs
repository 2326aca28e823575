//! Is a token a number, and which unit belongs to it?

use super::class::{char_at, is_digit, is_word};
use super::run::{Run, RunKind, run_at};

/// Units read glued to the number or after one space.
const UNITS: &str = "\
    px pixel pixels pt dpi deg degree degrees rad percent nm µm μm um mm cm dm m km inch \
    inches ft feet foot yd yards mi mile miles mph meter meters metre metres kilometers \
    kilometres centimeters millimeters mg g kg grams kilograms t lb lbs oz pounds ml mL cl \
    dl l L liters litres ns µs μs us ms s sec secs second seconds min mins minute minutes h \
    hr hrs hour hours day days week weeks month months year years Hz kHz MHz GHz rpm fps V \
    mV kV W mW kW MW kWh Wh mA mAh Ω kΩ ohm J kJ cal kcal N Pa kPa MPa hPa bar psi K B KB kB \
    MB GB TB PB KiB MiB GiB TiB bit bits byte bytes kbps Mbps Gbps dB lm lx cd mol am pm AM \
    PM EUR USD GBP JPY CNY RMB CHF INR KRW AUD CAD SEK NOK DKK euro euros dollars cents \
    tokens nats m² m2 m³ m3 km² km2 cm² cm2 cm³ cm3 mm² mm2 sqm s² px²";

/// Read only when glued: after a space they are words (`5 in the morning`, `5 A new try`).
const GLUED_UNITS: &str = "in k M st nd rd th bp pp x";

/// Symbols that follow a number directly or after one space.
const SYMBOLS: &str = "%‰°€£¥₹₩$";

fn listed(units: &str, unit: &str) -> bool {
    !unit.is_empty() && units.split(' ').any(|u| u == unit)
}

pub(super) fn is_currency(c: char) -> bool {
    "$€£¥₹₩".contains(c)
}

/// `km/h`, `m/s^2`: known units with slashes or a power.
fn is_unit(word: &str, glued: bool) -> bool {
    let known = |part: &str| {
        let base = part.split_once('^').map_or(part, |(base, _)| base);
        listed(UNITS, base) || (glued && listed(GLUED_UNITS, base))
    };
    word.matches('/').count() <= 1 && word.split('/').all(known)
}

/// `true` for a token that is all number: sign, currency, digits with their joiners, exponent, unit.
pub(super) fn is_number(token: &str) -> bool {
    let rest = token.trim_start_matches(['+', '-', '−', '–']);
    if token.len() - rest.len() > 3 {
        return false;
    }
    let rest = rest.strip_prefix(is_currency).unwrap_or(rest);
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let Some(digits) = digits_end(rest) else {
        return false;
    };
    let Some(tail) = rest.get(digits..) else {
        return false;
    };
    let power = tail
        .strip_prefix(['e', 'E'])
        .map(|p| p.strip_prefix(['+', '-', '−']).unwrap_or(p));
    if let Some(power) = power
        && power.starts_with(is_digit)
    {
        let after = power.trim_start_matches(is_digit);
        return is_suffix(after);
    }
    is_suffix(tail)
}

/// The bytes of digit groups joined by single marks at the head of `text`; `None` without a digit.
fn digits_end(text: &str) -> Option<usize> {
    let mut end = 0;
    let mut after_digit = false;
    let mut marks = 0;
    for (at, c) in text.char_indices() {
        if is_digit(c) {
            end = at + c.len_utf8();
            after_digit = true;
            marks = 0;
        } else if c == '\u{FE0F}' || c == '\u{20E3}' {
            end = at + c.len_utf8(); // a keycap's digit
        } else if after_digit && marks == 0 && ".,:/-–−×±^°⁻'’\u{2011}".contains(c) {
            marks = 1;
        } else if after_digit && marks == 1 && "+-−".contains(c) {
            marks = 2; // 10^-4
        } else {
            break;
        }
    }
    after_digit.then_some(end)
}

fn is_suffix(tail: &str) -> bool {
    if tail.is_empty() {
        return true;
    }
    let mut chars = tail.chars();
    let first = chars.next().unwrap_or(' ');
    let rest = chars.as_str();
    if SYMBOLS.contains(first) || "\"'′″”".contains(first) {
        return rest.is_empty()
            || (first != '%' && ["C", "F", "K", "N", "S", "E", "W"].contains(&rest));
    }
    is_unit(tail, true)
}

/// The end of a symbol glued to the pure number `text[start..end]` (`5%`, `3/8"`, `21°C`), else `end`.
pub(super) fn glued_symbol_end(text: &str, start: usize, end: usize) -> usize {
    let Some(token) = text
        .get(start..end)
        .filter(|t| t.ends_with(is_digit) && is_number(t))
    else {
        return end;
    };
    let Some(c) = char_at(text, end) else {
        return end;
    };
    let next = end + c.len_utf8();
    let after = char_at(text, next);
    let mark = "\"'′″".contains(c);
    let symbol = SYMBOLS.contains(c) && !(is_currency(c) && token.contains(is_currency));
    if mark && !after.is_some_and(is_word) {
        return next;
    }
    if !symbol {
        return end;
    }
    // 21°C, 51°N; never 5%a
    match after {
        Some(letter) if c == '°' && "CFKNSEW".contains(letter) => {
            let close = next + letter.len_utf8();
            if char_at(text, close).is_some_and(is_word) {
                next
            } else {
                close
            }
        }
        _ => next,
    }
}

/// The end of a number with a unit after one space, or of a telephone number in groups.
pub(super) fn number_end(text: &str, run: &Run) -> usize {
    let token = text.get(run.start..run.end).unwrap_or("");
    if !token.ends_with(is_digit) {
        return run.end; // it has its unit already
    }
    let mut end = run.end;
    let plain = |t: &str| t.len() > 1 && t.chars().all(is_digit);
    // a trunk 0 or a country code: the groups are one telephone number
    if token.starts_with(['0', '+']) && plain(token.trim_start_matches('+')) {
        while let Some(group) = spaced(text, end).and_then(|at| run_at(text, at, true)) {
            if group.kind != RunKind::Number || !text.get(group.start..group.end).is_some_and(plain)
            {
                break;
            }
            end = group.end;
        }
    }
    if end > run.end {
        return end;
    }
    let Some(at) = spaced(text, end) else {
        return end;
    };
    if let Some(symbol) = char_at(text, at).filter(|&c| SYMBOLS.contains(c)) {
        let next = at + symbol.len_utf8();
        let glued = char_at(text, next).is_some_and(is_word);
        return match (glued, is_currency(symbol) && token.contains(is_currency)) {
            (false, false) => super::class::grapheme_end(text, next),
            _ if symbol == '°' => degrees_end(text, next).unwrap_or(end),
            _ => end,
        };
    }
    match run_at(text, at, true) {
        Some(unit)
            if text
                .get(unit.start..unit.end)
                .is_some_and(|w| is_unit(w, false)) =>
        {
            unit.end
        }
        _ => end,
    }
}

/// `21 °C`: the letter after the sign.
fn degrees_end(text: &str, at: usize) -> Option<usize> {
    let letter = char_at(text, at).filter(|c| "CFKNSEW".contains(*c))?;
    let next = at + letter.len_utf8();
    (!char_at(text, next).is_some_and(is_word)).then(|| super::class::grapheme_end(text, next))
}

/// The place after one plain or no-break space at `at`.
fn spaced(text: &str, at: usize) -> Option<usize> {
    let c = char_at(text, at).filter(|c| [' ', '\u{A0}', '\u{202F}', '\u{2009}'].contains(c))?;
    let next = at + c.len_utf8();
    super::class::is_boundary(text, next).then_some(next)
}
