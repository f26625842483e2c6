//! The message of a prompt: its text, and the files and pictures that it names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{Content, ToolCall, ToolOutput};
use haft_prompts::{Mention, mentions, without_sign};
use haft_provider::{Block, Message, Model};
use haft_text::{base64, display};
use haft_tui::chat::{NamedFiles, Prompt};
use serde_json::json;

use crate::failure::Failure;
use crate::output::note;
use crate::wire::Wire;

/// Most files of one message.
const MAX_FILES: usize = 20;

/// The message of a prompt with the files that it names and those of `--file`.
pub(crate) async fn message(wire: &Wire, prompt: &Prompt, files: &[PathBuf]) -> Result<Message, Failure> {
    let workspace = &wire.settings.workspace;
    let named = match prompt.files {
        NamedFiles::None => Vec::new(),
        _ => mentions(&prompt.text, &|path| resolve(path, workspace).exists()),
    };
    tell_of_missing(&named);
    let mut message = Message::user(without_sign(&prompt.text, &named));
    let mut paths = BTreeSet::new();
    let given = files.iter().map(|path| (resolve(&path.to_string_lossy(), workspace), NamedFiles::Anywhere));
    let named = named.iter().filter(|mention| mention.exists).map(|mention| (resolve(&mention.path, workspace), prompt.files));
    for (path, rights) in given.chain(named) {
        if paths.insert(path.clone()) {
            if paths.len() > MAX_FILES {
                let message = format!("the prompt names more than {MAX_FILES} files");
                return Err(Failure::usage(message).help("name their folder without @, and let the model read what it needs"));
            }
            message.blocks.extend(attach(wire, &path, rights).await?);
        }
    }
    Ok(message)
}

/// An absolute path: `~` is the user's home, and others lie in the workspace.
fn resolve(path: &str, workspace: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir().map_or_else(|| workspace.join(path), |home| home.join(rest)),
        None => workspace.join(path),
    }
}

/// A word such as `@ann` may be a name; one with a dot or slash was meant as a file.
fn tell_of_missing(named: &[Mention]) {
    for mention in named.iter().filter(|mention| !mention.exists && mention.path.contains(['/', '.'])) {
        note(&format!("there is no file '{}': @{0} is sent as text", display::shorten(&mention.path, 100)));
    }
}

/// Reads a file as `read_file` does: the same formats, bounds and refusals. What the user names may lie anywhere.
async fn attach(wire: &Wire, path: &Path, rights: NamedFiles) -> Result<Vec<Block>, Failure> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let shown = path.strip_prefix(&wire.settings.workspace).unwrap_or(path).display().to_string();
    let shown = if shown.is_empty() { ".".to_owned() } else { shown };
    let folder = if path.is_dir() { Some(path) } else { path.parent() }.filter(|_| rights == NamedFiles::Anywhere);
    let id = format!("attachment-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let call = ToolCall::new(id, "read_file", json!({ "path": path }).to_string());
    let refused = |why: &str| {
        Failure::usage(format!("'{}' cannot be attached: {why}", display::escape_line(&shown)))
            .help("nothing was sent; name the file without @ to let the model read it as its rules allow")
    };
    let reading = wire.reading(folder).map_err(|failure| refused(&failure.message))?;
    if let Some(why) = wire.denies_reading(path, &reading.session) {
        return Err(refused(&why));
    }
    let output = reading.engine.run(call, &reading.session).await.outcome.map_err(|error| refused(error.message()))?;
    Ok(blocks(&shown, &output))
}

fn blocks(shown: &str, output: &ToolOutput) -> Vec<Block> {
    let block = |content: &Content| match content {
        Content::Text(text) => {
            // The text of a file cannot end its own block.
            let (path, text) = (shown.replace(['"', '\n'], " "), text.trim_end_matches('\n').replace("</file>", "&lt;/file>"));
            Some(Block::text(format!("<file path=\"{path}\">\n{text}\n</file>")))
        }
        Content::Image { mime, data } => Some(Block::Image { mime: mime.clone(), data: base64::encode(data) }),
        _ => None,
    };
    output.content.iter().filter_map(block).collect()
}

/// Refuses a message with pictures for a model that takes none.
pub(crate) fn check_pictures(message: &Message, model: &Model) -> Result<(), Failure> {
    if model.accepts_pictures || !message.blocks.iter().any(|block| matches!(block, Block::Image { .. })) {
        return Ok(());
    }
    let message = format!("{}/{} takes no pictures", model.provider, model.name);
    Err(Failure::usage(message).help("choose another model with --model or /model; nothing was sent"))
}
