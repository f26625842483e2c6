//! What the user has approved of a server: its list of tools as it was then.
//!
//! The first list is approved when it is first seen, because the user has configured the server. From then on a tool that is new or
//! has changed waits until the user has looked at it: a server that was harmless yesterday may not be today. Tools whose text holds
//! hidden characters are never approved by themselves.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_text::{display, hex};
use ring::digest::{SHA256, digest};
use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::settings::ServerSettings;

/// The folder in the data folder.
pub const FOLDER: &str = "mcp";
/// The form of the file; another is not read.
const VERSION: u32 = 1;
/// A larger file is neither read nor written.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What is stored of a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    version: u32,
    /// The tools that are approved, as they were then.
    pub(crate) approved: Vec<Tool>,
    /// The tools as they were last seen.
    pub(crate) seen: Vec<Tool>,
    /// When the tools were approved, in seconds since 1970; records of earlier versions do not say it.
    #[serde(default)]
    pub(crate) approved_at: Option<u64>,
}

/// What the user trusts of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerApproval {
    /// The SHA-256 of the approved tools, in hexadecimal digits.
    pub fingerprint: String,
    /// How many tools are approved.
    pub tools: usize,
    /// When they were approved, in seconds since 1970, if it is known.
    pub since: Option<u64>,
}

/// A tool that waits for the user.
#[derive(Debug, Clone)]
pub struct QuarantinedTool {
    /// The server's name of it.
    pub name: String,
    /// Why it waits, as part of a sentence.
    pub why: QuarantineReason,
    /// The tool as it was approved, as pretty JSON; empty for a new one.
    pub before: String,
    /// The tool as it is now, as pretty JSON.
    pub now: String,
    /// The same, to be approved.
    pub(crate) tool: Tool,
}

/// Why a tool waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuarantineReason {
    /// It was not in the approved list.
    New,
    /// Its description, parameters or annotations have changed.
    Changed,
    /// Its text holds characters that no reader sees.
    HiddenCharacters,
}

impl QuarantineReason {
    /// As part of a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "it is new since you approved the server",
            Self::Changed => "it has changed since you approved the server",
            Self::HiddenCharacters => "its text holds hidden characters",
        }
    }
}

/// A list of tools, divided.
#[derive(Debug, Default)]
pub(crate) struct Review {
    pub(crate) usable: Vec<Tool>,
    pub(crate) quarantined: Vec<QuarantinedTool>,
}

impl ServerRecord {
    /// The stored record, or the last one of the same program in another folder; `None` if the server was never seen. One that cannot
    /// be read approves nothing: a server whose record was damaged, or grew too large, is not one that was never seen.
    pub(crate) fn read(data_folder: &Path, server: &ServerSettings) -> Option<Self> {
        let own = path(data_folder, server);
        let is_absent = own.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let path = if is_absent { elsewhere(data_folder, server)? } else { own };
        Some(Self::load(&path).unwrap_or_default())
    }

    fn load(path: &Path) -> Option<Self> {
        let file = std::fs::File::open(path).ok()?;
        if file.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let record: Self = serde_json::from_reader(std::io::BufReader::new(file)).ok()?;
        record.is_readable().then_some(record)
    }

    /// Whether it is what was stored, or stands for a record that could not be read.
    pub(crate) const fn is_readable(&self) -> bool {
        self.version == VERSION
    }

    /// The record after these tools were seen: the first list is approved, but for hidden characters.
    pub(crate) fn after(before: Option<Self>, seen: &[Tool], now: SystemTime) -> Self {
        let (approved, approved_at) = match before {
            Some(before) => (before.approved, before.approved_at),
            None => (seen.iter().filter(|tool| !has_hidden_characters(tool)).cloned().collect(), seconds(now)),
        };
        Self { version: VERSION, approved, seen: seen.to_vec(), approved_at }
    }

    /// These tools are approved, because the user has looked at them: as they were shown, whatever was seen since.
    pub(crate) fn approve(&mut self, shown: &[QuarantinedTool], now: SystemTime) {
        let is_shown = |known: &Tool| shown.iter().any(|tool| tool.name == known.name);
        self.approved.retain(|known| self.seen.iter().any(|tool| tool.name == known.name) && !is_shown(known));
        self.approved.extend(shown.iter().map(|shown| shown.tool.clone()));
        self.approved_at = seconds(now);
        self.version = VERSION;
    }

