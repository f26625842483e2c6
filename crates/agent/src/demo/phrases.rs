//! The table of phrases. The first that matches a clause counts.

use super::grammar::Part::{self, Address, Any, Command, Content, Ending, File, Glob, Maybe, Number, Path, Quoted, Text, Wildcard, Word};
use super::phrase_requests::{
    append, count_lines, create, delete, everything, fetch, find, find_ending, find_in, find_language, list, look, read, read_lines,
    rename, replace, replace_all, run, search, tail, write,
};
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
const WITH: Part = Any(&["with", "containing", "saying", "says", "contains"]);
const ITS_TEXT: Part = Maybe(&["text", "content", "contents", "line", "words"]);
const SAYING: Part = Maybe(&["saying", "reading", "containing", "with"]);
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
const WORDS: Part = Maybe(&["word", "words", "text", "string", "phrase"]);
const ALL_OF: Part = Maybe(&["all", "any", "this", "these", "whole", "entire", "current"]);
const SCOPE: Part = Any(&[
    "files",
    "file",
    "folder",
    "folders",
    "directory",
    "project",
    "workspace",
    "repo",
    "repository",
    "code",
    "codebase",
    "everything",
    "here",
]);
const REMOVE: Part = Any(&["delete", "remove", "erase"]);
const REMINDERS: Part = Any(&["reminders", "reminder", "jobs"]);
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

    phrase(&[Any(&["list", "show", "see"]), Maybe(&["all", "scheduled"]), REMINDERS], |_| Some(DemoRequest::Reminders)),
    phrase(&[WHAT, Maybe(&["scheduled"]), REMINDERS, Any(&["are", "do"]), Maybe(&["there", "i"]), Maybe(&["have"])], |_| Some(DemoRequest::Reminders)),

    phrase(&[LIST, Maybe(&["all"]), Maybe(FILES)], everything),
    phrase(&[LIST, Maybe(&["all"]), Any(&["hidden"]), Any(FILES)], |_| Some(DemoRequest::List { path: None, hidden: true })),
    phrase(&[Any(&["give", "show"]), Any(&["list"]), Any(&["of"]), Maybe(&["all"]), Any(FILES)], everything),
    phrase(&[Maybe(&["show", "tell"]), WHAT, Any(&["files"]), Any(&["exist", "are"]), Maybe(&["here", "there"])], everything),
    phrase(&[WHAT, Any(&["files"]), Any(&["do"]), Any(&["i", "we", "you"]), Any(&["have", "see"])], everything),
    phrase(&[LIST, Maybe(&["all"]), Maybe(&["files"]), Maybe(&["named", "called", "matching", "like"]), Wildcard, Maybe(&["files"])], find),
    phrase(&[LIST, Maybe(&["all"]), Maybe(FILES), Maybe(&["in", "inside", "under", "of"]), Path], list),
    phrase(&[SHOW, Maybe(&["all"]), Any(FILES)], everything),
    phrase(&[SHOW, Maybe(&["all"]), Any(FILES), Any(&["in", "inside", "under"]), Path], list),
    phrase(&[WHAT, Any(&["files"]), IS, Maybe(&["there", "here"])], everything),
    phrase(&[WHAT, Any(&["files"]), IS, Maybe(&["there"]), IN, Path], list),
    phrase(&[WHAT, IS, Any(&["here", "there"])], everything),
    phrase(&[WHATS, Any(&["here", "there"])], everything),

    phrase(&[SHOW, Any(&["first", "top"]), Number, Any(&["lines", "line"]), Any(&["of", "in", "from"]), File], |c| read_lines(&c[1], &c[0])),
    phrase(&[SHOW, Any(&["first"]), Any(&["line"]), Any(&["of", "in", "from"]), File], |c| read_lines(&c[0], "1")),
    phrase(&[SHOW, Any(&["last"]), Number, Any(&["lines", "line"]), Any(&["of", "in", "from"]), File], |c| tail(&c[1], &c[0])),
    phrase(&[SHOW, Any(&["last"]), Any(&["line"]), Any(&["of", "in", "from"]), File], |c| tail(&c[0], "1")),
    phrase(&[Any(&["head"]), File], |c| read_lines(&c[0], "10")),
    phrase(&[Any(&["tail"]), File], |c| tail(&c[0], "10")),
    phrase(&[Any(&["count"]), Any(&["lines"]), Any(&["of", "in"]), File], count_lines),
    phrase(&[Any(&["how"]), Any(&["many"]), Any(&["lines"]), Any(&["are", "does"]), Maybe(&["there"]), Maybe(&["in"]), File, Maybe(&["have"])], count_lines),
    phrase(&[SHOW, Maybe(&["contents", "content", "text"]), Maybe(&["of"]), CALLED, Maybe(&["at", "from"]), Maybe(&["path"]), Path], read),
    phrase(&[WHAT, Any(&["does"]), Path, Any(&["say", "contain", "hold"])], read),
    phrase(&[Any(&["tell", "show"]), WHAT, Path, Any(&["says", "contains", "holds"])], read),
    phrase(&[WHAT, IS, IN, Path], look),
    phrase(&[WHATS, IN, Path], look),
    phrase(&[Any(&["tell", "show"]), WHAT, IS, IN, Path], look),
    phrase(&[Glob], |c| (!c[0].contains('*')).then(|| DemoRequest::Read { path: c[0].clone(), lines: None })),

    phrase(&[FIND, Maybe(&["all"]), Maybe(&["files"]), Maybe(&["named", "called", "matching", "like"]), Glob], find),
    phrase(&[FIND, Maybe(&["all", "every"]), Maybe(&["files"]), Maybe(&["named", "called", "matching", "like"]), Wildcard, Maybe(&["files"]), IN, Path], find_in),
    phrase(&[FIND, Maybe(&["all", "every"]), Wildcard, Any(&["files", "file"])], find),
    phrase(&[Any(&["find", "locate", "list", "show"]), Maybe(&["all", "every"]), Ending, Any(&["files", "file"])], find_ending),
    phrase(&[Any(&["find", "locate", "list", "show"]), Maybe(&["all", "every"]), Any(&["files"]), Any(&["ending"]), Any(&["in", "with", "on"]), Ending], find_ending),
    phrase(&[Any(&["is"]), Any(&["there"]), CALLED, File], find),
    phrase(&[Any(&["does"]), CALLED, File, Any(&["exist"])], find),
    phrase(&[Any(&["locate"]), Word], |c| Some(DemoRequest::Find { pattern: format!("*{}*", c[0]) })),
    phrase(&[FIND, Maybe(&["all"]), Maybe(&["files"]), NAMED, Word], find),
    phrase(&[FIND, Maybe(&["all"]), Word, Any(&["files"])], find_language),
    phrase(&[LIST, Maybe(&["all"]), Word, Any(&["files"])], find_language),
    phrase(&[FIND, Maybe(&["all"]), Any(&["files"]), CONTAIN, Text], |c| search(&c[0], None)),
    phrase(&[Any(&["where"]), IS, Glob], find),
    phrase(&[Any(&["where's"]), Glob], find),

    phrase(&[SEARCH, Maybe(&["for"]), WORDS, Text, IN, ALL_OF, SCOPE], |c| search(&c[0], None)),
    phrase(&[SEARCH, Maybe(&["for"]), WORDS, Text, Any(&["everywhere", "anywhere"])], |c| search(&c[0], None)),
    phrase(&[FIND, WORDS, Word, IN, ALL_OF, SCOPE], |c| search(&c[0], None)),
    phrase(&[FIND, TEXT, Text, IN, File], |c| search(&c[0], Some(&c[1]))),
    phrase(&[FIND, TEXT, Text], |c| search(&c[0], None)),
    phrase(&[SEARCH, ALL_OF, SCOPE, Any(&["for"]), WORDS, Text], |c| search(&c[0], None)),
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

    phrase(&[Any(&["append", "add", "put", "write"]), NEW, Any(&["line", "text"]), SAYING, Content, Any(&["to", "at"]), END, Any(&["of"]), File], |c| append(&c[1], &c[0])),
    phrase(&[Any(&["append", "add", "put", "write"]), Content, Any(&["to", "at"]), END, Any(&["of"]), File], |c| append(&c[1], &c[0])),
    phrase(&[Any(&["append", "add"]), TO, END, Any(&["of"]), File, Content], |c| append(&c[0], &c[1])),
    phrase(&[Any(&["append", "add"]), TO, File, Content], |c| append(&c[0], &c[1])),
    phrase(&[Any(&["append", "add"]), NEW, Any(&["line", "text"]), SAYING, Content, TO, File], |c| append(&c[1], &c[0])),
    phrase(&[Any(&["append", "add"]), Content, TO, File], |c| append(&c[1], &c[0])),

    phrase(&[CREATE, NEW, CALLED, File, WITH, ITS_TEXT, SAYING, Content], |c| create(&c[0], &c[1])),
    phrase(&[CREATE, NEW, CALLED, File], |c| create(&c[0], "")),
    phrase(&[Any(&["write"]), NEW, CALLED, File, WITH, ITS_TEXT, SAYING, Content], |c| create(&c[0], &c[1])),
    phrase(&[Any(&["put"]), ITS_TEXT, Content, TO, NEW, CALLED, File], |c| create(&c[1], &c[0])),
    phrase(&[Any(&["write", "save"]), ITS_TEXT, Content, Any(&["to", "into", "in", "as"]), NEW, CALLED, File], |c| write(&c[1], &c[0])),
    phrase(&[Any(&["overwrite"]), File, WITH, ITS_TEXT, SAYING, Content], |c| write(&c[0], &c[1])),

    phrase(&[REPLACE, ALL, Maybe(&["occurrences", "occurrence"]), Maybe(&["of"]), WORDS, Text, BY, WORDS, Text, IN, File], replace_all),
    phrase(&[REPLACE, WORDS, Text, BY, WORDS, Text, Any(&["everywhere"]), IN, File], replace_all),
    phrase(&[REPLACE, WORDS, Text, BY, WORDS, Text, IN, File], |c| replace(&c[2], &c[0], &c[1])),
    phrase(&[REPLACE, WORDS, Text, IN, File, BY, WORDS, Text], |c| replace(&c[1], &c[0], &c[2])),
    phrase(&[IN, File, REPLACE, WORDS, Text, BY, WORDS, Text], |c| replace(&c[0], &c[1], &c[2])),
    phrase(&[REMOVE, TEXT, Text, Any(&["from"]), File], |c| replace(&c[1], &c[0], "")),
    phrase(&[REMOVE, Quoted, Any(&["from"]), File], |c| replace(&c[1], &c[0], "")),
    phrase(&[REMOVE, Word, Any(&["from"]), File], |c| (!c[0].contains(['.', '/'])).then(|| replace(&c[1], &c[0], ""))?),

    phrase(&[Any(&["delete", "remove", "rm", "erase"]), CALLED, File], delete),

    phrase(&[MOVE, CALLED, File, Any(&["to", "as", "into"]), File], |c| rename(&c[0], &c[1])),

    phrase(&[RUN, Any(&["command"]), Command], |c| run(&c[0])),
    phrase(&[RUN, Quoted], |c| run(&c[0])),
    phrase(&[RUN, Command], |c| run(&c[0])),
    phrase(&[Any(&["$"]), Command], |c| run(&c[0])),
];
