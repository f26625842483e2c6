//! The table of attacks on files, A01 to A30: how each is spelled, in which worlds, and what the safe outcome is.
//!
//! In a spelling `{base}` is the folder that everything lies in, `{leaf}` is in turn the name of a file, of nothing, of a folder
//! and of a link, `{end}` is the ending of the names that a tool is for, and `{pid}` is this process.

use haft::ErrorKind;

use crate::prepared::{hard_links, links, loops, odd_links, repository, secrets, special_files, triggers, worktree};
use crate::world::{Prepare, plain};
use crate::{bounds, mounts, patches, races, searches, sessions};

/// One attack.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) attack: &'static str,
    pub(crate) how: How,
}

/// How it is tried.
pub(crate) enum How {
    /// As paths, through every door, in each of these worlds.
    Paths { worlds: &'static [Prepare], paths: &'static [(Safe, &'static [&'static str])] },
    /// By a test of its own, because it takes more than a path.
    Otherwise(fn()),
    /// It does not concern these tools, and why.
    NotHere(&'static str),
}

/// What must come of it. In every case nothing outside is changed or told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Safe {
    /// `path_not_allowed`, in the same words whatever is there.
    Denied,
    /// One of these errors.
    Refused(&'static [ErrorKind]),
    /// `path_not_allowed` for every write, with the same message whatever is there.
    NotWritten,
    /// `path_not_allowed` for every read, with the same message whatever is there.
    NotRead,
    /// The path is a name of the workspace like any other, and a write makes that very name.
    Literal,
    /// Whatever, within the workspace.
    Inside,
}

use Safe::{Denied, Inside, Literal, NotRead, NotWritten, Refused};

const fn paths(id: &'static str, attack: &'static str, worlds: &'static [Prepare], paths: &'static [(Safe, &[&str])]) -> Row {
    Row { id, attack, how: How::Paths { worlds, paths } }
}

const INVALID: Safe = Refused(&[ErrorKind::ValidationError]);
/// A file that is none is found to be so by each tool in its own way.
const NO_FILE: Safe = Refused(&[ErrorKind::PathNotAllowed, ErrorKind::ValidationError]);

