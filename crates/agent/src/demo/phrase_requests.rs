//! What phrases ask for, from the texts that they captured. `None` where it cannot be done.
#![allow(clippy::unnecessary_wraps, reason = "some phrases ask for what cannot be done, and all have one type")]

use super::clauses::Clause;
use super::request::DemoRequest;

/// Programs whose names are not words of a request.
const PROGRAMS: &[&str] =
    &["echo", "pwd", "mkdir", "curl", "wget", "wc", "cargo", "npm", "pytest", "python3", "whoami", "uname", "df", "du"];
/// Programs whose names are: an option tells that the program is meant.
const PROGRAM_NAMES: &[&str] = &["ls", "grep", "find", "cat", "head", "tail", "git", "touch", "cp", "mv", "sort", "make"];

pub(super) fn fetch(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Fetch { url: captured[0].clone() })
}

pub(super) fn everything(_: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::List { path: None, hidden: false })
}

pub(super) fn list(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::List { path: Some(captured[0].clone()), hidden: false })
}

pub(super) fn read(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Read { path: captured[0].clone(), lines: None })
}

pub(super) fn read_lines(path: &str, lines: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Read { path: path.to_owned(), lines: Some(lines.parse().ok()?) })
}

/// A name with an ending is a file, another one a folder.
pub(super) fn look(captured: &[String]) -> Option<DemoRequest> {
    let name = captured[0].trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_file = name.trim_start_matches('.').contains('.') || name.starts_with(char::is_uppercase);
    if is_file && !captured[0].ends_with('/') { read(captured) } else { list(captured) }
}

pub(super) fn find(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Find { pattern: captured[0].clone() })
}

pub(super) fn find_in(captured: &[String]) -> Option<DemoRequest> {
    let folder = captured[1].trim_end_matches('/');
    Some(DemoRequest::Find { pattern: format!("{folder}/**/{}", captured[0]) })
}

pub(super) fn find_ending(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Find { pattern: format!("*.{}", captured[0]) })
}

/// The end of a file: `read_file` counts from its beginning.
pub(super) fn tail(path: &str, lines: &str) -> Option<DemoRequest> {
    run(&format!("tail -n {lines} -- {}", quoted(path)))
}

pub(super) fn count_lines(captured: &[String]) -> Option<DemoRequest> {
    run(&format!("wc -l -- {}", quoted(&captured[0])))
}

/// A word of a shell command.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A line of a shell as it was typed: it begins with a program, and has an option where the name is also a word of requests.
pub(super) fn typed_command(clause: &Clause, text: &str) -> Option<DemoRequest> {
    let (first, rest) = clause.words.split_first()?;
    let has_option = || rest.iter().any(|word| !word.quoted && word.text.starts_with('-'));
    let is_command = first.is(PROGRAMS) || (first.is(PROGRAM_NAMES) && has_option());
    if is_command { run(clause.source(text)) } else { None }
}

/// Files of a language, by their ending.
pub(super) fn find_language(captured: &[String]) -> Option<DemoRequest> {
    const ENDINGS: &[(&str, &str)] = &[
        ("python", "py"),
        ("rust", "rs"),
        ("javascript", "js"),
        ("typescript", "ts"),
        ("go", "go"),
        ("java", "java"),
        ("ruby", "rb"),
        ("c", "c"),
        ("shell", "sh"),
        ("html", "html"),
        ("css", "css"),
        ("json", "json"),
        ("yaml", "{yaml,yml}"),
        ("toml", "toml"),
        ("markdown", "md"),
        ("text", "txt"),
    ];
    let (_, ending) = ENDINGS.iter().find(|(language, _)| captured[0].eq_ignore_ascii_case(language))?;
    Some(DemoRequest::Find { pattern: format!("*.{ending}") })
}

/// A search of the files here; the web is none of them.
pub(super) fn search(text: &str, path: Option<&str>) -> Option<DemoRequest> {
    let first = text.split_whitespace().find(|word| *word != "the").unwrap_or_default().to_lowercase();
    let is_elsewhere = ["web", "internet", "google", "online", "memory", "notes"].contains(&first.as_str());
    (!is_elsewhere).then(|| DemoRequest::Search { text: text.to_owned(), path: path.map(str::to_owned) })
}

pub(super) fn append(path: &str, content: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Append { path: path.to_owned(), content: content.to_owned() })
}

pub(super) fn create(path: &str, content: &str) -> Option<DemoRequest> {
    (!path.ends_with('/')).then(|| DemoRequest::Create { path: path.to_owned(), content: content.to_owned() })
}

pub(super) fn write(path: &str, content: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Write { path: path.to_owned(), content: content.to_owned() })
}

pub(super) fn replace(path: &str, old: &str, new: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Replace { path: path.to_owned(), old: old.to_owned(), new: new.to_owned(), all: false })
}

pub(super) fn replace_all(captured: &[String]) -> Option<DemoRequest> {
    let [old, new, path] = captured else { return None };
    Some(DemoRequest::Replace { path: path.clone(), old: old.clone(), new: new.clone(), all: true })
}

/// Single files only: what a folder or a pattern holds was not said.
pub(super) fn delete(captured: &[String]) -> Option<DemoRequest> {
    let is_file = !captured[0].ends_with('/') && !captured[0].contains(['*', '\n']);
    is_file.then(|| DemoRequest::Delete { path: captured[0].clone() })
}

/// Single files only, to a name that is told.
pub(super) fn rename(from: &str, to: &str) -> Option<DemoRequest> {
    let is_file = |path: &str| !path.ends_with('/') && !path.contains(['*', '\n']);
    (is_file(from) && is_file(to)).then(|| DemoRequest::Rename { from: from.to_owned(), to: to.to_owned() })
}

pub(super) fn run(command: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Run { command: command.to_owned() })
}
