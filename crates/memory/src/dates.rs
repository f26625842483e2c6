//! Dates in texts and questions, in whatever form they are written, as words in one form.
//!
//! A day gives three words, so that a question for a month finds its days: `date20260312`, `month202603`, `day0312`.

use jiff::civil::Date;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The words of all dates in a text.
pub(crate) fn date_words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for date in dates(text) {
        found.extend(date.words());
    }
    found
}

/// A date as it was written: the year or the day may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WrittenDate {
    year: Option<i16>,
    month: i8,
    day: Option<i8>,
}

impl WrittenDate {
    fn new(year: Option<i16>, month: i8, day: Option<i8>) -> Option<Self> {
        Date::new(year.unwrap_or(2024), month, day.unwrap_or(1)).ok()?;
        year.is_none_or(|year| (1900..2200).contains(&year)).then_some(Self { year, month, day })
    }

    fn words(self) -> Vec<String> {
        let Self { year, month, day } = self;
        let mut words = Vec::new();
        if let (Some(year), Some(day)) = (year, day) {
            words.push(format!("date{year:04}{month:02}{day:02}"));
        }
        if let Some(year) = year {
            words.push(format!("month{year:04}{month:02}"));
        }
        if let Some(day) = day {
            words.push(format!("day{month:02}{day:02}"));
        }
        words
    }
}

/// The dates that a question names by words: today, yesterday, a number of days ago.
pub(crate) fn relative_date_words(text: &str, today: Date) -> Vec<String> {
    let lower = text.to_lowercase();
    let tokens: Vec<&str> = lower.split(|ch: char| !ch.is_alphanumeric()).filter(|token| !token.is_empty()).collect();
    let mut days = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "today" | "heute" => days.push(0),
            "yesterday" | "gestern" => days.push(1),
            "ago" if at >= 2 && tokens[at - 1].starts_with("day") => days.extend(tokens[at - 2].parse::<i32>()),
            _ => {}
        }
    }
    let date = |days: &i32| today.checked_sub(jiff::Span::new().try_days(*days).ok()?).ok();
    let exact = days.iter().filter_map(date).map(|date| format!("date{:04}{:02}{:02}", date.year(), date.month(), date.day()));
    exact.collect()
}

fn dates(text: &str) -> Vec<WrittenDate> {
    let tokens: Vec<&str> = text.split(|ch: char| !ch.is_alphanumeric()).filter(|token| !token.is_empty()).collect();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        found.extend(numeric(&tokens[at..], text).or_else(|| parse_month_date(&tokens, at)));
    }
    found
}

/// `2026-03-12`, `2026/3/12`, `12.03.2026`, `20260312`.
fn numeric(tokens: &[&str], text: &str) -> Option<WrittenDate> {
    let first = tokens.first()?;
    if !first.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if first.len() == 8 {
        return WrittenDate::new(first[..4].parse().ok(), first[4..6].parse().ok()?, first[6..].parse().ok());
    }
    let joined_by = |signs: &[char], count: usize| {
        let start = offset(first, text);
        let rest = &text[start + first.len()..];
        rest.starts_with(signs)
            && (count < 2 || tokens.get(1).is_some_and(|next| rest.get(1 + next.len()..).is_some_and(|rest| rest.starts_with(signs))))
    };
    let number = |at: usize| tokens.get(at).filter(|token| token.len() <= 2).and_then(|token| token.parse::<i8>().ok());
    if first.len() == 4 {
        if joined_by(&['-', '/', '.'], 2) {
            return WrittenDate::new(first.parse().ok(), number(1)?, Some(number(2)?));
        }
        // A month of a year: `2026-03`.
        return joined_by(&['-', '/'], 1).then(|| WrittenDate::new(first.parse().ok(), number(1)?, None)).flatten();
    }
    let year = tokens.get(2).filter(|token| token.len() == 4).and_then(|token| token.parse().ok());
    (joined_by(&['.'], 2) && year.is_some()).then(|| WrittenDate::new(year, number(1)?, Some(first.parse().ok()?))).flatten()
}

/// Where a token that was split off a text begins in it.
fn offset(token: &str, text: &str) -> usize {
    (token.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// `12 March 2026`, `March 12th, 2026`, `March 2026`, `12. März`.
fn parse_month_date(tokens: &[&str], at: usize) -> Option<WrittenDate> {
    let month = month(tokens[at])?;
    let day = |token: Option<&&str>| {
        let digits = token?.trim_end_matches(|ch: char| ch.is_ascii_alphabetic());
        (digits.len() <= 2).then(|| digits.parse::<i8>().ok()).flatten().filter(|day| (1..=31).contains(day))
    };
    let year = |token: Option<&&str>| token.filter(|token| token.len() == 4).and_then(|token| token.parse::<i16>().ok());
    let before = at.checked_sub(1).and_then(|before| day(tokens.get(before)));
    if before.is_some() {
        return WrittenDate::new(year(tokens.get(at + 1)), month, before);
    }
    match day(tokens.get(at + 1)) {
        Some(day) => WrittenDate::new(year(tokens.get(at + 2)), month, Some(day)),
        None => year(tokens.get(at + 1)).and_then(|year| WrittenDate::new(Some(year), month, None)),
    }
}

/// A month in English or German, whole or shortened. `may` alone is too often a verb: it counts with a day or a year.
fn month(token: &str) -> Option<i8> {
    // Nearly every word of a text is none, and this tells so at a glance.
    let first = token.bytes().next().unwrap_or(0).to_ascii_lowercase();
    if !(3..=10).contains(&token.len()) || !b"jfmasond".contains(&first) {
        return None;
    }
    let lower = token.to_lowercase().replace('ä', "a");
    let whole = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "januar",
        "februar",
        "marz",
        "mai",
        "juni",
        "juli",
        "oktober",
        "dezember",
        "okt",
        "dez",
        "sept",
    ];
    let known = MONTHS.contains(&lower.as_str()) || whole.contains(&lower.as_str());
    let start = match lower.get(..3)? {
        "mai" => "may",
        "okt" => "oct",
        "dez" => "dec",
        start => start,
    };
    let place = MONTHS.iter().position(|month| *month == start).filter(|_| known)?;
    i8::try_from(place + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_date_gives_the_same_words() {
        let whole = vec!["date20260312", "month202603", "day0312"];
        for text in
            ["2026-03-12", "at 2026/3/12,", "12.03.2026", "20260312", "12 March 2026", "March 12th, 2026", "mar 12 2026", "12. März 2026"]
        {
            assert_eq!(date_words(text), whole, "{text}");
        }
        for (text, expected) in [
            ("in March 2026", vec!["month202603"]),
            ("2026-03", vec!["month202603"]),
            ("on March 12", vec!["day0312"]),
            ("you may go", vec![]),
            ("may 5", vec!["day0505"]),
            ("marching 12", vec![]),
            ("version 1.2.3", vec![]),
            ("2026-13-45", vec![]),
            ("31 February 2026", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(date_words(text), expected, "{text}");
        }
    }

    #[test]
    fn words_for_days_count_from_today() {
        let today = jiff::civil::date(2026, 3, 1);
        for (text, expected) in [
            ("what did we do yesterday?", vec!["date20260228"]),
            ("today", vec!["date20260301"]),
            ("3 days ago", vec!["date20260226"]),
            ("some days ago", vec![]),
            ("99999999999 days ago", vec![]),
        ] {
            assert_eq!(relative_date_words(text, today), expected, "{text}");
        }
    }
}
