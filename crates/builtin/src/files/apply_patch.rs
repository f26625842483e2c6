mod summary;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_patch::{Action, Change, FilePatch, Patch, PatchError, parse, plan};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use self::summary::Summary;
use crate::shared::aside::Aside;
use crate::shared::changed::{refuse_mixed, remember};
use crate::shared::wide::Wide;
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
        let (changes, wide) = worked_out(patch, cx).await?;
        let summary = Summary::of(&changes);
        if !dry_run {
            commit(widened(changes, &wide)?, cx).await?;
        }
        Ok(summary.told(&notes, dry_run))
    }
}

/// Files of UTF-16, which a patch is worked out for in UTF-8.
type WideFiles = HashMap<String, Wide>;

/// What the patch comes to, in UTF-8. Every fault is told at once.
async fn worked_out(patch: Arc<Patch>, cx: &ToolContext) -> Result<(Vec<Change>, WideFiles), ToolError> {
    let mut contents: HashMap<String, Result<Option<Vec<u8>>, ToolError>> = HashMap::new();
    let mut wide_files = WideFiles::new();
    for path in patch.files.iter().flat_map(named) {
        let mut content = content(Path::new(path), cx).await;
        if let Ok(Some(bytes)) = &mut content
            && let Some((wide, text)) = Wide::narrowed(bytes)
        {
            *bytes = text.into_bytes();
            wide_files.insert(path.to_owned(), wide);
        }
        contents.insert(path.to_owned(), content);
    }
    // A path that was not read cannot be asked for: both come from the patch.
    let mut read = move |path: &str| contents.remove(path).unwrap_or(Ok(None));
    let outcome = PATCHING.run(move || plan(&patch, &mut read)).await?;
    let changes = outcome.map_err(|error: PatchError<ToolError>| ToolError::validation(error.to_string()))?;
    for change in &changes {
        if let Change::Update { path, before, bytes, .. } | Change::Move { from: path, before, bytes, .. } = change {
            refuse_mixed(Path::new(path), before, bytes)?;
        }
    }
    Ok((changes, wide_files))
}

/// The changes as the files are encoded.
fn widened(mut changes: Vec<Change>, wide_files: &WideFiles) -> Result<Vec<Change>, ToolError> {
    for change in &mut changes {
        let (path, contents) = match change {
            Change::Add { .. } => continue,
            Change::Delete { path, before } => (path, vec![before]),
            Change::Update { path, before, bytes, .. } | Change::Move { from: path, before, bytes, .. } => (path, vec![before, bytes]),
        };
        let Some(wide) = wide_files.get(path) else { continue };
        for content in contents {
            *content = wide.widened(content)?;
        }
    }
    Ok(changes)
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
                let written = cx.fs().succeed(&to, &from, bytes).await?;
                remember(Path::new(&to), &written, cx);
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

#[cfg(test)]
mod tests;
