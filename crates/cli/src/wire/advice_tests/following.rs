//! Follows advice to the letter: in a file, in a variable, or on the command line.

use haft_policy::{ConfigEdit, EditValue, Owner};
use toml::{Table, Value as Toml};

use super::Layers;

pub(super) fn put(table: &mut Table, path: &[&str], value: Toml) {
    let Some((last, folders)) = path.split_last() else { return };
    let mut at = table;
    for folder in folders {
        let next = at.entry((*folder).to_owned()).or_insert_with(|| Toml::Table(Table::new()));
        at = next.as_table_mut().unwrap();
    }
    at.insert((*last).to_owned(), value);
}

/// The parts of a key; what is quoted is one.
fn parts(key: &str) -> Vec<String> {
    let mut quoted = false;
    let mut parts = vec![String::new()];
    for ch in key.chars() {
        match ch {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            ch => parts.last_mut().unwrap().push(ch),
        }
    }
    parts
}

/// Makes an edit where it says.
pub(super) fn edit(layers: &mut Layers, edit: &ConfigEdit) {
    let (key, owner) = match edit {
        ConfigEdit::Add { key, owner, .. } | ConfigEdit::Remove { key, owner, .. } | ConfigEdit::Set { key, owner, .. } => (key, owner),
        other => panic!("{other:?}"),
    };
    match name(owner) {
        Some(flag) if flag.starts_with("--") => edit_flag(layers, key, edit),
        Some(variable) => edit_variable(layers, variable, key, edit),
        None => edit_file(if owner.of_project { &mut layers.project } else { &mut layers.own }, key, edit),
    }
}

/// The flag or variable that has a value.
fn name(owner: &Owner) -> Option<&str> {
    let name = owner.span.file.as_ref()?.to_str()?;
    (name.starts_with("--") || name.starts_with("HAFT_")).then_some(name)
}

/// What the text of the edit says to do.
fn edit_flag(layers: &mut Layers, key: &str, edit: &ConfigEdit) {
    let text = edit.to_string();
    if let Some(level) = text.strip_prefix("run with --access ") {
        layers.flags.insert("--access", level.to_owned());
    } else if text.starts_with("run without --profile ") {
        layers.flags.remove("--profile");
    } else if let (Some(assigned), ConfigEdit::Set { value: EditValue::Text(value), .. }) =
        (text.strip_prefix("run without --preset and with "), edit)
    {
        layers.flags.remove("--preset");
        let (variable, assigned) = assigned.split_once('=').unwrap();
        assert_eq!(assigned, value);
        layers.variables.insert(variable.to_owned(), value.clone());
    } else {
        panic!("{key}: {text}");
    }
}

fn edit_variable(layers: &mut Layers, variable: &str, key: &str, edit: &ConfigEdit) {
    let text = edit.to_string();
    if let ConfigEdit::Set { value: EditValue::Text(value), .. } = edit
        && !key.starts_with("workspace.roots.")
    {
        let (variable, assigned) = text.strip_prefix("set ").unwrap().split_once('=').unwrap();
        assert_eq!(assigned, value);
        layers.variables.insert(variable.to_owned(), value.clone());
        return;
    }
    assert!(text.ends_with(variable), "{text}");
    let mut table = format!("x = {}", layers.variables[variable]).parse::<Table>().unwrap();
    let within = match edit {
        ConfigEdit::Remove { entry, .. } => ConfigEdit::Remove { key: "x".to_owned(), entry: entry.clone(), owner: Owner::default() },
        ConfigEdit::Add { entry, .. } => ConfigEdit::add("x", entry.as_str()),
        ConfigEdit::Set { value: EditValue::Text(value), .. } => {
            for root in table["x"].as_array_mut().unwrap().iter_mut().filter(|root| parts(key)[2] == root["path"].as_str().unwrap()) {
                root.as_table_mut().unwrap().insert("access".into(), Toml::from(value.as_str()));
            }
            edit.clone()
        }
        other => panic!("{key}: {other}"),
    };
    // A variable has no lines: all entries that are the same are meant.
    while table["x"]
        .as_array()
        .unwrap()
        .iter()
        .any(|entry| matches!(&within, ConfigEdit::Remove { entry: gone, .. } if entry.as_str() == Some(gone)))
    {
        edit_file(&mut table, "x", &within);
    }
    if matches!(within, ConfigEdit::Add { .. }) {
        edit_file(&mut table, "x", &within);
    }
    layers.variables.insert(variable.to_owned(), table["x"].to_string());
}

/// Makes an edit in a file. One line of a list has one entry, so one edit takes one out.
fn edit_file(table: &mut Table, key: &str, edit: &ConfigEdit) {
    let path = parts(key);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let listed = path.iter().try_fold(Toml::Table(table.clone()), |at, part| at.get(part).cloned());
    match edit {
        ConfigEdit::Set { value: EditValue::Text(value), .. } if key.starts_with("workspace.roots.") => {
            for root in table["workspace"]["roots"].as_array_mut().unwrap().iter_mut().filter(|root| root["path"].as_str() == Some(path[2]))
            {
                root.as_table_mut().unwrap().insert("access".into(), Toml::from(value.as_str()));
            }
        }
        ConfigEdit::Set { value: EditValue::Text(value), .. } => put(table, &path, Toml::from(value.as_str())),
        ConfigEdit::Set { value: EditValue::List(entries), .. } => {
            put(table, &path, Toml::Array(entries.iter().map(|entry| Toml::from(entry.as_str())).collect()));
        }
        ConfigEdit::Remove { entry, .. } => match listed {
            Some(Toml::Array(mut entries)) => {
                let at = entries.iter().position(|listed| listed.as_str().map(str::trim) == Some(entry.as_str()));
                entries.remove(at.unwrap_or_else(|| panic!("{edit}: it is not there")));
                put(table, &path, Toml::Array(entries));
            }
            other => panic!("{edit}: {other:?}"),
        },
        ConfigEdit::Add { entry, .. } => {
            let mut entries = listed.and_then(|listed| listed.as_array().cloned()).unwrap_or_default();
            let added = if entry.starts_with("{ path = ") {
                format!("x = {entry}").parse::<Table>().unwrap().remove("x").unwrap()
            } else {
                Toml::from(entry.as_str())
            };
            entries.push(added);
            put(table, &path, Toml::Array(entries));
        }
        other => panic!("{other:?}"),
    }
}
