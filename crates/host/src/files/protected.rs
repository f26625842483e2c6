//! What may not be written, or not be read, whatever the access level.
//!
//! The rules name paths, not files: a protected file that does not exist yet cannot be created either.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use haft_contract::{RefusalCause, ToolError};
use haft_pattern::{Glob, NameGlob};

use super::names::{self, Name, Names, ProtectedGlob};

const GIT: &str = "Git runs or trusts what is in it";
const GIT_SETTINGS: &str = "the settings of Git name it, so that Git runs or trusts it";
const HAFT: &str = "Haft keeps its settings and records there, or one of its hooks runs it";
const SHELL: &str = "shells run it when they start";
const KEYS: &str = "it holds keys or says who may log in";
const SYSTEM: &str = "the system runs what is in it on its own";
const EDITOR: &str = "editors and agents run commands from it";
const PROJECT: &str = "tools run or trust it as soon as someone works in the folder";

/// Why, and which paths. Each covers what is beneath it.
const NEVER_WRITTEN: [(&str, &[&str]); 7] = [
    (GIT, &[".git", ".gitmodules", ".gitconfig", ".config/git"]),
    (HAFT, &[".haft", ".config/haft", ".local/share/haft"]),
    (
        SHELL,
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".mkshrc",
            ".login",
            ".logout",
            ".cshrc",
            ".tcshrc",
            ".xprofile",
            ".xinitrc",
            ".xsession",
            ".xsessionrc",
            ".config/fish",
            "/etc/profile",
            "/etc/profile.d",
            "/etc/environment",
            "/etc/bash.bashrc",
            "/etc/bashrc",
            "/etc/zsh",
        ],
    ),
    (KEYS, &[".ssh", ".gnupg", "/etc/ssh", "/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/pam.d"]),
    (
        SYSTEM,
        &[
            "/etc/cron*",
            "/etc/anacrontab",
            "/var/spool/cron",
            "/var/spool/at",
            "/var/at",
            "/usr/lib/cron",
            "/etc/systemd",
            "/etc/init.d",
            "/etc/xdg/autostart",
            "/etc/ld.so.preload",
            ".config/autostart",
            ".config/systemd",
            ".local/share/systemd",
            ".config/environment.d",
            "Library/LaunchAgents",
            "Library/LaunchDaemons",
        ],
    ),
    (
        EDITOR,
        &[
            ".vscode/tasks.json",
            ".vscode/settings.json",
            ".vscode/launch.json",
            ".vscode/mcp.json",
            ".idea",
            ".mcp.json",
            ".claude",
            ".cursor",
        ],
    ),
    (PROJECT, &[".envrc", ".npmrc"]),
];

/// The names that are protected in any folder, without patterns.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let all = NEVER_WRITTEN.iter().flat_map(|(_, names)| names.iter().copied());
    all.filter(|name| !name.starts_with('/') && !name.contains('*'))
}

/// Whether an entry with this name could be protected, whatever the folders above it. Hardly any is, so a walk asks this first.
pub fn may_be_protected(name: &OsStr) -> bool {
    /// The last parts of the names, by their length: it is asked for every file of a workspace.
    static LAST: LazyLock<BTreeMap<usize, Vec<&[u8]>>> = LazyLock::new(|| {
        let mut last: BTreeMap<usize, Vec<&[u8]>> = BTreeMap::new();
        for name in names().filter_map(|name| name.rsplit('/').next()) {
            last.entry(name.len()).or_default().push(name.as_bytes());
        }
        last
    });
    let bytes = name.as_encoded_bytes();
    let is_odd = |byte: &u8| !byte.is_ascii() || b"~:".contains(byte);
    let end = bytes.iter().rposition(|byte| !b". ".contains(byte)).map_or(0, |at| at + 1);
    let is_listed = |listed: &Vec<&[u8]>| listed.iter().any(|listed| bytes[..end].eq_ignore_ascii_case(listed));
    bytes.iter().any(is_odd) || LAST.get(&end).is_some_and(is_listed)
}