    /// Every tool waits again until the user has looked at it.
    pub(crate) fn revoke(&mut self) {
        self.approved.clear();
        self.approved_at = None;
    }

    /// What is approved; `None` if it is nothing.
    pub(crate) fn approval(&self) -> Option<ServerApproval> {
        let mut all = ring::digest::Context::new(&SHA256);
        for tool in &self.approved {
            all.update(fingerprint(tool).as_bytes());
        }
        let fingerprint = hex::encode(all.finish().as_ref());
        (!self.approved.is_empty()).then_some(ServerApproval { fingerprint, tools: self.approved.len(), since: self.approved_at })
    }

    /// Which of the tools that were last seen may be used.
    pub(crate) fn review(&self) -> Review {
        let mut review = Review::default();
        for tool in &self.seen {
            let known = self.approved.iter().find(|known| known.name == tool.name);
            let why = match known {
                Some(known) if fingerprint(known) == fingerprint(tool) => {
                    review.usable.push(tool.clone());
                    continue;
                }
                _ if has_hidden_characters(tool) => QuarantineReason::HiddenCharacters,
                Some(_) => QuarantineReason::Changed,
                None => QuarantineReason::New,
            };
            let before = known.map(pretty).unwrap_or_default();
            review.quarantined.push(QuarantinedTool { name: tool.name.to_string(), why, before, now: pretty(tool), tool: tool.clone() });
        }
        review
    }

    /// A reader sees the old record or the new one.
    pub(crate) fn write(&self, data_folder: &Path, server: &ServerSettings) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(std::io::Error::other(format!("they have more than {} MB", MAX_BYTES >> 20)));
        }
        make_folder(data_folder)?;
        replace_private(&path(data_folder, server), &bytes)
    }
}

fn seconds(time: SystemTime) -> Option<u64> {
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Writes a temporary file that is private to the user, and renames it.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", std::process::id()));
    // One that was left behind may have other permissions.
    drop(std::fs::remove_file(&draft));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&draft)?.write_all(bytes)?;
    std::fs::rename(&draft, path)
}

/// Makes the folder, private to the user.
pub(crate) fn make_folder(data_folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(data_folder.join(FOLDER))
}

/// Where the output of a server is kept.
pub fn log_path(data_folder: &Path, server: &str) -> PathBuf {
    data_folder.join(FOLDER).join(format!("{server}.log"))
}

/// Another program or address under the same name has a record of its own, and so has each folder.
pub(crate) fn path(data_folder: &Path, server: &ServerSettings) -> PathBuf {
    data_folder.join(FOLDER).join(format!("{}{}.json", record_prefix(server), &server.identity()[..12]))
}

/// What the files of the records of one program begin with, whatever folder it runs in.
fn record_prefix(server: &ServerSettings) -> String {
    let program = server.program_identity().map(|program| format!("{}-", &program[..12])).unwrap_or_default();
    format!("{}-{program}", server.name)
}

/// The last record of the same program in another folder: what the user has approved is the program, and its tools are known from there.
fn elsewhere(data_folder: &Path, server: &ServerSettings) -> Option<PathBuf> {
    if server.program_identity().is_none() || server.is_of_folder() {
        return None;
    }
    let prefix = record_prefix(server);
    let is_record = |name: &str| name.strip_suffix(".json").is_some_and(|name| name.starts_with(&prefix));
    let entries = std::fs::read_dir(data_folder.join(FOLDER)).ok()?.flatten();
    let records = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_record));
    records.max_by_key(|entry| entry.metadata().and_then(|found| found.modified()).ok()).map(|entry| entry.path())
}

/// Everything that decides what a model reads of a tool, and what a call of it needs.
fn facts(tool: &Tool) -> Value {
    sorted(json!({
        "name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema, "annotations": tool.annotations,
    }))
}

