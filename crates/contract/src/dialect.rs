//! The names and units that models know tools by: each system that people come from has its own.
//!
//! A tool has one canonical name and one set of parameters. A [`Form`] says what a [`Dialect`] calls it and them; calls in
//! that form are translated before anything else looks at them, so that everything behind knows the canonical call alone.

mod tool;
mod unit;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

pub use self::tool::DialectTool;
pub use self::unit::Unit;
use crate::schema::SchemaFault;

/// A set of names for tools that a model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Dialect {
    /// The canonical names.
    #[default]
    Haft,
    /// Those of claw: `bash`, `WebFetch`, `TodoWrite`, ….
    Claw,
    /// Those of OpenClaw: `exec`, `read`, `write`, ….
    OpenClaw,
}

impl Dialect {
    /// All of them, in order.
    pub const ALL: &'static [Self] = &[Self::Haft, Self::Claw, Self::OpenClaw];

    /// The name in configuration and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Haft => "haft",
            Self::Claw => "claw",
            Self::OpenClaw => "openclaw",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.trim().to_ascii_lowercase();
        let known = Self::ALL.iter().find(|dialect| dialect.as_str() == plain);
        known.copied().ok_or_else(|| format!("unknown dialect '{text}': use haft, claw or openclaw"))
    }
}

/// What a dialect calls a tool and its parameters. What it does not name stays canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Whose name it is.
    pub dialect: Dialect,
    /// The name of the tool there.
    pub name: &'static str,
    /// What the model reads there, if it is not the canonical text.
    pub description: Option<&'static str>,
    /// The parameters that are called or counted differently there.
    pub parameters: &'static [FormParameter],
    /// The parameters that models are shown there, by their canonical names; all that are not foreign, if absent. A call may use the
    /// others all the same.
    pub shown: Option<&'static [&'static str]>,
    /// The parameters that models are shown as required there, besides those that every call needs.
    pub required: &'static [&'static str],
}

/// A parameter that a dialect calls or counts differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormParameter {
    /// Its name there.
    pub name: &'static str,
    /// Its canonical name.
    pub canonical: &'static str,
    /// What it is counted in there.
    pub unit: Unit,
    /// What the model reads there; without it, the canonical text, with the unit added.
    pub description: Option<&'static str>,
}

impl Form {
    /// A form that differs in the tool's name, if at all.
    pub const fn new(dialect: Dialect, name: &'static str) -> Self {
        Self { dialect, name, description: None, parameters: &[], shown: None, required: &[] }
    }
    /// With a description of its own.
    pub const fn description(self, text: &'static str) -> Self {
        Self { description: Some(text), ..self }
    }
    /// With these parameters called or counted differently.
    pub const fn parameters(self, parameters: &'static [FormParameter]) -> Self {
        Self { parameters, ..self }
    }

    /// With only these parameters shown, by their canonical names.
    pub const fn show_only(self, parameters: &'static [&'static str]) -> Self {
        Self { shown: Some(parameters), ..self }
    }
    /// With these parameters shown as required, by their canonical names.
    pub const fn required(self, parameters: &'static [&'static str]) -> Self {
        Self { required: parameters, ..self }
    }

    /// The parameter that is called this here, if it is one that differs.
    pub fn find_by_name(&self, name: &str) -> Option<&'static FormParameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
    /// The parameter with this canonical name, if it is one that differs.
    pub fn find_canonical(&self, canonical: &str) -> Option<&'static FormParameter> {
        self.parameters.iter().find(|parameter| parameter.canonical == canonical)
    }
    /// A parameter with a canonical value, as the model of this dialect writes them: `offset=10`.
    pub fn write_parameter(&self, canonical: &str, value: u64) -> String {
        let Some(parameter) = self.find_canonical(canonical) else { return format!("{canonical}={value}") };
        format!("{}={}", parameter.name, parameter.unit.express(&Number::from(value)))
    }

    /// What is wrong with it, for a tool with these parameters.
    pub fn faults(&self, parameters: &Value) -> Vec<SchemaFault> {
        let mut faults = Vec::new();
        let mut fault = |path: String, problem: String| faults.push(SchemaFault { path, problem });
        let at = format!("forms.{}", self.name);
        if !is_name(self.name) {
            fault(at.clone(), "a name has 1 to 64 of a-z, A-Z, 0-9, '_' and '-'".into());
        }
        for canonical in self.shown.into_iter().flatten().chain(self.required) {
            if parameters["properties"].get(canonical).is_none() {
                fault(at.clone(), format!("the tool has no parameter '{canonical}'"));
            }
        }
        for (place, parameter) in self.parameters.iter().enumerate() {
            let FormParameter { name, canonical, .. } = *parameter;
            let at = format!("{at}.{name}");
            if parameters["properties"].get(canonical).is_none() {
                fault(at.clone(), format!("the tool has no parameter '{canonical}'"));
            }
            if !is_name(name) || name == "format" && canonical != "format" {
                fault(at.clone(), "a name has 1 to 64 of a-z, A-Z, 0-9, '_' and '-', and is not 'format'".into());
            }
            let same_name = |other: &FormParameter| other.name == name || other.canonical == canonical;
            let stays = parameters["properties"].get(name).is_some() && self.find_canonical(name).is_none();
            if self.parameters[..place].iter().any(same_name) || stays {
                fault(at, "another parameter of this form has that name".into());
            }
        }
        faults
    }
}

