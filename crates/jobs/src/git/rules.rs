//! What becomes of each file in a Git folder, by its path.

use super::content::Content;
use super::refname::{is_hex, is_object_id, is_ref_name};

/// What a changed file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Derived or temporary: Git makes it again.
    Ignored,
    /// The lock of a running or interrupted program.
    Lock,
    /// An object or a pack: only added.
    Object,
    /// Where a branch points, the index, or the state of an operation: applied with the others of its kind, or not at all.
    Together(Content),
    /// Written first of those.
    PackedRefs,
    /// Written after the refs.
    Head,
    /// Written last.
    Index,
    /// Applied if nobody else changed it, whatever becomes of the others.
    Single(Content),
    /// A file of an interrupted operation: those of its folder are applied together.
    Operation(Content),
    /// The settings.
    Config,
    /// Ties a linked worktree to its repository.
    Link,
    /// Git runs or trusts it, or does not know it.
    Refused,
}

/// Whose folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A repository's, or that of a submodule.
    Repository,
    /// A linked worktree's.
    Worktree,
}

const TEXTS: &[&[u8]] =
    &[b"MERGE_MSG", b"MERGE_MODE", b"SQUASH_MSG", b"BISECT_LOG", b"BISECT_RUN", b"BISECT_ANCESTORS_OK", b"BISECT_FIRST_PARENT"];
const SINGLE_TEXTS: &[&[u8]] = &[b"COMMIT_EDITMSG", b"TAG_EDITMSG", b"NOTES_EDITMSG", b"EDIT_DESCRIPTION", b"description"];
const IDS: &[&[u8]] = &[
    b"ORIG_HEAD",
    b"MERGE_HEAD",
    b"CHERRY_PICK_HEAD",
    b"REVERT_HEAD",
    b"REBASE_HEAD",
    b"AUTO_MERGE",
    b"BISECT_HEAD",
    b"BISECT_EXPECTED_REV",
    b"MERGE_AUTOSTASH",
    b"shallow",
];
const IGNORED: &[&[u8]] = &[b"gc.pid", b"gc.log", b"ADD_EDIT.patch", b"addp-hunk-edit.diff"];

/// Classifies a path in a Git folder.
pub(super) fn classify(owner: Owner, path: &[u8]) -> Class {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let name = parts.last().copied().unwrap_or_default();
    if name.ends_with(b".lock") {
        return Class::Lock;
    }
    match (owner, parts.as_slice()) {
        (_, [b"HEAD"]) => Class::Head,
        (_, [b"index"]) => Class::Index,
        (_, [name]) if name.starts_with(b"sharedindex.") && is_hex(&name[12..]) => Class::Together(Content::Index),
        (_, [name]) if IDS.contains(name) => Class::Together(Content::Ids),
        (_, [name]) if TEXTS.contains(name) => Class::Together(Content::Text),
        (_, [name]) if SINGLE_TEXTS.contains(name) => Class::Single(Content::Text),
        (_, [b"FETCH_HEAD"]) => Class::Single(Content::Fetched),
        (_, [b"BISECT_START" | b"BISECT_TERMS"]) => Class::Together(Content::Name),
        (_, [b"BISECT_NAMES"]) => Class::Together(Content::Quoted),
        // Which files are checked out, and why a worktree is not removed.
        (_, [b"info", b"sparse-checkout"]) | (Owner::Worktree, [b"locked"]) => Class::Single(Content::Text),
        (_, [b"config.worktree"]) => Class::Single(Content::SparseSettings),
        (_, [b"MERGE_RR"]) => Class::Together(Content::Conflicts),
        (_, [name]) if IGNORED.contains(name) || name.starts_with(b"tmp_") || name.starts_with(b"index.stash.") => Class::Ignored,
        (_, [b"rebase-merge" | b"rebase-apply" | b"sequencer", rest @ ..]) if !rest.is_empty() => Class::Operation(operation(rest)),
        (_, [b"refs", b"remotes", ..]) if is_ref_name(path) => Class::Single(Content::Ref),
        (_, [b"refs", ..]) if is_ref_name(path) => Class::Together(Content::Ref),
        (_, [b"logs", b"HEAD"]) => Class::Together(Content::Text),
        (_, [b"logs", b"refs", b"remotes", ..]) if is_ref_name(&path[5..]) => Class::Single(Content::Text),
        (_, [b"logs", _, ..]) if is_ref_name(&path[5..]) => Class::Together(Content::Text),
        (Owner::Worktree, [b"gitdir" | b"commondir"]) => Class::Link,
        (Owner::Worktree, _) => Class::Refused,
        (Owner::Repository, parts) => shared(parts),
    }
}

/// What worktrees share.
fn shared(parts: &[&[u8]]) -> Class {
    match parts {
        [b"packed-refs"] => Class::PackedRefs,
        [b"config"] => Class::Config,
        [b"objects", rest @ ..] => object(rest),
        [b"info", b"refs"] | [b"lfs", b"tmp" | b"cache" | b"incomplete" | b"logs" | b"locks" | b"lockcache.db", ..] => Class::Ignored,
        // Only examples: Git runs none of them under this name.
        [b"hooks", name] if name.ends_with(b".sample") => Class::Ignored,
        [b"lfs", b"objects", one, two, name] if is_hex(one) && is_hex(two) && is_object_id(name) => Class::Object,
        [b"rr-cache", id, name] if is_object_id(id) && is_recorded_image(name) => Class::Single(Content::Text),
        _ => Class::Refused,
    }
}

