//! What holds for every tool, and what models are shown of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::collections::BTreeMap;

use haft_contract::{Dialect, ToolDefinition};
use serde_json::json;

fn definitions() -> Vec<ToolDefinition> {
    haft_builtin::all().iter().map(|tool| tool.definition().clone()).collect()
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|ch: char| ch.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[test]
fn names_and_aliases_are_snake_case_and_belong_to_one_tool() {
    let mut owners = BTreeMap::new();
    for definition in definitions() {
        let forms: Vec<&str> = definition.forms.iter().map(|form| form.name).collect();
        for name in [&definition.name].into_iter().chain(&definition.aliases) {
            // What another system calls it is spelled as it is there.
            assert!(is_snake_case(name) || forms.contains(&name.as_ref()), "{name}");
            let before = owners.insert(name.to_string(), definition.name.clone());
            assert_eq!(before, None, "{name} belongs to two tools");
        }
    }
}

#[test]
fn the_names_of_forms_belong_to_one_tool_and_fit_its_parameters() {
    let mut owners = BTreeMap::new();
    for definition in definitions() {
        for name in definition.names() {
            let before = owners.insert(name.to_ascii_lowercase(), definition.name.clone());
            assert!(before.is_none_or(|owner| owner == definition.name), "{name} belongs to two tools");
        }
        for form in &*definition.forms {
            assert_eq!(form.faults(&definition.parameters), [], "{} in {}", definition.name, form.dialect);
        }
    }
}

/// What a dialect changes of each tool that differs in it: the seeds' names, and what they count differently.
#[test]
fn each_dialect_is_shown_its_own_names_and_units() {
    let skip = json!({
        "type": "integer",
        "minimum": 0,
        "description": "How many lines to skip before the first one to return. Defaults to 0.",
    });
    let milliseconds = json!({
        "type": "number",
        "description": "Timeout in milliseconds. Defaults to 1800000, or to none in the background.",
    });
    let offset = format!("offset: {skip}");
    let timeout = format!("timeout: {milliseconds}");
    let changes: [(&str, Dialect, &[&str]); 12] = [
        ("read_file", Dialect::Claw, &[&offset]),
        ("grep_search", Dialect::Claw, &["-i", "-n", "-B", "-A", "-C", "-o"]),
        ("notebook_edit", Dialect::Claw, &["is NotebookEdit"]),
        (
            "exec",
            Dialect::Claw,
            &[
                "is bash",
                "run_in_background",
                &timeout,
                "dangerouslyDisableSandbox",
                "namespaceRestrictions",
                "isolateNetwork",
                "filesystemMode",
                "allowedMounts",
            ],
        ),
        ("powershell", Dialect::Claw, &["is PowerShell", "run_in_background", &timeout]),
        ("repl", Dialect::Claw, &["is REPL"]),
        ("read_file", Dialect::OpenClaw, &["is read"]),
        ("write_file", Dialect::OpenClaw, &["is write"]),
        ("edit_file", Dialect::OpenClaw, &["is edit", "oldText", "newText"]),
        ("exec", Dialect::OpenClaw, &["yieldMs"]),
        ("process", Dialect::OpenClaw, &["sessionId", "timeout"]),
        ("noop", Dialect::OpenClaw, &[]),
    ];
    let definitions = definitions();
    for (name, dialect, expected) in changes {
        let definition = definitions.iter().find(|definition| definition.name == name).unwrap();
        assert_eq!(dialect_changes(definition, dialect), expected, "{name} in {dialect}");
    }
    for definition in &definitions {
        for dialect in Dialect::ALL.iter().filter(|dialect| definition.form(**dialect).is_none()) {
            assert_eq!(dialect_changes(definition, *dialect), Vec::<String>::new(), "{} in {dialect}", definition.name);
        }
    }
}

fn dialect_changes(definition: &ToolDefinition, dialect: Dialect) -> Vec<String> {
    let shown = definition.in_dialect(dialect);
    let name = (shown.name != definition.name).then(|| format!("is {}", shown.name));
    let own = &definition.parameters["properties"];
    let parameters = shown.parameters["properties"].as_object().unwrap().iter().filter_map(|(name, parameter)| match own.get(name) {
        None => Some(name.clone()),
        Some(canonical) => (canonical != parameter).then(|| format!("{name}: {parameter}")),
    });
    name.into_iter().chain(parameters).collect()
}

#[test]
fn every_tool_and_parameter_is_described_in_words() {
    for definition in definitions() {
        let ToolDefinition { name, label, description, parameters, .. } = &definition;
        assert!(!label.is_empty() && label != name && !label.contains('_'), "{name}: '{label}' is no label for people");
        assert!(description.ends_with('.') && !description.contains('\n'), "{name}: {description}");
        for (parameter, schema) in parameters["properties"].as_object().unwrap() {
            let text = schema["description"].as_str().unwrap_or_default();
            assert!(text.len() > 10 && !text.contains('\n'), "{name}.{parameter} is not described: '{text}'");
        }
    }
}

#[test]
fn every_schema_is_one_that_all_providers_take() {
    for definition in definitions() {
        let mut parameters = definition.parameters.clone();
        assert_eq!(parameters.lint(), Ok(()), "{}", definition.name);
        if let Some(mut output) = definition.output {
            assert_eq!(output.lint(), Ok(()), "the output of {}", definition.name);
        }
    }
}

#[test]
fn hints_and_access_do_not_contradict_each_other() {
    for definition in definitions() {
        let hints = definition.hints;
        assert!(!(hints.read_only && hints.destructive), "{} only reads and destroys", definition.name);
        assert!(definition.timeout.as_secs() >= 5, "{} has hardly any time", definition.name);
    }
}

/// What a model of each dialect is shown: its own names and parameters, and nothing of another dialect.
#[test]
fn each_dialect_is_that_of_its_golden_file() {
    for dialect in Dialect::ALL {
        let shown: serde_json::Map<_, _> = definitions()
            .iter()
            .map(|definition| {
                let tool = definition.in_dialect(*dialect);
                let parameters = tool.parameters["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(", ");
                let required = tool.parameters["required"].as_array().cloned().unwrap_or_default();
                let text = json!({"parameters": parameters, "required": required, "description": tool.description});
                (tool.name.to_owned(), text)
            })
            .collect();
        insta::assert_json_snapshot!(format!("dialect_{dialect}"), shown);
    }
}

/// Tokens of each definition as every request to a model has it, as four bytes each: what a conversation pays for its tools, again with
/// each round. The limits are those of a whole profile, so a new tool, or a new word, must be worth its place.
#[test]
fn definitions_cost_no_more_tokens_than_their_golden_file_says() {
    let count = |definition: &ToolDefinition| serde_json::to_string(&definition.offered_in(Dialect::Haft)).unwrap().len().div_ceil(4);
    let definitions = definitions();
    let each: serde_json::Map<_, _> = definitions.iter().map(|tool| (tool.name.to_string(), count(tool).into())).collect();
    let coding = definitions.iter().filter(|tool| tool.profiles.iter().any(|profile| profile == "coding"));
    let (coding, all): (usize, usize) = (coding.map(count).sum(), definitions.iter().map(count).sum());
    assert!(each["exec"].as_u64().unwrap() <= 500, "exec takes {}", each["exec"]);
    assert!(coding <= 5_000, "the coding profile takes {coding}");
    assert!(all <= 11_000, "all {} tools take {all}", definitions.len());
    insta::assert_json_snapshot!(json!({"coding": coding, "all": all, "each": each}));
}

/// The golden file is what registries, providers, MCP and documentation start from: a change here is seen by every model.
#[test]
fn the_definitions_are_those_of_the_golden_file() {
    let shown: serde_json::Map<_, _> = definitions()
        .into_iter()
        .map(|definition| {
            let mut shown = serde_json::to_value(&definition).unwrap();
            shown["output"] = json!(definition.output);
            shown["max_output"] = definition.max_output.into();
            shown["parameter_aliases"] = json!(definition.parameters.hints().aliases);
            shown["parameter_verbatim"] = json!(definition.parameters.hints().verbatim);
            shown["parameter_rare"] = json!(definition.parameters.hints().rare);
            shown["rules"] = json!(definition.rules);
            (definition.name.into_owned(), shown)
        })
        .collect();
    insta::assert_json_snapshot!(shown);
}
