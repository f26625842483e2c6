//! Amounts of money: decimals in the file, whole millionths in memory, because binary fractions are not exact.

use std::fmt;

use toml::de::DeValue;

use crate::decode::{Decoder, Node};
use crate::problem::quoted;

/// The largest amount that a key takes, in whole units.
pub(crate) const MOST: i64 = 1_000_000;
const MICROS: i64 = 1_000_000;
const MOST_DECIMALS: usize = 6;

/// An amount, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Money(pub(crate) i64);

/// Why a number is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MoneyFault {
    /// Not a number.
    NotANumber,
    /// Negative, too large, or not finite.
    OutOfRange,
    /// More than six decimals.
    TooFine,
}

impl Money {
    /// The exact amount of a TOML value.
    fn read(value: &DeValue<'_>) -> Result<Self, MoneyFault> {
        match value {
            DeValue::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| MoneyFault::OutOfRange)?;
                Self::bounded(whole, 0)
            }
            DeValue::Float(number) => Self::decimal(number.as_str()),
            _ => Err(MoneyFault::NotANumber),
        }
    }

    /// Digits, a point and digits; an exponent if the float has a short form without one.
    fn decimal(text: &str) -> Result<Self, MoneyFault> {
        let plain = match text.parse::<f64>() {
            Ok(number) if text.contains(['e', 'E']) && number.is_finite() => format!("{number}"),
            Ok(number) if number.is_finite() => text.trim_start_matches('+').to_owned(),
            _ => return Err(MoneyFault::OutOfRange),
        };
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > MOST_DECIMALS {
            return Err(MoneyFault::TooFine);
        }
        // A negative zero is zero.
        let below = whole.starts_with('-') && plain.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
        let whole = whole.trim_start_matches('-').parse().map_err(|_| MoneyFault::OutOfRange)?;
        let fraction = format!("{fraction:0<MOST_DECIMALS$}").parse().map_err(|_| MoneyFault::OutOfRange)?;
        if below { Err(MoneyFault::OutOfRange) } else { Self::bounded(whole, fraction) }
    }

    fn bounded(whole: i64, fraction: i64) -> Result<Self, MoneyFault> {
        let within = (0..MOST).contains(&whole) || (whole, fraction) == (MOST, 0);
        if within { Ok(Self(whole * MICROS + fraction)) } else { Err(MoneyFault::OutOfRange) }
    }
}

impl fmt::Display for Money {
    /// The shortest form: `3`, `0.25`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / MICROS, self.0 % MICROS);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{fraction:0>MOST_DECIMALS$}").trim_end_matches('0'))
    }
}

impl Decoder<'_> {
    /// The amount in millionths; `None` after a problem was reported.
    pub(crate) fn money(&mut self, path: &str, node: &Node<'_>) -> Option<i64> {
        let range = format!("a number from 0 to {MOST}, with at most {MOST_DECIMALS} decimals");
        let fault = match Money::read(node.get_ref()) {
            Ok(Money(micros)) => return Some(micros),
            Err(fault) => fault,
        };
        let what = match fault {
            MoneyFault::NotANumber => {
                self.wrong_type(path, node, "an amount of money", &format!("{range}, without quotes and without a currency"));
                return None;
            }
            MoneyFault::OutOfRange => "is out of range",
            MoneyFault::TooFine => "has too many decimals",
        };
        self.refuse(path, node, format!("'{path}' is {}, which {what}", quoted(&format_number(node.get_ref()))), format!("use {range}"));
        None
    }
}

fn format_number(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(i64, String), MoneyFault> {
        let value = DeValue::parse(text).unwrap();
        Money::read(value.get_ref()).map(|money| (money.0, money.to_string()))
    }

    #[test]
    fn decimals_are_exact() {
        for (text, micros, shown) in [
            ("0", 0, "0"),
            ("3", 3_000_000, "3"),
            ("3.0", 3_000_000, "3"),
            ("+2.50", 2_500_000, "2.5"),
            ("0.1", 100_000, "0.1"),
            ("0.000001", 1, "0.000001"),
            ("0.07", 70_000, "0.07"),
            ("1_000.5", 1_000_500_000, "1000.5"),
            ("0x10", 16_000_000, "16"),
            ("25e-2", 250_000, "0.25"),
            ("1e3", 1_000_000_000, "1000"),
            ("1000000", 1_000_000_000_000, "1000000"),
            ("999999.999999", 999_999_999_999, "999999.999999"),
            ("-0.0", 0, "0"),
            ("0.1000000", 100_000, "0.1"),
        ] {
            assert_eq!(read(text), Ok((micros, shown.to_owned())), "{text}");
        }
    }

    #[test]
    fn invalid_amounts_are_refused() {
        use MoneyFault::{NotANumber, OutOfRange, TooFine};
        for (text, fault) in [
            ("-1", OutOfRange),
            ("-0.5", OutOfRange),
            ("nan", OutOfRange),
            ("inf", OutOfRange),
            ("-inf", OutOfRange),
            ("1000000.000001", OutOfRange),
            ("1000001", OutOfRange),
            ("1e300", OutOfRange),
            ("9223372036854775808", OutOfRange),
            ("1e-7", TooFine),
            ("0.0000001", TooFine),
            ("'3'", NotANumber),
            ("true", NotANumber),
            ("[3]", NotANumber),
        ] {
            assert_eq!(read(text), Err(fault), "{text}");
        }
    }
}
