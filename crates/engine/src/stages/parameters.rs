//! Reading parameters with the tolerance that models need, for every tool alike.
//!
//! Keys may be spelled in camelCase or by an alias; strings are trimmed and an empty one is missing; numbers and strings
//! are converted into each other; one string or object becomes a list of one; enums ignore case. Values in lists and objects
//! are read in the same way, except that their strings stay as they are.

#[cfg(test)]
mod tests;

use haft_contract::{Dialect, DialectTool, Form, ParameterHints, ToolDefinition, ToolError, Unit};
use haft_text::case::snake_case;
use haft_text::truncate::ellipsize;
use serde_json::{Map, Number, Value};

use super::arguments::missing;
use super::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Any,
}

#[derive(Debug)]
struct ParameterSpec {
    name: String,
    kind: ParameterKind,
    choices: Vec<String>,
    /// Other spellings of the choices, in snake_case.
    spellings: Vec<(String, String)>,
    default: Option<Value>,
    required: bool,
    verbatim: bool,
    parts: PartSpec,
}

/// What a list or an object consists of.
#[derive(Debug)]
enum PartSpec {
    None,
    /// A list of objects.
    Objects(ParameterTable),
    /// A list of other values.
    Values(Box<ParameterSpec>),
    /// An object.
    Fields(ParameterTable),
}

/// Another spelling of a parameter.
#[derive(Debug)]
struct Alias {
    /// In snake_case.
    spelling: String,
    /// Index of the parameter.
    parameter: usize,
    /// Unit of the parameter, where the alias is canonical and counts as the canonical parameter does.
    unit: Unit,
}

/// How many warnings a result carries.
const MAX_WARNINGS: usize = 20;

/// The outcome of reading arguments.
#[derive(Debug, Default)]
pub(super) struct ReadingReport {
    /// Arguments that were not understood.
    pub(super) warnings: Vec<String>,
    /// Whether the arguments were changed.
    pub(super) changed: bool,
}

/// The outcome of reading one value.
enum Coercion {
    Same,
    Changed,
    Missing,
}

/// The parameters of a tool, made once from its schema.
#[derive(Debug)]
pub(crate) struct ParameterTable {
    parameters: Vec<ParameterSpec>,
    aliases: Vec<Alias>,
    open: bool,
    /// `read_file(path: string, offset?: integer)`: shown to a wrong call.
    pub(crate) signature: String,
}

impl ParameterTable {
    pub(crate) fn new(definition: &ToolDefinition) -> Self {
        let mut table = Self::from_schema(&definition.name, &definition.parameters, definition.parameters.hints());
        table.signature = shown_signature(&definition.in_dialect(Dialect::Haft));
        table
    }

    fn from_schema(name: &str, schema: &Value, hints: &ParameterHints) -> Self {
        let mut table = Self::without_aliases(name, schema, hints);
        for (alias, name) in &hints.aliases {
            table.add_alias(alias, name, Unit::Same);
        }
        table
    }

    /// The table of a form: its own names, and the canonical ones as aliases, each in the unit of the name that is used.
    pub(crate) fn in_form(definition: &ToolDefinition, form: &Form) -> Self {
        let (hints, shown) = (definition.parameters.hints(), definition.in_form(form));
        let name_of =
            |canonical: &str| form.find_canonical(canonical).map_or_else(|| canonical.to_owned(), |parameter| parameter.name.to_owned());
        let verbatim = hints.verbatim.iter().map(|name| name_of(name)).collect();
        let choices = hints.choices.iter().map(|(name, choices)| (name_of(name), choices.clone())).collect();
        let items = hints.items.iter().map(|(name, hints)| (name_of(name), hints.clone())).collect();
        let mut table = Self::without_aliases(
            shown.name,
            &definition.accepted_in(form),
            &ParameterHints { verbatim, items, choices, ..ParameterHints::default() },
        );
        table.signature = shown_signature(&shown);
        for parameter in form.parameters {
            table.add_alias(parameter.canonical, parameter.name, parameter.unit);
        }
        for (alias, canonical) in &hints.aliases {
            table.add_alias(alias, &name_of(canonical), form.find_canonical(canonical).map_or(Unit::Same, |parameter| parameter.unit));
        }
        table
    }

