//! Which entries of a repository's configuration make Git neither run nor trust anything.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::Key;
use crate::git::refname::{is_branch_name, is_ref_name};

/// A longer value is refused: old versions of Git read a long line as several.
const MAX_VALUE: usize = 400;

/// Where the entries count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The repository did not exist before, so that nothing is broken by its format.
    pub(crate) is_new: bool,
    /// Of a submodule: where its working tree may be.
    pub(crate) work_tree: Option<&'a Path>,
    /// The repository's Git folder.
    pub(crate) git_dir: &'a Path,
    /// A folder that no local address may lead into: commands write it, and nobody looks through it.
    pub(crate) private: &'a Path,
}

impl Scope<'_> {
    /// Whether an entry with this value is harmless.
    pub(crate) fn allows(&self, key: &Key, value: Option<&[u8]>) -> bool {
        let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f;
        let is_lines = key.name == "description" && key.section == "branch";
        let is_plain = value
            .is_none_or(|value| value.len() <= MAX_VALUE && value.iter().all(|byte| is_text(byte) || (is_lines && b"\n\t".contains(byte))));
        let is_named = key.subsection.as_ref().is_none_or(|name| name.len() <= MAX_VALUE && name.iter().all(is_text));
        is_plain && is_named && self.find_rule(key).is_some_and(|rule| self.fits(rule, value))
    }

    /// Whether entries with this name are harmless, whatever their value; such an entry may be deleted.
    pub(crate) fn allows_deletion(&self, key: &Key) -> bool {
        self.find_rule(key).is_some() && !(key.section == "core" && matches!(&*key.name, "repositoryformatversion" | "bare" | "worktree"))
    }

    /// Whether an entry of a list of submodules, as `.gitmodules`, is harmless.
    pub(crate) fn allows_submodule(&self, key: &Key, value: Option<&[u8]>) -> bool {
        const MODES: &[&str] = &["checkout", "rebase", "merge", "none"];
        const IGNORED: &[&str] = &["all", "dirty", "untracked", "none"];
        let (Some(name), "submodule") = (&key.subsection, &*key.section) else { return false };
        let is_plain = |text: &[u8]| text.len() <= MAX_VALUE && text.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
        let rule = match &*key.name {
            "url" => Rule::Url,
            "path" => Rule::Inside,
            "branch" if value == Some(b".") => Rule::Text,
            "branch" => Rule::Branch,
            "update" => Rule::OneOf(MODES),
            "ignore" => Rule::OneOf(IGNORED),
            "shallow" | "active" => Rule::Bool,
            "fetchrecursesubmodules" => Rule::Word,
            _ => return false,
        };
        is_submodule_name(name) && is_plain(name) && value.is_none_or(is_plain) && self.fits(rule, value)
    }

    fn find_rule(&self, key: &Key) -> Option<Rule> {
        match &key.subsection {
            None => rule(&key.section, &key.name, self),
            Some(subsection) => rule_of_subsection(&key.section, subsection, &key.name, self),
        }
    }

    fn fits(&self, rule: Rule, value: Option<&[u8]>) -> bool {
        let Some(value) = value else { return matches!(rule, Rule::Bool | Rule::Text) };
        match rule {
            Rule::Bool => is_bool(value),
            Rule::No => is_bool(value) && !matches!(&*value.to_ascii_lowercase(), b"true" | b"yes" | b"on" | b"1"),
            Rule::Text => true,
            Rule::Word => value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:,# %*".contains(byte)) && !value.starts_with(b"-"),
            Rule::OneOf(words) => words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes())),
            Rule::Url => is_url(value) && !is_local_url_in(value, self.git_dir, self.private),
            Rule::Remote => is_remote_name(value) || (is_url(value) && !is_local_url_in(value, self.git_dir, self.private)),
            Rule::Ref => is_ref_name(value),
            Rule::Branch => is_branch_name(value),
            Rule::Refspec => is_refspec(value),
            Rule::WorkTree => self.is_work_tree(value),
            Rule::Inside => is_submodule_name(value) && !is_git_folder(value),
        }
    }

    /// Whether the working tree of a submodule lies in that of its repository.
    fn is_work_tree(&self, value: &[u8]) -> bool {
        let path = Path::new(std::ffi::OsStr::from_bytes(value));
        let lies_within = |allowed: &Path| {
            let tree = normalize(&self.git_dir.join(path));
            tree.starts_with(allowed) && tree != allowed && !tree.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
        };
        path.is_relative() && self.work_tree.is_some_and(lies_within)
    }
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    Bool,
    No,
    Text,
    Word,
    OneOf(&'static [&'static str]),
    Url,
    Remote,
    Ref,
    Branch,
    Refspec,
    WorkTree,
    /// A path in the working tree.
    Inside,
}

