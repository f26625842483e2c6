//! The text with the table of an MCP server added or removed.

use std::path::Path;

use toml_edit::{Array, Item, Table, Value};

use super::SaveError;
use super::edit::{edited, insert};
use super::tables::{at, table_at};

/// One key of a server's table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEdit {
    /// A text.
    Text(&'static str, String),
    /// A list of texts.
    List(&'static str, Vec<String>),
    /// `true`.
    On(&'static str),
    /// A table of texts, as `env`.
    Table(&'static str, Vec<(String, String)>),
}

fn path(name: &str) -> [String; 3] {
    ["mcp".to_owned(), "servers".to_owned(), name.to_owned()]
}

pub(super) fn with_server(file: &Path, text: &str, name: &str, edits: &[ServerEdit]) -> Result<String, SaveError> {
    let text = without_server(file, text, name)?.unwrap_or_else(|| text.to_owned());
    edited(file, &text, |document| {
        let table = table_at(file, document, &path(name))?;
        for edit in edits {
            match edit {
                ServerEdit::Text(key, value) => insert(table, key, value.into()),
                ServerEdit::List(key, entries) => insert(table, key, entries.iter().collect::<Array>().into()),
                ServerEdit::On(key) => insert(table, key, true.into()),
                ServerEdit::Table(key, entries) => {
                    let all: toml_edit::InlineTable = entries.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                    insert(table, key, Value::InlineTable(all));
                }
            }
        }
        Ok(())
    })
}

pub(super) fn without_server(file: &Path, text: &str, name: &str) -> Result<Option<String>, SaveError> {
    let mut removed = false;
    let changed = edited(file, text, |document| {
        let [mcp, servers, _] = path(name);
        let Some(table) = at(document, &[mcp.clone(), servers.clone()]).and_then(Item::as_table_like_mut) else { return Ok(()) };
        removed = table.remove(name).is_some();
        let is_empty = table.is_empty();
        if removed && is_empty {
            remove_empty(document, &mcp, &servers);
        }
        Ok(())
    })?;
    Ok(removed.then_some(changed))
}

/// Removes `[mcp.servers]`, and `[mcp]` with it, when nothing is left in them.
fn remove_empty(document: &mut Table, mcp: &str, servers: &str) {
    let Some(table) = document.get_mut(mcp).and_then(Item::as_table_like_mut) else { return };
    table.remove(servers);
    if table.is_empty() {
        document.remove(mcp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_added_replaced_and_removed_and_the_rest_stays() {
        let (file, before) = (Path::new("config.toml"), "# mine\naccess = \"read-only\" # careful\n");
        let edits = [
            ServerEdit::Text("command", "npx".into()),
            ServerEdit::List("args", vec!["-y".into(), "a \"b\"".into()]),
            ServerEdit::Table("env", vec![("A".into(), "1".into())]),
            ServerEdit::On("sandbox"),
        ];
        let added = with_server(file, before, "files", &edits).unwrap();
        let table = "[mcp.servers.files]\ncommand = \"npx\"\nargs = [\"-y\", 'a \"b\"']\nenv = { A = \"1\" }\nsandbox = true\n";
        assert_eq!(added, format!("{before}\n{table}"));
        let other = with_server(file, &added, "files", &[ServerEdit::Text("url", "https://example.org".into())]).unwrap();
        assert_eq!(other, format!("{before}\n[mcp.servers.files]\nurl = \"https://example.org\"\n"));
        assert_eq!(without_server(file, &other, "files").unwrap().unwrap().trim_end(), before.trim_end());
        assert_eq!(without_server(file, before, "files").unwrap(), None);
    }
}
