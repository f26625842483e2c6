//! What a command sees: the folders of the system, the roots, its private home and temporary folders, and nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use haft_sandbox::{Bind, ConfinedCommand, OverlayLayer, Sandbox, SandboxPolicy, SandboxView};
use support::{TestWorkspace, bubblewrap, run};

/// A home of the host with a toolchain, a cache and a note, and the folders for a private home.
struct Homes {
    ws: TestWorkspace,
    home: PathBuf,
    private: PathBuf,
    tmp: PathBuf,
}

impl Homes {
    fn new() -> Self {
        let ws = TestWorkspace::new();
        let root = ws.workspace.parent().unwrap();
        let homes = Self { home: root.join("home"), private: root.join("private"), tmp: root.join("session"), ws };
        for folder in [
            homes.home.join("tools/bin"),
            homes.home.join(".cache/crates"),
            homes.private.clone(),
            homes.tmp.join("tmp"),
            homes.tmp.join("var"),
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(homes.home.join("notes.txt"), "private").unwrap();
        fs::write(homes.home.join("tools/bin/tool"), "tool").unwrap();
        fs::write(homes.home.join(".cache/crates/a"), "host").unwrap();
        homes
    }

    fn policy(&self) -> SandboxPolicy {
        let view = SandboxView {
            home: Some(Bind { source: self.private.clone(), at: self.home.clone() }),
            tmp: Some(self.tmp.clone()),
            read_only: vec![Bind::same(self.home.join("tools"))],
        };
        SandboxPolicy { view, ..self.ws.policy() }
    }

    fn cache(&self) -> OverlayLayer {
        let at = self.home.join(".cache/crates");
        OverlayLayer::cache(&self.ws.folder.path().join("caches/0"), &at, &at).unwrap()
    }

    fn run(&self, script: &str, policy: &SandboxPolicy) -> String {
        let ran = run(&bubblewrap(), self.ws.shell(script).variable("HOME", &self.home), policy);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
        ran.stdout
    }
}

#[test]
fn home_is_private_and_kept_and_has_the_toolchains() {
    let homes = Homes::new();
    let policy = homes.policy();
    let seen =
        homes.run("cd; ls -A; cat tools/bin/tool; echo; echo mine >file; (echo x >tools/bin/x) 2>/dev/null || echo refused", &policy);
    assert_eq!(seen, "tools\ntool\nrefused\n");
    assert_eq!(homes.run("cat ~/file; ls ~/notes.txt 2>/dev/null || echo absent", &policy), "mine\nabsent\n");
    assert_eq!(fs::read_to_string(homes.private.join("file")).unwrap(), "mine\n");
    assert!(!homes.home.join("file").exists() && !homes.home.join("tools/bin/x").exists());
}

#[test]
fn temporary_folders_are_kept_for_the_session_only() {
    let homes = Homes::new();
    let policy = homes.policy();
    homes.run("echo t >/tmp/t; echo v >/var/tmp/v", &policy);
    assert_eq!(homes.run("cat /tmp/t /var/tmp/v", &policy), "t\nv\n");
    assert_eq!(homes.run("cat /tmp/t 2>/dev/null || echo absent", &homes.ws.policy()), "absent\n");
    assert!(!Path::new("/tmp/t").exists() && !Path::new("/var/tmp/v").exists());
}

#[test]
fn caches_of_the_user_are_visible_and_never_changed() {
    let homes = Homes::new();
    let with_cache = || SandboxPolicy { layers: vec![homes.cache()], ..homes.policy() };
    homes.run("cd ~/.cache/crates; cat a; echo new >a; echo b >b", &with_cache());
    assert_eq!(homes.run("cat ~/.cache/crates/a ~/.cache/crates/b", &with_cache()), "new\nb\n");
    assert_eq!(fs::read_to_string(homes.home.join(".cache/crates/a")).unwrap(), "host");
    assert!(!homes.home.join(".cache/crates/b").exists());
    let left: Vec<_> = fs::read_dir(homes.ws.folder.path().join("caches/0")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "upper" || name == "merged"), "{left:?}");
}