fn rule(section: &str, name: &str, scope: &Scope) -> Option<Rule> {
    const REBASE: &[&str] = &["true", "false", "merges", "interactive", "yes", "no", "1", "0"];
    const FORWARD: &[&str] = &["true", "false", "only"];
    Some(match (section, name) {
        ("user", "name" | "email") => Rule::Text,
        ("core", "repositoryformatversion") => Rule::OneOf(&["0", "1"]),
        ("core", "worktree") if scope.work_tree.is_some() => Rule::WorkTree,
        (
            "core",
            "filemode" | "bare" | "logallrefupdates" | "ignorecase" | "precomposeunicode" | "symlinks" | "quotepath" | "sparsecheckout"
            | "sparsecheckoutcone",
        )
        | ("push", "autosetupremote" | "followtags")
        | ("rebase", "autostash" | "autosquash")
        | ("rerere", "enabled")
        // The file that `worktreeconfig` opens is checked as this one is.
        | ("extensions", "worktreeconfig")
        | ("index", "sparse")
        | ("fetch", "prune") => Rule::Bool,
        ("core", "autocrlf") => Rule::OneOf(&["true", "false", "input"]),
        ("core", "safecrlf") => Rule::OneOf(&["true", "false", "warn"]),
        ("core", "eol") => Rule::OneOf(&["lf", "crlf", "native"]),
        ("init", "defaultbranch") => Rule::Branch,
        ("pull", "rebase") => Rule::OneOf(REBASE),
        ("pull" | "merge", "ff") => Rule::OneOf(FORWARD),
        ("push", "default") => Rule::OneOf(&["nothing", "current", "upstream", "tracking", "simple", "matching"]),
        ("merge", "conflictstyle") => Rule::OneOf(&["merge", "diff3", "zdiff3"]),
        ("diff", "algorithm") => Rule::OneOf(&["default", "myers", "minimal", "patience", "histogram"]),
        ("commit" | "tag", "gpgsign") => Rule::No,
        ("core", "abbrev")
        | ("color" | "advice" | "status", _)
        | ("diff", "renames" | "colormoved")
        | ("tag", "sort")
        | ("gc", "auto")
        | ("log", "date") => Rule::Word,
        ("lfs", "repositoryformatversion") => Rule::OneOf(&["0"]),
        ("extensions", "objectformat") if scope.is_new => Rule::OneOf(&["sha1", "sha256"]),
        ("extensions", "refstorage") if scope.is_new => Rule::OneOf(&["files"]),
        ("extensions", "partialclone") if scope.is_new => Rule::Branch,
        _ => return None,
    })
}

fn rule_of_subsection(section: &str, subsection: &[u8], name: &str, scope: &Scope) -> Option<Rule> {
    Some(match (section, name) {
        ("branch", "remote" | "pushremote") => Rule::Remote,
        ("branch", "merge") => Rule::Ref,
        ("branch", "rebase") => Rule::OneOf(&["true", "false", "merges", "interactive"]),
        ("branch", "description") => Rule::Text,
        ("remote", "url" | "pushurl") if is_remote_name(subsection) => Rule::Url,
        ("remote", "fetch") => Rule::Refspec,
        ("remote", "tagopt") => Rule::OneOf(&["--tags", "--no-tags"]),
        // In a repository with branches, a push would delete those of others.
        ("remote", "mirror") if scope.is_new => Rule::Bool,
        ("remote", "prune" | "promisor") | ("submodule", "active") => Rule::Bool,
        ("submodule", "url") if is_submodule_name(subsection) => Rule::Url,
        ("remote", "partialclonefilter") | ("color", _) => Rule::Word,
        _ => return None,
    })
}

fn is_bool(value: &[u8]) -> bool {
    matches!(&*value.to_ascii_lowercase(), b"true" | b"false" | b"yes" | b"no" | b"on" | b"off" | b"1" | b"0" | b"" | b"always")
}

pub(super) fn is_remote_name(name: &[u8]) -> bool {
    !name.starts_with(b"-") && !name.is_empty() && is_branch_name(name) || name == b"."
}

fn is_submodule_name(name: &[u8]) -> bool {
    !name.starts_with(b"-") && !name.is_empty() && name.split(|byte| *byte == b'/').all(|part| !part.is_empty() && part != b"..")
}

fn is_git_folder(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part == b"." || part.eq_ignore_ascii_case(b".git"))
}

/// `+refs/heads/*:refs/remotes/origin/*`
fn is_refspec(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"+").or_else(|| value.strip_prefix(b"^")).unwrap_or(value);
    let is_pattern = |side: &[u8]| {
        let filled: Vec<u8> = side.iter().map(|byte| if *byte == b'*' { b'x' } else { *byte }).collect();
        side.splitn(3, |byte| *byte == b'*').count() <= 2 && (filled == b"HEAD" || is_ref_name(&filled))
    };
    value.splitn(2, |byte| *byte == b':').all(is_pattern)
}

/// Whether an address is one that Git reaches by a transport of its own.
fn is_url(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    if text.is_empty() || text.starts_with('-') || text.trim() != text || text.chars().any(char::is_control) {
        return false;
    }
    let scheme = text.find(|ch: char| !(ch.is_ascii_alphanumeric() || "+-.".contains(ch))).unwrap_or(text.len());
    let rest = &text[scheme..];
    if rest.starts_with("::") {
        return false;
    }
    if let Some(rest) = rest.strip_prefix("://") {
        let is_known = matches!(&*text[..scheme].to_ascii_lowercase(), "http" | "https" | "ssh" | "git" | "git+ssh" | "ssh+git" | "file");
        return is_known && is_host(rest.split('/').next().unwrap_or_default());
    }
    match text.split_once(':') {
        Some((host, path)) if !host.contains('/') => is_host(host) && !path.starts_with('-'),
        _ => true,
    }
}

/// No program may take a host for an option.
fn is_host(authority: &str) -> bool {
    !authority.starts_with('-') && !authority.rsplit('@').next().unwrap_or_default().starts_with('-')
}

/// Whether an address is a path into a folder.
fn is_local_url_in(value: &[u8], git_dir: &Path, folder: &Path) -> bool {
    let text = String::from_utf8_lossy(value);
    let path = match text.split_once("://") {
        Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => PathBuf::from(path.find('/').map_or(path, |slash| &path[slash..])),
        Some(_) => return false,
        None => git_dir.parent().unwrap_or(git_dir).join(&*text),
    };
    normalize(&path).starts_with(folder) || path.canonicalize().is_ok_and(|path| path.starts_with(folder))
}

/// A path without `.` and `..`, by its text alone.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}
