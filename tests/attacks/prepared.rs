//! The worlds of the table: what is in the workspace when an attack begins.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::rows::TRIGGERS;
use crate::world::{DENIED, notebook, put};

/// The ends of names that tools are for.
const ENDS: [&str; 2] = ["txt", "ipynb"];

pub(crate) fn links(base: &Path, ws: &Path) {
    let vault = base.join("vault");
    for end in ENDS {
        for leaf in ["secret", "absent", "folder", "link"] {
            symlink(vault.join(format!("{leaf}.{end}")), ws.join(format!("to-{leaf}.{end}"))).unwrap();
            symlink(format!("../../vault/{leaf}.{end}"), ws.join(format!("sub/back-{leaf}.{end}"))).unwrap();
            symlink(format!("to-{leaf}.{end}"), ws.join(format!("twice-{leaf}.{end}"))).unwrap();
        }
    }
    symlink(&vault, ws.join("out")).unwrap();
    symlink("../../vault", ws.join("sub/out")).unwrap();
    symlink("/proc/self", ws.join("me")).unwrap();
}

pub(crate) fn loops(base: &Path, ws: &Path) {
    for end in ENDS {
        symlink(format!("self.{end}"), ws.join(format!("self.{end}"))).unwrap();
        symlink(format!("ring-b.{end}"), ws.join(format!("ring-a.{end}"))).unwrap();
        symlink(format!("ring-a.{end}"), ws.join(format!("ring-b.{end}"))).unwrap();
        for link in 0..45 {
            symlink(format!("chain-{}.{end}", link + 1), ws.join(format!("chain-{link}.{end}"))).unwrap();
        }
        symlink(base.join(format!("vault/secret.{end}")), ws.join(format!("chain-45.{end}"))).unwrap();
    }
    symlink("round/round", ws.join("round")).unwrap();
}

pub(crate) fn hard_links(base: &Path, ws: &Path) {
    for end in ENDS {
        for name in ["hard", "sub/hard"] {
            std::fs::hard_link(base.join(format!("vault/canary.{end}")), ws.join(format!("{name}.{end}"))).unwrap();
        }
    }
}

pub(crate) fn special_files(_base: &Path, ws: &Path) {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    for end in ENDS {
        let node = |name: &str, kind, device| mknodat(CWD, ws.join(format!("{name}.{end}")), kind, Mode::RWXU, device);
        node("pipe", FileType::Fifo, 0).unwrap();
        node("socket", FileType::Socket, 0).unwrap();
        if node("device", FileType::CharacterDevice, makedev(1, 5)).is_err() {
            println!("only the superuser makes devices; a pipe stands for one");
            node("device", FileType::Fifo, 0).unwrap();
        }
        symlink("/dev/zero", ws.join(format!("to-zero.{end}"))).unwrap();
    }
}

/// Everything that the rows on protected names speak of, as it is in a repository.
pub(crate) fn repository(_base: &Path, ws: &Path) {
    for name in [".git/hooks/pre-commit", ".git/config", ".git/worktrees/w/gitdir", ".git/modules/m/config", ".git/info/attributes"] {
        put(&ws.join(name), "old\n");
    }
    for folder in [".git", ".git/hooks", ".haft", ".haft/hooks", ".haft/skills", "sub/.git", "sub/.haft", "tr\u{e9}sor", "tre\u{301}sor"] {
        put(&ws.join(folder).join("secret.txt"), format!("old\n{}", if folder.starts_with("tr") { DENIED } else { "" }));
        put(&ws.join(folder).join("secret.ipynb"), notebook("old\n"));
    }
    for name in [".haft/config.toml", ".gitmodules", ".mcp.json", ".claude/settings.json"] {
        put(&ws.join(name), "old\n");
    }
}

/// A working tree whose Git folder lies elsewhere in the workspace.
pub(crate) fn worktree(_base: &Path, ws: &Path) {
    put(&ws.join(".git"), "gitdir: elsewhere\n");
    put(&ws.join("elsewhere/config"), "old\n");
    symlink("elsewhere", ws.join("by-link")).unwrap();
}

pub(crate) fn triggers(_base: &Path, ws: &Path) {
    for name in TRIGGERS {
        for end in ENDS {
            put(&ws.join(name.replace("{leaf}", &format!("secret.{end}"))), "old\n");
        }
    }
}

pub(crate) fn secrets(base: &Path, ws: &Path) {
    let secret = format!("old\n{DENIED}\n");
    for name in
        [".env", "sub/.env.local", "deploy/id_rsa", ".aws/credentials", "tls/server.key", "private/secret.txt", "sub/private/secret.txt"]
    {
        put(&ws.join(name), &secret);
    }
    put(&ws.join("private/secret.ipynb"), notebook(&secret));
    put(&ws.join("private/folder.txt/x"), &secret);
    put(&ws.join("private/photo.png"), [b"\x89PNG\r\n\x1a\n", DENIED.as_bytes()].concat());
    put(&ws.join("private/scan.pdf"), format!("%PDF-1.4\n{DENIED}\n%%EOF\n"));
    symlink(base.join("ws/private/secret.txt"), ws.join("private/link.txt")).unwrap();
}

/// A link whose target holds what no name holds.
pub(crate) fn odd_links(_base: &Path, ws: &Path) {
    symlink("../vault\n", ws.join("odd")).unwrap();
}
