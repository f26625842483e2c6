//! Reminders: "remind me every weekday at 9 to water the plants". The whole text is one, because its message may be any words.

use haft_text::spoken::{ClockTime, recurrence, spoken_time, weekday};

use super::request::{DemoRequest, ReminderTime};

/// How a request for a reminder begins.
const BEGINNINGS: &[&str] = &[
    "remind me ",
    "wake me up ",
    "wake me ",
    "set a reminder for ",
    "set a reminder ",
    "set reminder for ",
    "i need a reminder for ",
    "i need a reminder ",
    "i want a reminder ",
];
/// How a request to turn one off begins.
const ENDINGS: &[&str] = &["turn off ", "switch off ", "stop ", "cancel ", "disable ", "pause "];

/// The message of a reminder that names a time alone.
const UNSAID: &str = "This is your reminder.";

/// The beginning of a message that the scheduler sends.
const SCHEDULED: &str = "[Scheduled job '";

/// The reminder that a text asks for, if it asks for one and nothing else.
pub(super) fn reminder(text: &str) -> Option<DemoRequest> {
    let trimmed = without_courtesy(text);
    if let Some(name) = turned_off(trimmed) {
        return Some(DemoRequest::StopReminder { name });
    }
    let (time, message) = if let Some(rest) = after_any(trimmed, BEGINNINGS) {
        timed(rest).or_else(|| timed_at_end(rest)).or_else(|| Some((time_of(rest)?, UNSAID)))?
    } else {
        // `every weekday at 9 remind me to …`
        let (time, rest) = split(trimmed, " remind me ").next()?;
        (time_of(time.trim_end_matches(','))?, after_any(rest, &["to ", "that ", "about "])?)
    };
    let message = unquoted(message);
    let is_plain = !message.is_empty() && !message.contains('\n');
    is_plain.then(|| DemoRequest::Remind { time, message: message.to_owned() })
}

/// The reminder that is to be turned off; empty if it has no name.
fn turned_off(text: &str) -> Option<String> {
    let rest = after_any(text, ENDINGS)?;
    let rest = after_any(rest, &["the ", "my ", "this ", "that "]).unwrap_or(rest).trim();
    let name = if rest.eq_ignore_ascii_case("reminder") || rest.eq_ignore_ascii_case("reminding me") {
        ""
    } else {
        let rest = after_any(rest, &["reminder ", "reminding me "])?;
        after_any(rest, &["to ", "about ", "that ", "for ", "of ", "called "]).unwrap_or(rest)
    };
    Some(unquoted(name).to_owned())
}

fn without_courtesy(text: &str) -> &str {
    let mut rest = text.trim().trim_end_matches(['.', '!', '?']).trim_end();
    while let Some(after) = after_any(rest, &["please ", "can you ", "could you ", "would you ", "hey ", "hi "]) {
        rest = after;
    }
    strip_end(rest, " please")
}

fn strip_end<'a>(text: &'a str, end: &str) -> &'a str {
    let at = text.len().saturating_sub(end.len());
    if text.get(at..).is_some_and(|tail| tail.eq_ignore_ascii_case(end)) { &text[..at] } else { text }
}

/// What follows one of these beginnings, in any case of letters.
fn after_any<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    let begins = |word: &&&str| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    beginnings.iter().find(begins).map(|word| text[word.len()..].trim_start())
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\'', '\u{201c}', '\u{201d}']).trim()
}

/// What a message of the scheduler wants the user to know.
pub(super) fn scheduled(text: &str) -> Option<&str> {
    let message = text.trim().strip_prefix(SCHEDULED)?.split_once("]\n")?.1.trim();
    (!message.is_empty()).then_some(message)
}

/// `every weekday at 9 to …`, `in 20 minutes to …`, `at 18:30 to …`.
fn timed(rest: &str) -> Option<(ReminderTime, &str)> {
    let joints = [" to ", " that ", " about ", ": "];
    joints.iter().find_map(|joint| split(rest, joint).find_map(|(time, message)| Some((time_of(time)?, message))))
}

/// `to … every weekday at 9`.
fn timed_at_end(rest: &str) -> Option<(ReminderTime, &str)> {
    let body = after_any(rest, &["to ", "that ", "about "])?;
    let joints = [" every ", " each ", " daily ", " weekdays ", " in ", " on ", " next ", " today ", " tonight ", " tomorrow ", " at "];
    joints.iter().find_map(|joint| split(body, joint).last().and_then(|(message, _)| Some((time_of(&body[message.len() + 1..])?, message))))
}

/// Before and after each place where a joint is.
fn split<'a>(text: &'a str, joint: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_joint = move |at: &usize| text.get(*at..at + joint.len()).is_some_and(|found| found.eq_ignore_ascii_case(joint));
    (0..text.len()).filter(is_joint).map(move |at| (&text[..at], &text[at + joint.len()..]))
}

