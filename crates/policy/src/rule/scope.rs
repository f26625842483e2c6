//! What the name of a rule stands for.

use haft_contract::Effect;

use super::fault::Fault;
use super::text::{Letter, behind};
use crate::catalog::{CATALOG, Vocabulary};
use crate::name::{folded, glob};

/// A set of effect kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const COUNT: usize = 8;
    pub(super) const READ: Self = Self(1);
    const WRITE: Self = Self(1 << 1);
    const DELETE: Self = Self(1 << 2);
    const EXEC: Self = Self(1 << 3);
    const CONNECT: Self = Self(1 << 4);
    const SEND: Self = Self(1 << 5);
    const SPAWN: Self = Self(1 << 6);
    const CONFIGURE: Self = Self(1 << 7);
    const CHANGE: Self = Self::WRITE.and(Self::DELETE);
    const PATH: Self = Self::CHANGE.and(Self::READ);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    fn within(self, other: Self) -> Option<Self> {
        let common = self.0 & other.0;
        (common != 0).then_some(Self(common))
    }
    /// Whether any kind is in both.
    pub(super) fn meets(self, other: Self) -> bool {
        self.within(other).is_some()
    }
    /// The places of the kinds, from 0.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |place| self.0 & (1 << place) != 0)
    }
    /// The kind of an effect; none if no rule can name it.
    pub(super) fn of(effect: &Effect) -> Self {
        match effect {
            Effect::Read(_) => Self::READ,
            Effect::Write(_) => Self::WRITE,
            Effect::Delete(_) => Self::DELETE,
            Effect::Exec(_) => Self::EXEC,
            Effect::Connect(_) => Self::CONNECT,
            Effect::Send { .. } => Self::SEND,
            Effect::Spawn { .. } => Self::SPAWN,
            Effect::Configure { .. } => Self::CONFIGURE,
            _ => Self(0),
        }
    }
}

/// How content is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Path,
    Command,
    Connection,
    Message,
    Agent,
    Key,
}

impl Grammar {
    fn kinds(self) -> Kinds {
        match self {
            Self::Path => Kinds::PATH,
            Self::Command => Kinds::EXEC,
            Self::Connection => Kinds::CONNECT,
            Self::Message => Kinds::SEND,
            Self::Agent => Kinds::SPAWN,
            Self::Key => Kinds::CONFIGURE,
        }
    }
    /// What it speaks of, in words.
    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::Path => "a path",
            Self::Command => "a program",
            Self::Connection => "a connection",
            Self::Message => "a message",
            Self::Agent => "the name of an agent",
            Self::Key => "the key of a setting",
        }
    }
    /// What to write.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Path => "write a path pattern, such as 'docs/**'",
            Self::Command => "write the program and its arguments, such as 'git push *'",
            Self::Connection => "write 'domain:example.org'",
            Self::Message => "write 'channel:desktop'",
            Self::Agent => "write the agent's name",
            Self::Key => "write the key",
        }
    }
}

/// What content speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) grammar: Grammar,
    /// What a rule that restricts is about.
    pub(super) kinds: Kinds,
}

impl Scope {
    /// What a rule that permits is about: whoever may change a file may read it to do so.
    pub(super) fn permitted(self) -> Kinds {
        if self.kinds == Kinds::CHANGE { Kinds::PATH } else { self.kinds }
    }
}

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// An effect, whichever tool has it.
    Effect(&'static str, Scope),
    /// A tool, by its canonical name.
    Tool(String),
    /// Tools, by a pattern in the folded spelling.
    Tools(String),
}

/// The effects that a rule can name.
pub(super) const EFFECTS: [(&str, Grammar, Kinds); 8] = [
    ("read", Grammar::Path, Kinds::READ),
    ("write", Grammar::Path, Kinds::CHANGE),
    ("delete", Grammar::Path, Kinds::DELETE),
    ("exec", Grammar::Command, Kinds::EXEC),
    ("connect", Grammar::Connection, Kinds::CONNECT),
    ("send", Grammar::Message, Kinds::SEND),
    ("spawn", Grammar::Agent, Kinds::SPAWN),
    ("configure", Grammar::Key, Kinds::CONFIGURE),
];

/// What the tools of the catalog do that content can speak of.
#[rustfmt::skip] // one kind a line
const TOOLS: [(Grammar, Kinds, &[&str]); 7] = [
    (Grammar::Path, Kinds::READ, &["read_file", "glob_search", "grep_search", "memory_get", "image"]),
    (Grammar::Path, Kinds::CHANGE, &["write_file", "edit_file", "apply_patch", "notebook_edit", "todo_write", "tts"]),
    (Grammar::Command, Kinds::EXEC, &["exec", "process", "repl", "powershell"]),
    (Grammar::Connection, Kinds::CONNECT, &["web_fetch", "web_search", "http_request", "browser"]),
    (Grammar::Message, Kinds::SEND, &["message", "notify", "send_user_message", "sessions_send"]),
    (Grammar::Agent, Kinds::SPAWN, &["sessions_spawn", "agent", "subagents"]),
    (Grammar::Key, Kinds::CONFIGURE, &["config", "gateway"]),
];