fn object(rest: &[&[u8]]) -> Class {
    match rest {
        [b"info", b"packs" | b"commit-graph" | b"commit-graphs", ..] => Class::Ignored,
        [b"pack", name] if name.starts_with(b"multi-pack-index") => Class::Ignored,
        [.., name] if name.starts_with(b"tmp_") || name.starts_with(b".tmp-") || name.starts_with(b"incoming-") => Class::Ignored,
        [name, ..] if name.starts_with(b"tmp_") || name.starts_with(b"incoming-") => Class::Ignored,
        [folder, name] if folder.len() == 2 && is_hex(folder) && matches!(name.len(), 38 | 62) && is_hex(name) => Class::Object,
        [b"pack", name] if is_pack(name) => Class::Object,
        _ => Class::Refused,
    }
}

fn is_pack(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"pack-") else { return false };
    let Some(dot) = rest.iter().position(|byte| *byte == b'.') else { return false };
    is_object_id(&rest[..dot]) && matches!(&rest[dot + 1..], b"pack" | b"idx" | b"rev" | b"bitmap" | b"mtimes" | b"keep" | b"promisor")
}

fn is_recorded_image(name: &[u8]) -> bool {
    let (stem, number) = name.split_at(name.iter().position(|byte| *byte == b'.').unwrap_or(name.len()));
    matches!(stem, b"preimage" | b"postimage" | b"thisimage") && number.iter().skip(1).all(u8::is_ascii_digit)
}

/// What a file of an interrupted operation holds.
fn operation(parts: &[&[u8]]) -> Content {
    match parts {
        [b"git-rebase-todo" | b"git-rebase-todo.backup" | b"todo"] => Content::Todo,
        [b"strategy"] => Content::Strategy,
        [b"strategy_opts"] => Content::StrategyOptions,
        [b"gpg_sign_opt"] => Content::SigningKey,
        [b"author-script"] => Content::Author,
        [b"apply-opt"] => Content::PatchOptions,
        [b"opts"] => Content::PickOptions,
        [b"autostash" | b"onto" | b"orig-head" | b"abort-safety" | b"amend" | b"squash-onto" | b"original-commit" | b"abort_safety"] => {
            Content::Ids
        }
        [b"stopped-sha"] => Content::ShortId,
        [b"head-name" | b"update-refs"] => Content::Name,
        _ => Content::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_files_are_classified_by_path() {
        let id = "0123456789012345678901234567890123456789";
        let cases: &[(&str, Class)] = &[
            ("HEAD", Class::Head),
            ("index", Class::Index),
            ("index.lock", Class::Lock),
            ("packed-refs", Class::PackedRefs),
            ("config", Class::Config),
            ("refs/heads/main", Class::Together(Content::Ref)),
            ("refs/remotes/origin/HEAD", Class::Single(Content::Ref)),
            ("refs/heads/.evil", Class::Refused),
            ("logs/HEAD", Class::Together(Content::Text)),
            ("logs/refs/heads/a/b", Class::Together(Content::Text)),
            ("logs/evil", Class::Refused),
            ("ORIG_HEAD", Class::Together(Content::Ids)),
            ("rebase-merge/git-rebase-todo", Class::Operation(Content::Todo)),
            ("sequencer/todo", Class::Operation(Content::Todo)),
            ("objects/pack/pack-ID.pack", Class::Object),
            ("objects/pack/pack-x.pack", Class::Refused),
            ("objects/pack/tmp_pack_x", Class::Ignored),
            ("objects/info/alternates", Class::Refused),
            ("objects/info/http-alternates", Class::Refused),
            ("objects/info/packs", Class::Ignored),
            ("hooks/pre-commit", Class::Refused),
            ("hooks/pre-commit.sample", Class::Ignored),
            ("hooks/a/b.sample", Class::Refused),
            ("info/attributes", Class::Refused),
            ("commondir", Class::Refused),
            ("gitdir", Class::Refused),
            ("config.worktree", Class::Single(Content::SparseSettings)),
            ("info/sparse-checkout", Class::Single(Content::Text)),
            ("info/exclude", Class::Refused),
            ("fsmonitor--daemon.ipc", Class::Refused),
            ("remotes/origin", Class::Refused),
            ("sharedindex.ID", Class::Together(Content::Index)),
        ];
        for (path, class) in cases {
            assert_eq!(classify(Owner::Repository, path.replace("ID", id).as_bytes()), *class, "{path}");
        }
        for (path, class) in
            [("HEAD", Class::Head), ("gitdir", Class::Link), ("info/attributes", Class::Refused), ("config", Class::Refused)]
        {
            assert_eq!(classify(Owner::Worktree, path.as_bytes()), class, "{path}");
        }
    }
}
