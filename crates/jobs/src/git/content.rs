//! What the files of a Git folder may hold. Git takes some of them for commands when it continues an operation.

use super::config;
use super::index::{has_usual_paths, is_usual_path};
use super::refname::{is_branch_name, is_hex, is_object_id, is_ref_name};

/// Merge strategies that are part of Git; any other name is a program.
const STRATEGIES: &[&str] = &["ort", "recursive", "octopus", "ours", "subtree", "resolve"];
/// The commands of a rebase that run no program.
const TODO_COMMANDS: &[&str] = &[
    "pick",
    "p",
    "revert",
    "edit",
    "e",
    "reword",
    "r",
    "fixup",
    "f",
    "squash",
    "s",
    "label",
    "l",
    "reset",
    "t",
    "merge",
    "m",
    "update-ref",
    "u",
    "noop",
    "drop",
    "d",
    "break",
    "b",
];
/// The options of `git am` that only say how a patch is read.
const PATCH_OPTIONS: &[&str] = &["--whitespace=", "-C", "-p", "--ignore-space-change", "--ignore-whitespace", "--3way", "--reject"];
/// The settings of a cherry-pick that run no program.
const PICK_OPTIONS: &[&str] = &[
    "no-commit",
    "edit",
    "allow-empty",
    "allow-empty-message",
    "keep-redundant-commits",
    "drop-redundant-commits",
    "signoff",
    "record-origin",
    "allow-ff",
    "mainline",
    "strategy",
    "strategy-option",
    "allow-rerere-auto",
    "default-msg-cleanup",
];

/// The lines that Git writes, to the letter: what is read as another line by Git cannot be among them.
const SPARSE_SETTINGS: &[&str] = &[
    "[core]",
    "\tsparseCheckout = true",
    "\tsparseCheckout = false",
    "\tsparseCheckoutCone = true",
    "\tsparseCheckoutCone = false",
    "[index]",
    "\tsparse = true",
    "\tsparse = false",
];

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Any text.
    Text,
    /// A ref: an id, or the name of another ref.
    Ref,
    /// Ids, one a line.
    Ids,
    /// As `packed-refs`.
    PackedRefs,
    /// As `FETCH_HEAD`: lines that begin with an id.
    Fetched,
    /// The beginning of an id.
    ShortId,
    /// Names of branches or refs, or ids, one a line.
    Name,
    /// Words in single quotes.
    Quoted,
    /// As `author-script`.
    Author,
    /// The commands of a rebase or cherry-pick.
    Todo,
    /// The name of a merge strategy.
    Strategy,
    /// Options of a merge strategy.
    StrategyOptions,
    /// Options for reading a patch.
    PatchOptions,
    /// Settings of a cherry-pick.
    PickOptions,
    /// The key that signs.
    SigningKey,
    /// Paths with conflicts.
    Conflicts,
    /// As `config.worktree` after `git sparse-checkout`.
    SparseSettings,
    /// The index, or a part of it.
    Index,
}

impl Content {
    /// A larger file is refused.
    pub(super) fn max_bytes(self) -> u64 {
        if self == Self::Index { 256 << 20 } else { 64 << 20 }
    }