pub(crate) const ROWS: &[Row] = &[
    paths(
        "A01",
        "dots that lead out",
        &[plain],
        &[
            (
                Denied,
                &[
                    "../vault/{leaf}",
                    "./..//vault//{leaf}",
                    "sub/../../vault/{leaf}",
                    "missing/deep/../../../vault/{leaf}",
                    "mine.txt/../../vault/{leaf}",
                    "../ws/../vault/./{leaf}",
                ],
            ),
            (Denied, &["..", "../..", "../vault", "../vault/"]),
        ],
    ),
    paths("A02", "a sibling with the same beginning", &[plain], &[(Denied, &["../ws-evil/{leaf}", "{base}/ws-evil/{leaf}"])]),
    paths(
        "A03",
        "absolute paths and spellings of shells and browsers",
        &[plain],
        &[(
            Denied,
            &[
                "{base}/vault/{leaf}",
                "/{base}/vault/{leaf}",
                "{base}/ws/../vault/{leaf}",
                "~/{leaf}",
                "~root/{leaf}",
                "$HOME/{leaf}",
                "${HOME}/{leaf}",
                "file://{base}/vault/{leaf}",
                "FILE:{base}/vault/{leaf}",
            ],
        )],
    ),
    paths(
        "A04",
        "encodings of dots, and names that look like them",
        &[plain],
        &[(
            Literal,
            &[
                "%2e%2e/vault/{leaf}",
                "..%2fvault%2f{leaf}",
                "%252e%252e/vault/{leaf}",
                "%c0%ae%c0%ae/vault/{leaf}",
                "\u{ff0e}\u{ff0e}/vault/{leaf}",
                "\u{2024}\u{2024}/vault/{leaf}",
                "..\u{200b}/vault/{leaf}",
                "..\u{ff0f}vault\u{ff0f}{leaf}",
                ".. /vault/{leaf}",
                ".../vault/{leaf}",
                "..;/vault/{leaf}",
                "sub./{leaf}",
            ],
        )],
    ),
    paths(
        "A05",
        "NUL, line ends and control characters",
        &[odd_links],
        &[(
            INVALID,
            &["a\0b{end}", "\0", "sub/\u{1}{leaf}", "a\nb{end}", "a\u{1b}[2J{end}", "a\u{7f}{end}", "a\u{85}b{end}", "odd/{leaf}"],
        )],
    ),
    paths(
        "A06",
        "a link to a file outside",
        &[links],
        &[(Denied, &["to-{leaf}", "sub/back-{leaf}", "twice-{leaf}", "./sub/../to-{leaf}"])],
    ),
    paths(
        "A07",
        "a link to a folder outside, on the way",
        &[links],
        &[(Denied, &["out/{leaf}", "sub/out/{leaf}", "out/../vault/{leaf}", "sub/out/./{leaf}", "out/new/{leaf}"])],
    ),
    paths(
        "A08",
        "loops and long chains of links",
        &[loops],
        &[(Denied, &["self{end}", "ring-a{end}", "chain-0{end}", "round/round/x{end}"])],
    ),
    Row { id: "A09", attack: "a file swapped for a link while it is opened", how: How::Otherwise(races::a_file_is_swapped_for_a_link) },
    Row { id: "A10", attack: "a folder swapped for a link while it is used", how: How::Otherwise(races::a_folder_is_swapped_for_a_link) },
    paths("A11", "writing through a link that is there", &[links], &[(Denied, &["to-{leaf}", "sub/back-{leaf}", "twice-{leaf}"])]),
    paths("A12", "a hard link to a file outside", &[hard_links], &[(Inside, &["hard{end}", "sub/hard{end}"])]),
    paths(
        "A13",
        "pipes, sockets and devices",
        &[special_files],
        &[
            (NO_FILE, &["pipe{end}", "socket{end}", "device{end}"]),
            (Denied, &["to-zero{end}", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/mem", "/dev/tcp/127.0.0.1/9"]),
        ],
    ),
    paths(
        "A14",
        "the kernel's views of processes",
        &[links],
        &[(
            Denied,
            &[
                "/proc/self/root{base}/vault/{leaf}",
                "/proc/self/root{base}/ws/{leaf}",
                "/proc/{pid}/cwd/{leaf}",
                "/proc/self/environ",
                "/proc/thread-self/environ",
                "/proc/self/fd/0",
                "me/environ",
                "me/root{base}/vault/{leaf}",
                "/sys/kernel/{leaf}",
            ],
        )],
    ),
    paths(
        "A15",
        "protected names in another case",
        &[repository],
        &[(NotWritten, &[".GIT/hooks/pre-commit", ".Git/config", "sub/.gIT/{leaf}", ".HAFT/config.toml", ".hAfT/{leaf}", ".GitModules"])],
    ),
    paths(
        "A16",
        "protected names in other forms of Unicode",
        &[repository],
        &[
            (
                NotWritten,
                &[".g\u{200c}it/config", ".git\u{feff}/{leaf}", "\u{2060}.git/config", ".ha\u{200d}ft/{leaf}", ".\u{17f}sh/{leaf}"],
            ),
            (NotRead, &["tr\u{e9}sor/{leaf}", "tre\u{301}sor/{leaf}", "TRE\u{301}SOR/{leaf}", "TR\u{c9}SOR/{leaf}"]),
        ],
    ),
    paths(
        "A17",
        "spellings of Windows",
        &[repository],
        &[
            (
                Denied,
                &[r"\\?\C:\{leaf}", r"\\.\PhysicalDrive0{end}", r"\\server\share\{leaf}", r"\??\C:\{leaf}", r"C:\{leaf}", "C:/{leaf}"],
            ),
            (Literal, &["C:{leaf}", "NUL{end}", "sub/con{end}", "x:stream{end}", "PROGRA~1/{leaf}", r"..\vault\{leaf}", "AUX/{leaf}"]),
            (
                NotWritten,
                &[".git::$INDEX_ALLOCATION/{leaf}", ".git:x/{leaf}", "GIT~1/{leaf}", ".git./{leaf}", ".git /{leaf}", "HAFT~1/{leaf}"],
            ),
        ],
    ),
    paths(
        "A18",
        "what Git runs or trusts",
        &[plain, repository],
        &[(
            NotWritten,
            &[
                ".git/hooks/pre-commit",
                ".git/hooks/{leaf}",
                ".git/config",
                ".git/worktrees/w/gitdir",
                ".git/modules/m/config",
                ".git/info/attributes",
                ".gitmodules",
                "sub/.git/{leaf}",
                "sub/.git",
                "sub/../.git/{leaf}",
                "{base}/ws/.git/{leaf}",
            ],
        )],
    ),
    paths(
        "A19",
        "Haft's own settings and records",
        &[plain, repository],
        &[
            (NotWritten, &[".haft/config.toml", ".haft/hooks/{leaf}", ".haft/skills/{leaf}", "sub/.haft/{leaf}", ".config/haft/{leaf}"]),
            (NotWritten, &[".mcp.json", ".claude/settings.json", ".local/share/haft/{leaf}"]),
            (Denied, &["{base}/state/haft.db", "{base}/state/approvals{end}", "../state/{leaf}"]),
        ],
    ),
    paths(
        "A20",
        "protected files that do not exist yet, or lie under another name",
        &[worktree],
        &[(
            NotWritten,
            &[
                "elsewhere/config",
                "elsewhere/hooks/{leaf}",
                "by-link/{leaf}",
                ".git",
                ".haft",
                ".haft/new/{leaf}",
                ".ssh/{leaf}",
                ".gitmodules",
            ],
        )],
    ),
    Row { id: "A21", attack: "moving what holds something protected", how: How::Otherwise(patches::what_is_protected_cannot_be_moved) },
    paths(
        "A22",
        "files that something runs or trusts",
        &[plain, triggers],
        &[
            (NotWritten, TRIGGERS),
            (Denied, &["../vault/.bashrc", "{base}/vault/.ssh/{leaf}", "{base}/vault/Makefile", "../vault/.vscode/tasks.json"]),
        ],
    ),
    Row {
        id: "A23",
        attack: "members of an archive that lead out",
        how: How::NotHere("none of the file tools unpacks an archive or looks into one; one that will has this row to fill"),
    },
    Row { id: "A24", attack: "patches that name something forbidden", how: How::Otherwise(patches::one_forbidden_name_forbids_all) },
    Row {
        id: "A25",
        attack: "searches that follow links or tell secrets",
        how: How::Otherwise(searches::nothing_is_found_that_may_not_be_read),
    },
    paths(
        "A26",
        "a secret by way of another tool",
        &[plain, secrets],
        &[
            (NotRead, &[".env", ".ENV", "sub/../.env", "sub/.env.local", "deploy/id_rsa", ".aws/credentials", "tls/server.key"]),
            (
                NotRead,
                &["private/{leaf}", "sub/private/{leaf}", "private/photo.png", "private/scan.pdf", "PRIVATE/{leaf}", "private./{leaf}"],
            ),
        ],
    ),
    Row { id: "A27", attack: "files, lines, folders and paths without end", how: How::Otherwise(bounds::nothing_is_without_end) },
    Row { id: "A28", attack: "spills that others know or can read", how: How::Otherwise(sessions::spills_are_private_and_unknown) },
    Row { id: "A29", attack: "the root re-pointed while a session lasts", how: How::Otherwise(sessions::the_root_is_re_pointed) },
    Row { id: "A30", attack: "mounts inside the workspace", how: How::Otherwise(mounts::mounts_are_contained) },
];

/// Files that shells, editors and the system run or trust.
pub(crate) const TRIGGERS: &[&str] = &[
    ".bashrc",
    "sub/.zshenv",
    ".profile",
    ".ssh/authorized_keys",
    ".ssh/{leaf}",
    ".config/autostart/{leaf}",
    ".config/systemd/user/x.service",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/{leaf}",
    ".envrc",
    ".npmrc",
    ".cursor/mcp.json",
    "Library/LaunchAgents/{leaf}",
];
