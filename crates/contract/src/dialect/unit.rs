//! Units: the same quantity, counted differently.

use serde_json::{Number, Value};

/// What a dialect counts a parameter in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Unit {
    /// What the canonical parameter is counted in.
    #[default]
    Same,
    /// Milliseconds, where the canonical parameter counts seconds.
    Milliseconds,
    /// From zero, where the canonical parameter counts from one.
    FromZero,
}

const THOUSAND: i128 = 1000;

impl Unit {
    /// A number of this unit, in the canonical one. Where only whole numbers are wanted, a part of one counts as one: a
    /// timeout of 700 ms is a second, not none at all.
    pub fn canonical(self, number: &Number, whole: bool) -> Number {
        match self {
            Self::Same => number.clone(),
            Self::FromZero => shifted(number, 1),
            Self::Milliseconds => seconds(number, whole),
        }
    }

    /// A canonical number, in this unit.
    pub fn express(self, number: &Number) -> Number {
        match self {
            Self::Same => number.clone(),
            Self::FromZero => at_least_zero(shifted(number, -1)),
            Self::Milliseconds => milliseconds(number),
        }
    }

    /// A canonical value in this unit; what is no number stays, for the schema to check.
    pub fn shown_value(self, value: &Value) -> Value {
        value.as_number().map_or_else(|| value.clone(), |number| self.express(number).into())
    }

    /// A bound of the canonical schema in this unit, so that what is within it here is within it there. Times and counts
    /// have no negative bounds.
    pub(super) fn bound(self, keyword: &str, limit: &Number, whole: bool) -> Number {
        let rounds_up = whole && self == Self::Milliseconds;
        match exact(limit) {
            // Every part of a second counts as one, so the first millisecond of it is enough.
            Some(seconds) if rounds_up && (keyword == "exclusiveMaximum" || keyword == "minimum" && seconds > 0) => {
                number((seconds - 1) * THOUSAND + 1).unwrap_or_else(|| limit.clone())
            }
            // Zero is above this bound, so the bound itself lies below zero.
            Some(0) if self == Self::FromZero && keyword == "exclusiveMinimum" => Number::from(-1),
            _ => self.express(limit),
        }
    }

    /// In words, for the description of a parameter.
    pub(super) const fn note(self) -> Option<&'static str> {
        match self {
            Self::Same => None,
            Self::Milliseconds => Some("In milliseconds."),
            Self::FromZero => Some("Counted from 0."),
        }
    }
}

/// A whole number, however it is written.
#[allow(clippy::cast_possible_truncation)] // guarded: no fraction, and well inside i128
fn exact(number: &Number) -> Option<i128> {
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e30).map(|float| float as i128))
}

fn number(integer: i128) -> Option<Number> {
    let unsigned = u64::try_from(integer).ok().map(Number::from);
    unsigned.or_else(|| i64::try_from(integer).ok().map(Number::from))
}

fn float(value: f64) -> Option<Number> {
    Number::from_f64(value)
}

/// The last number there is has none behind it.
fn shifted(from: &Number, by: i128) -> Number {
    let moved = match exact(from) {
        Some(integer) => number(integer + by),
        None => from.as_f64().and_then(|value| float(value + if by > 0 { 1.0 } else { -1.0 })),
    };
    moved.unwrap_or_else(|| from.clone())
}

fn at_least_zero(number: Number) -> Number {
    if number.as_f64().is_some_and(|value| value < 0.0) { Number::from(0) } else { number }
}

fn seconds(from: &Number, whole: bool) -> Number {
    let converted = match exact(from) {
        Some(integer) if integer % THOUSAND == 0 => number(integer / THOUSAND),
        Some(integer) if whole => number(integer / THOUSAND + integer.signum()),
        _ => from.as_f64().and_then(|value| float(value / 1000.0)),
    };
    converted.unwrap_or_else(|| from.clone())
}

fn milliseconds(from: &Number) -> Number {
    let converted = match exact(from) {
        Some(integer) => number(integer * THOUSAND),
        None => from.as_f64().and_then(|value| whole(value * 1000.0).or_else(|| float(value * 1000.0))),
    };
    converted.unwrap_or_else(|| from.clone())
}

/// `700.0` is better written as 700.
fn whole(value: f64) -> Option<Number> {
    exact(&float(value)?).and_then(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> Number {
        value.as_number().unwrap().clone()
    }

    #[test]
    fn numbers_are_translated_both_ways() {
        for (unit, shown, canonical) in [
            (Unit::Same, json!(5), json!(5)),
            (Unit::Milliseconds, json!(2000), json!(2)),
            (Unit::Milliseconds, json!(700), json!(0.7)),
            (Unit::Milliseconds, json!(1), json!(0.001)),
            (Unit::Milliseconds, json!(0), json!(0)),
            (Unit::Milliseconds, json!(-1500), json!(-1.5)),
            (Unit::FromZero, json!(0), json!(1)),
            (Unit::FromZero, json!(9), json!(10)),
        ] {
            assert_eq!(unit.canonical(&of(&shown), false), of(&canonical), "{unit:?} {shown}");
            assert_eq!(unit.express(&of(&canonical)), of(&shown), "{unit:?} {canonical}");
        }
    }

    #[test]
    fn a_part_of_a_second_is_never_none() {
        for (shown, seconds) in [(0, 0), (1, 1), (700, 1), (1000, 1), (1001, 2), (-1, -1)] {
            assert_eq!(Unit::Milliseconds.canonical(&shown.into(), true), Number::from(seconds), "{shown} ms");
        }
    }

    #[test]
    fn the_largest_numbers_stay_numbers() {
        let (most, least) = (Number::from(u64::MAX), Number::from(i64::MIN));
        assert_eq!(Unit::FromZero.canonical(&most, true), most);
        assert_eq!(Unit::FromZero.express(&least), Number::from(0));
        assert_eq!(Unit::Milliseconds.express(&most), most);
        assert_eq!(Unit::Milliseconds.canonical(&of(&json!(1e300)), true), of(&json!(1e297)));
        assert_eq!(Unit::Milliseconds.canonical(&of(&json!(0.5)), false), of(&json!(0.0005)));
    }

    /// What a bound lets through here, the canonical bound lets through there; at its edge they part together.
    #[test]
    fn a_bound_parts_the_same_numbers() {
        for (unit, keyword, limit, shown) in [
            (Unit::Milliseconds, "minimum", 1, 1),
            (Unit::Milliseconds, "minimum", 5, 4001),
            (Unit::Milliseconds, "minimum", 0, 0),
            (Unit::Milliseconds, "maximum", 5, 5000),
            (Unit::Milliseconds, "exclusiveMinimum", 5, 5000),
            (Unit::Milliseconds, "exclusiveMaximum", 5, 4001),
            (Unit::FromZero, "minimum", 1, 0),
            (Unit::FromZero, "minimum", 0, 0),
            (Unit::FromZero, "maximum", 10, 9),
            (Unit::FromZero, "exclusiveMinimum", 0, -1),
            (Unit::FromZero, "exclusiveMinimum", 1, 0),
        ] {
            assert_eq!(unit.bound(keyword, &limit.into(), true), Number::from(shown), "{unit:?} {keyword} {limit}");
        }
        assert_eq!(Unit::Milliseconds.bound("minimum", &1.into(), false), Number::from(1000), "a part of a second is a part here");
    }
}