impl FormParameter {
    /// A parameter by its name in the dialect, and its canonical one.
    pub const fn new(name: &'static str, canonical: &'static str) -> Self {
        Self { name, canonical, unit: Unit::Same, description: None }
    }
    /// Counted in another unit there.
    pub const fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }
    /// With a description of its own.
    pub const fn description(self, text: &'static str) -> Self {
        Self { description: Some(text), ..self }
    }
}

/// What every provider takes as the name of a tool or a parameter.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dialects_are_read_by_their_names() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.as_str().parse(), Ok(*dialect));
            assert_eq!(serde_json::to_value(dialect).unwrap(), json!(dialect.as_str()));
        }
        assert_eq!(" OpenClaw ".parse(), Ok(Dialect::OpenClaw));
        assert_eq!("esperanto".parse::<Dialect>().unwrap_err(), "unknown dialect 'esperanto': use haft, claw or openclaw");
    }

    #[test]
    fn a_value_is_written_as_the_dialect_counts() {
        const FORM: Form = Form::new(Dialect::Claw, "read").parameters(&[
            FormParameter::new("skip", "offset").unit(Unit::FromZero),
            FormParameter::new("timeout_ms", "timeout").unit(Unit::Milliseconds),
        ]);
        for (canonical, value, written) in
            [("offset", 11, "skip=10"), ("offset", 0, "skip=0"), ("timeout", 3, "timeout_ms=3000"), ("limit", 3, "limit=3")]
        {
            assert_eq!(FORM.write_parameter(canonical, value), written);
        }
    }

    #[test]
    fn a_form_that_does_not_fit_its_tool_is_explained() {
        const FORM: Form = Form::new(Dialect::Claw, "no name").parameters(&[
            FormParameter::new("skip", "offset"),
            FormParameter::new("skip", "limit"),
            FormParameter::new("path", "column"),
            FormParameter::new("x", "colour"),
            FormParameter::new("format", "encoding"),
        ]);
        const SWAPPED: Form =
            Form::new(Dialect::Claw, "a").parameters(&[FormParameter::new("path", "offset"), FormParameter::new("offset", "path")]);
        let parameters = json!({"properties": {"path": {}, "offset": {}, "limit": {}, "column": {}, "encoding": {}}});
        let faults: Vec<String> = FORM.faults(&parameters).iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "forms.no name: a name has 1 to 64 of a-z, A-Z, 0-9, '_' and '-'",
                "forms.no name.skip: another parameter of this form has that name",
                "forms.no name.path: another parameter of this form has that name",
                "forms.no name.x: the tool has no parameter 'colour'",
                "forms.no name.format: a name has 1 to 64 of a-z, A-Z, 0-9, '_' and '-', and is not 'format'",
            ]
        );
        assert_eq!(SWAPPED.faults(&parameters), []);
    }
}
