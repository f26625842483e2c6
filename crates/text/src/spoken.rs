//! Times as people say them: `9:30 pm`, `every weekday at 9`, `mondays and fridays 18:30`.

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockTime {
    /// The hour, from 0 to 23.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
}

const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// `9:00`, `09:00:30`, `9am`, `9:30 pm`, `18.30`, `9 Uhr`, `9 o'clock`, `noon`. A bare `9` is none.
pub fn clock_time(text: &str) -> Option<ClockTime> {
    let lower = text.trim().to_lowercase();
    match lower.as_str() {
        "noon" | "midday" => return Some(ClockTime { hour: 12, minute: 0, second: 0 }),
        "midnight" => return Some(ClockTime { hour: 0, minute: 0, second: 0 }),
        _ => {}
    }
    let half = [("am", 0), ("a.m.", 0), ("pm", 12), ("p.m.", 12)];
    let half = half.iter().find_map(|(word, from)| Some((lower.strip_suffix(word)?.trim_end(), *from)));
    if let Some((digits, from)) = half {
        let time = digital(digits).filter(|time| (1..=12).contains(&time.hour))?;
        return Some(ClockTime { hour: time.hour % 12 + from, ..time });
    }
    let whole = ["o'clock", "oclock", "uhr"].iter().find_map(|word| lower.strip_suffix(word)).map(str::trim_end);
    digital(whole.unwrap_or(&lower)).filter(|_| whole.is_some() || lower.contains([':', '.']))
}

/// `9`, `9:30`, `9.30`, `09:30:15`.
fn digital(text: &str) -> Option<ClockTime> {
    // `1.5` is a number.
    let shortest = if text.contains('.') { 2 } else { 1 };
    let mut parts = text.split([':', '.']).enumerate().map(|(index, part)| {
        let is_number = part.len() <= 2 && part.len() >= shortest.min(index + 1) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u8>().ok().filter(|_| is_number)
    });
    let (hour, minute, second) = (parts.next()??, parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?);
    (parts.next().is_none() && hour < 24 && minute < 60 && second < 60).then_some(ClockTime { hour, minute, second })
}

/// A time where only one can be: also `at 9`, and `9`.
pub fn spoken_time(text: &str) -> Option<ClockTime> {
    let lower = text.to_lowercase();
    let text = lower.trim_matches([' ', ',']);
    let text = text.strip_prefix("at ").or_else(|| text.strip_prefix("um ")).unwrap_or(text).trim();
    clock_time(text).or_else(|| digital(text))
}

/// A day of the week by its name or the beginning of it: 0 is Sunday.
pub fn weekday(name: &str) -> Option<u8> {
    let name = name.trim().trim_end_matches([',', '.']);
    // `tue`, `tues`, `wednes`, `fridays` and so on.
    let one = name.strip_suffix('s').unwrap_or(name);
    let (index, _) = WEEKDAYS.iter().enumerate().find(|(_, day)| one.len() >= 3 && (day.starts_with(name) || day.starts_with(one)))?;
    u8::try_from(index).ok()
}

/// The cron expression for words that say days and a time; `None` if they are not understood whole.
pub fn recurrence(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let (days, time) = split_time(&lower)?;
    let days = days.strip_prefix("every ").or_else(|| days.strip_prefix("each ")).unwrap_or(days).trim().trim_end_matches(',');
    let time = spoken_time(time)?;
    let (days, time) = match days {
        "morning" | "mornings" => ("*".to_owned(), (time.hour < 12).then_some(time)?),
        "afternoon" | "evening" | "night" => ("*".to_owned(), after_noon(time)),
        days => (days_field(days)?, time),
    };
    let seconds = if time.second == 0 { String::new() } else { format!("{} ", time.second) };
    Some(format!("{seconds}{} {} * * {days}", time.minute, time.hour))
}

/// Before the time, and from it on: it follows `at`, or begins with a number.
fn split_time(text: &str) -> Option<(&str, &str)> {
    [" at ", " um "].iter().find_map(|joint| text.split_once(joint)).or_else(|| {
        let is_time = |word: &str| word.starts_with(|ch: char| ch.is_ascii_digit()) || ["noon", "midnight"].contains(&word);
        let at = text.match_indices(' ').find(|(at, _)| text[at + 1..].split(' ').next().is_some_and(is_time))?.0;
        Some((&text[..at], &text[at + 1..]))
    })
}