    fn add_alias(&mut self, alias: &str, name: &str, unit: Unit) {
        if let Some(parameter) = self.parameters.iter().position(|parameter| parameter.name == name) {
            self.aliases.push(Alias { spelling: folded_key(alias), parameter, unit });
        }
    }

    fn without_aliases(name: &str, schema: &Value, hints: &ParameterHints) -> Self {
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let parameters: Vec<ParameterSpec> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| ParameterSpec {
                required: required.contains(&name.as_str()),
                verbatim: hints.verbatim.contains(name),
                ..ParameterSpec::new(name, schema, hints)
            })
            .collect();
        let open = schema.get("additionalProperties").is_some_and(|extra| *extra != Value::Bool(false));
        let signature = signature(name, &parameters);
        Self { parameters, aliases: Vec::new(), open, signature }
    }

    /// Reads arguments in place; reports those that were not understood.
    pub(super) fn read(&self, map: &mut Map<String, Value>) -> Result<ReadingReport, ToolError> {
        let is_opened = self.open_choices(map);
        let mut reading = self.rename_keys(map);
        reading.changed |= is_opened;
        let mut given = 0;
        let mut empty = Vec::new();
        for (key, value) in map.iter_mut() {
            let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == *key) else { continue };
            match parameter.coerce(value) {
                Coercion::Same => given += 1,
                Coercion::Changed => (given, reading.changed) = (given + 1, true),
                Coercion::Missing => empty.push(parameter),
            }
            reading.add(parameter.read_parts(value));
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

    /// `{"mode": "announce", "to": "#ops"}` in place of a choice, as other systems have it: the mode is the choice, and the other members are
    /// parameters beside it, unless they are given there. Nearly always there is nothing to do.
    fn open_choices(&self, map: &mut Map<String, Value>) -> bool {
        if !map.values().any(Value::is_object) {
            return false;
        }
        let mut is_opened = false;
        for parameter in self.parameters.iter().filter(|parameter| !parameter.choices.is_empty()) {
            let Some(Value::Object(members)) = map.get(&parameter.name) else { continue };
            let Some(mode) = members.get("mode").filter(|mode| mode.is_string()).cloned() else { continue };
            let beside: Vec<(String, Value)> =
                members.iter().filter(|(name, _)| *name != "mode").map(|(n, v)| (n.clone(), v.clone())).collect();
            map.insert(parameter.name.clone(), mode);
            for (name, value) in beside {
                map.entry(name).or_insert(value);
            }
            is_opened = true;
        }
        is_opened
    }

    /// Reads an object within the arguments: its keys, and the types of its values.
    fn read_within(&self, map: &mut Map<String, Value>) -> ReadingReport {
        let mut reading = self.rename_keys(map);
        let given = map.len();
        map.retain(|key, value| {
            !(value.is_null() && self.parameters.iter().any(|parameter| parameter.name == *key && parameter.may_be_absent()))
        });
        reading.changed |= map.len() < given;
        for (key, value) in map.iter_mut() {
            let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == *key) else { continue };
            reading.add(parameter.read_within(value));
        }
        reading
    }

    /// Fills in defaults; a required parameter that is absent is an error.
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

    /// Renames keys that are spelled differently; reports unknown ones. Nearly always there is nothing to do.
    fn rename_keys(&self, map: &mut Map<String, Value>) -> ReadingReport {
        if map.keys().all(|key| self.parameters.iter().any(|parameter| parameter.name == *key)) {
            return ReadingReport::default();
        }
        let unknown: Vec<String> =
            map.keys().filter(|key| !self.parameters.iter().any(|parameter| parameter.name == **key)).cloned().collect();
        let mut reading = ReadingReport::default();
        let mut omitted = 0;
        for key in unknown {
            let warning = match self.resolve_key(&key) {
                Some((name, unit)) if map.get(name).is_none_or(Value::is_null) => {
                    if let Some(value) = map.shift_remove(&key) {
                        map.insert(name.to_owned(), counted(value, unit));
                        reading.changed = true;
                    }
                    continue;
                }
                None if self.open => continue,
                Some((name, _)) => format!("'{}' was ignored: '{name}' is given as well", ellipsize(&key, 80)),
                None => format!("unknown parameter '{}' was ignored", ellipsize(&key, 80)),
            };
            if reading.warnings.len() < MAX_WARNINGS { reading.warnings.push(warning) } else { omitted += 1 }
        }
        if omitted > 0 {
            reading.warnings.push(format!("and {omitted} more"));
        }
        reading
    }

    fn resolve_key(&self, key: &str) -> Option<(&str, Unit)> {
        let wanted = folded_key(key);
        if let Some(same) = self.parameters.iter().find(|parameter| folded_key(&parameter.name) == wanted) {
            return Some((&same.name, Unit::Same));
        }
        let alias = self.aliases.iter().find(|alias| alias.spelling == wanted)?;
        Some((&self.parameters[alias.parameter].name, alias.unit))
    }
}

