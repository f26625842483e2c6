//! Inputs that a shape accepts.

use serde_json::{Map, Value, json};

use crate::shape::{Field, Rest, Shape};

/// Source of the choices of a sample.
pub(crate) struct Choices<'a> {
    bytes: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    undeclared: bool,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8], undeclared: bool) -> Self {
        Self { bytes: bytes.iter().cycle(), undeclared }
    }
    fn next(&mut self, below: usize) -> usize {
        usize::from(*self.bytes.next().unwrap()) % below
    }
    fn flip(&mut self) -> bool {
        self.next(2) == 0
    }
}

impl Shape {
    pub(crate) fn sample(&self, choices: &mut Choices<'_>) -> Value {
        match self {
            Self::Text { bounded, .. } => {
                json!((0..usize::from(*bounded) + choices.next(7)).map(|_| ["a", "b", "c"][choices.next(3)]).collect::<String>())
            }
            Self::Whole { low, high, exclusive } => {
                let (low, high) = if *exclusive { (low + 1, high - 1) } else { (*low, *high) };
                json!(low + i64::try_from(choices.next(9)).unwrap() % (high - low + 1))
            }
            Self::Number => [json!(0.5), json!(-3), json!(7.0)][choices.next(3)].clone(),
            Self::Flag => json!(choices.flip()),
            Self::Literals(values) => values[choices.next(values.len())].clone(),
            Self::Constant(value) => value.clone(),
            Self::Anything => {
                [json!("x"), json!(1), json!(1.5), json!(true), json!(null), json!({"k": [1]}), json!([1, "a"])][choices.next(7)].clone()
            }
            Self::List { items, bounded } => (0..usize::from(*bounded) + choices.next(3)).map(|_| items.sample(choices)).collect(),
            Self::BareList => (0..choices.next(3)).map(|_| Self::Anything.sample(choices)).collect(),
            Self::Tuple { first, rest, closed } => {
                let more = match rest {
                    Some(rest) => vec![rest.sample(choices)],
                    None if *closed => Vec::new(),
                    None => vec![Self::Anything.sample(choices)],
                };
                std::iter::once(first.sample(choices)).chain(more).take(choices.next(3)).collect()
            }
            Self::Record { fields, rest } => sample_record(fields, rest, choices),
            Self::Choice { .. } => [json!("t"), json!(3), json!([true])][choices.next(3)].clone(),
            Self::Tagged { variants } => {
                let (tag, fields) = &variants[choices.next(variants.len())];
                let mut sample = sample_fields(fields, choices);
                sample.insert("tag".into(), json!(tag));
                Value::Object(sample)
            }
            Self::Nullable { inner, .. } => {
                if choices.flip() {
                    Value::Null
                } else {
                    inner.sample(choices)
                }
            }
            Self::Both { left, right } => {
                let mut both = sample_fields(left, choices);
                both.extend(sample_fields(right, choices));
                Value::Object(both)
            }
            Self::Named { inner, .. } => inner.sample(choices),
        }
    }
}

fn sample_fields(fields: &[Field], choices: &mut Choices<'_>) -> Map<String, Value> {
    let mut sample = Map::new();
    for field in fields {
        if field.required || choices.flip() {
            sample.insert(field.name.clone(), field.shape.sample(choices));
        }
    }
    sample
}

fn sample_record(fields: &[Field], rest: &Rest, choices: &mut Choices<'_>) -> Value {
    let mut sample = sample_fields(fields, choices);
    match rest {
        Rest::Silent if choices.undeclared && choices.flip() => drop(sample.insert("undeclared".into(), json!(1))),
        Rest::Map(shape) => drop(sample.insert("more".into(), shape.sample(choices))),
        Rest::Pattern(shape, _) => drop(sample.insert("x_more".into(), shape.sample(choices))),
        Rest::Silent | Rest::Closed => {}
    }
    Value::Object(sample)
}