/// Some servers list the keys of an object in any order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            entries.into_iter().map(|(key, value)| (key, sorted(value))).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The SHA-256 of the facts of a tool.
pub(crate) fn fingerprint(tool: &Tool) -> String {
    hex::encode(digest(&SHA256, facts(tool).to_string().as_bytes()))
}

fn pretty(tool: &Tool) -> String {
    format!("{:#}", facts(tool))
}

/// Whether any text of a tool holds characters that no reader sees.
fn has_hidden_characters(tool: &Tool) -> bool {
    fn is_hidden(ch: char) -> bool {
        display::is_hidden(ch) && !matches!(ch, '\n' | '\r' | '\t' | '\u{a0}' | '\u{3000}' | '\u{fe0e}' | '\u{fe0f}')
    }
    fn any(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains(is_hidden),
            Value::Array(values) => values.iter().any(any),
            Value::Object(map) => map.iter().any(|(key, value)| key.contains(is_hidden) || any(value)),
            _ => false,
        }
    }
    any(&facts(tool))
}

#[cfg(test)]
mod tests {
    use super::super::settings::{ServerTransport, StdioServer};
    use super::*;

    const NOW: SystemTime = UNIX_EPOCH;

    fn tool(name: &str, description: &str) -> Tool {
        serde_json::from_value(json!({"name": name, "description": description, "inputSchema": {"type": "object", "a": 1, "b": 2}}))
            .unwrap()
    }

    fn names(review: &Review) -> (Vec<&str>, Vec<(&str, QuarantineReason)>) {
        let usable = review.usable.iter().map(|tool| &*tool.name).collect();
        (usable, review.quarantined.iter().map(|tool| (tool.name.as_str(), tool.why)).collect())
    }

    #[test]
    fn first_list_is_approved_and_later_changes_wait() {
        let record = ServerRecord::after(None, &[tool("a", "x"), tool("b", "y")], NOW);
        assert_eq!(names(&record.review()), (vec!["a", "b"], vec![]));
        let mut record = ServerRecord::after(Some(record), &[tool("a", "x"), tool("b", "other"), tool("c", "z")], NOW);
        let expected = vec![("b", QuarantineReason::Changed), ("c", QuarantineReason::New)];
        assert_eq!(names(&record.review()), (vec!["a"], expected));
        let shown = record.review().quarantined;
        record.approve(&shown, NOW);
        assert_eq!(names(&record.review()), (vec!["a", "b", "c"], vec![]));
        let record = ServerRecord::after(Some(record), &[tool("b", "other")], NOW);
        assert_eq!(names(&record.review()), (vec!["b"], vec![]), "a tool that is gone changes nothing");
    }

    #[test]
    fn hidden_characters_are_never_approved_by_themselves() {
        let hidden = ["ig\u{200b}nore", "\u{e0041}\u{e0042}", "\u{202e}txt", "\u{1b}[8m", "soft\u{ad}hyphen"];
        for description in hidden {
            let record = ServerRecord::after(None, &[tool("a", description)], NOW);
            assert_eq!(names(&record.review()), (vec![], vec![("a", QuarantineReason::HiddenCharacters)]), "{description:?}");
        }
        for description in ["two\nlines\tand a tab", "日本語", "emoji ⚠\u{fe0f}"] {
            assert_eq!(names(&ServerRecord::after(None, &[tool("a", description)], NOW).review()).0, ["a"], "{description:?}");
        }
    }

    #[test]
    fn tool_that_changes_after_it_was_shown_is_not_approved() {
        let record = ServerRecord::after(None, &[tool("a", "x")], NOW);
        let record = ServerRecord::after(Some(record), &[tool("a", "shown"), tool("b", "shown")], NOW);
        let shown = record.review().quarantined;
        // Another process of Haft sees another list meanwhile.
        let mut record = ServerRecord::after(Some(record), &[tool("a", "other"), tool("b", "shown"), tool("c", "z")], NOW);
        record.approve(&shown, NOW);
        let expected = vec![("a", QuarantineReason::Changed), ("c", QuarantineReason::New)];
        assert_eq!(names(&record.review()), (vec!["b"], expected));
    }

