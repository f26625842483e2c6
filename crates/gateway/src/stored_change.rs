//! What a file tool changed, as its stored result and its arguments tell it: the details of a result, which have it too, are not stored.

use std::borrow::Cow;
use std::fmt::Write;

use haft_tui::diff;
use serde_json::Value;

/// Added lines, removed lines, and the diff, as far as they are known.
#[derive(Debug, PartialEq)]
pub(crate) struct StoredChange<'a> {
    pub(crate) counts: Option<(u64, u64)>,
    pub(crate) diff: Option<Cow<'a, str>>,
}

impl<'a> StoredChange<'a> {
    /// Of a successful call, whose result has this text.
    pub(crate) fn of_call(arguments: &Value, text: &'a str) -> Self {
        let diff = diff_in(text).map(Cow::Borrowed);
        let named = counts_in(text);
        // The result of a tool that created a file tells nothing of its content, which the model had written.
        let diff = diff.or_else(|| created(arguments).filter(|_| named.is_none()).map(Cow::Owned));
        Self { counts: named.or_else(|| diff.as_deref().map(diff::counts)), diff }
    }
}

/// The diff with which a text ends.
fn diff_in(text: &str) -> Option<&str> {
    let starts = text.match_indices("--- ").map(|(at, _)| at).filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    starts.map(|at| &text[at..]).find(|diff| diff.lines().nth(1).is_some_and(|line| line.starts_with("+++ ")))
}

/// What a line such as `(3 added, 1 removed)` counts.
fn counts_in(text: &str) -> Option<(u64, u64)> {
    text.lines().find_map(|line| {
        let (added, removed) = line.strip_prefix('(')?.strip_suffix(" removed)")?.split_once(" added, ")?;
        Some((added.strip_suffix(" lines").unwrap_or(added).parse().ok()?, removed.parse().ok()?))
    })
}

/// The diff of a file that was written anew.
fn created(arguments: &Value) -> Option<String> {
    let (path, content) = (arguments["path"].as_str()?, arguments["content"].as_str()?);
    let mut diff = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n", content.lines().count());
    for line in content.lines() {
        // Writing to a string does not fail.
        let _ = writeln!(diff, "+{line}");
    }
    Some(diff)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn change_is_read_from_the_result_and_a_new_file_from_the_arguments() {
        let edit = "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b";
        let new = "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n";
        let edited = json!({"path": "a.rs", "old_string": "a", "new_string": "b"});
        let written = json!({"path": "n.txt", "content": "one\ntwo\n"});
        for (arguments, text, counts, diff) in [
            (&edited, format!("Edited a.rs: 1 replacement (line 1)\n(1 added, 1 removed)\n{edit}"), Some((1, 1)), Some(edit)),
            // The diff of a large change is cut, and its counts are not.
            (&edited, format!("Edited a.rs\n(70 added, 60 removed)\n{edit}"), Some((70, 60)), Some(edit)),
            (&edited, format!("Edited a.rs\n{edit}"), Some((1, 1)), Some(edit)),
            (&json!({"input": "*** Begin Patch"}), "Success. Changed:\nM a.rs\n(3 lines added, 0 removed)".to_owned(), Some((3, 0)), None),
            (&written, "Successfully wrote 8 bytes to n.txt (mode: overwrite)\n(1 added, 2 removed)".to_owned(), Some((1, 2)), None),
            (&written, "Successfully wrote 8 bytes to n.txt (mode: overwrite)".to_owned(), Some((2, 0)), Some(new)),
            (&edited, "--- a list\n--- of things\n(many added, some removed)".to_owned(), None, None),
        ] {
            assert_eq!(StoredChange::of_call(arguments, &text), StoredChange { counts, diff: diff.map(Cow::Borrowed) }, "{text}");
        }
    }
}
