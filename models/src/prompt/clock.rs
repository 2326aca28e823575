//! What does `strftime_now` print? (the one function of chat templates that looks outside its input)

/// Formats `seconds` since 1970-01-01 UTC with the codes that chat templates use. `None` names no known code.
pub(super) fn strftime(format: &str, seconds: i64) -> Result<String, char> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = [
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
    ];
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let month_name = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
    let day_name = DAYS
        .get(days.rem_euclid(7) as usize)
        .copied()
        .unwrap_or_default();
    let short = |name: &str| name.chars().take(3).collect::<String>();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let code = chars.next().unwrap_or('%');
        out.push_str(&match code {
            'Y' => format!("{year:04}"),
            'y' => format!("{:02}", year.rem_euclid(100)),
            'm' => format!("{month:02}"),
            'd' => format!("{day:02}"),
            'B' => month_name.to_owned(),
            'b' => short(month_name),
            'A' => day_name.to_owned(),
            'a' => short(day_name),
            'H' => format!("{:02}", time / 3600),
            'M' => format!("{:02}", time / 60 % 60),
            'S' => format!("{:02}", time % 60),
            'F' => format!("{year:04}-{month:02}-{day:02}"),
            'T' => format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60),
            '%' => "%".to_owned(),
            unknown => return Err(unknown),
        });
    }
    Ok(out)
}

/// Days since 1970-01-01 to year, month, day (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::strftime;

    #[test]
    fn dates_match_python() {
        // datetime.fromtimestamp(s, timezone.utc).strftime(...)
        assert_eq!(strftime("%d %b %Y", 0), Ok("01 Jan 1970".into()));
        let leap = strftime("%A, %B %d, %Y %H:%M:%S", 1_709_210_096);
        assert_eq!(leap, Ok("Thursday, February 29, 2024 12:34:56".into()));
        assert_eq!(strftime("%F", -1), Ok("1969-12-31".into()));
        assert_eq!(strftime("%Q", 0), Err('Q'));
    }
}
