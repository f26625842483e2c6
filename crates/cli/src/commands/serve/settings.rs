//! Edits of the user's file from the page.

use haft_config::{OwnFile, SettingEdit, report_json};
use haft_gateway::{KeyEdit, Saving};
use haft_text::display;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::failure::Failure;
use crate::wire;

/// Keys that the page may change: what agents may do. No key is among them that names a program, a provider or a way into the server.
const EDITABLE: [&[&str]; 9] = [
    &["access"],
    &["ask"],
    &["tools", ANY],
    &["rules", ANY],
    &["guards", ANY],
    &["network", "allow"],
    &["network", "deny"],
    &["exec", "ask"],
    &["exec", "changes"],
];
/// Any name, and what is beneath it.
const ANY: &str = "*";
/// Edits of one request.
const MOST_EDITS: usize = 32;

pub(super) fn edit(backend: &ServeBackend, edits: &[KeyEdit], saving: Saving) -> Result<Value, Failure> {
    if edits.len() > MOST_EDITS {
        return Err(Failure::usage(format!("a request has at most {MOST_EDITS} edits")));
    }
    let edits = edits.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let wire = backend.wire_of(None)?;
    let own = OwnFile::read(&wire.own_file()?).map_err(|error| Failure::config(error.to_string()))?;
    let text = own.with_edits(&edits).map_err(|error| Failure::config(error.to_string()))?;
    let loaded = wire::check_text(&backend.common, &wire.settings.workspace, &wire.registry, &text);
    if let Some(problem) = loaded.errors().next() {
        return Err(Failure::usage(format!("the file would not load: {}", display::escape_lines(&problem.message))));
    }
    let (file, changed) = (own.path().to_string_lossy().into_owned(), own.text() != text);
    // Not lines of the file: beside those that change stand others, which a page that only looks must not read.
    let diff = wire.text_difference(&backend.common, own.path(), [own.text(), &text]);
    let is_written = changed && saving == Saving::Write;
    let undo = is_written.then(|| backend.saves.replace(own, text)).transpose()?;
    if is_written {
        backend.reload();
    }
    let problems = report_json(&loaded.problems);
    Ok(json!({
        "file": file, "changed": changed, "written": is_written, "undo": undo, "diff": display::escape_lines(&diff), "problems": problems,
    }))
}

fn read(edit: &KeyEdit) -> Result<SettingEdit, Failure> {
    let edit = match edit {
        KeyEdit::Add { key, entry } => SettingEdit::Add(key.clone(), entry.clone()),
        KeyEdit::Remove { key, entry } => SettingEdit::Remove(key.clone(), entry.clone()),
        KeyEdit::Set { key, value } => value_of(key, value)?,
        _ => return Err(Failure::usage("this edit is not known")),
    };
    if is_editable(&edit.path()) {
        return Ok(edit);
    }
    Err(Failure::usage(format!("'{}' cannot be changed from a page", display::escape_line(edit.key())))
        .help("change it in the file, or with `haft config`; a page changes what agents may do, not what runs"))
}

fn value_of(key: &str, value: &Value) -> Result<SettingEdit, Failure> {
    let wrong = || Failure::usage(format!("the value of '{}' is a word or a list of words", display::escape_line(key)));
    match value {
        Value::String(text) => Ok(SettingEdit::SetText(key.to_owned(), text.clone())),
        Value::Array(list) => {
            let words = list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            words.map(|words| SettingEdit::SetList(key.to_owned(), words)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

fn is_editable(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    // The same keys of an agent: `agents.NAME.tools.deny`.
    let path = if path.len() > 2 && path[0] == "agents" { &path[2..] } else { &path[..] };
    EDITABLE.iter().any(|known| match known.split_last() {
        Some((&ANY, table)) => path.len() > table.len() && path.starts_with(table),
        _ => path == *known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(key: &str) -> Vec<String> {
        SettingEdit::Add(key.to_owned(), String::new()).path()
    }

    #[test]
    fn keys_that_name_programs_and_ways_in_are_not_editable() {
        for key in ["ask", "access", "rules.allow", "tools.also_allow", "agents.coder.tools.deny", "agents.coder.access", "network.allow"] {
            assert!(is_editable(&path(key)), "{key}");
        }
        for key in [
            "hooks",
            "hooks.command",
            "mcp.servers.x.command",
            "providers.x.base_url",
            "providers.x.api_key_command",
            "gateway.invoke_allow",
            "exec.host",
            "sandbox.mode",
            "agents.coder.model",
            "agents.coder.prompt",
            "agents.\"x.rules.y\".model",
            "agents.rules.allow",
            "\"rules.x\"",
            "a..b",
            "network.proxy",
            "askx",
            "rules",
            "",
        ] {
            assert!(!is_editable(&path(key)), "{key}");
        }
    }
}