impl ReadingReport {
    fn add(&mut self, other: Self) {
        self.changed |= other.changed;
        self.warnings.extend(other.warnings);
        self.warnings.truncate(MAX_WARNINGS + 1);
    }
}

impl ParameterSpec {
    fn new(name: &str, schema: &Value, hints: &ParameterHints) -> Self {
        let choices = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let (kind, default, parts) = (kind_of(schema), schema.get("default").cloned(), PartSpec::new(name, schema, hints));
        let spelled = hints.choices.iter().filter(|(parameter, _)| parameter == name).flat_map(|(_, spelled)| spelled);
        let spellings = spelled.map(|(spelling, choice)| (folded_key(spelling), choice.clone())).collect();
        Self { name: name.to_owned(), kind, choices, spellings, default, required: false, verbatim: false, parts }
    }

    /// Whether null says no more than that it is absent: it is no value of its own.
    fn may_be_absent(&self) -> bool {
        !self.required && (self.kind != ParameterKind::Any || !self.choices.is_empty())
    }

    /// Reads the parts of a list or an object.
    fn read_parts(&self, value: &mut Value) -> ReadingReport {
        let mut reading = ReadingReport::default();
        match (&self.parts, value) {
            (PartSpec::Objects(table), Value::Array(items)) => {
                for item in items {
                    if let Some(object) = item.as_str().and_then(embedded).filter(Value::is_object) {
                        (*item, reading.changed) = (object, true);
                    }
                    if let Value::Object(map) = item {
                        reading.add(table.read_within(map));
                    }
                }
            }
            (PartSpec::Values(spec), Value::Array(items)) => items.iter_mut().for_each(|item| reading.add(spec.read_within(item))),
            (PartSpec::Fields(table), Value::Object(map)) => reading.add(table.read_within(map)),
            _ => {}
        }
        reading
    }

    /// Converts a value within a list or an object; its text stays as it is.
    fn read_within(&self, value: &mut Value) -> ReadingReport {
        let better = self.convert(value);
        let changed = better.is_some();
        if let Some(better) = better {
            *value = better;
        }
        let mut reading = self.read_parts(value);
        reading.changed |= changed;
        reading
    }

    /// Coerces the value of this parameter in place.
    fn coerce(&self, value: &mut Value) -> Coercion {
        let mut coercion = Coercion::Same;
        if !self.verbatim
            && self.kind != ParameterKind::Any
            && let Value::String(text) = value
        {
            let trimmed = text.trim();
            if trimmed.len() != text.len() {
                *text = trimmed.to_owned();
                coercion = Coercion::Changed;
            }
            if text.is_empty() {
                return Coercion::Missing;
            }
        }
        if let Some(better) = self.convert(value) {
            *value = better;
            coercion = Coercion::Changed;
        }
        if value.is_null() { Coercion::Missing } else { coercion }
    }

