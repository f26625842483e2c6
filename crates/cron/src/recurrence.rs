//! Schedules as people say them: `every weekday at 9`, `mondays and fridays at 18:30`, `daily at 7am`.

use crate::moment::{spoken_time, weekday};

/// The cron expression for such words; `None` if they are not understood whole.
pub(crate) fn recurrence(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let (days, time) = lower.split_once(" at ")?;
    let time = spoken_time(&format!("at {time}"))?;
    let days = days_field(days.strip_prefix("every ").unwrap_or(days))?;
    let seconds = if time.second() == 0 { String::new() } else { format!("{} ", time.second()) };
    Some(format!("{seconds}{} {} * * {days}", time.minute(), time.hour()))
}

/// The last field of the expression.
fn days_field(words: &str) -> Option<String> {
    match words.trim() {
        "day" | "daily" | "everyday" => return Some("*".to_owned()),
        "weekday" | "weekdays" | "workday" | "workdays" => return Some("1-5".to_owned()),
        "weekend" | "weekends" => return Some("0,6".to_owned()),
        _ => {}
    }
    let words = words.replace(" and ", ",");
    let days: Option<Vec<String>> = words.split(',').map(|day| Some(weekday(day.trim())?.to_sunday_zero_offset().to_string())).collect();
    days.map(|days| days.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_whole_or_not_at_all() {
        for (text, expression) in [
            ("every weekday at 9", Some("0 9 * * 1-5")),
            ("Weekdays at 9:30", Some("30 9 * * 1-5")),
            ("daily at 7am", Some("0 7 * * *")),
            ("every day at 23:59:30", Some("30 59 23 * * *")),
            ("every Monday at 9 o'clock", Some("0 9 * * 1")),
            ("mondays and fridays at 18:30", Some("30 18 * * 1,5")),
            ("every sun, wed and sat at 6pm", Some("0 18 * * 0,3,6")),
            ("weekends at 10:00", Some("0 10 * * 0,6")),
            ("every day", None),
            ("every blue moon at 9", None),
            ("every weekday at 25", None),
            ("every weekday at 9 and at 10", None),
            ("every weekday at 9; rm", None),
            ("", None),
        ] {
            assert_eq!(recurrence(text).as_deref(), expression, "{text}");
        }
    }
}
