//! The change that a call would make to a file, as a diff, before it is made.

use std::fs;
use std::path::Path;

use haft_contract::{Effect, ports::ApprovalRequest};
use haft_patch::diff::unified;
use haft_patch::{Edit, edit};
use serde_json::Value;

/// The largest file that is compared.
const MOST_BYTES: u64 = 1 << 20;
/// Lines around a change.
const CONTEXT: usize = 1;

/// The diff of a call that writes one file, or the patch that it applies. `None` if that is not known before it runs.
pub fn proposed_change(request: &ApprovalRequest) -> Option<String> {
    let arguments = &request.arguments;
    let text = |name: &str| arguments[name].as_str();
    if let Some(patch) = text("input").filter(|patch| patch.trim_start().starts_with("*** Begin Patch")) {
        let is_frame = |line: &&str| !matches!(line.trim(), "*** Begin Patch" | "*** End Patch");
        return Some(patch.lines().filter(is_frame).collect::<Vec<_>>().join("\n"));
    }
    let mut written = request.effects.iter().filter_map(|effect| match effect {
        Effect::Write(path) => Some(&path.location),
        _ => None,
    });
    let (location, None) = (written.next()?, written.next()) else { return None };
    let before = content(location.path())?;
    let after = match text("content") {
        Some(content) if text("mode") == Some("append") => [&before, content.as_bytes()].concat(),
        Some(content) => content.as_bytes().to_vec(),
        None => edit(&before, &edits(arguments)?).ok()?.bytes,
    };
    let diff = unified(&before, &after, location.display(), CONTEXT);
    // The headline names the file.
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    Some(
        diff.lines()
            .enumerate()
            .filter(|(number, line)| *number > 1 || !is_header(line))
            .map(|(_, line)| line)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// The content of a file, empty if there is none yet; `None` if it cannot be compared.
fn content(path: &Path) -> Option<Vec<u8>> {
    match fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() <= MOST_BYTES => fs::read(path).ok(),
        Ok(_) => None,
        Err(_) => Some(Vec::new()),
    }
}

/// The replacements of a call that edits a file.
fn edits(arguments: &Value) -> Option<Vec<Edit>> {
    let one = |edit: &Value| {
        let text = |name: &str| edit[name].as_str().map(str::to_owned);
        Some(Edit { old: text("old_string")?, new: text("new_string")?, replace_all: edit["replace_all"] == true })
    };
    match arguments["edits"].as_array() {
        Some(several) if !several.is_empty() => several.iter().map(one).collect(),
        _ => Some(vec![one(arguments)?]),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{CallInfo, Location, Plan, Zone};
    use serde_json::json;

    use super::*;

    fn proposed(path: &Path, arguments: &Value) -> Option<String> {
        let at = Location::new(path.into(), path.into(), "notes.txt".into(), Zone::Workspace, Arc::new(()));
        let call = CallInfo { id: "1".into(), tool: "write_file".into(), session: "s".into(), agent: "main".into() };
        proposed_change(&ApprovalRequest::new(call, arguments.clone(), Plan::nothing().write(at).effects().to_vec(), String::new()))
    }

    #[test]
    fn change_of_a_file_is_a_diff_before_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (file, missing) = (folder.path().join("notes.txt"), folder.path().join("new.txt"));
        fs::write(&file, "one\ntwo\nthree\n").unwrap();
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n";
        for (path, arguments, diff) in [
            (&file, json!({"content": "one\n2\nthree\n"}), Some("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three")),
            (&file, json!({"content": "four\n", "mode": "append"}), Some("@@ -3 +3,2 @@\n three\n+four")),
            (&missing, json!({"content": "new\n"}), Some("@@ -0,0 +1 @@\n+new")),
            (&file, json!({"old_string": "two", "new_string": "2"}), Some("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three")),
            (&file, json!({"edits": [{"old_string": "one\n", "new_string": ""}]}), Some("@@ -1,2 +1 @@\n-one\n two")),
            (&file, json!({"old_string": "absent", "new_string": "2"}), None),
            (&file, json!({"input": patch}), Some("*** Update File: a\n@@\n-x\n+y")),
            (&file, json!({}), None),
            (&folder.path().to_owned(), json!({"content": "x"}), None),
        ] {
            assert_eq!(proposed(path, &arguments).as_deref(), diff, "{arguments}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
    }
}
