//! Questions about the time and about this machine, which people ask in many words.

use super::clauses::RequestWord;
use super::request::DemoRequest;

const TIME: &[&str] = &["time", "date", "day", "clock", "weekday", "year", "month"];
const TIME_WORDS: &[&str] = &[
    "what",
    "what's",
    "whats",
    "which",
    "is",
    "it",
    "the",
    "today",
    "today's",
    "current",
    "tell",
    "show",
    "give",
    "me",
    "now",
    "right",
    "local",
    "of",
    "we",
    "have",
    "do",
    "please",
    "currently",
];
const MACHINE: &[&str] = &["memory", "ram", "uptime", "machine", "system", "computer", "cpu", "cpus", "cores"];
const MACHINE_WORDS: &[&str] = &[
    "how",
    "much",
    "many",
    "long",
    "is",
    "are",
    "there",
    "free",
    "available",
    "what",
    "what's",
    "show",
    "tell",
    "give",
    "me",
    "info",
    "information",
    "about",
    "this",
    "the",
    "has",
    "been",
    "up",
    "running",
    "it",
    "of",
    "does",
    "have",
    "kind",
    "on",
    "which",
    "left",
];

/// Questions about the model itself, and greetings.
const ABOUT_ITSELF: &[&str] = &[
    "help",
    "help me",
    "what can you do",
    "what can you do for me",
    "what do you understand",
    "what can i ask",
    "what can i ask you",
    "how do you work",
    "how does this work",
    "who are you",
    "what are you",
    "are you a real model",
    "hello",
    "hi",
    "hey",
    "thanks",
    "thank you",
];

/// Whether the user asks what the model is or can do.
pub(super) fn is_about_itself(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(|word| word.trim_matches(['?', '!', '.', ',']).to_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    ABOUT_ITSELF.contains(&words.join(" ").as_str())
}

/// The question, if every word of it is known.
pub(super) fn question(words: &[RequestWord]) -> Option<DemoRequest> {
    let has = |wanted: &[&str]| words.iter().any(|word| word.is(wanted));
    let only = |words: &[RequestWord], topic: &[&str], others: &[&str]| words.iter().all(|word| word.is(topic) || word.is(others));
    if has(MACHINE) && only(words, MACHINE, MACHINE_WORDS) {
        return Some(DemoRequest::Machine);
    }
    let place = words.iter().position(|word| word.is(&["in"]));
    let asked = &words[..place.unwrap_or(words.len())];
    if !asked.iter().any(|word| word.is(TIME)) || !only(asked, TIME, TIME_WORDS) {
        return None;
    }
    let Some(place) = place else { return Some(DemoRequest::Time { zone: None }) };
    let place: Vec<&str> = words[place + 1..].iter().map(RequestWord::bare).collect();
    // The time here is no answer to a question about a place that is not known.
    Some(DemoRequest::Time { zone: Some(zone(&place.join(" "))?) })
}

/// The time zone of a place that people often ask for.
fn zone(place: &str) -> Option<String> {
    const PLACES: &[(&str, &str)] = &[
        ("tokyo", "Asia/Tokyo"),
        ("london", "Europe/London"),
        ("paris", "Europe/Paris"),
        ("berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("los angeles", "America/Los_Angeles"),
        ("san francisco", "America/Los_Angeles"),
        ("chicago", "America/Chicago"),
        ("sydney", "Australia/Sydney"),
        ("delhi", "Asia/Kolkata"),
        ("beijing", "Asia/Shanghai"),
        ("shanghai", "Asia/Shanghai"),
        ("singapore", "Asia/Singapore"),
        ("dubai", "Asia/Dubai"),
        ("moscow", "Europe/Moscow"),
        ("amsterdam", "Europe/Amsterdam"),
        ("bangkok", "Asia/Bangkok"),
        ("cairo", "Africa/Cairo"),
        ("denver", "America/Denver"),
        ("germany", "Europe/Berlin"),
        ("hong kong", "Asia/Hong_Kong"),
        ("india", "Asia/Kolkata"),
        ("istanbul", "Europe/Istanbul"),
        ("japan", "Asia/Tokyo"),
        ("lisbon", "Europe/Lisbon"),
        ("madrid", "Europe/Madrid"),
        ("melbourne", "Australia/Melbourne"),
        ("mumbai", "Asia/Kolkata"),
        ("oslo", "Europe/Oslo"),
        ("rome", "Europe/Rome"),
        ("sao paulo", "America/Sao_Paulo"),
        ("seattle", "America/Los_Angeles"),
        ("seoul", "Asia/Seoul"),
        ("stockholm", "Europe/Stockholm"),
        ("toronto", "America/Toronto"),
        ("vienna", "Europe/Vienna"),
        ("zurich", "Europe/Zurich"),
        ("utc", "UTC"),
    ];
    let known = PLACES.iter().find(|(name, _)| place.to_lowercase() == *name).map(|(_, zone)| (*zone).to_owned());
    known.or_else(|| place.contains('/').then(|| place.to_owned()))
}
