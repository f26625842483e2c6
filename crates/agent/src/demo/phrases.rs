//! The table of phrases. The first that matches a clause counts.
#![allow(clippy::unnecessary_wraps, reason = "some phrases ask for what cannot be done, and all have one type")]

use super::grammar::Part::{self, Address, Any, Command, File, Glob, Maybe, Number, Path, Quoted, Text, Word};
use super::request::DemoRequest;

/// A phrase, and what it asks for with the captured texts. `None` if it asks for something that cannot be done.
pub(super) struct Phrase {
    pub(super) parts: &'static [Part],
    pub(super) request: fn(&[String]) -> Option<DemoRequest>,
}

const fn phrase(parts: &'static [Part], request: fn(&[String]) -> Option<DemoRequest>) -> Phrase {
    Phrase { parts, request }
}

const SHOW: Part = Any(&["show", "read", "print", "display", "cat", "open", "view", "see", "type"]);
const WHAT: Part = Any(&["what", "which"]);
const WHATS: Part = Any(&["what's", "whats"]);
const IS: Part = Any(&["is", "are"]);
const IN: Part = Any(&["in", "inside", "under", "within"]);
const FILES: &[&str] = &["files", "folders", "contents", "content", "everything", "directory", "folder"];
const LIST: Part = Any(&["list", "ls", "dir"]);
const WITH: Part = Any(&["with", "containing", "saying", "that says"]);
const CALLED: Part = Maybe(&["called", "named"]);
const NEW: Part = Maybe(&["new", "empty", "text"]);
const CREATE: Part = Any(&["create", "make", "touch"]);
const TO: Part = Any(&["to", "into", "in"]);
const END: Part = Any(&["end", "bottom"]);
const REPLACE: Part = Any(&["replace", "change", "substitute"]);
const BY: Part = Any(&["with", "by", "to"]);
const ALL: Part = Any(&["all", "every", "each"]);
const SEARCH: Part = Any(&["search", "grep", "look", "scan"]);
const GIT: Part = Any(&["git"]);
const TESTS: Part = Any(&["tests", "test"]);
const RUN: Part = Any(&["run", "execute", "exec"]);
const FIND: Part = Any(&["find", "locate"]);
const TEXT: Part = Any(&["word", "words", "text", "string", "phrase"]);
const CONTAIN: Part = Any(&["contain", "containing", "mention", "mentioning", "have", "having", "use", "using", "with"]);
const MOVE: Part = Any(&["rename", "move", "mv"]);
const NAMED: Part = Any(&["named", "called", "matching", "like"]);