#[test]
fn read_only_cache_shows_earlier_additions_and_takes_none() {
    let homes = Homes::new();
    let at = homes.home.join(".cache/crates");
    let folder = homes.ws.folder.path().join("caches/0");
    let reading = || {
        let layer = OverlayLayer::read_only_cache(&folder, &at, &at).unwrap();
        SandboxPolicy { layers: vec![layer], ..homes.policy() }
    };
    assert_eq!(homes.run("cat ~/.cache/crates/a; (echo x >~/.cache/crates/x) 2>/dev/null || echo refused", &reading()), "hostrefused\n");
    fs::write(at.join("gone"), "host").unwrap();
    let writing = SandboxPolicy { layers: vec![homes.cache()], ..homes.policy() };
    homes.run("cd ~/.cache/crates; echo new >a; echo b >b; rm gone", &writing);
    assert_eq!(homes.run("cd ~/.cache/crates; ls; cat a b", &reading()), "a\nb\nnew\nb\n");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "upper" || name == "merged"), "{left:?}");
}

#[test]
fn cache_serves_several_runs_at_once() {
    let homes = Homes::new();
    thread::scope(|scope| {
        for number in 0..6 {
            let homes = &homes;
            scope.spawn(move || {
                let policy = SandboxPolicy { layers: vec![homes.cache()], ..homes.policy() };
                homes.run(&format!("cat ~/.cache/crates/a >/dev/null; echo {number} >~/.cache/crates/n{number}"), &policy);
            });
        }
    });
    let policy = SandboxPolicy { layers: vec![homes.cache()], ..homes.policy() };
    assert_eq!(homes.run("cat ~/.cache/crates/n?", &policy), "0\n1\n2\n3\n4\n5\n");
}

/// A command may replace anything in its home by a link; the next run must not follow it on the host.
#[test]
fn links_in_the_private_home_lead_nowhere() {
    let homes = Homes::new();
    let policy = homes.policy();
    homes.run("true", &policy);
    fs::remove_dir_all(homes.private.join("tools")).unwrap();
    let victim = homes.ws.folder.path().join("victim");
    fs::create_dir(&victim).unwrap();
    std::os::unix::fs::symlink(&victim, homes.private.join("tools")).unwrap();
    assert_eq!(homes.run("cat ~/tools/bin/tool", &policy), "tool");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    let script = "mv ~/tools ~/t 2>/dev/null && echo moved; rm -rf ~/tools 2>/dev/null && echo removed; echo blocked";
    assert_eq!(homes.run(script, &policy), "blocked\n");
}

/// Another command may put a link into the workspace while this one is set up: what it leads to is not shown.
#[test]
fn nothing_is_mounted_through_a_link_of_the_workspace() {
    let homes = Homes::new();
    let linked = homes.ws.workspace.join("linked");
    std::os::unix::fs::symlink(&homes.home, &linked).unwrap();
    let shown = |name: &str| Bind { source: homes.ws.workspace.join(name), at: "/run/shown".into() };
    let view = |bind: Bind| SandboxPolicy { view: SandboxView { read_only: vec![bind], ..SandboxView::default() }, ..homes.ws.policy() };
    let cache = OverlayLayer::cache(&homes.ws.folder.path().join("caches/1"), &linked, Path::new("/run/shown")).unwrap();
    for policy in [view(shown("linked")), view(shown("linked/tools")), SandboxPolicy { layers: vec![cache], ..homes.ws.policy() }] {
        let ran = run(&bubblewrap(), homes.ws.shell("cat /run/shown/notes.txt /run/shown/bin/tool; echo ran >ran"), &policy);
        assert!(ran.setup_failure().is_some() && ran.stdout.is_empty(), "{ran:?}");
        assert!(!homes.ws.workspace.join("ran").exists());
    }
    fs::create_dir(homes.ws.workspace.join("folder")).unwrap();
    fs::write(homes.ws.workspace.join("folder/x"), "x").unwrap();
    assert_eq!(homes.run("cat /run/shown/x", &view(shown("folder"))), "x");
}