    #[test]
    fn server_whose_record_cannot_be_read_has_nothing_approved() {
        let folder = tempfile::tempdir().unwrap();
        let server = StdioServer { program: "x".into(), arguments: vec![], environment: vec![], directory: "/".into(), sandbox: None };
        let settings = ServerSettings::new("hub", ServerTransport::Stdio(server));
        assert!(ServerRecord::read(folder.path(), &settings).is_none(), "a server that was never seen");
        ServerRecord::after(None, &[tool("a", "x")], NOW).write(folder.path(), &settings).unwrap();
        assert!(ServerRecord::read(folder.path(), &settings).is_some_and(|record| record.approval().is_some()));
        let path = path(folder.path(), &settings);
        for damaged in ["", "{", r#"{"version": 9, "approved": [], "seen": []}"#] {
            std::fs::write(&path, damaged).unwrap();
            let record = ServerRecord::read(folder.path(), &settings);
            assert_eq!(names(&ServerRecord::after(record, &[tool("a", "x")], NOW).review()).0, [""; 0], "{damaged}");
        }
        std::fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(ServerRecord::read(folder.path(), &settings).unwrap().approval(), None);
        let large = tool("a", &"x".repeat(usize::try_from(MAX_BYTES).unwrap() / 2));
        let written = ServerRecord::after(None, &[large], NOW).write(folder.path(), &settings);
        assert!(written.is_err(), "what cannot be read again is not written");
    }

    #[test]
    fn program_that_was_approved_in_one_folder_is_not_new_in_another() {
        let (data, one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = |directory: &Path, argument: &str| {
            let arguments = vec!["-y".into(), argument.into(), ".".into()];
            let server = StdioServer { program: "npx".into(), arguments, environment: vec![], directory: directory.into(), sandbox: None };
            ServerSettings::new("hub", ServerTransport::Stdio(server))
        };
        let approved = ServerRecord::after(None, &[tool("a", "x")], NOW);
        approved.write(data.path(), &settings(one.path(), "server")).unwrap();
        let there = ServerRecord::read(data.path(), &settings(other.path(), "server"));
        let changed = ServerRecord::after(there, &[tool("a", "other")], NOW);
        assert_eq!(names(&changed.review()), (vec![], vec![("a", QuarantineReason::Changed)]));
        assert!(ServerRecord::read(data.path(), &settings(other.path(), "another")).is_none(), "another program");
        // A file of the folder is another program in another folder.
        std::fs::write(other.path().join("server"), "").unwrap();
        assert!(ServerRecord::read(data.path(), &settings(other.path(), "server")).is_none());
        changed.write(data.path(), &settings(other.path(), "server")).unwrap();
        let own = ServerRecord::read(data.path(), &settings(one.path(), "server")).unwrap();
        assert_eq!(names(&own.review()).0, ["a"], "each folder has a record of its own");
    }

    #[test]
    fn order_of_keys_is_no_change_and_annotations_are() {
        let reordered: Tool =
            serde_json::from_value(json!({"inputSchema": {"b": 2, "a": 1, "type": "object"}, "description": "x", "name": "a"})).unwrap();
        assert_eq!(fingerprint(&tool("a", "x")), fingerprint(&reordered));
        let mut annotated = tool("a", "x");
        annotated.annotations = Some(rmcp::model::ToolAnnotations::new().read_only(true));
        assert_ne!(fingerprint(&tool("a", "x")), fingerprint(&annotated));
    }

    #[test]
    fn revoked_tools_wait_and_the_next_list_approves_none_of_them() {
        let later = UNIX_EPOCH + std::time::Duration::from_secs(90);
        let mut record = ServerRecord::after(None, &[tool("a", "x"), tool("b", "y")], later);
        let approval = record.approval().unwrap();
        assert_eq!((approval.tools, approval.since, approval.fingerprint.len()), (2, Some(90), 64));
        record.revoke();
        assert_eq!(record.approval(), None);
        let record = ServerRecord::after(Some(record), &[tool("a", "x")], NOW);
        assert_eq!(names(&record.review()), (vec![], vec![("a", QuarantineReason::New)]));
        let old: ServerRecord = serde_json::from_value(json!({ "version": 1, "approved": [], "seen": [] })).unwrap();
        assert_eq!(old.approved_at, None);
    }
}
