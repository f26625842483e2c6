//! Reading parameters with the forgiveness that models need, for every tool alike.
//!
//! Keys may be spelled in camelCase or by an alias; strings are trimmed and an empty one is missing; numbers and strings
//! stand in for each other; one string or object stands for a list of one; enums ignore case. The keys of objects in a list
//! may be spelled so as well.

#[cfg(test)]
mod tests;

use haft_contract::{Form, ParameterHints, ToolDefinition, ToolError, Unit};
use serde_json::{Map, Number, Value};

use super::arguments::{bounded, missing};
use super::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array { of_strings: bool },
    Object,
    Any,
}

#[derive(Debug)]
struct Parameter {
    name: String,
    kind: Kind,
    choices: Vec<String>,
    default: Option<Value>,
    required: bool,
    verbatim: bool,
    /// What the objects of a list have.
    items: Option<ParameterTable>,
}

/// Another spelling of a parameter.
#[derive(Debug)]
struct Alias {
    /// In snake_case.
    spelling: String,
    place: usize,
    /// What the parameter is counted in, where the alias is canonical and counts as the canonical parameter does.
    unit: Unit,
}

/// More warnings than this help nobody.
const MOST_WARNINGS: usize = 20;

/// What came of reading arguments.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// What was not understood.
    pub(super) warnings: Vec<String>,
    /// Whether the arguments say anything else now.
    pub(super) changed: bool,
}

/// What came of reading one.
enum Settled {
    Same,
    Changed,
    Missing,
}

/// What the reading of a tool's parameters needs, made once from its schema.
#[derive(Debug)]
pub(crate) struct ParameterTable {
    parameters: Vec<Parameter>,
    aliases: Vec<Alias>,
    open: bool,
    /// `read_file(path: string, offset?: integer)`: what a wrong call is shown.
    pub(crate) signature: String,
}

impl ParameterTable {
    pub(crate) fn new(definition: &ToolDefinition) -> Self {
        Self::of(&definition.name, &definition.parameters, &definition.parameter_hints)
    }

    fn of(name: &str, schema: &Value, hints: &ParameterHints) -> Self {
        let mut table = Self::shown(name, schema, hints);
        for (alias, name) in &hints.aliases {
            table.add_alias(alias, name, Unit::Same);
        }
        table
    }

    /// The table of a form: its own names, and behind them the canonical ones, each counted as whoever uses it means it.
    pub(crate) fn in_form(definition: &ToolDefinition, form: &Form) -> Self {
        let (hints, shown) = (&definition.parameter_hints, definition.in_form(form));
        let name_of = |canonical: &str| form.of(canonical).map_or_else(|| canonical.to_owned(), |parameter| parameter.name.to_owned());
        let verbatim = hints.verbatim.iter().map(|name| name_of(name)).collect();
        let items = hints.items.iter().map(|(name, hints)| (name_of(name), hints.clone())).collect();
        let mut table = Self::shown(shown.name, &shown.parameters, &ParameterHints { verbatim, items, ..ParameterHints::default() });
        for parameter in form.parameters {
            table.add_alias(parameter.canonical, parameter.name, parameter.unit);
        }
        for (alias, canonical) in &hints.aliases {
            table.add_alias(alias, &name_of(canonical), form.of(canonical).map_or(Unit::Same, |parameter| parameter.unit));
        }
        table
    }

    fn add_alias(&mut self, alias: &str, name: &str, unit: Unit) {
        if let Some(place) = self.parameters.iter().position(|parameter| parameter.name == name) {
            self.aliases.push(Alias { spelling: snake_case(alias), place, unit });
        }
    }

