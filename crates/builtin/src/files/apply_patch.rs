use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_patch::{Action, Change, FilePatch, Patch, PatchError, parse, plan};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::shared::aside::Aside;
use crate::shared::changed::{Diff, remember, shown};
use crate::shared::{place, whole};

/// Patches are worked out beside the runtime, this many at once.
static PATCHING: Aside = Aside::new("patch", 2);
/// What is larger is not changed: the old and the new content must be in memory.
const LARGEST: usize = 256 * 1024 * 1024;

/// Change several files at once: all of it, or nothing. The patch is `*** Begin Patch`, then for each file `*** Add File: path`
/// with lines that begin with `+`, `*** Delete File: path`, or `*** Update File: path` (with `*** Move to: path` to rename it)
/// with hunks: `@@` and perhaps a line that stands above, then lines that begin with a blank (kept), `-` (removed) or `+` (added);
/// `*** End Patch` is last.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "apply_patch",
    label = "Apply patch",
    section = Files,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 60,
    forms = FORMS,
    profiles = ["coding"],
    destructive
)]
pub(crate) struct ApplyPatch;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "apply_patch")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    #[schemars(with = "String", extend("x-aliases" = ["patch", "diff"], "x-verbatim" = true))]
    #[serde(deserialize_with = "parsed")]
    input: Arc<Patch>,
    /// Say what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Read once: the plan and the work use the same patch.
fn parsed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Patch>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map(Arc::new).map_err(D::Error::custom)
}

impl Tool for ApplyPatch {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let mut places = HashSet::new();
        let mut planned = Plan::nothing();
        for file in &params.input.files {
            let at = cx.locate(&file.path)?;
            let mut all = vec![at.clone()];
            planned = match &file.action {
                _ if params.dry_run => planned.read(at),
                Action::Delete | Action::Update { move_to: Some(_), .. } => planned.read(at.clone()).delete(at),
                Action::Add { .. } | Action::Update { .. } => planned.read(at.clone()).write(at),
            };
            if let Action::Update { move_to: Some(to), .. } = &file.action {
                let to = cx.locate(to)?;
                all.push(to.clone());
                planned = if params.dry_run { planned.read(to) } else { planned.read(to.clone()).write(to) };
            }
            // Another spelling, or a link, would make one file two.
            if let Some(twice) = all.iter().find(|at| !places.insert(at.path().to_owned())) {
                return Err(ToolError::validation(format!("The patch names {} more than once. Nothing was changed.", twice.display())));
            }
        }
        Ok(planned)
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Params { input: patch, dry_run } = params;
        let notes = patch.notes.clone();
        let changes = worked_out(patch, cx).await?;
        let summary = Summary::of(&changes);
        if !dry_run {
            commit(changes, cx).await?;
        }
        Ok(summary.told(&notes, dry_run))
    }
}

/// What the patch comes to. Every fault is told at once.
async fn worked_out(patch: Arc<Patch>, cx: &ToolContext) -> Result<Vec<Change>, ToolError> {
    let mut contents: HashMap<String, Result<Option<Vec<u8>>, ToolError>> = HashMap::new();
    for path in patch.files.iter().flat_map(named) {
        contents.insert(path.to_owned(), content(Path::new(path), cx).await);
    }
    // A path that was not read cannot be asked for: both come from the patch.
    let mut read = move |path: &str| contents.remove(path).unwrap_or(Ok(None));
    let outcome = PATCHING.run(move || plan(&patch, &mut read)).await?;
    outcome.map_err(|error: PatchError<ToolError>| ToolError::validation(error.to_string()))
}

/// The paths that a part of a patch names.
fn named(file: &FilePatch) -> impl Iterator<Item = &str> {
    let to = if let Action::Update { move_to, .. } = &file.action { move_to.as_deref() } else { None };
    std::iter::once(file.path.as_str()).chain(to)
}

