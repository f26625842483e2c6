//! Resources of a session: the whole of outputs that were cut, and the files that the session has read or written.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_contract::{BoxFuture, Content, EmbeddedDocument, ToolCall, ToolOutput, ToolResult};
use haft_engine::{Engine, Session};
use haft_text::percent;
use serde_json::json;

use super::{ResourceFault, ResourceListing, ResourcePage, ResourceSource, ResourceTemplateListing};
use crate::server::calls::call_id;

const SPILL: &str = "haft://spill/";
const FILE: &str = "haft://file/";
/// Reads every resource, so that rules, redaction and limits hold as for any call.
const READER: &str = "read_file";
/// What a note of the reader below a page begins with.
const NOTE: &str = "(Showing ";
/// More resources than this are not listed.
const MOST: usize = 2000;

/// The resources of one session; those of other sessions have no address here.
#[derive(Debug)]
pub struct SessionResources {
    engine: Engine,
    session: Session,
    spills: PathBuf,
}

impl SessionResources {
    /// The resources of a session whose spills are in this folder.
    pub fn new(engine: Engine, session: Session, spills: PathBuf) -> Self {
        Self { engine, session, spills }
    }

    fn spilled(&self) -> Vec<ResourceListing> {
        let entries = std::fs::read_dir(&self.spills).into_iter().flatten().flatten().take(MOST);
        let mut listed: Vec<_> = entries.filter_map(|entry| spill(&entry.path())).collect();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        listed
    }

    /// Paths in the workspace of the files that were read or written.
    fn seen_paths(&self) -> Vec<String> {
        let workspace = self.session.workspace();
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        let paths = self.session.seen_files().paths();
        let inside = paths.iter().filter_map(|path| if path.is_absolute() { path.strip_prefix(&workspace).ok() } else { Some(path) });
        inside.filter_map(Path::to_str).filter(|name| !name.is_empty()).map(str::to_owned).take(MOST).collect()
    }

    fn file(&self, name: String) -> ResourceListing {
        ResourceListing {
            uri: format!("{FILE}{}", percent::encode(&name)),
            size: self.session.workspace().join(&name).metadata().ok().map(|found| found.len()),
            name,
            description: "A file that this session has read or written".to_owned(),
            mime: "text/plain".to_owned(),
        }
    }

    /// The path of an address; `None` if it is none of this session.
    fn path(&self, uri: &str, seen: &[String]) -> Option<PathBuf> {
        if let Some(name) = uri.strip_prefix(SPILL) {
            let name = percent::decode(name);
            let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
            return plain.then(|| self.spills.join(name)).filter(|path| path.exists());
        }
        let name = percent::decode(uri.strip_prefix(FILE)?);
        seen.contains(&name).then(|| PathBuf::from(name))
    }

    async fn page(&self, uri: &str) -> Result<ResourcePage, ResourceFault> {
        let (address, position) = split(uri).ok_or(ResourceFault::Unknown)?;
        let path = self.path(address, &self.seen_paths()).ok_or(ResourceFault::Unknown)?;
        let mut arguments = json!({ "path": path, "again": true });
        if let Some(Position { line, column }) = position {
            arguments["offset"] = json!(line);
            if column > 1 {
                arguments["column"] = json!(column);
            }
        }
        let result = self.engine.run(ToolCall::new(call_id(), READER, arguments), &self.session).await;
        of_result(result, uri, address)
    }
}

impl ResourceSource for SessionResources {
    fn list(&self) -> Vec<ResourceListing> {
        let mut listed = self.spilled();
        listed.extend(self.seen_paths().into_iter().map(|name| self.file(name)));
        listed
    }

    fn templates(&self) -> Vec<ResourceTemplateListing> {
        let template = |uri_template: &str, name: &str, description: &str| ResourceTemplateListing {
            uri_template: uri_template.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
        };
        vec![
            template("haft://spill/{name}{?line,column}", "spill", "The whole of an output that was cut, from this line on"),
            template("haft://file/{+path}{?line,column}", "file", "A file that this session has read or written, from this line on"),
        ]
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ResourcePage, ResourceFault>> {
        Box::pin(self.page(uri))
    }

    fn versions(&self, uris: &[String]) -> Vec<Option<u64>> {
        let seen = self.seen_paths();
        let path = |uri: &String| split(uri).and_then(|(address, _)| self.path(address, &seen));
        uris.iter().map(|uri| version(&self.session.workspace().join(path(uri)?))).collect()
    }

    fn of_path(&self, path: &Path) -> Option<ResourceListing> {
        if path.parent() == Some(&self.spills) { spill(path) } else { None }
    }
}

/// Differs once the file was changed or replaced.
fn version(path: &Path) -> Option<u64> {
    let found = path.metadata().ok()?;
    let mut hasher = DefaultHasher::new();
    (found.len(), found.modified().ok(), found.ino()).hash(&mut hasher);
    Some(hasher.finish())
}

fn spill(path: &Path) -> Option<ResourceListing> {
    let name = path.file_name()?.to_str()?;
    let size = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    Some(ResourceListing {
        uri: format!("{SPILL}{}", percent::encode(name)),
        name: name.to_owned(),
        description: "The whole of an output that was cut".to_owned(),
        mime: "text/plain".to_owned(),
        size: Some(size),
    })
}

/// Where a page begins, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: u64,
    column: u64,
}