fn time_of(text: &str) -> Option<ReminderTime> {
    let lower = text.trim().trim_end_matches(',').to_lowercase();
    if is_repeated(&lower) {
        return recurrence(&lower).map(ReminderTime::Cron).or_else(|| interval(&lower));
    }
    if let Some(wait) = lower.strip_prefix("in ") {
        let words = ["a ", "an ", "half ", "one ", "two ", "three ", "four ", "five ", "six ", "ten "];
        let is_wait = wait.starts_with(|ch: char| ch.is_ascii_digit()) || words.iter().any(|word| wait.starts_with(word));
        return is_wait.then(|| ReminderTime::At(wait.to_owned()));
    }
    once(&lower).map(ReminderTime::At)
}

/// `every …`, `daily …`, `mondays …`; `monday …` alone is the next one.
fn is_repeated(lower: &str) -> bool {
    let first = lower.split(' ').next().unwrap_or_default();
    let is_plural = |word: &str| word.ends_with("days") || word.ends_with("ends") || word == "mornings";
    ["every", "each", "daily", "everyday"].contains(&first) || is_plural(first)
}

fn interval(lower: &str) -> Option<ReminderTime> {
    let rest = lower.strip_prefix("every ")?;
    let is_interval = rest.starts_with(|ch: char| ch.is_ascii_digit()) || ["hour", "minute"].contains(&rest);
    is_interval.then(|| ReminderTime::Every(rest.to_owned()))
}

/// `at 18:30`, `tomorrow at 9`, `next monday 9 Uhr`.
fn once(lower: &str) -> Option<String> {
    let time = |text: &str| spoken_time(text).map(|ClockTime { hour, minute, .. }| format!("{hour}:{minute:02}"));
    if let Some(rest) = lower.strip_prefix("at ") {
        return time(rest);
    }
    let rest = lower.strip_prefix("on ").or_else(|| lower.strip_prefix("next ")).unwrap_or(lower);
    let (day, rest) = rest.split_once(' ')?;
    match day {
        "tonight" => time(rest).map(|time| format!("tonight {time}")),
        "today" | "tomorrow" => time(rest.strip_prefix("morning ").unwrap_or(rest)).map(|time| format!("{day} {time}")),
        day if weekday(day).is_some() => time(rest).map(|time| format!("{day} {time}")),
        _ => None,
    }
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
            ("remind me every day 9am", remind(cron("0 9 * * *"), UNSAID)),
            ("Remind me every weekday at 9 Uhr", remind(cron("0 9 * * 1-5"), UNSAID)),
            ("remind me weekdays at 9 to stretch", remind(cron("0 9 * * 1-5"), "stretch")),
            ("remind me daily at 9 to stretch please", remind(cron("0 9 * * *"), "stretch")),
            ("remind me every monday and friday at 9 to go to town", remind(cron("0 9 * * 1,5"), "go to town")),
            ("remind me monday to friday at 9 to stretch", None),
            ("remind me every monday to friday at 9 to stretch", remind(cron("0 9 * * 1-5"), "stretch")),
            ("can you remind me every morning at 8 to drink water?", remind(cron("0 8 * * *"), "drink water")),
            ("every weekday at 9 remind me to water the plants", remind(cron("0 9 * * 1-5"), "water the plants")),
            ("I need a reminder every weekday 9 o'clock", remind(cron("0 9 * * 1-5"), UNSAID)),
            ("set a reminder for tomorrow at 8", remind(at("tomorrow 8:00"), UNSAID)),
            ("remind me tomorrow 8 to call mom", remind(at("tomorrow 8:00"), "call mom")),
            ("please remind me at 18.30 to eat", remind(at("18:30"), "eat")),
            ("remind me in an hour to stretch", remind(at("an hour"), "stretch")),
            ("remind me on monday at 9 to stretch", remind(at("monday 9:00"), "stretch")),
            ("remind me next monday 9 uhr", remind(at("monday 9:00"), UNSAID)),
            ("remind me at noon", remind(at("12:00"), UNSAID)),
            ("wake me at 7", remind(at("7:00"), UNSAID)),
            ("remind me to dance at the ball", None),
            ("remind me to \u{130} dance at 5pm", remind(at("17:00"), "\u{130} dance")),
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
    fn reminder_is_turned_off_by_its_name() {
        for (text, expected) in [
            ("turn off the reminder", Some("")),
            ("Stop reminding me", Some("")),
            ("turn off the reminder 'water the plants'", Some("water the plants")),
            ("please cancel my reminder to call Mom.", Some("call Mom")),
            ("stop the server", None),
            ("turn off the light", None),
            ("turn off reminders.txt", None),
        ] {
            let expected = expected.map(|name| DemoRequest::StopReminder { name: name.into() });
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