async fn content(path: &Path, cx: &ToolContext) -> Result<Option<Vec<u8>>, ToolError> {
    match cx.fs().open(path).await {
        Ok(reader) => whole::whole(&path.display().to_string(), "a file", Vec::new(), &*reader, LARGEST).await.map(Some),
        Err(error) if error.kind() == ErrorKind::FileNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the changes, removals last. If one fails, the call fails, and the engine puts back what was changed by then.
async fn commit(changes: Vec<Change>, cx: &ToolContext) -> Result<(), ToolError> {
    let mut removals = Vec::new();
    for change in changes {
        match change {
            Change::Add { path, bytes } => write(&path, bytes, None, cx).await?,
            Change::Update { path, before, bytes, .. } => write(&path, bytes, Some(before), cx).await?,
            Change::Move { from, to, before, bytes, .. } => {
                write(&to, bytes, None, cx).await?;
                removals.push((from, before));
            }
            Change::Delete { path, before } => removals.push((path, before)),
        }
    }
    for (path, before) in removals {
        remove(&path, before, cx).await?;
    }
    Ok(())
}

async fn write(path: &str, bytes: Vec<u8>, before: Option<Vec<u8>>, cx: &ToolContext) -> Result<(), ToolError> {
    let expected = match before {
        Some(before) => Some(cx.fs().fingerprint_of(before).await?),
        None => None,
    };
    let written = cx.fs().replace(path, bytes, expected.as_deref()).await?;
    remember(Path::new(path), &written, cx);
    Ok(())
}

async fn remove(path: &str, before: Vec<u8>, cx: &ToolContext) -> Result<(), ToolError> {
    let (expected, now) = (cx.fs().fingerprint_of(before).await?, cx.fs().fingerprint(path).await?);
    if now.is_some_and(|now| now != expected) {
        return Err(ToolError::execution(format!("{path} was changed by someone else meanwhile, so it was not removed. Read it again.")));
    }
    cx.fs().delete(path).await?;
    if let Some(place) = place::of(cx, Path::new(path)) {
        cx.seen().forget(place);
    }
    Ok(())
}

/// What a patch changes, for the model and for people.
#[derive(Debug, Default)]
struct Summary {
    lines: Vec<String>,
    added: Vec<String>,
    modified: Vec<String>,
    deleted: Vec<String>,
    diff: String,
    counts: (usize, usize),
}

impl Summary {
    fn of(changes: &[Change]) -> Self {
        let mut summary = Self::default();
        for change in changes {
            match change {
                Change::Add { path, bytes } => {
                    summary.take('A', path, b"", bytes);
                    summary.added.push(path.clone());
                }
                Change::Delete { path, before } => {
                    summary.take('D', path, before, b"");
                    summary.deleted.push(path.clone());
                }
                Change::Update { path, before, bytes, .. } => {
                    summary.take('M', path, before, bytes);
                    summary.modified.push(path.clone());
                }
                Change::Move { from, to, before, bytes, .. } => {
                    summary.take('M', &format!("{from} -> {to}"), before, bytes);
                    summary.modified.push(to.clone());
                }
            }
        }
        summary
    }

    fn take(&mut self, mark: char, name: &str, old: &[u8], new: &[u8]) {
        let diff = Diff::of(old, new, &PathBuf::from(name));
        self.counts = (self.counts.0 + diff.added, self.counts.1 + diff.removed);
        self.diff += &diff.text;
        self.lines.push(format!("{mark} {name}"));
    }

    fn told(self, notes: &[String], dry_run: bool) -> ToolOutput {
        let (added, removed) = self.counts;
        let head = if dry_run { "The patch fits. It would change:" } else { "Success. Changed:" };
        let mut lines = vec![head.to_owned(), self.lines.join("\n"), format!("({added} lines added, {removed} removed)")];
        lines.extend(notes.iter().map(|note| format!("Note: {note}")));
        lines.extend(dry_run.then(|| shown(&self.diff)));
        ToolOutput::text(lines.join("\n")).with_details(json!({
            "summary": {"added": self.added, "modified": self.modified, "deleted": self.deleted},
            "added": added, "removed": removed, "diff": self.diff, "dry_run": dry_run,
        }))
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::{DynTool, Erased};
    use haft_testkit::{FakeHost, FileOperation, expect_error, run_tool};
    use serde_json::Value;

    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: new/n.txt\n+hello\n*** Update File: a\n@@\n one\n-two\n+2\n*** Delete File: d\n\
                         *** Update File: m\n*** Move to: n\n@@\n-x\n+y\n*** End Patch\n";

    fn host() -> Arc<FakeHost> {
        let host = FakeHost::new();
        for (path, content) in [("a", "one\ntwo\n"), ("d", "gone\n"), ("m", "x\n")] {
            host.files.put(path, content);
        }
        host
    }

    async fn run(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(ApplyPatch), arguments, Arc::clone(host)).await
    }

    #[tokio::test]
    async fn files_are_made_changed_moved_and_removed() {
        let host = host();
        let output = run(&host, json!({"input": PATCH})).await.unwrap();
        let expected = "Success. Changed:\nA new/n.txt\nM a\nD d\nM m -> n\n(3 lines added, 3 removed)";
        assert_eq!(output.texts().next(), Some(expected));
        let summary = json!({"added": ["new/n.txt"], "modified": ["a", "n"], "deleted": ["d"]});
        assert_eq!(output.details.unwrap()["summary"], summary);
        let texts = ["new/n.txt", "a", "d", "m", "n"].map(|path| host.files.text(path));
        assert_eq!(texts, [Some("hello\n".into()), Some("one\n2\n".into()), None, None, Some("y\n".into())]);
    }

    #[tokio::test]
    async fn a_dry_run_reads_and_says_what_would_be() {
        let host = host();
        let output = run(&host, json!({"input": PATCH, "dry_run": true})).await.unwrap();
        let text = output.texts().next().unwrap();
        assert!(text.starts_with("The patch fits. It would change:\nA new/n.txt\n") && text.contains("-two\n+2\n"), "{text}");
        assert_eq!(host.files.paths().len(), 3);
        let arguments = json!({"input": PATCH, "dry_run": true});
        let planned = Erased::new(ApplyPatch).prepare(arguments, &PlanContext::new(&*host)).unwrap();
        assert!(!planned.plan().changes_something());
    }

    #[tokio::test]
    async fn whatever_does_not_fit_is_told_at_once_and_nothing_is_changed() {
        let host = host();
        host.files.put("a", "one\nTWO\n");
        host.files.put("new/n.txt", "there\n");
        let (kind, message) = expect_error(run(&host, json!({"input": PATCH})).await);
        assert_eq!(kind, ErrorKind::ValidationError);
        for words in ["new/n.txt: it exists already", "a: ", "Nothing was changed."] {
            assert!(message.contains(words), "{words}: {message}");
        }
        assert_eq!((host.files.paths().len(), host.files.text("a").unwrap()), (4, "one\nTWO\n".into()));
        for (patch, words) in [
            ("no patch", "Begin Patch"),
            ("*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Update File: ./a\n@@\n-two\n+2\n*** End Patch\n", "more than once"),
        ] {
            let (kind, message) = expect_error(run(&host, json!({"input": patch})).await);
            assert!(kind == ErrorKind::ValidationError && message.contains(words), "{message}");
        }
    }

    #[tokio::test]
    async fn a_failure_in_the_middle_is_the_calls_failure() {
        let host = host();
        host.files.fail(FileOperation::Delete, "d", ErrorKind::ExecutionError, "not yours");
        assert_eq!(expect_error(run(&host, json!({"input": PATCH})).await), (ErrorKind::ExecutionError, "not yours".into()));
    }
}
