//! A tool's parameters as flags of the command line.

use clap::{Arg, ArgAction, ArgMatches, Command};
use haft_contract::ToolDefinition;
use serde_json::{Map, Value};

use haft_contract::json::parse_strict;

/// The heading in `--help`.
const HEADING: &str = "Parameters";

/// One parameter of a tool.
#[derive(Debug)]
pub(crate) struct FlagParameter<'d> {
    pub(crate) name: &'d str,
    pub(crate) required: bool,
    schema: &'d Value,
}

/// The parameters of a tool, in the order of its schema.
pub(crate) fn list(definition: &ToolDefinition) -> Vec<FlagParameter<'_>> {
    in_schema(&definition.parameters)
}

/// The parameters of a schema, in its order.
pub(crate) fn in_schema(schema: &Value) -> Vec<FlagParameter<'_>> {
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(name, schema)| FlagParameter { name, required: is_required(name), schema }).collect()
}

/// The tool's required parameter, if it has exactly one and that is a text. One that models are shown as required counts too.
pub(crate) fn only_required_text(definition: &ToolDefinition) -> Option<&str> {
    missing_text(definition, |_| false)
}

/// The one required parameter that is not given yet, if that is a text.
pub(crate) fn missing_text(definition: &ToolDefinition, is_given: impl Fn(&str) -> bool) -> Option<&str> {
    let is_shown = |name: &str| definition.parameters.hints().shown_required.iter().any(|shown| shown == name);
    let is_missing = |name: &str| !is_given(name);
    let required = list(definition).into_iter().filter(|parameter| parameter.required || is_shown(parameter.name));
    let mut required = required.filter(|parameter| is_missing(parameter.name));
    let only = required.next().filter(|parameter| type_of(parameter.schema) == "string")?;
    required.next().is_none().then_some(only.name)
}

impl FlagParameter<'_> {
    /// The type in words.
    pub(crate) fn kind(&self) -> String {
        match (type_of(self.schema), type_of(&self.schema["items"])) {
            ("array", "") => "array".into(),
            ("array", item) => format!("array of {item}"),
            ("", _) => "any".into(),
            (kind, _) => kind.into(),
        }
    }

    /// The description with choices and default.
    pub(crate) fn description(&self) -> String {
        let text = self.schema["description"].as_str().map(str::to_owned);
        let choices = enumerated(self.schema);
        let choices = (!choices.is_empty()).then(|| choices.join(", "));
        let default = self.schema.get("default").filter(|default| !default.is_null()).map(plain);
        let parts = [text, choices.map(|choices| format!("[one of: {choices}]")), default.map(|default| format!("[default: {default}]"))];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The values that it can have, if they are few.
    pub(crate) fn choices(&self) -> Vec<String> {
        match type_of(self.schema) {
            "boolean" => vec!["true".to_owned(), "false".to_owned()],
            "array" => enumerated(&self.schema["items"]),
            _ => enumerated(self.schema),
        }
    }

    /// Prefixed, so that it differs from the ids of haft's own flags.
    pub(crate) fn id(&self) -> String {
        format!("parameter.{}", self.name)
    }

    fn argument(&self) -> Arg {
        let help = if self.required { format!("{} (required)", self.description()) } else { self.description() };
        let argument = Arg::new(self.id()).long(self.name.to_owned()).help(help).help_heading(HEADING).allow_hyphen_values(true);
        match type_of(self.schema) {
            "boolean" => argument.num_args(0..=1).default_missing_value("true").value_name("true|false").allow_hyphen_values(false),
            "array" => argument.action(ArgAction::Append).value_name("ITEM"),
            "object" => argument.action(ArgAction::Append).value_name("KEY=VALUE"),
            "" => argument.value_name("JSON"),
            kind => argument.value_name(kind.to_uppercase()),
        }
    }

    /// The argument of these texts.
    fn value(&self, mut texts: Vec<String>) -> Value {
        match type_of(self.schema) {
            "array" => Value::Array(texts.into_iter().flat_map(|text| self.items(text)).collect()),
            "object" => object(self.schema, texts),
            _ => typed_value(self.schema, texts.pop().unwrap_or_default()),
        }
    }

    /// One item, or the items of a JSON array.
    fn items(&self, text: String) -> Vec<Value> {
        match parse_strict(&text).ok() {
            Some(Value::Array(items)) => items,
            _ => vec![typed_value(&self.schema["items"], text)],
        }
    }
}

