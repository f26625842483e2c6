//! Reminders: "remind me every weekday at 9 to water the plants". The whole text is one, because its message may be any words.

use super::request::{DemoRequest, ReminderTime};

/// Words for the days of a cron expression.
const DAYS: &[(&str, &str)] = &[
    ("day", "*"),
    ("weekday", "1-5"),
    ("weekdays", "1-5"),
    ("workday", "1-5"),
    ("monday", "1"),
    ("tuesday", "2"),
    ("wednesday", "3"),
    ("thursday", "4"),
    ("friday", "5"),
    ("saturday", "6"),
    ("sunday", "0"),
];

/// The message of a reminder that names a time alone.
const UNSAID: &str = "This is your reminder.";

/// The beginning of a message that the scheduler sends.
const SCHEDULED: &str = "[Scheduled job '";

/// The reminder that a text asks for, if it asks for one and nothing else.
pub(super) fn reminder(text: &str) -> Option<DemoRequest> {
    let trimmed = text.trim().trim_end_matches(['.', '!']);
    let lower = trimmed.to_lowercase();
    let start = ["please ", "can you ", "could you "].iter().find_map(|polite| lower.strip_prefix(polite)).unwrap_or(&lower);
    let rest = start.strip_prefix("remind me ")?;
    // The message as it was written.
    let offset = lower.len() - rest.len();
    let rest = trimmed.get(offset..)?;
    let (time, message) = timed(rest).or_else(|| timed_at_end(rest)).or_else(|| Some((time_of(rest)?, UNSAID)))?;
    let message = message.trim().trim_matches(['"', '\'', '\u{201c}', '\u{201d}']).trim();
    let is_plain = !message.is_empty() && !message.contains('\n');
    is_plain.then(|| DemoRequest::Remind { time, message: message.to_owned() })
}

/// What a message of the scheduler wants the user to know.
pub(super) fn scheduled(text: &str) -> Option<&str> {
    let message = text.trim().strip_prefix(SCHEDULED)?.split_once("]\n")?.1.trim();
    (!message.is_empty()).then_some(message)
}

/// `every weekday at 9 to …`, `in 20 minutes to …`, `at 18:30 to …`.
fn timed(rest: &str) -> Option<(ReminderTime, &str)> {
    [" to ", " that ", " about ", ": "].iter().find_map(|joint| {
        let (time, message) = split(rest, joint)?;
        Some((time_of(time)?, message))
    })
}

/// `to … every weekday at 9`.
fn timed_at_end(rest: &str) -> Option<(ReminderTime, &str)> {
    let body = ["to ", "that ", "about "]
        .iter()
        .find_map(|joint| rest.get(..joint.len()).filter(|start| start.eq_ignore_ascii_case(joint)).map(|_| &rest[joint.len()..]))?;
    [" every ", " in ", " at ", " tomorrow "].iter().find_map(|joint| {
        let at = body.to_lowercase().rfind(joint)?;
        Some((time_of(body.get(at + 1..)?)?, body.get(..at)?))
    })
}

fn split<'a>(text: &'a str, joint: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_lowercase().find(joint)?;
    Some((text.get(..at)?, text.get(at + joint.len()..)?))
}

fn time_of(text: &str) -> Option<ReminderTime> {
    let lower = text.trim().to_lowercase();
    if let Some(rest) = lower.strip_prefix("every ") {
        return repeated(rest);
    }
    if let Some(wait) = lower.strip_prefix("in ") {
        let digits = wait.chars().next()?.is_ascii_digit();
        return digits.then(|| ReminderTime::At(wait.to_owned()));
    }
    if let Some(rest) = lower.strip_prefix("tomorrow") {
        let (hour, minute) = clock(rest.trim().trim_start_matches("at ").trim())?;
        return Some(ReminderTime::At(format!("tomorrow {hour}:{minute:02}")));
    }
    let (hour, minute) = clock(lower.strip_prefix("at ")?)?;
    Some(ReminderTime::At(format!("{hour}:{minute:02}")))
}

fn repeated(rest: &str) -> Option<ReminderTime> {
    let Some((day, time)) = rest.split_once(" at ") else {
        let is_interval = rest.chars().next()?.is_ascii_digit() || ["hour", "minute"].contains(&rest);
        return is_interval.then(|| ReminderTime::Every(rest.to_owned()));
    };
    let days = DAYS.iter().find(|(word, _)| *word == day.trim())?.1;
    let (hour, minute) = clock(time)?;
    Some(ReminderTime::Cron(format!("{minute} {hour} * * {days}")))
}

/// `9`, `9:30`, `9am`, `18:30`, `9 o'clock`.
fn clock(text: &str) -> Option<(u8, u8)> {
    let text = text.trim().trim_end_matches("o'clock").trim();
    let (digits, noon) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(rest), _) => (rest.trim(), Some(0)),
        (_, Some(rest)) => (rest.trim(), Some(12)),
        _ => (text, None),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match noon {
        Some(_) if hour == 0 || hour > 12 => return None,
        Some(noon) => hour % 12 + noon,
        None => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_are_understood_whole_or_not_at_all() {
        let remind = |time: ReminderTime, message: &str| Some(DemoRequest::Remind { time, message: message.into() });
        let cron = |text: &str| ReminderTime::Cron(text.into());
        let at = |text: &str| ReminderTime::At(text.into());
        for (text, expected) in [
            ("remind me every weekday at 9 to water the plants", remind(cron("0 9 * * 1-5"), "water the plants")),
            ("Please remind me every Friday at 4:30pm to send the Report.", remind(cron("30 16 * * 5"), "send the Report")),
            ("remind me to stretch every day at 12am", remind(cron("0 0 * * *"), "stretch")),
            ("remind me every 30 minutes to stand up", remind(ReminderTime::Every("30 minutes".into()), "stand up")),
            ("remind me in 20 minutes to turn off the oven", remind(at("20 minutes"), "turn off the oven")),
            ("remind me at 18:30 that 'the train leaves'", remind(at("18:30"), "the train leaves")),
            ("remind me tomorrow at 9 about the talk", remind(at("tomorrow 9:00"), "the talk")),
            ("remind me to go home at 5pm", remind(at("17:00"), "go home")),
            ("remind me every weekday at 9", remind(cron("0 9 * * 1-5"), "This is your reminder.")),
            ("Remind me in 20 minutes!", remind(at("20 minutes"), "This is your reminder.")),
            ("remind me every blue moon at 9 to dance", None),
            ("remind me every blue moon", None),
            ("remind me every weekday at 25 to dance", None),
            ("remind me to dance", None),
            ("remind me", None),
            ("list files", None),
        ] {
            assert_eq!(reminder(text), expected, "{text}");
        }
    }

    #[test]
    fn message_of_the_scheduler_is_its_text() {
        assert_eq!(scheduled("[Scheduled job 'plants', run 1-2]\n\nwater the plants"), Some("water the plants"));
        assert_eq!(scheduled("[Scheduled job 'plants', run 1-2] The server was restarted"), None);
        assert_eq!(scheduled("water the plants"), None);
    }
}
