//! The forms of a registered tool: its names and parameters in other dialects.

use std::sync::OnceLock;

use haft_contract::{Dialect, Form, ToolDefinition};
use haft_policy::folded;
use serde_json::{Map, Value};

use crate::Registry;
use crate::stages::parameters::ParameterTable;
use crate::validator::Validator;

/// A form, with its parameter table and schema compiled on first use.
#[derive(Debug)]
pub(crate) struct CompiledForm {
    form: Form,
    /// The name in its folded spelling.
    name: String,
    parameters: OnceLock<ParameterTable>,
    validator: OnceLock<Result<Validator, String>>,
}

impl CompiledForm {
    fn new(form: Form) -> Self {
        Self { form, name: folded(form.name), parameters: OnceLock::new(), validator: OnceLock::new() }
    }
    pub(crate) fn form(&self) -> Form {
        self.form
    }
    /// Whether arguments differ from those of the canonical call.
    pub(crate) fn translates(&self) -> bool {
        !self.form.parameters.is_empty()
    }
    pub(crate) fn parameters(&self, definition: &ToolDefinition) -> &ParameterTable {
        self.parameters.get_or_init(|| ParameterTable::in_form(definition, &self.form))
    }
    /// The schema that the model was shown, with every parameter that a call may use, compiled.
    pub(crate) fn validator(&self, definition: &ToolDefinition) -> Result<&Validator, &str> {
        let accepted = || Validator::compile(&definition.accepted_in(&self.form));
        self.validator.get_or_init(accepted).as_ref().map_err(String::as_str)
    }

    /// Translates arguments to canonical ones. They were read already, so every parameter has the name that was shown.
    pub(crate) fn translate(&self, arguments: Map<String, Value>, definition: &ToolDefinition) -> Map<String, Value> {
        let mut canonical = Map::with_capacity(arguments.len());
        for (name, value) in arguments {
            match self.form.find_by_name(&name) {
                Some(parameter) => {
                    let whole = definition.parameters["properties"][parameter.canonical]["type"] == "integer";
                    let value = match value {
                        Value::Number(number) => parameter.unit.canonical(&number, whole).into(),
                        other => other,
                    };
                    canonical.insert(parameter.canonical.to_owned(), value);
                }
                // Present beside its form parameter, and ignored with a warning.
                None if self.form.find_canonical(&name).is_some() => {}
                None => drop(canonical.insert(name, value)),
            }
        }
        canonical
    }
}

/// The forms of one tool.
#[derive(Debug)]
pub(crate) struct ToolForms {
    all: Vec<CompiledForm>,
}

impl ToolForms {
    pub(crate) fn new(definition: &ToolDefinition) -> Self {
        Self { all: definition.forms.iter().copied().map(CompiledForm::new).collect() }
    }

    /// The form that a call by this name uses: the one of the session's dialect, else any with exactly this name. The
    /// canonical name belongs to the canonical parameters in every other dialect.
    pub(crate) fn called(&self, name: &str, canonical: &str, dialect: Dialect) -> Option<&CompiledForm> {
        if self.all.is_empty() || name == canonical && dialect == Dialect::Haft {
            return None;
        }
        let (name, folded) = (name.trim(), folded(name));
        let of_dialect = |form: &&CompiledForm| form.name == folded && form.form.dialect == dialect && dialect != Dialect::Haft;
        // `Sleep` is not a misspelled `sleep`: it is the name in a dialect.
        let exact = |form: &&CompiledForm| form.name == folded && (folded != canonical || name != canonical && name == form.form.name);
        self.all.iter().find(of_dialect).or_else(|| self.all.iter().find(exact))
    }
}

/// How the model of a session continues to read a file, in its dialect: `read_file with that path and offset=5`.
pub(crate) fn continue_reading(registry: &Registry, dialect: Dialect, line: usize) -> String {
    let entry = registry.get("read_file");
    let form = entry.as_ref().and_then(|entry| entry.definition().form(dialect));
    let (name, offset) =
        form.map_or_else(|| ("read_file", format!("offset={line}")), |form| (form.name, form.write_parameter("offset", line as u64)));
    format!("{name} with that path and {offset}")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use haft_contract::{FormParameter, ToolSource, Unit};
    use haft_testkit::ScriptedTool;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::stages::arguments::check_as;

    const FORMS: &[Form] = &[
        Form::new(Dialect::Claw, "same").parameters(&[FormParameter::new("shown", "canonical")]),
        Form::new(Dialect::Claw, "slow").parameters(&[FormParameter::new("shown", "canonical").unit(Unit::Milliseconds)]),
        Form::new(Dialect::Claw, "zero").parameters(&[FormParameter::new("shown", "canonical").unit(Unit::FromZero)]),
    ];

    fn registry(property: &Value) -> Registry {
        let tool = ScriptedTool::new("t")
            .schema(json!({"type": "object", "properties": {"canonical": property}, "required": ["canonical"]}))
            .define(|definition| definition.forms = Cow::Borrowed(FORMS));
        let registry = Registry::new();
        registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
        registry
    }

    fn property(kind: &str, bounds: &[(&str, Option<u32>)]) -> Value {
        let mut property = json!({"type": kind});
        for (keyword, limit) in bounds {
            if let Some(limit) = limit {
                property[*keyword] = json!(limit);
            }
        }
        property
    }

    /// Halves of thousands and their neighbours: where rounding goes wrong, if it does.
    fn quantity() -> impl Strategy<Value = i64> {
        (-10_i64..60, prop_oneof![Just(0), Just(1), Just(-1), Just(500), -999..999_i64])
            .prop_map(|(thousands, rest)| thousands * 1000 + rest)
    }

    proptest! {
        #[test]
        fn what_the_shown_schema_takes_is_taken_and_what_the_canonical_one_takes_can_be_said(
            kind in prop_oneof![Just("integer"), Just("number")],
            limits in (proptest::option::of(0_u32..20), proptest::option::of(20_u32..60)),
            exclusive in any::<bool>(),
            place in 0..FORMS.len(),
            given in quantity(),
            meant in 1_i64..60,
        ) {
            let names = if exclusive { ["exclusiveMinimum", "exclusiveMaximum"] } else { ["minimum", "maximum"] };
            let registry = registry(&property(kind, &[(names[0], limits.0), (names[1], limits.1)]));
            let entry = registry.get("t").unwrap();
            let (spoken, unit) = (entry.called(FORMS[place].name, Dialect::Haft), FORMS[place].parameters[0].unit);
            let say = |value: Value| check_as(&entry, spoken, &mut json!({"shown": value}).into(), 1000);

            let shown = entry.definition().in_form(&FORMS[place]);
            let takes = Validator::compile(&shown.parameters).unwrap().is_valid(&json!({"shown": given}));
            prop_assert_eq!(say(json!(given)).is_ok(), takes, "{} of {}", given, shown.parameters);

            let canonical = json!({"canonical": meant});
            if entry.validator().unwrap().is_valid(&canonical) {
                prop_assert_eq!(say(unit.shown_value(&json!(meant))).map(|checked| checked.value).unwrap(), canonical);
            }
        }
    }
}