/// Adds the flags of a tool to a command. A parameter with the name of a haft flag can be given as JSON only.
pub(crate) fn augment(mut command: Command, definition: &ToolDefinition, mut taken: Vec<String>) -> Command {
    let mut hidden = Vec::new();
    for parameter in list(definition) {
        if taken.iter().any(|name| name == parameter.name) {
            hidden.push(format!("'{}'", parameter.name));
            continue;
        }
        taken.push(parameter.name.to_owned());
        let aliases = spellings(&parameter, definition, &mut taken);
        command = command.arg(parameter.argument().aliases(aliases));
    }
    if !hidden.is_empty() {
        command = command.after_help(format!("Given in the JSON object only, because haft has flags of that name: {}", hidden.join(", ")));
    }
    command
}

/// Other spellings of a flag: with hyphens, and the aliases of the tool.
fn spellings(parameter: &FlagParameter<'_>, definition: &ToolDefinition, taken: &mut Vec<String>) -> Vec<String> {
    let known = list(definition);
    let others = definition.parameters.hints().aliases.iter().filter(|(_, name)| name == parameter.name).map(|(alias, _)| alias.clone());
    let mut spellings = Vec::new();
    for spelling in std::iter::once(parameter.name.to_owned()).chain(others).flat_map(|name| [name.replace('_', "-"), name]) {
        let free = !taken.contains(&spelling) && !known.iter().any(|other| other.name == spelling);
        if free {
            taken.push(spelling.clone());
            spellings.push(spelling);
        }
    }
    spellings
}

/// The arguments of the flags.
pub(crate) fn collect(matches: &ArgMatches, definition: &ToolDefinition) -> Map<String, Value> {
    let mut arguments = Map::new();
    for parameter in list(definition) {
        if let Ok(Some(texts)) = matches.try_get_many::<String>(&parameter.id()) {
            arguments.insert(parameter.name.to_owned(), parameter.value(texts.cloned().collect()));
        }
    }
    arguments
}

/// The values of an enumeration; none, if it is another type.
fn enumerated(schema: &Value) -> Vec<String> {
    schema["enum"].as_array().into_iter().flatten().map(plain).collect()
}

fn type_of(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or_default()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Text stays text for strings and numbers: the arguments stage parses numbers.
fn typed_value(schema: &Value, text: String) -> Value {
    match (type_of(schema), text.as_str()) {
        ("boolean", "true") => Value::Bool(true),
        ("boolean", "false") => Value::Bool(false),
        ("string" | "boolean" | "integer" | "number", _) => Value::String(text),
        _ => parse_strict(&text).unwrap_or(Value::String(text)),
    }
}

/// Merges `key=value` pairs and JSON objects.
fn object(schema: &Value, texts: Vec<String>) -> Value {
    let mut map = Map::new();
    let single = texts.len() == 1;
    for text in texts {
        if let Ok(Value::Object(object)) = parse_strict(&text) {
            map.extend(object);
        } else if let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) {
            map.insert(key.to_owned(), member(schema, key, value));
        } else if single {
            // Not an object: the arguments stage reports it.
            return Value::String(text);
        } else {
            map.insert(text, Value::Null);
        }
    }
    Value::Object(map)
}

