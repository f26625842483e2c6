//! Short names for the variables of a file.

use std::collections::{HashMap, HashSet};

use super::exports::ExportNames;
use super::is_sign;
use super::roles::Role;
use super::tokens::{Kind, Token};

/// Names of the browser that the page uses as they are, and that a file could declare for something else.
const GLOBALS: [&str; 24] = [
    "CSS",
    "Date",
    "Error",
    "Event",
    "File",
    "Image",
    "Intl",
    "JSON",
    "Map",
    "Math",
    "Node",
    "Number",
    "Object",
    "Promise",
    "Set",
    "String",
    "document",
    "fetch",
    "history",
    "location",
    "navigator",
    "performance",
    "self",
    "window",
];

/// Which name stands for which.
#[derive(Default)]
pub(super) struct ShortNames<'a> {
    names: HashMap<&'a str, String>,
}

/// How often a name is written.
#[derive(Default, Clone, Copy)]
struct Uses {
    alone: usize,
    shorthand: usize,
    /// Where it is first, so that the same file always gets the same names.
    first: usize,
}

impl<'a> ShortNames<'a> {
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.names.get(name).cloned()
    }

    pub(super) fn choose(tokens: &[Token<'a>], roles: &[Role], exports: &ExportNames) -> Self {
        let (declared, shared) = declared(tokens, roles);
        let mut uses: HashMap<&'a str, Uses> = HashMap::new();
        for (at, (token, role)) in tokens.iter().zip(roles).enumerate() {
            if declared.contains(token.text) && matches!(role, Role::Variable | Role::Private | Role::Shorthand) {
                let uses = uses.entry(token.text).or_insert(Uses { first: at, ..Uses::default() });
                uses.alone += usize::from(*role != Role::Shorthand);
                uses.shorthand += usize::from(*role == Role::Shorthand);
            }
        }
        let mut uses: Vec<_> = uses.into_iter().collect();
        uses.sort_by_key(|(_, uses)| (usize::MAX - uses.alone - uses.shorthand, uses.first));
        let taken: HashSet<&str> = tokens.iter().filter(|token| token.kind == Kind::Word).map(|token| token.text).collect();
        let free = |mark: &'static str| (0..).map(move |index| format!("{mark}{}", short_name(index)));
        let mut free = ["", "#"].map(|mark| free(mark).filter(|name| !taken.contains(name.as_str()) && !is_reserved(name)).peekable());
        let mut names: HashMap<&str, String> = shared.into_iter().filter_map(|name| Some((name, exports.get(name)?))).collect();
        for (name, uses) in uses {
            let free = &mut free[usize::from(name.starts_with('#'))];
            let length = free.peek().map_or(name.len(), String::len);
            let is_shorter = uses.alone * name.len() > uses.alone * length + uses.shorthand * (length + 1);
            if is_shorter && let Some(short) = free.next() {
                names.insert(name, short);
            }
        }
        Self { names }
    }
}

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

pub(super) fn letter(index: usize) -> char {
    char::from(LETTERS[index % LETTERS.len()])
}

/// `a` to `Z`, then `aa` and so on.
fn short_name(index: usize) -> String {
    let mut name = String::new();
    let mut rest = index;
    while rest >= LETTERS.len() {
        name.insert(0, letter(rest));
        rest = rest / LETTERS.len() - 1;
    }
    name.insert(0, letter(rest));
    name
}

fn is_reserved(name: &str) -> bool {
    matches!(name, "as" | "do" | "if" | "in" | "of")
}

/// The names that the file declares for itself alone, and those of its exports and imports.
fn declared<'a>(tokens: &[Token<'a>], roles: &[Role]) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let mut names = HashSet::new();
    let mut shared = HashSet::new();
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = |by: usize| at.checked_sub(by).map_or("", |at| tokens[at].text);
        match (token.kind, token.text) {
            (Kind::Word, name) if roles[at] == Role::Private => drop(names.insert(name)),
            (Kind::Word, name) if roles[at] == Role::Variable => {
                let is_named = matches!(before(1), "const" | "let" | "function" | "class");
                let is_arrow = is_sign(tokens.get(at + 1), "=") && is_sign(tokens.get(at + 2), ">");
                if is_named && (before(2) == "export" || (before(2) == "async" && before(3) == "export")) {
                    shared.insert(name);
                } else if is_named || is_arrow {
                    names.insert(name);
                }
            }
            (Kind::Word, name) if roles[at] == Role::Shared => drop(shared.insert(name)),
            (Kind::Sign, "(" | "[" | "{") => open.push(at),
            (Kind::Sign, ")" | "]" | "}") => {
                if let Some(first) = open.pop()
                    && is_binding(tokens, first, at)
                {
                    bound(tokens, roles, first, at, &mut names);
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !shared.contains(name) && !GLOBALS.contains(name));
    (names, shared)
}

/// Whether the brackets hold what a function takes, or a pattern of a declaration.
fn is_binding(tokens: &[Token<'_>], first: usize, last: usize) -> bool {
    let before = first.checked_sub(1).map(|at| &tokens[at]);
    let is_word = |words: &[&str]| before.is_some_and(|token| token.kind == Kind::Word && words.contains(&token.text));
    if tokens[last].text != ")" {
        return is_word(&["const", "let"]);
    }
    let is_arrow = is_sign(tokens.get(last + 1), "=") && is_sign(tokens.get(last + 2), ">");
    let is_function = is_sign(tokens.get(last + 1), "{")
        && before.is_some_and(|token| token.kind == Kind::Word)
        && !is_word(&["if", "for", "while", "switch", "with"]);
    is_arrow || is_function
}

/// Adds the names that a list of parameters or a pattern declares; what is in brackets of calls belongs to default values.
fn bound<'a>(tokens: &[Token<'a>], roles: &[Role], first: usize, last: usize, names: &mut HashSet<&'a str>) {
    let mut calls = 0_usize;
    for at in first + 1..last {
        let (token, before, after) = (&tokens[at], tokens[at - 1].text, tokens[at + 1].text);
        match (token.kind, token.text) {
            (Kind::Sign, "(") => calls += 1,
            (Kind::Sign, ")") => calls = calls.saturating_sub(1),
            (Kind::Word, name)
                if calls == 0
                    && matches!(roles[at], Role::Variable | Role::Shorthand)
                    && matches!(before, "(" | "[" | "{" | "," | "." | ":")
                    && matches!(after, ")" | "]" | "}" | "," | "=") =>
            {
                names.insert(name);
            }
            _ => {}
        }
    }
}
