mod summary;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, Form, Location, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, retry_conflicts};
use haft_macros::ToolMeta;
use haft_patch::{FilePatch, Patch, PatchAction, PatchError, PlannedChange, parse, plan};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use self::summary::Summary;
use crate::shared::file_change::{SharedContent, refuse_mixed};
use crate::shared::read_all::read_all;
use crate::shared::seen::{planned_path, remember};
use crate::shared::utf16::Utf16;
use crate::shared::worker::WorkerPool;

/// Patches are planned on worker threads, this many at once.
static PATCHING: WorkerPool = WorkerPool::new("patch", 2);
/// Larger files are not changed: the old and the new content must be in memory.
const LARGEST: usize = 256 * 1024 * 1024;

/// Change several files at once: all of it, or nothing. The patch is `*** Begin Patch`, then for each file `*** Add File: path`
/// with lines that begin with `+`, `*** Delete File: path`, or `*** Update File: path` (with `*** Move to: path` to rename it)
/// with hunks: `@@` and optionally a line above the change, then lines that begin with a blank (kept), `-` (removed) or `+` (added);
/// `*** End Patch` is last.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "apply_patch",
    label = "Apply patch",
    section = Files,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 60,
    rules = Edit,
    forms = FORMS,
    profiles = ["coding"],
    destructive
)]
pub(crate) struct ApplyPatch;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "apply_patch").show_only(&["input"])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    #[schemars(with = "String", extend("x-aliases" = ["patch", "diff"], "x-verbatim" = true))]
    #[serde(deserialize_with = "parse_patch")]
    input: Arc<Patch>,
    /// Show what would change, and change nothing.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    dry_run: bool,
}

/// Parsed once, for the plan and the execution.
fn parse_patch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Patch>, D::Error> {
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
            let (at, with_source) = plan_source(file, params.dry_run, planned, cx)?;
            planned = with_source;
            let mut all = vec![at];
            if let PatchAction::Update { move_to: Some(to), .. } = &file.action {
                let to = cx.locate(to)?;
                all.push(to.clone());
                planned = if params.dry_run { planned.read(to) } else { planned.read(to.clone()).write(to) };
            }
            // One file by two spellings or by a link.
            if let Some(twice) = all.iter().find(|at| !places.insert(at.path().to_owned())) {
                return Err(ToolError::validation(format!("The patch names {} more than once. Nothing was changed.", twice.display())));
            }
        }
        Ok(planned)
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Params { input: patch, dry_run } = params;
        if patch.files.len() == 1 {
            return retry_conflicts(tokio::time::sleep, || apply(Arc::clone(&patch), dry_run, cx)).await;
        }
        // Of several files some may be written already: the engine restores them, and the whole call can be made again.
        apply(patch, dry_run, cx).await
    }
}

async fn apply(patch: Arc<Patch>, dry_run: bool, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let notes = patch.notes.clone();
    let PatchOriginals { mut contents, files } = PatchOriginals::read(&patch, cx).await;
    // The plan asks for the same paths: both come from the patch.
    let mut read = move |path: &str| contents.remove(path).unwrap_or(Ok(None));
    let planning = async {
        let outcome = PATCHING.run(move || plan(&patch, &mut read)).await?;
        outcome.map_err(|error: PatchError<ToolError>| ToolError::validation(error.to_string()))
    };
    // Hashing a large file takes about as long as finding the hunks in it.
    let (changes, fingerprints) = tokio::join!(planning, fingerprints(&files, dry_run, cx));
    let changes = changes?;
    refuse_mixed_encodings(&changes)?;
    let summary = Summary::from_changes(&changes);
    if !dry_run {
        commit(encode_changes(changes, &files)?, &fingerprints?, cx).await?;
    }
    Ok(summary.output(&notes, dry_run))
}

/// Adds the effects on the file that a part of a patch is about; returns its place as well.
fn plan_source(file: &FilePatch, dry_run: bool, planned: Plan, cx: &PlanContext<'_>) -> Result<(Location, Plan), ToolError> {
    if file.is_removed()
        && let Some(link) = cx.locate_link(&file.path)?
    {
        // A link is removed itself; what it leads to is read only to change it.
        let planned = if file.is_read() { planned.read(cx.locate(&file.path)?) } else { planned };
        return Ok((link.clone(), if dry_run { planned } else { planned.delete(link) }));
    }
    let at = cx.locate(&file.path)?;
    let planned = planned.read(at.clone());
    let planned = match file.is_removed() {
        _ if dry_run => planned,
        true => planned.delete(at.clone()),
        false => planned.write(at.clone()),
    };
    Ok((at, planned))
}

/// A file of a patch as it was read.
struct OriginalBytes {
    content: SharedContent,
    /// Its encoding, where that is UTF-16: a patch is planned in UTF-8.
    utf16: Option<Utf16>,
}

/// The content of a file in UTF-8, if it is there, or why it cannot be read.
type ReadContent = Result<Option<Arc<Vec<u8>>>, ToolError>;

/// The files of a patch.
struct PatchOriginals {
    contents: HashMap<String, ReadContent>,
    files: HashMap<String, OriginalBytes>,
}