    /// Whether these bytes are what they should be.
    pub(super) fn accepts(self, bytes: &[u8]) -> bool {
        match self {
            Self::Text => true,
            Self::Index => has_usual_paths(bytes),
            Self::SparseSettings => lines(bytes).all(|line| SPARSE_SETTINGS.iter().any(|known| line == known.as_bytes())),
            Self::Ref => is_ref(bytes),
            Self::Ids => lines(bytes).all(is_object_id) || is_ref(bytes),
            Self::PackedRefs => lines(bytes).all(is_packed),
            Self::Fetched => lines(bytes).all(|line| is_object_id(line.split(|byte| *byte == b'\t').next().unwrap_or_default())),
            Self::ShortId => (4..=64).contains(&bytes.trim_ascii_end().len()) && is_hex(bytes.trim_ascii_end()),
            Self::Name => lines(bytes).next().is_some() && lines(bytes).all(is_name),
            Self::Quoted => is_quoted(bytes),
            Self::Author => is_author(bytes),
            Self::Todo => lines(bytes).all(is_todo),
            Self::Strategy => STRATEGIES.iter().any(|known| bytes.trim_ascii() == known.as_bytes()) || bytes.trim_ascii().is_empty(),
            Self::StrategyOptions => bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-=' \n%".contains(byte)),
            Self::PatchOptions => {
                words(bytes).is_some_and(|words| words.iter().all(|word| PATCH_OPTIONS.iter().any(|known| word.starts_with(known))))
            }
            Self::PickOptions => is_pick_options(bytes),
            Self::SigningKey => bytes
                .strip_prefix(b"-S")
                .is_some_and(|key| key.trim_ascii().iter().all(|byte| byte.is_ascii_alphanumeric() || b"@.!".contains(byte))),
            Self::Conflicts => bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).all(is_conflict),
        }
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).filter(|line| !line.is_empty())
}

fn is_ref(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_end();
    match text.strip_prefix(b"ref:") {
        Some(name) => is_ref_name(name.trim_ascii()),
        None => is_object_id(text),
    }
}

fn is_name(name: &[u8]) -> bool {
    is_object_id(name) || is_ref_name(name) || is_branch_name(name) || name == b"detached HEAD"
}

/// `ID refs/tags/one`, `^ID` or a comment.
fn is_packed(line: &[u8]) -> bool {
    match line {
        [b'#', ..] => true,
        [b'^', id @ ..] => is_object_id(id),
        line => {
            let mut parts = line.splitn(2, |byte| *byte == b' ');
            parts.next().is_some_and(is_object_id) && parts.next().is_some_and(is_ref_name)
        }
    }
}

fn is_todo(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    line.is_empty() || line.starts_with(b"#") || TODO_COMMANDS.iter().any(|known| word == known.as_bytes())
}

/// The words of a text in which each is in single quotes, as Git quotes for a shell.
fn words(bytes: &[u8]) -> Option<Vec<String>> {
    let (mut words, mut rest) = (Vec::new(), bytes.trim_ascii());
    while !rest.is_empty() {
        let (word, after) = quoted_word(rest)?;
        words.push(String::from_utf8_lossy(&word).into_owned());
        rest = after.trim_ascii_start();
        if !rest.is_empty() && rest.len() == after.len() {
            return None;
        }
    }
    Some(words)
}

/// One word in single quotes, and what follows it.
fn quoted_word(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut word, mut rest) = (Vec::new(), bytes.strip_prefix(b"'")?);
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        word.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest {
            [b'\\', ch @ (b'\'' | b'!'), b'\'', after @ ..] => {
                word.push(*ch);
                rest = after;
            }
            _ => return Some((word, rest)),
        }
    }
}

fn is_quoted(bytes: &[u8]) -> bool {
    words(bytes).is_some()
}

/// Lines such as `GIT_AUTHOR_NAME='A U Thor'`; old versions of Git let a shell read them.
fn is_author(bytes: &[u8]) -> bool {
    let mut rest = bytes.trim_ascii_end();
    while !rest.is_empty() {
        let Some(equals) = rest.iter().position(|byte| *byte == b'=') else { return false };
        if !matches!(&rest[..equals], b"GIT_AUTHOR_NAME" | b"GIT_AUTHOR_EMAIL" | b"GIT_AUTHOR_DATE") {
            return false;
        }
        let Some((_, after)) = quoted_word(&rest[equals + 1..]) else { return false };
        if !(after.is_empty() || after.starts_with(b"\n")) {
            return false;
        }
        rest = after.strip_prefix(b"\n").unwrap_or(after);
    }
    true
}

