//! Amounts of bytes: `2GB` in the file, bytes in memory.

use std::fmt;

use toml::de::DeValue;

use crate::decode::{Decoder, Node};
use crate::problem::quoted;

/// The units, the largest first.
const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// An amount of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    /// The amount of a TOML value; `None` if it is invalid or too large.
    fn read(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok().map(Self),
            DeValue::String(text) => Self::parse(text),
            _ => None,
        }
    }

    /// A whole number and a unit in any case; without a unit it is bytes.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = (&text[..end], text[end..].trim_start());
        let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(if unit.is_empty() { "B" } else { unit }));
        digits.parse::<u64>().ok()?.checked_mul(known?.1).map(Self)
    }
}

impl fmt::Display for Size {
    /// With the largest unit that divides it: `2GB`, `512MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, bytes)| self.0 >= *bytes && self.0.is_multiple_of(*bytes)) {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Decoder<'_> {
    /// The amount in bytes; `None` after a problem was reported.
    pub(crate) fn size(&mut self, path: &str, least: u64, most: u64, node: &Node<'_>) -> Option<u64> {
        let range = format!("from \"{}\" to \"{}\"", Size(least), Size(most));
        let example = format!("a whole number with a unit, such as \"512MB\", \"2GB\" or \"1GiB\", {range}");
        if !matches!(node.get_ref(), DeValue::String(_) | DeValue::Integer(_)) {
            self.wrong_type(path, node, "an amount of bytes", &example);
            return None;
        }
        let found = Size::read(node.get_ref());
        if let Some(Size(bytes)) = found.filter(|size| (least..=most).contains(&size.0)) {
            return Some(bytes);
        }
        let what = if found.is_some() { "which is out of range" } else { "which is no amount of bytes" };
        let given = node.get_ref().as_str().map_or_else(|| number(node.get_ref()), str::to_owned);
        self.refuse(path, node, format!("'{path}' is {}, {what}", quoted(&given)), format!("write {example}"));
        None
    }
}

fn number(value: &DeValue<'_>) -> String {
    value.as_integer().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown_as_people_write_them() {
        for (text, bytes, shown) in [
            ("2GB", 2_000_000_000, "2GB"),
            ("2 gb", 2_000_000_000, "2GB"),
            ("1GiB", 1 << 30, "1GiB"),
            ("512MB", 512_000_000, "512MB"),
            ("1024KiB", 1 << 20, "1MiB"),
            ("3TB", 3_000_000_000_000, "3TB"),
            ("1500", 1_500, "1500B"),
            ("7B", 7, "7B"),
            ("0", 0, "0B"),
        ] {
            let size = Size::parse(text);
            assert_eq!((size, Size(bytes).to_string().as_str()), (Some(Size(bytes)), shown), "{text}");
        }
    }

    #[test]
    fn invalid_sizes_are_none() {
        for text in ["", "GB", "-1GB", "1.5GB", "2 gigs", "2GBx", "99999999999999999999", "18446744073709551615GB", "٣GB"] {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }
}