    fn shown(name: &str, schema: &Value, hints: &ParameterHints) -> Self {
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let parameters: Vec<Parameter> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| Parameter {
                kind: kind_of(schema),
                choices: schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
                default: schema.get("default").cloned(),
                required: required.contains(&name.as_str()),
                verbatim: hints.verbatim.contains(name),
                items: Self::of_items(name, schema, hints),
                name: name.clone(),
            })
            .collect();
        let open = schema.get("additionalProperties").is_some_and(|extra| *extra != Value::Bool(false));
        let signature = signature(name, &parameters);
        Self { parameters, aliases: Vec::new(), open, signature }
    }

    fn of_items(name: &str, schema: &Value, hints: &ParameterHints) -> Option<Self> {
        let items = &schema["items"];
        let hints = hints.items.iter().find(|(list, _)| list == name).map(|(_, hints)| hints.clone()).unwrap_or_default();
        (schema["type"] == "array" && items["properties"].is_object()).then(|| Self::of(name, items, &hints))
    }

    /// Reads arguments in place; says what was not understood.
    pub(super) fn read(&self, map: &mut Map<String, Value>) -> Result<Reading, ToolError> {
        let mut reading = self.settle_names(map);
        let mut given = 0;
        let mut empty = Vec::new();
        for (key, value) in map.iter_mut() {
            let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == *key) else { continue };
            match parameter.settle(value) {
                Settled::Same => given += 1,
                Settled::Changed => (given, reading.changed) = (given + 1, true),
                Settled::Missing => empty.push(parameter),
            }
            reading.add(parameter.settle_items(value));
        }
        reading.changed |= !empty.is_empty();
        for parameter in empty {
            map.shift_remove(&parameter.name);
        }
        if given < self.parameters.len() {
            reading.changed |= self.fill(map)?;
        }
        Ok(reading)
    }

    /// Defaults for what is absent; what is required and absent is said.
    fn fill(&self, map: &mut Map<String, Value>) -> Result<bool, ToolError> {
        let mut filled = false;
        for parameter in self.parameters.iter().filter(|parameter| parameter.required || parameter.default.is_some()) {
            if map.contains_key(&parameter.name) {
                continue;
            }
            match &parameter.default {
                Some(default) => {
                    map.insert(parameter.name.clone(), default.clone());
                    filled = true;
                }
                None => return Err(ToolError::validation(format!("{} {}", missing(&parameter.name), self.signature))),
            }
        }
        Ok(filled)
    }

    /// Renames what is spelled differently; reports what is unknown. Nearly always there is nothing to do.
    fn settle_names(&self, map: &mut Map<String, Value>) -> Reading {
        if map.keys().all(|key| self.parameters.iter().any(|parameter| parameter.name == *key)) {
            return Reading::default();
        }
        let strange: Vec<String> =
            map.keys().filter(|key| !self.parameters.iter().any(|parameter| parameter.name == **key)).cloned().collect();
        let mut reading = Reading::default();
        let mut unsaid = 0;
        for key in strange {
            let warning = match self.meant(&key) {
                Some((name, unit)) if map.get(name).is_none_or(Value::is_null) => {
                    if let Some(value) = map.shift_remove(&key) {
                        map.insert(name.to_owned(), counted(value, unit));
                        reading.changed = true;
                    }
                    continue;
                }
                None if self.open => continue,
                Some((name, _)) => format!("'{}' was ignored: '{name}' is given as well", bounded(&key, 80)),
                None => format!("unknown parameter '{}' was ignored", bounded(&key, 80)),
            };
            if reading.warnings.len() < MOST_WARNINGS { reading.warnings.push(warning) } else { unsaid += 1 }
        }
        if unsaid > 0 {
            reading.warnings.push(format!("and {unsaid} more"));
        }
        reading
    }

    fn meant(&self, key: &str) -> Option<(&str, Unit)> {
        let wanted = snake_case(key);
        if let Some(same) = self.parameters.iter().find(|parameter| snake_case(&parameter.name) == wanted) {
            return Some((&same.name, Unit::Same));
        }
        let alias = self.aliases.iter().find(|alias| alias.spelling == wanted)?;
        Some((&self.parameters[alias.place].name, alias.unit))
    }
}

impl Reading {
    fn add(&mut self, other: Self) {
        self.changed |= other.changed;
        self.warnings.extend(other.warnings);
        self.warnings.truncate(MOST_WARNINGS + 1);
    }
}