fn is_pick_options(bytes: &[u8]) -> bool {
    let is_known = |entry: &config::Entry| {
        let key = &entry.key;
        let value = entry.value.as_deref().unwrap_or_default();
        key.section == "options"
            && key.subsection.is_none()
            && PICK_OPTIONS.contains(&&*key.name)
            && match &*key.name {
                "strategy" => Content::Strategy.accepts(value),
                "strategy-option" => Content::StrategyOptions.accepts(value),
                _ => true,
            }
    };
    config::parse(bytes).is_some_and(|file| file.entries.iter().all(is_known))
}

/// `ID<TAB>path`: Git writes the resolution of a conflict to the path.
fn is_conflict(entry: &[u8]) -> bool {
    let mut parts = entry.splitn(2, |byte| *byte == b'\t');
    let id = parts.next().unwrap_or_default();
    let id = id.split(|byte| *byte == b'.').next().unwrap_or_default();
    is_object_id(id) && parts.next().is_some_and(is_usual_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn content_of_git_files_is_checked_by_kind() {
        let id = |text: &str| text.replace("ID", ID);
        let cases: &[(Content, &[&str], &[&str])] = &[
            (
                Content::Ref,
                &["ID\n", "ref: refs/heads/main\n", "ref:refs/heads/x"],
                &["", "ref: ../config", "ref: refs/../../x", "ref: HEAD", "ID x", "IDID"],
            ),
            (Content::Ids, &["ID\nID\n", ""], &["x\n", "ID ID\n"]),
            (
                Content::PackedRefs,
                &["# pack-refs with: peeled \nID refs/tags/v1\n^ID\n", ""],
                &["ID ../x\n", "ID\n", "garbage", "ID refs/heads/a b\n"],
            ),
            (Content::Fetched, &["ID\tnot-for-merge\tbranch 'x' of /y\n", ""], &["-x\tbranch"]),
            (Content::ShortId, &["abcd\n"], &["abc", "-abcd"]),
            (Content::Name, &["bad\ngood\n", "main\n", "ID", "refs/heads/x", "detached HEAD"], &["--orphan", "a..b", ""]),
            (Content::Quoted, &["", " 'a' 'b c'\n", "'it'\\''s'"], &["$(x)", "'a'$(x)", "'a", "'a'b", "'a'\\;'b'"]),
            (
                Content::Author,
                &["GIT_AUTHOR_NAME='A'\nGIT_AUTHOR_EMAIL='it'\\''s'\nGIT_AUTHOR_DATE='@1 +0000'\n"],
                &["GIT_AUTHOR_NAME=$(x)", "PATH='x'\n", "GIT_AUTHOR_NAME='a';x\n"],
            ),
            (
                Content::Todo,
                &["pick ID one\n# exec x\nfixup -C ID\nbreak\n\n", "label onto\r\n"],
                &["exec touch x", "x touch x", " \texec x", "pick ID\nexec\tx", "run x"],
            ),
            (Content::Strategy, &["ort\n", "recursive"], &["../../x", "evil"]),
            (Content::StrategyOptions, &[" '--ours'\n", " --find-renames=50%"], &["$(x)", "a;b"]),
            (Content::PatchOptions, &["", "'--whitespace=fix' '-p1'"], &["'--unsafe-paths'", "'--directory=/'"]),
            (
                Content::PickOptions,
                &["[options]\n\tedit = true\n\tstrategy = ort\n"],
                &["[options]\n\tstrategy = x\n", "[core]\n\teditor = x\n", "[options]\ngpg-sign = x"],
            ),
            (Content::SigningKey, &["-S\n", "-SABCDEF01"], &["--exec", "-S/x/y", "-S;x"]),
            (Content::Conflicts, &["ID\ta/b\0ID.1\tc\0", ""], &["ID\t../x\0", "ID\t.git/hooks/x\0", "ID\t/etc/x\0", "x\ta\0"]),
        ];
        for (content, good, bad) in cases {
            for text in *good {
                assert!(content.accepts(id(text).as_bytes()), "{content:?} {text:?}");
            }
            for text in *bad {
                assert!(!content.accepts(id(text).as_bytes()), "{content:?} {text:?}");
            }
        }
    }
}
