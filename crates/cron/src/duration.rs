//! Durations as people and models write them: `90s`, `5m`, `1h30m`, `2 hours`, `1 day`.

use std::time::Duration;

const UNITS: &[(&[&str], u64)] = &[
    (&["ms", "millisecond", "milliseconds"], 1),
    (&["s", "sec", "secs", "second", "seconds"], 1000),
    (&["m", "min", "mins", "minute", "minutes"], 60_000),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600_000),
    (&["d", "day", "days"], 86_400_000),
    (&["w", "week", "weeks"], 604_800_000),
];

const NUMBERS: [&str; 12] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Reads a duration. The error says what is expected.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a duration; write one such as '30s', '5m', '1h30m' or '2 days'");
    let trimmed = text.trim().to_lowercase();
    let mut rest = match trimmed.trim_start_matches("every ").trim() {
        "hourly" => "1h",
        "half an hour" => "30m",
        rest => rest,
    };
    let mut total: u64 = 0;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let (count, after) = count(rest).ok_or_else(wrong)?;
        let letters = after.find(|ch: char| !ch.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit = UNITS.iter().find(|(names, _)| names.contains(&&after[..letters])).ok_or_else(wrong)?.1;
        total = count.checked_mul(unit).map(|tenths| tenths / 10).and_then(|part| total.checked_add(part)).ok_or_else(wrong)?;
        rest = after[letters..].trim_start_matches([' ', ',']).trim_start_matches("and ").trim_start();
    }
    Ok(Duration::from_millis(total))
}

/// How many tenths of a unit, and what follows: `2`, `1.5`, `two`, `an`; of `every hour` one.
fn count(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    if digits > 0 {
        let whole = text[..digits].parse::<u64>().ok()?.checked_mul(10)?;
        let fraction = text[digits..].strip_prefix('.').and_then(|rest| Some((rest.chars().next()?.to_digit(10)?, &rest[1..])));
        let (count, after) = fraction.map_or((whole, &text[digits..]), |(tenths, after)| (whole + u64::from(tenths), after));
        return Some((count, after.trim_start()));
    }
    let (word, after) = text.split_once(' ').unwrap_or((text, ""));
    let number = NUMBERS.iter().position(|number| *number == word).and_then(|index| u64::try_from(index).ok());
    match (number, word) {
        (Some(index), _) => Some(((index + 1) * 10, after.trim_start())),
        (None, "a" | "an") => Some((10, after.trim_start())),
        _ => Some((10, text)),
    }
}

/// A duration in words: `1 hour 30 minutes`.
pub fn duration_words(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (names, unit) in UNITS[..5].iter().rev() {
        let count = left / unit;
        left %= unit;
        if count > 0 {
            let name = if *unit == 1 { "ms" } else { names[names.len() - 2] };
            parts.push(format!("{count} {name}{}", if count == 1 || *unit == 1 { "" } else { "s" }));
        }
    }
    if parts.is_empty() { "0 seconds".into() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_said() {
        for (text, seconds, words) in [
            ("30s", 30, "30 seconds"),
            ("5m", 300, "5 minutes"),
            ("1h30m", 5400, "1 hour 30 minutes"),
            ("every 2 hours", 7200, "2 hours"),
            ("1 day", 86_400, "1 day"),
            ("hour", 3600, "1 hour"),
            ("2 weeks", 1_209_600, "14 days"),
            ("1 hour and 5 minutes", 3900, "1 hour 5 minutes"),
            ("60000ms", 60, "1 minute"),
            ("1.5h", 5400, "1 hour 30 minutes"),
            ("five minutes", 300, "5 minutes"),
            ("an hour", 3600, "1 hour"),
            ("half an hour", 1800, "30 minutes"),
            ("hourly", 3600, "1 hour"),
        ] {
            let read = parse_duration(text).unwrap();
            assert_eq!((read, duration_words(read).as_str()), (Duration::from_secs(seconds), words), "{text}");
        }
        assert_eq!(duration_words(Duration::from_millis(1500)), "1 second 500 ms");
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "  ",
            "5",
            "m5x",
            "-5m",
            "5 parsecs",
            "99999999999999999999s",
            "18446744073709551615w",
            "some minutes",
            "1.55h",
            "1.h",
            ".5h",
            "5m;rm",
        ] {
            assert!(parse_duration(text).unwrap_err().contains("is not a duration"), "{text}");
        }
    }
}