/// The value of a pair: text, unless the schema has another type.
fn member(schema: &Value, key: &str, value: &str) -> Value {
    let member = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
    if type_of(member).is_empty() { Value::from(value) } else { typed_value(member, value.to_owned()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> ToolDefinition {
        let schema = json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "Where.", "x-aliases": ["file_path", "json", "depth"]},
                "dry_run": {"type": "boolean"},
                "depth": {"type": "integer", "default": 2},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "headers": {"type": "object"},
                "counts": {"type": "object", "additionalProperties": {"type": "array"}},
                "extra": {"description": "Anything."},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "access": {"type": "string"},
            },
        });
        ToolDefinition::new("try", "Tries.", schema)
    }

    fn command() -> Command {
        let own = [Arg::new("json").long("json").action(ArgAction::SetTrue), Arg::new("access").long("access")];
        augment(Command::new("try"), &definition(), vec!["json".into(), "access".into()]).args(own)
    }

    fn read(words: &[&str]) -> Value {
        let matches = command().try_get_matches_from(std::iter::once(&"try").chain(words)).unwrap();
        Value::Object(collect(&matches, &definition()))
    }

    #[test]
    fn flags_become_typed_arguments() {
        for (words, arguments) in [
            (&[][..], json!({})),
            (&["--path", "-x y"], json!({"path": "-x y"})),
            (&["--path=--json"], json!({"path": "--json"})),
            (&["--file_path", "a"], json!({"path": "a"})),
            (&["--file-path", "a"], json!({"path": "a"})),
            (&["--dry_run"], json!({"dry_run": true})),
            (&["--dry-run", "--path", "a"], json!({"path": "a", "dry_run": true})),
            (&["--dry-run", "false"], json!({"dry_run": false})),
            (&["--dry-run=maybe"], json!({"dry_run": "maybe"})),
            (&["--depth", "-3"], json!({"depth": "-3"})),
            (&["--tags", "a", "--tags", "5"], json!({"tags": ["a", "5"]})),
            (&["--tags", "[\"a\",\"b\"]"], json!({"tags": ["a", "b"]})),
            (&["--sizes", "1"], json!({"sizes": ["1"]})),
            (&["--headers", "A=b=c", "--headers", "D=5"], json!({"headers": {"A": "b=c", "D": "5"}})),
            (&["--headers", "{\"A\":\"b\"}", "--headers", "A=c"], json!({"headers": {"A": "c"}})),
            (&["--headers", "{\"A\":\"b\",\"A\":\"c\"}"], json!({"headers": "{\"A\":\"b\",\"A\":\"c\"}"})),
            (&["--counts", "a=[1]"], json!({"counts": {"a": [1]}})),
            (&["--headers", "nonsense"], json!({"headers": "nonsense"})),
            (&["--extra", "[1]"], json!({"extra": [1]})),
            (&["--extra", "word"], json!({"extra": "word"})),
        ] {
            assert_eq!(read(words), arguments, "{words:?}");
        }
    }

    #[test]
    fn one_required_text_can_stand_alone() {
        let with = |schema| ToolDefinition::new("try", "Tries.", schema);
        let two = json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        let number = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}});
        let shown = json!({"type": "object", "properties": {"a": {"type": "string", "x-shown-required": true}, "b": {"type": "string"}}});
        for (definition, expected) in [(definition(), Some("path")), (with(two), None), (with(number), None), (with(shown), Some("a"))] {
            assert_eq!(only_required_text(&definition), expected, "{}", definition.parameters);
        }
    }

    #[test]
    fn parameter_with_the_name_of_a_flag_is_json_only() {
        assert_eq!(read(&["--access", "x", "--json", "--depth", "1"]), json!({"depth": "1"}));
        let help = command().render_help().to_string();
        assert!(help.contains("Given in the JSON object only, because haft has flags of that name: 'access'"), "{help}");
    }

    #[test]
    fn misspelt_flag_names_the_nearest() {
        let error = command().try_get_matches_from(["try", "--pth", "a"]).unwrap_err().to_string();
        assert!(error.contains("'--path'"), "{error}");
    }
}
