//! No type of a dependency is in the public API, except those of serde_json, schemars and tokio.
//!
//! Read from the text of the sources: what the lint `unreachable_pub` leaves as `pub` is what another crate can name, so every signature,
//! field, alias and trait implementation with `pub` in a crate of the library is looked at. Types that a macro writes, and types that are
//! inferred (`impl Trait`), are not seen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The crates whose items a program reaches through `haft`.
const CRATES: [&str; 13] = [
    "crates/agent",
    "crates/builtin",
    "crates/compat",
    "crates/contract",
    "crates/engine",
    "crates/host",
    "crates/jobs",
    "crates/mcp",
    "crates/policy",
    "crates/provider",
    "crates/sandbox",
    "crates/store",
    ".",
];

/// Crates whose types may be there: `tokio_util` is tokio's, and `serde` has traits alone.
const ALLOWED: [&str; 6] = ["schemars", "serde", "serde_json", "tokio", "tokio_util", "thiserror"];

/// What is public in its crate and reached by no program through `haft`, by file and name, with the reason.
const NOT_REACHED: &[(&str, &str)] = &[
    // `haft::store` does not pass it on.
    ("crates/store/src/session_store.rs", "fn new_uuid"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The dependencies of a crate that are not ours and not allowed, as they are written in code.
fn foreign(manifest: &str) -> BTreeSet<String> {
    let tables = manifest.split("\n[").filter(|table| table.starts_with("dependencies]") || table.contains(".dependencies]"));
    let names = tables.flat_map(str::lines).skip(1).filter_map(|line| line.split(['.', ' ', '=']).next());
    let names = names.map(|name| name.trim().replace('-', "_")).filter(|name| !name.is_empty() && !name.starts_with(['#', '[']));
    names.filter(|name| !name.starts_with("haft") && !ALLOWED.contains(&name.as_str())).collect()
}

/// A source without its comments, the bodies of its strings, and its tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that a source brings in from these crates: `use uuid::{Timestamp, Uuid}` brings two.
fn imported(code: &str, crates: &BTreeSet<String>) -> BTreeSet<String> {
    let uses = code.split('\n').filter_map(|line| line.trim_start().strip_prefix("use "));
    let foreign = uses.filter(|path| crates.iter().any(|name| path.split("::").next() == Some(name)));
    let words = foreign.flat_map(|path| path.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')));
    words.filter(|word| word.starts_with(|ch: char| ch.is_uppercase())).map(str::to_owned).collect()
}

/// The declarations of a source that another crate sees: from `pub` or `impl … for` to the body or the end.
fn declarations(code: &str) -> Vec<String> {
    let lines: Vec<&str> = code.lines().collect();
    let begins = |line: &str| {
        let line = line.trim_start();
        let is_public = line.starts_with("pub ") && !line.starts_with("pub use ") && !line.starts_with("pub mod ");
        is_public || line.starts_with("impl") && line.contains(" for ") || line.starts_with("fn ") && !line.contains("self.")
    };
    let mut found = Vec::new();
    let in_trait = |at: usize| {
        // Methods of a public trait are public; those of an implementation are what the trait says.
        lines[..at].iter().rev().find(|line| !line.starts_with(' ') && !line.is_empty()).is_some_and(|line| line.starts_with("pub trait "))
    };
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        if line.trim_start().starts_with("fn ") && !in_trait(at) {
            continue;
        }
        let mut whole = String::new();
        for line in &lines[at..] {
            whole.push_str(line.trim());
            whole.push(' ');
            if line.ends_with(['{', ';', ',', '}']) && whole.matches('(').count() == whole.matches(')').count() {
                break;
            }
        }
        found.push(whole.split(" where ").next().unwrap_or_default().to_owned());
    }
    found
}

/// Whether it is an implementation for a type that no other crate can name.
fn is_for_a_private_type(declaration: &str, public: &str) -> bool {
    let Some((_, target)) = declaration.split_once(" for ").filter(|_| declaration.starts_with("impl")) else { return false };
    let name: String = target.chars().take_while(|ch| ch.is_alphanumeric() || *ch == '_').collect();
    !["struct", "enum", "trait"].iter().any(|kind| public.contains(&format!("pub {kind} {name}")))
}

/// Whether a declaration names something of these crates.
fn names(declaration: &str, crates: &BTreeSet<String>, imported: &BTreeSet<String>) -> Option<String> {
    let words: Vec<&str> = declaration.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).collect();
    let by_path = crates.iter().find(|name| declaration.contains(&format!("{name}::")));
    by_path.or_else(|| imported.iter().find(|name| words.contains(&name.as_str()))).cloned()
}

#[test]
fn types_of_dependencies_stay_out_of_the_public_api() {
    let mut found = Vec::new();
    for folder in CRATES {
        let folder = root().join(folder);
        let crates = foreign(&std::fs::read_to_string(folder.join("Cargo.toml")).unwrap());
        let sources: Vec<(PathBuf, String)> =
            sources(&folder.join("src")).into_iter().map(|path| (path.clone(), code(&std::fs::read_to_string(path).unwrap()))).collect();
        let whole: String = sources.iter().map(|(_, code)| code.as_str()).collect();
        for (path, code) in sources {
            let imported = imported(&code, &crates);
            let file = path.strip_prefix(root()).unwrap().display().to_string();
            for declaration in declarations(&code) {
                let Some(name) = names(&declaration, &crates, &imported) else { continue };
                let is_hidden = NOT_REACHED.iter().any(|(known, what)| *known == file && declaration.contains(what));
                if !is_hidden && !is_for_a_private_type(&declaration, &whole) {
                    found.push(format!("{file}: {name} in `{}`", declaration.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn reader_of_declarations_finds_what_it_must() {
    let crates: BTreeSet<String> = ["uuid".to_owned(), "rusqlite".to_owned()].into();
    let text = "use uuid::{NoContext, Uuid};\n\npub struct A {\n    pub id: Uuid,\n    own: Uuid,\n}\n\nimpl From<rusqlite::Error> for A {\n}\n\
                pub(crate) fn hidden() -> Uuid {}\npub fn long(\n    first: u8,\n) -> Option<Uuid> {\n}\npub trait T {\n    fn of(&self) -> Uuid;\n}\n\
                fn inner() -> Uuid {}\n// pub fn comment() -> Uuid\n";
    let code = code(text);
    let imported = imported(&code, &crates);
    let seen: Vec<String> = declarations(&code).into_iter().filter(|one| names(one, &crates, &imported).is_some()).collect();
    let expected =
        ["pub id: Uuid, ", "impl From<rusqlite::Error> for A { ", "pub fn long( first: u8, ) -> Option<Uuid> { ", "fn of(&self) -> Uuid; "];
    assert_eq!(seen, expected);
}