/// What is most likely a secret: keys, passwords and tokens, by the names that their programs give them. Templates such as
/// `.env.example` and public keys are not among them.
const SECRETS: &[&str] = &[
    ".env",
    ".env.local",
    ".env.*.local",
    ".env.dev",
    ".env.development",
    ".env.test",
    ".env.staging",
    ".env.stage",
    ".env.prod",
    ".env.production",
    ".env.secret",
    ".env.secrets",
    ".envrc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    ".gnupg",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    ".aws/credentials",
    ".azure",
    ".config/gcloud",
    ".kube/config",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials.toml",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssl/private",
];

/// Where the kernel shows itself as files. Reading one can hang, leak a secret or lead out of every root.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Whether a path lies where the kernel shows itself.
pub(super) fn is_of_the_kernel(path: &Path) -> bool {
    OF_THE_KERNEL.iter().any(|folder| path.starts_with(folder))
}

/// Why a path may not be read, or not be written.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    pub(super) no_read: Option<Cow<'static, str>>,
    pub(super) no_write: Option<Cow<'static, str>>,
    /// Everything that refuses to read it, for advice.
    pub(super) read_causes: Vec<RefusalCause>,
}

/// The rules of a session.
#[derive(Debug)]
pub(super) struct ProtectedRules {
    deny_read: Vec<ProtectedGlob>,
    /// What rules forbid to read.
    refused_reads: Vec<ProtectedGlob>,
    /// What is not read because it is most likely a secret.
    secrets: &'static [ProtectedGlob],
    never_written: &'static [(&'static str, ProtectedGlob)],
    own: Vec<(&'static str, PathBuf, Vec<Name>)>,
}

impl ProtectedRules {
    /// The rules, with the user's own `deny_read`, what rules forbid to read, and what is likely to be a secret unless they
    /// allow it.
    pub(super) fn new(deny_read: &[String], refused_reads: &[String], allow_secrets: bool) -> Result<Self, ToolError> {
        let deny_read = deny_read.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
        let refused_reads = refused_reads.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
        let secrets = if allow_secrets { &[][..] } else { usual(&SECRET_GLOBS)? };
        Ok(Self { deny_read, refused_reads, secrets, never_written: usual(&NEVER_WRITTEN_GLOBS)?, own: Vec::new() })
    }

    /// Protects one of Haft's own folders.
    pub(super) fn protect_own(&mut self, path: &Path) {
        self.own.push((HAFT, path.to_owned(), names::fold_all(path)));
    }
    /// Protects a folder of Git's that does not bear its name.
    pub(super) fn protect_git(&mut self, path: &Path) {
        self.own.push((GIT, path.to_owned(), names::fold_all(path)));
    }

    /// Protects what Git runs or trusts because its settings name it.
    pub(super) fn protect_run_by_git(&mut self, path: &Path) {
        self.own.push((GIT_SETTINGS, path.to_owned(), names::fold_all(path)));
    }

    /// Haft's own files and folders.
    pub(super) fn own_paths(&self) -> impl Iterator<Item = &Path> {
        self.own.iter().filter(|(why, ..)| *why == HAFT).map(|(_, path, _)| path.as_path())
    }
    /// Folders of Git that the roots point to.
    pub(super) fn git_paths(&self) -> impl Iterator<Item = &Path> {
        self.own.iter().filter(|(why, ..)| *why == GIT).map(|(_, path, _)| path.as_path())
    }
    /// What Git runs or trusts because its settings name it.
    pub(super) fn paths_run_by_git(&self) -> impl Iterator<Item = &Path> {
        self.own.iter().filter(|(why, ..)| *why == GIT_SETTINGS).map(|(_, path, _)| path.as_path())
    }
    /// Whether the user has rules of their own on what may not be read.
    pub(super) fn has_deny_read(&self) -> bool {
        !self.deny_read.is_empty() || !self.refused_reads.is_empty()
    }
    /// Whether the user's own rules forbid to read a path; usual names of secrets do not count.
    pub(super) fn deny_reading_by_user(&self, root: &Path, beneath: &Path) -> bool {
        let names = Names::fold(root, beneath);
        self.deny_read.iter().chain(&self.refused_reads).any(|pattern| pattern.covers(&names))
    }