/// An address without the position, and the position.
fn split(uri: &str) -> Option<(&str, Option<Position>)> {
    let Some((address, query)) = uri.split_once('?') else { return Some((uri, None)) };
    let mut position = Position { line: 1, column: 1 };
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=')?;
        let value: u64 = value.parse().ok().filter(|value| *value > 0)?;
        match name {
            "line" => position.line = value,
            "column" => position.column = value,
            _ => return None,
        }
    }
    Some((address, Some(position)))
}

fn of_result(result: ToolResult, uri: &str, address: &str) -> Result<ResourcePage, ResourceFault> {
    let output = result.outcome.map_err(|error| ResourceFault::Refused(error.message().to_owned()))?;
    let number = |key: &str| output.details.as_ref().and_then(|details| details[key].as_u64());
    let column = number("next_column").map(|column| format!("&column={column}"));
    let next = number("next_offset").map(|line| format!("{address}?line={line}{}", column.clone().unwrap_or_default()));
    let is_part = next.is_some() || number("first_line").is_some_and(|line| line > 1);
    let document = if let Some((mime, data)) = picture(&output) {
        EmbeddedDocument::bytes(uri, mime, data)
    } else {
        let text = output.texts().collect::<Vec<_>>().join("\n");
        let text = if is_part { without_note(&text, column.is_some()) } else { &text };
        EmbeddedDocument::text(uri, "text/plain", text)
    };
    Ok(ResourcePage { document, next })
}

fn picture(output: &ToolOutput) -> Option<(String, Vec<u8>)> {
    output.content.iter().find_map(|content| match content {
        Content::Image { mime, data } => Some((mime.clone(), data.clone())),
        _ => None,
    })
}

/// The text above the note of the reader.
fn without_note(text: &str, ends_inside_a_line: bool) -> &str {
    let Some(text) = text.rfind(NOTE).map(|start| &text[..start]) else { return text };
    let text = text.strip_suffix('\n').unwrap_or(text);
    if ends_inside_a_line { text.strip_suffix('\n').unwrap_or(text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_numbers_from_one() {
        let at = |line, column| Some(("a", Some(Position { line, column })));
        for (uri, expected) in [
            ("a", Some(("a", None))),
            ("a?line=3", at(3, 1)),
            ("a?line=3&column=7", at(3, 7)),
            ("a?line=0", None),
            ("a?line=-1", None),
            ("a?page=1", None),
            ("a?", None),
            ("a?line=99999999999999999999", None),
        ] {
            assert_eq!(split(uri), expected, "{uri}");
        }
    }

    #[test]
    fn note_of_the_reader_is_no_part_of_the_resource() {
        assert_eq!(without_note("a\nb\n\n(Showing lines 1-2 of a file of 1 KB. Continue with offset=3.)", false), "a\nb\n");
        assert_eq!(without_note("(Showing x)\nab\n\n(Showing characters 1-2 of line 1)", true), "(Showing x)\nab");
    }

    #[test]
    fn resource_of_a_call_that_was_refused_says_why() {
        let outcome = Err(haft_contract::ToolError::denied("No."));
        let result = ToolResult { call_id: "c".into(), tool: READER.into(), outcome, elapsed: std::time::Duration::ZERO, stored: None };
        assert_eq!(of_result(result, "u", "u"), Err(ResourceFault::Refused("No.".into())));
    }

    #[test]
    fn next_part_is_named_by_line_and_column() {
        let details = json!({"first_line": 1, "next_offset": 3, "next_column": 9});
        let output = ToolOutput::text("ab\n\n(Showing it)").with_details(details);
        let result =
            ToolResult { call_id: "c".into(), tool: READER.into(), outcome: Ok(output), elapsed: std::time::Duration::ZERO, stored: None };
        let page = of_result(result, "u", "u").unwrap();
        assert_eq!(page.next.as_deref(), Some("u?line=3&column=9"));
        assert_eq!(page.document, EmbeddedDocument::text("u", "text/plain", "ab"));
    }
}
