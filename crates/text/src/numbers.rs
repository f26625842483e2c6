//! Numbers in sentences.

use std::fmt::Display;

/// A number with its noun: `1 line`, `2 matches`, `1,200 files`.
pub fn count(number: impl Display, noun: &str) -> String {
    let number = group_digits(number);
    let plural = match (number.as_str(), noun.ends_with("ch")) {
        ("1", _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{number} {noun}{plural}")
}

/// A number with commas between its thousands.
pub fn group_digits(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `line 3`, or `lines 3-5`.
pub fn line_range((first, last): (usize, usize)) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}-{last}") }
}

/// A number of bytes: `512 bytes`, `4.6 MB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn size(bytes: u64) -> String {
    match bytes {
        1 => return "1 byte".to_owned(),
        0..1024 => return format!("{bytes} bytes"),
        _ => {}
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut units = ["KB", "MB", "GB"].iter();
    let mut unit = units.next().unwrap_or(&"KB");
    for larger in units {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    format!("{amount:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_ranges_agree_with_their_numbers() {
        assert_eq!([0, 999, 1000, 1_234_567].map(group_digits), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([count(1, "match"), count(2, "match"), count(3_000, "line")], ["1 match", "2 matches", "3,000 lines"]);
        assert_eq!([line_range((3, 3)), line_range((3, 5))], ["line 3", "lines 3-5"]);
    }

    #[test]
    fn sizes_have_one_decimal_and_a_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1.0 KB"),
            (102_400, "100.0 KB"),
            (4_823_450, "4.6 MB"),
            (5 << 30, "5.0 GB"),
            (5 << 50, "5242880.0 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