    /// Adds what the rules say of a path. A refusal that is there already stays: every spelling must pass.
    pub(super) fn check(&self, root: &Path, beneath: &Path, requested: &Path, refusals: &mut Refusals) {
        let names = Names::fold(root, beneath);
        if is_of_the_kernel(&root.join(beneath)) {
            refusals.no_read.get_or_insert_with(|| kernel(requested, "read"));
            refusals.no_write.get_or_insert_with(|| kernel(requested, "written"));
            refusals.read_causes.push(RefusalCause::Fixed);
        }
        for (why, pattern) in self.denied(&names) {
            refusals.no_read.get_or_insert_with(|| denied(requested, why, pattern));
            let cause = why.cause(pattern);
            if !refusals.read_causes.contains(&cause) {
                refusals.read_causes.push(cause);
            }
        }
        if refusals.no_write.is_none() {
            refusals.no_write = self.protected(&names).map(|why| protected(requested, why));
        }
    }

    /// Whether a path may not be read by `deny_read`.
    pub(super) fn deny_reading(&self, root: &Path, beneath: &Path) -> bool {
        self.denied(&Names::fold(root, beneath)).next().is_some()
    }
    /// The last names of what may not be read.
    pub(super) fn last_names(&self) -> impl Iterator<Item = Option<&NameGlob>> {
        self.deny_read.iter().chain(&self.refused_reads).chain(self.secrets).map(|pattern| pattern.glob().last_name())
    }

    fn denied<'a>(&'a self, names: &'a Names) -> impl Iterator<Item = (Denied, &'a Glob)> {
        let own = self.deny_read.iter().map(|pattern| (Denied::Own, pattern));
        let refused_reads = self.refused_reads.iter().map(|pattern| (Denied::Rule, pattern));
        let secrets = self.secrets.iter().map(|pattern| (Denied::Secret, pattern));
        let all = own.chain(refused_reads).chain(secrets).filter(|(_, pattern)| pattern.covers(names));
        all.map(|(why, pattern)| (why, pattern.glob()))
    }
    fn protected(&self, names: &Names) -> Option<&'static str> {
        let own = self.own.iter().find(|(_, _, folder)| names.whole().starts_with(folder)).map(|(why, ..)| *why);
        own.or_else(|| self.never_written.iter().find(|(_, pattern)| pattern.covers(names)).map(|(why, _)| *why))
    }
}

fn parse(text: &str) -> Result<ProtectedGlob, ToolError> {
    let glob = Glob::parse_protected(text).map_err(|why| ToolError::validation(format!("workspace.deny_read: {why}.")))?;
    Ok(ProtectedGlob::new(glob))
}

/// A list that is the same for every workspace, parsed once for the process.
type UsualGlobs<T> = LazyLock<Result<Vec<T>, ToolError>>;

static SECRET_GLOBS: UsualGlobs<ProtectedGlob> = LazyLock::new(|| SECRETS.iter().map(|text| parse(text)).collect());
static NEVER_WRITTEN_GLOBS: UsualGlobs<(&str, ProtectedGlob)> = LazyLock::new(|| {
    let listed = NEVER_WRITTEN.iter().flat_map(|(why, patterns)| patterns.iter().map(move |pattern| (*why, *pattern)));
    listed.map(|(why, text)| parse(text).map(|pattern| (why, pattern))).collect()
});

/// All of a list, or an error: a pattern that is left out would protect nothing.
fn usual<T>(globs: &'static UsualGlobs<T>) -> Result<&'static [T], ToolError> {
    globs.as_ref().map(Vec::as_slice).map_err(|error| ToolError::validation(error.message().to_owned()))
}

fn kernel(requested: &Path, verb: &str) -> Cow<'static, str> {
    let path = requested.display();
    Cow::Owned(format!(
        "'{path}' may not be {verb}: it leads through /proc, /sys or /dev, which belong to the kernel. Use a file of the workspace."
    ))
}
/// Why a file may not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Denied {
    Own,
    Rule,
    Secret,
}

