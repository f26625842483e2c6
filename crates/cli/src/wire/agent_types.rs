//! Types of sub-agents: those that come with Haft, and those of Markdown files.
//!
//! Files are read from the folder `agents` beside the user's configuration, and from `.haft/agents` and `.claude/agents` of a project
//! that the user trusts. A type has at most the rights of the agent that starts it, so a file cannot widen anything.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use haft_agent::built_in_types;
use haft_config::FrontMatter;
use haft_contract::{Access, AgentType};

use super::settings::{Settings, user_file};
use super::trust::TrustedFolders;
use crate::output::warn;

/// The largest file that is read.
const MAX_BYTES: u64 = 256 * 1024;
/// How many files of one folder are read.
const MAX_FILES: usize = 200;

/// Every type. Those of the user go before those that come with Haft, and those before types of the project with the same name.
pub(crate) fn load(settings: &Settings) -> Vec<AgentType> {
    let mut types = Vec::new();
    let own = user_file().ok().and_then(|file| file.parent().map(|folder| folder.join("agents")));
    let of_project = [".haft", ".claude"].map(|folder| settings.workspace.join(folder).join("agents"));
    let is_trusted = TrustedFolders::read(&settings.data_folder).is_ok_and(|trusted| trusted.knows(&settings.workspace));
    add(&mut types, own.as_deref().map(read_folder).unwrap_or_default());
    add(&mut types, built_in_types());
    if is_trusted {
        for folder in &of_project {
            add(&mut types, read_folder(folder));
        }
    }
    types
}

/// Adds types whose names are not taken.
fn add(types: &mut Vec<AgentType>, more: Vec<AgentType>) {
    for new in more {
        if let Some(known) = types.iter().find(|known| known.is_named(&new.name)) {
            if let Some(file) = &new.file {
                warn(&format!("{}: the agent type '{}' is already defined{}", file.display(), new.name, defined_in(known)));
            }
        } else {
            types.push(new);
        }
    }
}

fn defined_in(known: &AgentType) -> String {
    known.file.as_ref().map_or_else(|| " by Haft".to_owned(), |file| format!(" in {}", file.display()))
}

/// The types of a folder, sorted by file name; a file that cannot be used is left out with a warning.
fn read_folder(folder: &Path) -> Vec<AgentType> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_markdown(path)).collect();
    files.sort();
    files.truncate(MAX_FILES);
    let read = |file: PathBuf| match read_type(folder, &file) {
        Ok(found) => Some(found),
        Err(why) => {
            warn(&format!("{}: this agent type is left out: {why}", file.display()));
            None
        }
    };
    files.into_iter().filter_map(read).collect()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

fn read_type(folder: &Path, file: &Path) -> Result<AgentType, String> {
    let (real_folder, real) = (folder.canonicalize(), file.canonicalize());
    if !real_folder.is_ok_and(|folder| real.is_ok_and(|real| real.starts_with(folder))) {
        return Err("it is a link that leads out of its folder".to_owned());
    }
    let mut text = String::new();
    // A pipe would be waited for.
    let without_waiting = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(without_waiting).open(file).map_err(|error| error.to_string())?;
    if !opened.metadata().is_ok_and(|found| found.is_file()) {
        return Err("it is not a file".to_owned());
    }
    opened.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    parse(&text, file)
}

fn parse(text: &str, file: &Path) -> Result<AgentType, String> {
    let front = FrontMatter::parse(text).map_err(|error| error.to_string())?;
    let field = |name: &str| front.text(name).map_err(|error| error.to_string());
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = field("name")?.map_or(stem, str::to_owned);
    if !name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '-' || ch == '_') || name.is_empty() || name.len() > 64 {
        return Err(format!("'{name}' is not a name: use at most 64 letters, digits, - and _"));
    }
    let description = field("description")?.ok_or("it has no description: say in the front matter when to use it")?.to_owned();
    let access = field("access")?.map(str::parse::<Access>).transpose()?;
    // Names without a provider are those of another system, such as 'sonnet' or 'inherit'.
    let model = field("model")?.filter(|model| model.contains('/')).map(str::to_owned);
    let tools = front.entries("tools").map_err(|error| error.to_string())?;
    let tools = tools.filter(|tools| !tools.iter().any(|tool| tool == "*"));
    let prompt = front.body.trim().to_owned();
    if prompt.is_empty() {
        return Err("it has no instructions below the front matter".to_owned());
    }
    Ok(AgentType { name, aliases: Vec::new(), description, prompt, tools, access, model, file: Some(file.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<AgentType, String> {
        parse(text, Path::new("/a/reviewer.md"))
    }

    #[test]
    fn a_file_gives_name_description_tools_model_and_access() {
        let text = "---\nname: critic\ndescription: Reviews code\ntools: Read, Grep, Bash(git diff *)\nmodel: work/m1\naccess: read-only\n---\nBe strict.\n";
        let expected = AgentType {
            name: "critic".into(),
            aliases: Vec::new(),
            description: "Reviews code".into(),
            prompt: "Be strict.".into(),
            tools: Some(vec!["Read".into(), "Grep".into(), "Bash(git diff *)".into()]),
            access: Some(Access::ReadOnly),
            model: Some("work/m1".into()),
            file: Some("/a/reviewer.md".into()),
        };
        assert_eq!(parsed(text), Ok(expected));
        let plain = parsed("---\ndescription: Reviews\nmodel: sonnet\n---\nBe strict.").unwrap();
        assert_eq!((plain.name.as_str(), plain.tools, plain.access, plain.model), ("reviewer", None, None, None));
        let all = parsed("---\ndescription: Reviews\ntools: '*'\n---\nBe strict.").unwrap();
        assert_eq!(all.tools, None);
    }

    #[test]
    fn a_broken_file_says_what_is_missing() {
        for (text, expected) in [
            ("Be strict.", "it has no description: say in the front matter when to use it"),
            ("---\ndescription: x\n---\n \n", "it has no instructions below the front matter"),
            ("---\nname: a b\ndescription: x\n---\ny", "'a b' is not a name: use at most 64 letters, digits, - and _"),
            (
                "---\ndescription: x\naccess: everything\n---\ny",
                "unknown access level 'everything': use read-only, workspace-write or full-access",
            ),
        ] {
            assert_eq!(parsed(text).unwrap_err(), expected);
        }
    }
}