impl Parameter {
    /// Gives the keys of a list's objects the names they have.
    fn settle_items(&self, value: &mut Value) -> Reading {
        let mut reading = Reading::default();
        let (Some(table), Value::Array(items)) = (&self.items, value) else { return reading };
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            reading.add(table.settle_names(item));
        }
        reading
    }

    /// Coerces the value of this parameter in place; says what came of it.
    fn settle(&self, value: &mut Value) -> Settled {
        let mut settled = Settled::Same;
        if !self.verbatim
            && self.kind != Kind::Any
            && let Value::String(text) = value
        {
            let trimmed = text.trim();
            if trimmed.len() != text.len() {
                *text = trimmed.to_owned();
                settled = Settled::Changed;
            }
            if text.is_empty() {
                return Settled::Missing;
            }
        }
        if let Some(better) = self.coerced(value) {
            *value = better;
            settled = Settled::Changed;
        }
        if value.is_null() { Settled::Missing } else { settled }
    }

    fn coerced(&self, value: &Value) -> Option<Value> {
        match (self.kind, value) {
            (Kind::String, Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
            (Kind::String, Value::String(text)) if !self.choices.is_empty() => self.choice(text),
            (Kind::Integer | Kind::Number, Value::String(text)) => number(text, self.kind),
            (Kind::Integer, Value::Number(number)) if number.is_f64() => whole(number.as_f64()?),
            (Kind::Boolean, Value::String(text)) => match text.to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            (Kind::Array { .. }, Value::String(text)) => {
                embedded(text).filter(Value::is_array).or_else(|| Some(Value::Array(vec![Value::String(text.clone())])))
            }
            (Kind::Array { of_strings: true }, Value::Array(items)) if items.iter().any(|item| item.is_number() || item.is_boolean()) => {
                Some(
                    items
                        .iter()
                        .map(|item| if item.is_number() || item.is_boolean() { Value::String(item.to_string()) } else { item.clone() })
                        .collect(),
                )
            }
            (Kind::Array { .. }, Value::Object(_)) if self.items.is_some() => Some(Value::Array(vec![value.clone()])),
            (Kind::Object, Value::String(text)) => embedded(text).filter(Value::is_object),
            _ => None,
        }
    }

    fn choice(&self, text: &str) -> Option<Value> {
        if self.choices.iter().any(|choice| choice == text) {
            return None;
        }
        self.choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)).map(|choice| Value::String(choice.clone()))
    }
}

/// A canonical number in the unit of the form, also where it came as text.
fn counted(value: Value, unit: Unit) -> Value {
    match (&value, unit) {
        (_, Unit::Same) => value,
        (Value::String(text), _) => number(text.trim(), Kind::Number).map_or(value, |number| unit.shown_value(&number)),
        _ => unit.shown_value(&value),
    }
}

/// Some models send a list or an object as JSON text.
fn embedded(text: &str) -> Option<Value> {
    text.starts_with(['[', '{']).then(|| json::parse(text, usize::MAX).ok()).flatten()
}

fn number(text: &str, kind: Kind) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Value::Number(integer.into()));
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
    if kind == Kind::Integer { whole(float) } else { Number::from_f64(float).map(Value::Number) }
}

/// `5.0` is 5; `5.5` stays, for the schema to refuse.
#[allow(clippy::cast_possible_truncation)] // guarded: no fraction, and well inside i64
fn whole(float: f64) -> Option<Value> {
    (float.fract() == 0.0 && float.abs() < 9e15).then(|| Value::Number((float as i64).into()))
}

fn kind_of(schema: &Value) -> Kind {
    match schema["type"].as_str() {
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("array") => Kind::Array { of_strings: schema["items"]["type"] == "string" },
        Some("object") => Kind::Object,
        _ => Kind::Any,
    }
}

fn signature(name: &str, parameters: &[Parameter]) -> String {
    let list: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let mark = if parameter.required { "" } else { "?" };
            let kind = match parameter.kind {
                Kind::String if !parameter.choices.is_empty() => parameter.choices.join("|"),
                Kind::String => "string".into(),
                Kind::Integer => "integer".into(),
                Kind::Number => "number".into(),
                Kind::Boolean => "boolean".into(),
                Kind::Array { .. } => "array".into(),
                Kind::Object => "object".into(),
                Kind::Any => "any".into(),
            };
            format!("{}{mark}: {kind}", parameter.name)
        })
        .collect();
    format!("Expected: {name}({}).", list.join(", "))
}

/// `filePath` → `file_path`, `HTTPUrl` → `http_url`, `file-path` → `file_path`.
fn snake_case(key: &str) -> String {
    let letters: Vec<char> = key.trim().chars().collect();
    let mut out = String::with_capacity(key.len() + 4);
    for (place, &letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map(|at| letters[at]);
        let next_is_lower = letters.get(place + 1).is_some_and(|next| next.is_lowercase());
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit() || (before.is_uppercase() && next_is_lower));
        if starts_word {
            out.push('_');
        }
        match letter {
            '-' | ' ' | '.' => out.push('_'),
            _ => out.extend(letter.to_lowercase()),
        }
    }
    out
}