impl PatchOriginals {
    async fn read(patch: &Patch, cx: &ToolContext) -> Self {
        let (mut contents, mut files) = (HashMap::new(), HashMap::new());
        for path in patch.files.iter().flat_map(paths) {
            let content = content(Path::new(path), cx).await.map(|content| content.map(Arc::new));
            let content = content.map(|content| {
                content.map(|bytes| {
                    let (utf16, text) = Utf16::decode(&bytes).unzip();
                    files.insert(path.to_owned(), OriginalBytes { content: Arc::clone(&bytes).into(), utf16 });
                    text.map_or(bytes, |text| Arc::new(text.into_bytes()))
                })
            });
            contents.insert(path.to_owned(), content);
        }
        Self { contents, files }
    }
}

/// Fingerprints of the files by path; none where nothing is written.
async fn fingerprints(
    files: &HashMap<String, OriginalBytes>,
    dry_run: bool,
    cx: &ToolContext,
) -> Result<HashMap<String, String>, ToolError> {
    let mut fingerprints = HashMap::new();
    for (path, file) in files.iter().filter(|_| !dry_run) {
        fingerprints.insert(path.clone(), cx.fs().fingerprint_of(file.content.clone()).await?);
    }
    Ok(fingerprints)
}

/// Refuses to add UTF-8 to files of another encoding.
fn refuse_mixed_encodings(changes: &[PlannedChange]) -> Result<(), ToolError> {
    for change in changes {
        if let PlannedChange::Update { path, before, bytes, .. } | PlannedChange::Move { from: path, before, bytes, .. } = change {
            refuse_mixed(Path::new(path), before, bytes)?;
        }
    }
    Ok(())
}

/// The changes in the encodings of the files.
fn encode_changes(mut changes: Vec<PlannedChange>, files: &HashMap<String, OriginalBytes>) -> Result<Vec<PlannedChange>, ToolError> {
    for change in &mut changes {
        if let PlannedChange::Update { path, bytes, .. } | PlannedChange::Move { from: path, bytes, .. } = change
            && let Some(utf16) = files.get(path).and_then(|file| file.utf16.as_ref())
        {
            *bytes = utf16.encode_bytes(bytes)?;
        }
    }
    Ok(changes)
}

/// The paths of a file in a patch.
fn paths(file: &FilePatch) -> impl Iterator<Item = &str> {
    let to = if let PatchAction::Update { move_to, .. } = &file.action { move_to.as_deref() } else { None };
    std::iter::once(file.path.as_str()).chain(to)
}

async fn content(path: &Path, cx: &ToolContext) -> Result<Option<Vec<u8>>, ToolError> {
    if !cx.fs().is_read(path) {
        // A link that is removed or moved itself has no lines.
        return Ok(Some(Vec::new()));
    }
    match cx.fs().open(path).await {
        Ok(reader) => read_all(&path.display().to_string(), "a file", Vec::new(), &*reader, LARGEST).await.map(Some),
        Err(error) if error.kind() == ErrorKind::FileNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the changes, deletions last, each only if the file still is what was read. If one fails, the call fails, and the engine
/// restores the files.
async fn commit(changes: Vec<PlannedChange>, fingerprints: &HashMap<String, String>, cx: &ToolContext) -> Result<(), ToolError> {
    let mut removals = Vec::new();
    for change in changes {
        match change {
            PlannedChange::Add { path, bytes } => write(&path, bytes, None, cx).await?,
            PlannedChange::Update { path, bytes, .. } => write(&path, bytes, fingerprints.get(&path), cx).await?,
            PlannedChange::Move { from, to, bytes, .. } if cx.fs().is_link(&from) => {
                if cx.fs().is_read(&from) {
                    write(&to, bytes, None, cx).await?;
                } else {
                    cx.fs().copy_link(&from, &to).await?;
                }
                removals.push(from);
            }
            PlannedChange::Move { from, to, bytes, .. } => {
                let written = cx.fs().succeed(&to, &from, bytes).await?;
                remember(Path::new(&to), &written, cx);
                removals.push(from);
            }
            PlannedChange::Delete { path, .. } => removals.push(path),
        }
    }
    for path in removals {
        remove(&path, fingerprints.get(&path), cx).await?;
    }
    Ok(())
}

async fn write(path: &str, bytes: Vec<u8>, expected: Option<&String>, cx: &ToolContext) -> Result<(), ToolError> {
    let written = cx.fs().replace(path, bytes, expected.map(String::as_str)).await?;
    remember(Path::new(path), &written, cx);
    Ok(())
}

async fn remove(path: &str, expected: Option<&String>, cx: &ToolContext) -> Result<(), ToolError> {
    if cx.fs().is_link(path) {
        return cx.fs().delete_link(path).await;
    }
    let now = cx.fs().fingerprint(path).await?;
    if now.is_some_and(|now| Some(&now) != expected) {
        return Err(ToolError::execution(format!(
            "{path} was changed by another program meanwhile, so it was not removed. Read it again."
        )));
    }
    cx.fs().delete(path).await?;
    if let Some(path) = planned_path(cx, Path::new(path)) {
        cx.seen_files().forget(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