#[rustfmt::skip] // one phrase a line
pub(super) const PHRASES: &[Phrase] = &[
    phrase(&[Any(&["let", "ask", "have", "tell", "start", "use"]), Any(&["explorer", "sub-agent", "subagent"]), Maybe(&["to"]), Quoted], |c| Some(DemoRequest::Delegate { task: c[0].clone() })),
    phrase(&[Any(&["notify", "remind", "alert", "tell"]), Maybe(&["that", "about", "of", "with", "to"]), Quoted], |c| Some(DemoRequest::Notify { message: c[0].clone() })),

    phrase(&[Any(&["fetch", "download", "get", "load", "open", "read", "show", "request"]), Maybe(&["page", "url", "site", "website"]), Maybe(&["at", "from"]), Address], fetch),
    phrase(&[Any(&["make", "send", "do"]), Maybe(&["http"]), Maybe(&["get"]), Any(&["request"]), Maybe(&["to", "for"]), Address], |c| Some(DemoRequest::Http { url: c[0].clone() })),
    phrase(&[WHAT, IS, Any(&["at", "on"]), Address], fetch),
    phrase(&[Address], fetch),

    phrase(&[Any(&["run", "do", "execute", "start", "launch"]), Maybe(&["all", "unit"]), TESTS, Maybe(&["suite"])], |_| Some(DemoRequest::Tests)),
    phrase(&[Any(&["test"]), Maybe(&["this", "it", "everything", "code", "project"])], |_| Some(DemoRequest::Tests)),
    phrase(&[Any(&["do"]), TESTS, Any(&["pass"])], |_| Some(DemoRequest::Tests)),
    phrase(&[IS, TESTS, Any(&["passing", "green", "ok", "fine"])], |_| Some(DemoRequest::Tests)),

    phrase(&[GIT, Any(&["status"])], |_| run("git status")),
    phrase(&[Any(&["show", "check", "what's", "whats"]), GIT, Any(&["status"])], |_| run("git status")),
    phrase(&[WHAT, IS, GIT, Any(&["status"])], |_| run("git status")),
    phrase(&[WHAT, IS, Any(&["status"]), Any(&["of"]), Any(&["repo", "repository", "git"])], |_| run("git status")),
    phrase(&[WHAT, Maybe(&["has", "have", "files"]), Any(&["changed"])], |_| run("git status")),
    phrase(&[WHAT, Any(&["did"]), Any(&["i", "we"]), Any(&["change"])], |_| run("git status")),
    phrase(&[WHAT, Maybe(&["has", "have"]), Any(&["changed"]), Any(&["in"]), GIT], |_| run("git status")),
    phrase(&[Maybe(&["show"]), GIT, Any(&["diff"])], |_| run("git diff")),
    phrase(&[Maybe(&["show"]), GIT, Any(&["log", "history"])], |_| run("git log --oneline -n 10")),

    phrase(&[LIST, Maybe(&["all"]), Maybe(FILES)], |_| Some(DemoRequest::List { path: None })),
    phrase(&[LIST, Maybe(&["all"]), Maybe(FILES), Maybe(&["in", "inside", "under", "of"]), Path], list),
    phrase(&[SHOW, Maybe(&["all"]), Any(FILES)], |_| Some(DemoRequest::List { path: None })),
    phrase(&[SHOW, Maybe(&["all"]), Any(FILES), Any(&["in", "inside", "under"]), Path], list),
    phrase(&[WHAT, Any(&["files"]), IS, Maybe(&["there", "here"])], |_| Some(DemoRequest::List { path: None })),
    phrase(&[WHAT, Any(&["files"]), IS, Maybe(&["there"]), IN, Path], list),
    phrase(&[WHAT, IS, Any(&["here", "there"])], |_| Some(DemoRequest::List { path: None })),
    phrase(&[WHATS, Any(&["here", "there"])], |_| Some(DemoRequest::List { path: None })),

    phrase(&[SHOW, Any(&["first", "top"]), Number, Any(&["lines", "line"]), Any(&["of", "in", "from"]), File], |c| read_lines(&c[1], &c[0])),
    phrase(&[SHOW, Any(&["first"]), Any(&["line"]), Any(&["of", "in", "from"]), File], |c| read_lines(&c[0], "1")),
    phrase(&[SHOW, Maybe(&["contents", "content", "text"]), Maybe(&["of"]), CALLED, Maybe(&["at", "from"]), Maybe(&["path"]), Path], read),
    phrase(&[WHAT, Any(&["does"]), Path, Any(&["say", "contain", "hold"])], read),
    phrase(&[Any(&["tell", "show"]), WHAT, Path, Any(&["says", "contains", "holds"])], read),
    phrase(&[WHAT, IS, IN, Path], look),
    phrase(&[WHATS, IN, Path], look),
    phrase(&[Any(&["tell", "show"]), WHAT, IS, IN, Path], look),
    phrase(&[Glob], |c| (!c[0].contains('*')).then(|| DemoRequest::Read { path: c[0].clone(), lines: None })),

    phrase(&[FIND, Maybe(&["all"]), Maybe(&["files"]), Maybe(&["named", "called", "matching", "like"]), Glob], find),
    phrase(&[FIND, Maybe(&["all"]), Maybe(&["files"]), NAMED, Word], find),
    phrase(&[FIND, Maybe(&["all"]), Word, Any(&["files"])], find_language),
    phrase(&[LIST, Maybe(&["all"]), Word, Any(&["files"])], find_language),
    phrase(&[FIND, Maybe(&["all"]), Any(&["files"]), CONTAIN, Text], |c| search(&c[0], None)),
    phrase(&[Any(&["where"]), IS, Glob], find),
    phrase(&[Any(&["where's"]), Glob], find),

    phrase(&[SEARCH, Maybe(&["for"]), TEXT, Text, IN, File], |c| search(&c[0], Some(&c[1]))),
    phrase(&[SEARCH, Maybe(&["for"]), TEXT, Word, IN, Path], |c| search(&c[0], Some(&c[1]))),
    phrase(&[SEARCH, Maybe(&["for"]), TEXT, Text], |c| search(&c[0], None)),
    phrase(&[SEARCH, Any(&["in"]), File, Any(&["for"]), Text], |c| search(&c[1], Some(&c[0]))),
    phrase(&[SEARCH, Maybe(&["for"]), Text, IN, File], |c| search(&c[0], Some(&c[1]))),
    phrase(&[SEARCH, Maybe(&["for"]), Word, IN, Path], |c| search(&c[0], Some(&c[1]))),
    phrase(&[SEARCH, Maybe(&["files"]), Any(&["for"]), Text], |c| search(&c[0], None)),
    phrase(&[Any(&["search", "grep"]), Text], |c| search(&c[0], None)),
    phrase(&[FIND, Word, IN, Path], |c| search(&c[0], Some(&c[1]))),
    phrase(&[FIND, Word], |c| search(&c[0], None)),
    phrase(&[WHAT, Any(&["files"]), Any(&["contain", "mention", "have", "use"]), Text], |c| search(&c[0], None)),
    phrase(&[Any(&["where"]), IS, Word, Any(&["used", "defined", "mentioned", "called"])], |c| search(&c[0], None)),

    phrase(&[Any(&["append", "add", "put", "write"]), Maybe(&["line", "text"]), Text, Any(&["to", "at"]), END, Any(&["of"]), File], |c| append(&c[1], &c[0])),
    phrase(&[Any(&["append", "add"]), TO, END, Any(&["of"]), File, Text], |c| append(&c[0], &c[1])),
    phrase(&[Any(&["append", "add"]), TO, File, Text], |c| append(&c[0], &c[1])),
    phrase(&[Any(&["append", "add"]), Maybe(&["line", "text"]), Text, TO, File], |c| append(&c[1], &c[0])),

    phrase(&[CREATE, NEW, CALLED, File, WITH, Maybe(&["text", "content", "contents", "line"]), Text], |c| create(&c[0], &c[1])),
    phrase(&[CREATE, NEW, CALLED, File], |c| create(&c[0], "")),
    phrase(&[Any(&["write", "save", "put"]), Text, TO, File], |c| write(&c[1], &c[0])),
    phrase(&[Any(&["overwrite"]), File, WITH, Text], |c| write(&c[0], &c[1])),

    phrase(&[REPLACE, ALL, Maybe(&["occurrences", "occurrence"]), Maybe(&["of"]), Text, BY, Text, IN, File], replace_all),
    phrase(&[REPLACE, Text, BY, Text, Any(&["everywhere"]), IN, File], replace_all),
    phrase(&[REPLACE, Text, BY, Text, IN, File], |c| replace(&c[2], &c[0], &c[1])),
    phrase(&[IN, File, REPLACE, Text, BY, Text], |c| replace(&c[0], &c[1], &c[2])),

    phrase(&[Any(&["delete", "remove", "rm", "erase"]), CALLED, File], delete),

    phrase(&[MOVE, CALLED, File, Any(&["to", "as", "into"]), File], |c| rename(&c[0], &c[1])),

    phrase(&[RUN, Any(&["command"]), Command], |c| run(&c[0])),
    phrase(&[RUN, Quoted], |c| run(&c[0])),
    phrase(&[RUN, Command], |c| run(&c[0])),
    phrase(&[Any(&["$"]), Command], |c| run(&c[0])),
];