/// What the content of a rule on this tool of the catalog speaks of.
pub(super) fn of_tool(canonical: &str) -> Option<Scope> {
    let row = TOOLS.iter().find(|(.., tools)| tools.contains(&canonical));
    row.map(|(grammar, kinds, _)| Scope { grammar: *grammar, kinds: *kinds })
}

/// Whether a pattern on names holds a tool that runs programs.
pub(super) fn holds_a_runner(pattern: &str) -> bool {
    TOOLS.iter().filter(|(.., kinds, _)| *kinds == Kinds::EXEC).any(|(.., tools)| tools.iter().any(|tool| glob(pattern, tool)))
}

/// Whether a name would be taken for that of another tool of the catalog.
pub(super) fn is_anothers(name: &str) -> bool {
    let wanted = folded(name);
    CATALOG.iter().filter(|known| known.name != name).any(|known| known.aliases.iter().any(|alias| folded(alias) == wanted))
}

/// Whether the catalog knows a tool.
pub(super) fn is_of_catalog(canonical: &str) -> bool {
    CATALOG.iter().any(|known| known.name == canonical)
}

/// What content speaks of when only it can tell.
pub(super) fn of_content(letters: &[Letter]) -> Scope {
    let begins = |word| behind(letters, word).is_some();
    let grammar = match () {
        () if begins("domain:") || begins("method:") => Grammar::Connection,
        () if begins("host:") => Grammar::Command,
        () => Grammar::Path,
    };
    Scope { grammar, kinds: grammar.kinds() }
}

/// What content speaks of behind a pattern on tools.
pub(super) fn of_tools(pattern: &str, letters: &[Letter]) -> Result<Scope, Fault> {
    let Scope { grammar, kinds } = of_content(letters);
    let known = TOOLS.iter().filter(|(.., tools)| tools.iter().any(|tool| glob(pattern, tool)));
    let Some(meant) = known.map(|(_, kinds, _)| *kinds).reduce(Kinds::and) else { return Ok(Scope { grammar, kinds }) };
    kinds.within(meant).map(|kinds| Scope { grammar, kinds }).ok_or_else(|| {
        let message = format!("no tool that '{pattern}' matches has to do with {}", grammar.subject());
        Fault::new(message, "name the effect instead: read, write, delete, exec or connect")
    })
}

/// Finds out what a name stands for. Effects come before the aliases of tools.
pub(super) fn resolve(name: &str, vocabulary: &Vocabulary) -> Result<Subject, Fault> {
    let wanted = folded(name);
    if let Some((name, grammar, kinds)) = EFFECTS.into_iter().find(|(effect, ..)| *effect == wanted) {
        return Ok(Subject::Effect(name, Scope { grammar, kinds }));
    }
    if wanted.contains('*') {
        return tools(wanted, name, vocabulary);
    }
    match vocabulary.canonical(name) {
        Some(canonical) => Ok(Subject::Tool(canonical.to_owned())),
        None if server(&wanted).is_some_and(|server| vocabulary.has_source(server)) => Ok(Subject::Tool(wanted)),
        None => Err(unknown(name, &wanted, vocabulary)),
    }
}

/// The name between `mcp__` and `__`.
fn server(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("mcp__")?;
    Some(rest.split_once("__").map_or(rest, |(server, _)| server))
}

/// A server that is not connected yet has no tools to match.
fn tools(pattern: String, name: &str, vocabulary: &Vocabulary) -> Result<Subject, Fault> {
    let of_server = server(&pattern).is_some_and(|server| server.contains('*') || vocabulary.has_source(server));
    let of_plugin = vocabulary.has_source(pattern.split('*').next().unwrap_or_default().trim_end_matches('_'));
    if of_server || of_plugin || vocabulary.matches_any(&pattern) {
        return Ok(Subject::Tools(pattern));
    }
    Err(match server(&pattern) {
        Some(server) => no_server(server),
        None => Fault::new(format!("'{name}' matches no tool"), "`haft tools` lists the tools; correct the pattern, or remove the rule"),
    })
}

fn no_server(server: &str) -> Fault {
    Fault::new(format!("there is no MCP server '{server}'"), "configure the server, correct its name, or remove the rule")
}

fn unknown(name: &str, wanted: &str, vocabulary: &Vocabulary) -> Fault {
    if let Some(server) = server(wanted) {
        return no_server(server);
    }
    if wanted.starts_with("group:") {
        return Fault::new(format!("a rule cannot name a group, as '{name}' does"), "name an effect or a tool; groups stand in [tools]");
    }
    let near = vocabulary.nearest(name);
    let help = if near.is_empty() {
        format!("`haft tools` lists the tools; the effects are {}", EFFECTS.map(|(name, ..)| name).join(", "))
    } else {
        format!("did you mean {}?", near.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or "))
    };
    Fault::new(format!("there is no tool or effect '{name}'"), help)
}