/// What is hidden may be gone when the command is set up: no file appears in its place.
#[test]
fn hidden_paths_that_are_gone_leave_nothing() {
    let homes = Homes::new();
    let hidden = ["keys", ".env"].map(|name| homes.ws.workspace.join(name));
    let ConfinedCommand { command, guard } = bubblewrap().wrap(homes.ws.shell("ls -A keys .env; echo ran"), &homes.ws.policy()).unwrap();
    fs::remove_dir_all(&hidden[0]).unwrap();
    fs::remove_file(&hidden[1]).unwrap();
    let output = command.to_std().output().unwrap();
    drop(guard);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n", "{output:?}");
    assert!(hidden.iter().all(|path| !path.exists()));
}

/// A command of root owns the files of devices, which are those of the machine.
#[test]
fn devices_can_be_used_and_not_changed() {
    let homes = Homes::new();
    let script = "for d in null zero full random urandom tty; do chmod 600 /dev/$d; touch -d 2001-01-01 /dev/$d; done 2>/dev/null; \
                  echo x >/dev/null; head -c 2 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c; echo x 2>/dev/null >/dev/full || echo full";
    assert_eq!(homes.run(script, &homes.policy()), "2\n2\nfull\n");
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let metadata = fs::metadata(Path::new("/dev").join(name)).unwrap();
        let is_old = metadata.modified().unwrap() < std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        assert!(metadata.permissions().mode() & 0o777 == 0o666 && !is_old, "{name}");
    }
}

#[test]
fn workspace_that_is_the_home_hides_what_is_hidden() {
    let homes = Homes::new();
    let data = homes.home.join(".local/share/haft");
    fs::create_dir_all(data.join("spills")).unwrap();
    fs::write(data.join("history.db"), "private").unwrap();
    fs::write(data.join("spills/one"), "spill").unwrap();
    let policy = SandboxPolicy {
        writable: vec![homes.home.clone()],
        read_only: vec![data.join("spills")],
        masked: vec![data.clone()],
        protected: Vec::new(),
        view: SandboxView {
            home: Some(Bind { source: homes.private.clone(), at: "/run/haft/home".into() }),
            read_only: vec![Bind::same(homes.home.join("tools"))],
            tmp: None,
        },
        ..homes.policy()
    };
    let script = format!(
        "cd {home}; cat notes.txt; cat {data}/history.db 2>/dev/null; ls {data} 2>/dev/null; cat {data}/spills/one; echo; \
         (echo x >tools/bin/x) 2>/dev/null || echo refused; echo n >new; HOME=/run/haft/home; echo mine >~/file; cat ~/file",
        home = homes.home.display(),
        data = data.display()
    );
    let ws = &homes.ws;
    let command = haft_sandbox::ProcessSpec { directory: homes.home.clone(), ..ws.shell(&script) };
    let ran = run(&bubblewrap(), command, &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("privatespill\nrefused\nmine\n", ""));
    assert_eq!(fs::read_to_string(homes.home.join("new")).unwrap(), "n\n");
    assert_eq!(fs::read_to_string(homes.private.join("file")).unwrap(), "mine\n");
}

#[test]
fn read_only_root_hides_its_secrets_and_cannot_be_changed() {
    let homes = Homes::new();
    let ws = &homes.ws;
    let policy = SandboxPolicy { writable: Vec::new(), read_only: vec![ws.workspace.clone()], ..homes.policy() };
    let script = "cat settings; echo; cat .env keys/id 2>/dev/null; (echo x >new) 2>/dev/null || echo refused";
    assert_eq!(homes.run(script, &policy), "mine\nrefused\n");
    assert!(!ws.workspace.join("new").exists());
}

/// All of the above once more, without root privileges.
#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