fn fetch(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Fetch { url: captured[0].clone() })
}

fn list(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::List { path: Some(captured[0].clone()) })
}

fn read(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Read { path: captured[0].clone(), lines: None })
}

fn read_lines(path: &str, lines: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Read { path: path.to_owned(), lines: Some(lines.parse().ok()?) })
}

/// A name with an ending is a file, another one a folder.
fn look(captured: &[String]) -> Option<DemoRequest> {
    let name = captured[0].trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_file = name.trim_start_matches('.').contains('.') || name.starts_with(char::is_uppercase);
    if is_file && !captured[0].ends_with('/') { read(captured) } else { list(captured) }
}

fn find(captured: &[String]) -> Option<DemoRequest> {
    Some(DemoRequest::Find { pattern: captured[0].clone() })
}

/// Files of a language, by their ending.
fn find_language(captured: &[String]) -> Option<DemoRequest> {
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
fn search(text: &str, path: Option<&str>) -> Option<DemoRequest> {
    let first = text.split_whitespace().find(|word| *word != "the").unwrap_or_default().to_lowercase();
    let is_elsewhere = ["web", "internet", "google", "online", "memory", "notes"].contains(&first.as_str());
    (!is_elsewhere).then(|| DemoRequest::Search { text: text.to_owned(), path: path.map(str::to_owned) })
}

fn append(path: &str, content: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Append { path: path.to_owned(), content: content.to_owned() })
}

fn create(path: &str, content: &str) -> Option<DemoRequest> {
    (!path.ends_with('/')).then(|| DemoRequest::Create { path: path.to_owned(), content: content.to_owned() })
}

fn write(path: &str, content: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Write { path: path.to_owned(), content: content.to_owned() })
}

fn replace(path: &str, old: &str, new: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Replace { path: path.to_owned(), old: old.to_owned(), new: new.to_owned(), all: false })
}

fn replace_all(captured: &[String]) -> Option<DemoRequest> {
    let [old, new, path] = captured else { return None };
    Some(DemoRequest::Replace { path: path.clone(), old: old.clone(), new: new.clone(), all: true })
}

/// Single files only: what a folder or a pattern holds was not said.
fn delete(captured: &[String]) -> Option<DemoRequest> {
    let is_file = !captured[0].ends_with('/') && !captured[0].contains(['*', '\n']);
    is_file.then(|| DemoRequest::Delete { path: captured[0].clone() })
}

/// Single files only, to a name that is told.
fn rename(from: &str, to: &str) -> Option<DemoRequest> {
    let is_file = |path: &str| !path.ends_with('/') && !path.contains(['*', '\n']);
    (is_file(from) && is_file(to)).then(|| DemoRequest::Rename { from: from.to_owned(), to: to.to_owned() })
}

fn run(command: &str) -> Option<DemoRequest> {
    Some(DemoRequest::Run { command: command.to_owned() })
}