impl Denied {
    fn cause(self, pattern: &Glob) -> RefusalCause {
        match self {
            Self::Own => RefusalCause::Listed { key: "workspace.deny_read", entry: pattern.text().to_owned() },
            Self::Rule => RefusalCause::Rule(pattern.text().to_owned()),
            Self::Secret => RefusalCause::Setting { key: "workspace.secrets", value: "allow" },
        }
    }
}

fn denied(requested: &Path, why: Denied, pattern: &Glob) -> Cow<'static, str> {
    let (path, pattern) = (requested.display(), pattern.text());
    let why = match why {
        Denied::Own => format!("workspace.deny_read has '{pattern}'"),
        Denied::Rule => format!("a rule of rules.deny refuses files like '{pattern}'"),
        Denied::Secret => format!("files like '{pattern}' hold secrets (workspace.secrets = \"allow\" lets tools read them)"),
    };
    Cow::Owned(format!("'{path}' may not be read: {why}. Ask the user for what you need of it."))
}
fn protected(requested: &Path, why: &str) -> Cow<'static, str> {
    let path = requested.display();
    Cow::Owned(format!("'{path}' may not be written: it is protected, because {why}. Ask the user to make this change."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(root: &str, beneath: &str) -> Refusals {
        let mut rules = ProtectedRules::new(&["**/*.key".into(), "/etc/shadow".into()], &[], true).unwrap();
        rules.protect_own(Path::new("/home/me/.local/share/haft"));
        let mut refusals = Refusals::default();
        rules.check(Path::new(root), Path::new(beneath), Path::new(beneath), &mut refusals);
        refusals
    }

    #[test]
    fn a18_a19_a22_protected_paths_are_never_written_wherever_they_stand() {
        for path in [
            ".git",
            ".git/hooks/pre-commit",
            ".git/config",
            ".git/modules/a/hooks/x",
            ".git/worktrees/w/gitdir",
            ".git/info/attributes",
            "sub/.git/config",
            "sub/.git",
            ".gitmodules",
            ".haft/config.toml",
            "deep/.haft",
            ".bashrc",
            "home/.zshenv",
            ".config/fish/config.fish",
            ".ssh/authorized_keys",
            ".gnupg/x",
            ".config/autostart/x.desktop",
            ".config/systemd/user/x.service",
            ".vscode/tasks.json",
            ".vscode/settings.json",
            ".idea/workspace.xml",
            ".envrc",
            ".npmrc",
            ".mcp.json",
            ".claude/settings.json",
            ".cursor/mcp.json",
        ] {
            let why = checked("/home/me/ws", path).no_write.unwrap_or_else(|| panic!("{path} may be written"));
            assert!(why.starts_with(&format!("'{path}' may not be written: it is protected, because ")), "{why}");
        }
        for path in ["/etc/crontab", "/etc/cron.d/x", "/var/spool/cron/crontabs/me", "/etc/profile.d/x.sh", "/home/me/.local/share/haft/x"]
        {
            assert!(checked("/", path.trim_start_matches('/')).no_write.is_some(), "{path}");
        }
    }

    #[test]
    fn a15_a16_variants_of_protected_names_are_protected() {
        for path in
            [".GIT/hooks/x", ".g\u{200c}it/hooks/x", ".git./config", ".git /config", "GIT~1/config", ".Haft/x", ".S\u{17f}h/x", ".ENVRC"]
        {
            assert!(checked("/home/me/ws", path).no_write.is_some(), "{path:?}");
        }
    }

    #[test]
    fn names_that_could_be_protected_are_told_by_themselves() {
        for (_, patterns) in NEVER_WRITTEN {
            for name in patterns.iter().filter(|pattern| !pattern.starts_with('/')).filter_map(|pattern| pattern.rsplit('/').next()) {
                for spelled in [name.to_owned(), name.to_ascii_uppercase(), format!("{name}. "), format!("{name}::$DATA")] {
                    assert!(may_be_protected(OsStr::new(&spelled)), "{spelled}");
                }
            }
        }
        for name in ["git~1", ".g\u{200c}it", ".S\u{17f}h"] {
            assert!(may_be_protected(OsStr::new(name)), "{name}");
        }
        for name in ["main.rs", ".gitignore", ".github", "config", "package.json", "."] {
            assert!(!may_be_protected(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn ordinary_paths_and_the_folder_the_user_chose_are_free() {
        for (root, path) in [
            ("/home/me/ws", "src/main.rs"),
            ("/home/me/ws", ".gitignore"),
            ("/home/me/ws", ".github/workflows/ci.yml"),
            ("/home/me/ws", ".vscode/extensions.json"),
            ("/home/me/ws", "git/config"),
            ("/home/me/ws", "profile"),
            ("/home/me/ws", "dev/null"),
            ("/home/me/ws", "etc/crontab"),
            ("/home/me/.claude/worktrees/ws", "a"),
            ("/home/me/ws", "local/share/haft"),
        ] {
            let Refusals { no_read, no_write, .. } = checked(root, path);
            assert_eq!((no_read, no_write), (None, None), "{root}/{path}");
        }
    }

    #[test]
    fn a13_a14_the_kernels_folders_are_neither_read_nor_written() {
        for path in ["proc/self/mem", "proc", "sys/kernel", "dev/zero", "dev/tcp/x"] {
            let Refusals { no_read, no_write, .. } = checked("/", path);
            assert!(no_read.is_some() && no_write.is_some(), "{path}");
        }
        assert!(checked("/", "process/x").no_read.is_none());
    }

    #[test]
    fn secrets_are_not_read_unless_the_user_says_so() {
        let no_read = |allow: bool, path: &str| {
            let mut refusals = Refusals::default();
            let rules = ProtectedRules::new(&[], &[], allow).unwrap();
            rules.check(Path::new("/home/me/ws"), Path::new(path), Path::new(path), &mut refusals);
            refusals.no_read
        };
        for path in
            [".env", "a/.ENV.Production", "deploy/id_rsa", ".ssh/id_ed25519", "tls/server.key", "x/.aws/credentials", ".env.a.local"]
        {
            let why = no_read(false, path).unwrap_or_else(|| panic!("{path}"));
            assert!(why.contains("hold secrets (workspace.secrets = \"allow\""), "{why}");
            assert_eq!(no_read(true, path), None, "{path}");
        }
        for path in [".env.example", ".env.sample", "id_rsa.pub", "keys.rs", "environment", "aws/credentials.rs"] {
            assert_eq!(no_read(false, path), None, "{path}");
        }
    }

    #[test]
    fn everything_that_refuses_a_read_is_named() {
        let causes = |path: &str| {
            let rules = ProtectedRules::new(&["**/*.key".into(), "a".into()], &["**/id.key".into()], false).unwrap();
            let mut refusals = Refusals::default();
            rules.check(Path::new("/home/me/ws"), Path::new(path), Path::new(path), &mut refusals);
            refusals.read_causes
        };
        let listed = |entry: &str| RefusalCause::Listed { key: "workspace.deny_read", entry: entry.into() };
        let secret = || RefusalCause::Setting { key: "workspace.secrets", value: "allow" };
        assert_eq!(causes("a/id.key"), [listed("**/*.key"), listed("a"), RefusalCause::Rule("**/id.key".into()), secret()]);
        assert_eq!(causes(".env"), [secret()]);
        assert_eq!(causes("b.rs"), []);
    }

    #[test]
    fn denied_reads_name_the_pattern() {
        let why = checked("/home/me/ws", "a/B.KEY").no_read;
        let expected = "'a/B.KEY' may not be read: workspace.deny_read has '**/*.key'. Ask the user for what you need of it.";
        assert_eq!(why.as_deref(), Some(expected));
        assert!(checked("/", "etc/shadow").no_read.is_some());
    }
}