/// `8` in the evening is 20:00.
fn after_noon(time: ClockTime) -> ClockTime {
    if (1..12).contains(&time.hour) { ClockTime { hour: time.hour + 12, ..time } } else { time }
}

/// The last field of the expression.
fn days_field(words: &str) -> Option<String> {
    match words {
        "day" | "daily" | "everyday" => return Some("*".to_owned()),
        "weekday" | "weekdays" | "workday" | "workdays" | "working day" | "week day" => return Some("1-5".to_owned()),
        "weekend" | "weekends" => return Some("0,6".to_owned()),
        _ => {}
    }
    let range = ["-", " to ", " through ", " till "].iter().find_map(|joint| words.split_once(joint));
    if let Some((from, to)) = range {
        let (from, to) = (weekday(from)?, weekday(to)?);
        // A week ends with Sunday, which is 7 there.
        let to = if to == 0 { 7 } else { to };
        return (from < to).then(|| format!("{from}-{to}"));
    }
    let words = words.replace(" and ", ",").replace('&', ",");
    let days: Option<Vec<String>> =
        words.split(',').map(str::trim).filter(|day| !day.is_empty()).map(|day| Some(weekday(day)?.to_string())).collect();
    days.filter(|days| !days.is_empty()).map(|days| days.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_read_as_people_write_them() {
        let clock = |text: &str| clock_time(text).map(|time| (time.hour, time.minute, time.second));
        for (text, expected) in [
            ("9:00", Some((9, 0, 0))),
            ("09:00:30", Some((9, 0, 30))),
            ("9am", Some((9, 0, 0))),
            ("9:30 P.M.", Some((21, 30, 0))),
            ("12 am", Some((0, 0, 0))),
            ("12pm", Some((12, 0, 0))),
            ("18.30", Some((18, 30, 0))),
            ("18h", None),
            ("1.5", None),
            ("9 Uhr", Some((9, 0, 0))),
            ("18.30 Uhr", Some((18, 30, 0))),
            ("9 o'clock", Some((9, 0, 0))),
            ("noon", Some((12, 0, 0))),
            ("midnight", Some((0, 0, 0))),
            ("9", None),
            ("25:00", None),
            ("9:60", None),
            ("13pm", None),
            ("+9:00", None),
            ("9:", None),
            ("1:2:3:4", None),
            ("", None),
        ] {
            assert_eq!(clock(text), expected, "{text}");
        }
        assert_eq!(spoken_time(" at 9"), Some(ClockTime { hour: 9, minute: 0, second: 0 }));
        assert_eq!(spoken_time("um 9"), spoken_time("9"));
        assert_eq!((spoken_time("at"), spoken_time("at 24"), spoken_time("at x")), (None, None, None));
    }

    #[test]
    fn words_are_read_whole_or_not_at_all() {
        for (text, expression) in [
            ("every weekday at 9", Some("0 9 * * 1-5")),
            ("Weekdays at 9:30", Some("30 9 * * 1-5")),
            ("weekdays 9:00", Some("0 9 * * 1-5")),
            ("daily at 7am", Some("0 7 * * *")),
            ("every day 9am", Some("0 9 * * *")),
            ("every day at 23:59:30", Some("30 59 23 * * *")),
            ("every workday 9 Uhr", Some("0 9 * * 1-5")),
            ("every weekday um 18.30", Some("30 18 * * 1-5")),
            ("every Monday at 9 o'clock", Some("0 9 * * 1")),
            ("mondays and fridays at 18:30", Some("30 18 * * 1,5")),
            ("every mon, wed & fri 8", Some("0 8 * * 1,3,5")),
            ("every sun, wed and sat at 6pm", Some("0 18 * * 0,3,6")),
            ("mon-fri 9:00", Some("0 9 * * 1-5")),
            ("every friday to sunday at noon", Some("0 12 * * 5-7")),
            ("weekends at 10:00", Some("0 10 * * 0,6")),
            ("every morning at 8", Some("0 8 * * *")),
            ("every evening at 8", Some("0 20 * * *")),
            ("every morning at 18:00", None),
            ("every fri-mon at 9", None),
            ("every day", None),
            ("every day at", None),
            ("every blue moon at 9", None),
            ("every blue moon 9", None),
            ("every weekday at 25", None),
            ("every weekday at 9 and at 10", None),
            ("every weekday at 9; rm", None),
            ("every 2 weeks", None),
            ("0 9 * * 1-5", None),
            ("every sss at 9", None),
            ("", None),
        ] {
            assert_eq!(recurrence(text).as_deref(), expression, "{text}");
        }
    }
}