    fn convert(&self, value: &Value) -> Option<Value> {
        match (self.kind, value) {
            (ParameterKind::String, Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
            (ParameterKind::String, Value::String(text)) if !self.choices.is_empty() => self.choice(text),
            (ParameterKind::Integer | ParameterKind::Number, Value::String(text)) => number(text, self.kind),
            (ParameterKind::Integer, Value::Number(number)) if number.is_f64() => whole(number.as_f64()?),
            (ParameterKind::Boolean, Value::String(text)) => match text.to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            (ParameterKind::Array, Value::String(text)) => {
                embedded(text).filter(Value::is_array).or_else(|| Some(Value::Array(vec![Value::String(text.clone())])))
            }
            (ParameterKind::Array, Value::Object(_)) if matches!(self.parts, PartSpec::Objects(_)) => {
                Some(Value::Array(vec![value.clone()]))
            }
            (ParameterKind::Object, Value::String(text)) => embedded(text).filter(Value::is_object),
            _ => None,
        }
    }

    fn choice(&self, text: &str) -> Option<Value> {
        if self.choices.iter().any(|choice| choice == text) {
            return None;
        }
        let same = self.choices.iter().find(|choice| choice.eq_ignore_ascii_case(text));
        let spelled = || {
            let wanted = folded_key(text);
            let (_, choice) = self.spellings.iter().find(|(spelling, _)| *spelling == wanted)?;
            self.choices.iter().find(|known| *known == choice)
        };
        same.or_else(spelled).map(|choice| Value::String(choice.clone()))
    }
}

impl PartSpec {
    fn new(name: &str, schema: &Value, hints: &ParameterHints) -> Self {
        let of_items = || hints.items.iter().find(|(list, _)| list == name).map(|(_, hints)| hints.clone()).unwrap_or_default();
        let items = &schema["items"];
        match kind_of(schema) {
            ParameterKind::Array if items["properties"].is_object() => Self::Objects(ParameterTable::from_schema(name, items, &of_items())),
            ParameterKind::Array if items.is_object() => Self::Values(Box::new(ParameterSpec::new(name, items, &of_items()))),
            ParameterKind::Object if schema["properties"].is_object() => {
                Self::Fields(ParameterTable::from_schema(name, schema, &ParameterHints::default()))
            }
            _ => Self::None,
        }
    }
}

/// A canonical number in the unit of the form, also where it came as text.
fn counted(value: Value, unit: Unit) -> Value {
    match (&value, unit) {
        (_, Unit::Same) => value,
        (Value::String(text), _) => number(text.trim(), ParameterKind::Number).map_or(value, |number| unit.shown_value(&number)),
        _ => unit.shown_value(&value),
    }
}

/// Some models send a list or an object as JSON text.
fn embedded(text: &str) -> Option<Value> {
    text.starts_with(['[', '{']).then(|| json::parse(text, usize::MAX).ok()).flatten()
}

fn number(text: &str, kind: ParameterKind) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Value::Number(integer.into()));
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
    if kind == ParameterKind::Integer { whole(float) } else { Number::from_f64(float).map(Value::Number) }
}

/// `5.0` is 5; `5.5` stays, for the schema to refuse.
#[allow(clippy::cast_possible_truncation)] // checked above: no fraction, and well inside i64
fn whole(float: f64) -> Option<Value> {
    (float.fract() == 0.0 && float.abs() < 9e15).then(|| Value::Number((float as i64).into()))
}

fn kind_of(schema: &Value) -> ParameterKind {
    match schema["type"].as_str() {
        Some("string") => ParameterKind::String,
        Some("integer") => ParameterKind::Integer,
        Some("number") => ParameterKind::Number,
        Some("boolean") => ParameterKind::Boolean,
        Some("array") => ParameterKind::Array,
        Some("object") => ParameterKind::Object,
        _ => ParameterKind::Any,
    }
}

/// The signature of what a model is shown.
fn shown_signature(shown: &DialectTool<'_>) -> String {
    ParameterTable::without_aliases(shown.name, &shown.parameters, &ParameterHints::default()).signature
}

fn signature(name: &str, parameters: &[ParameterSpec]) -> String {
    let list: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let optional = if parameter.required { "" } else { "?" };
            let kind = match parameter.kind {
                ParameterKind::String if !parameter.choices.is_empty() => parameter.choices.join("|"),
                ParameterKind::String => "string".into(),
                ParameterKind::Integer => "integer".into(),
                ParameterKind::Number => "number".into(),
                ParameterKind::Boolean => "boolean".into(),
                ParameterKind::Array => "array".into(),
                ParameterKind::Object => "object".into(),
                ParameterKind::Any => "any".into(),
            };
            format!("{}{optional}: {kind}", parameter.name)
        })
        .collect();
    format!("Expected: {name}({}).", list.join(", "))
}

/// `filePath` → `file_path`, `HTTPUrl` → `http_url`, `file-path` → `file_path`.
fn folded_key(key: &str) -> String {
    snake_case(key.trim()).replace(['-', ' ', '.'], "_")
}
