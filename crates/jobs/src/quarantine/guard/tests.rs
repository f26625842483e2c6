use haft_host::WorkspaceOptions;

use super::*;
use crate::git::tests::World;

struct Run {
    world: World,
    files: LocalFiles,
    guard: Guard,
    overlays: GitOverlays,
}

impl Run {
    /// A run in a workspace, after these files were written.
    fn begin(world: World, before: &[(&str, &str)]) -> Self {
        for (name, text) in before {
            fs::create_dir_all(world.work.join(name).parent().unwrap()).unwrap();
            fs::write(world.work.join(name), text).unwrap();
        }
        world.tick();
        let options = WorkspaceOptions { protected: vec![world.root.join("data")], ..WorkspaceOptions::new(&world.work) };
        let files = LocalFiles::open(options).unwrap();
        let folders = Arc::default();
        let existing = find_existing(&files, &folders, world.quarantine().data_folder());
        let overlays = world.prepare();
        let guard = Guard::new(&existing.protected, &overlays).with_repositories(existing.git.iter().chain(&existing.bare));
        let guard = guard.with_folders(folders).with_run_by_git(existing.run_by_git);
        Self { world, files, guard, overlays }
    }

    /// Runs a script, settles, checks, and returns the refused paths.
    fn end(self, script: &str) -> (World, Vec<String>) {
        self.world.sandboxed(&self.overlays, &script.replace("$MARKER", &self.world.root.join("marker").to_string_lossy()));
        let (quarantine, origin) = (self.world.quarantine(), Origin::default());
        let mut refused = self.overlays.settle(&self.files.writable(), &quarantine, &origin).refused;
        let (more, is_complete) = self.guard.check(&self.files, &quarantine, &origin, WalkExtent::Ended);
        assert!(is_complete);
        refused.extend(more);
        let (again, _) = self.guard.check(&self.files, &quarantine, &origin, WalkExtent::Ended);
        assert_eq!(again, [], "a second look finds nothing more");
        let mut paths: Vec<_> =
            refused.iter().map(|refused| refused.path.strip_prefix(&self.world.work).unwrap().to_string_lossy().into_owned()).collect();
        paths.sort_unstable();
        (self.world, paths)
    }
}

#[test]
fn protected_names_that_appear_anywhere_are_quarantined() {
    let script = "mkdir -p d/b/.vscode d/.claude .idea d/.config/git sub/.haft node_modules/x/.vscode; echo x > d/b/.envrc; echo x > d/b/.vscode/settings.json; \
                  echo x > d/b/.vscode/extensions.json; echo x > d/.claude/settings.json; echo x > .idea/x; echo x > .npmrc; echo x > .NPMRC; \
                  echo x > d/.config/git/config; echo x > d/.config/other; echo x > sub/.haft/config.toml; ln -s b/.envrc d/.mcp.json; \
                  echo x > node_modules/x/.vscode/settings.json; echo x > .gitmodules; echo x > .gitignore; mkdir -p new; mv new .cursor; git init -q .cursor/x";
    let (world, refused) = Run::begin(World::new(), &[]).end(script);
    let expected = [
        ".NPMRC",
        ".cursor",
        ".gitmodules",
        ".idea",
        ".npmrc",
        "d/.claude",
        "d/.config/git",
        "d/.mcp.json",
        "d/b/.envrc",
        "d/b/.vscode/settings.json",
        "sub/.haft",
    ];
    assert_eq!(refused, expected);
    assert!(expected.iter().all(|name| fs::symlink_metadata(world.work.join(name)).is_err()));
    for name in ["d/b/.vscode/extensions.json", "d/.config/other", ".gitignore", "node_modules/x/.vscode/settings.json"] {
        assert!(world.work.join(name).exists(), "{name}");
    }
    assert_eq!(world.quarantine().list().len(), expected.len());
}

/// A rename leaves the times of what is in a folder, so that an earlier command could have prepared it.
#[test]
fn what_comes_with_a_renamed_folder_is_quarantined() {
    let before = [
        ("v/tasks.json", "planted"),
        ("c/git/config", "planted"),
        ("w/settings.json", "planted"),
        ("x/tasks.json", "planted"),
        ("t/clean", "planted"),
        ("own/.npmrc", "the user's"),
        ("own/.vscode/settings.json", "the user's"),
    ];
    let world = World::new();
    world.git_ok(&["config", "filter.x.clean", "tools/clean"]);
    let script = "mv v .vscode; mv c .config; mkdir pkg; mv w pkg/.vscode; mkdir y; mv x y/.vscode; mv y z; mv t tools; mv own moved; touch moved/new";
    let (world, refused) = Run::begin(world, &before).end(script);
    assert_eq!(refused, [".config/git", ".vscode/tasks.json", "pkg/.vscode/settings.json", "tools/clean", "z/.vscode/tasks.json"]);
    for name in ["moved/.npmrc", "moved/.vscode/settings.json"] {
        assert_eq!(fs::read_to_string(world.work.join(name)).unwrap(), "the user's", "{name}");
    }
}

/// The same for hooks of a repository without a working tree, and for such a repository as a whole.
#[test]
fn hooks_that_come_with_a_renamed_folder_are_quarantined() {
    let world = World::new();
    for words in [&["init", "-q", "--bare", "r.git"][..], &["init", "-q", "--bare", "s.git"]] {
        world.git_ok(words);
    }
    let before = [
        ("r.git/hooks/post-update", "the user's"),
        ("h/update", "planted"),
        ("g/hooks/update", "planted"),
        ("g/objects/x", ""),
        ("g/refs/x", ""),
        ("g/config", "[core]\n\tfsmonitor = x\n"),
    ];
    let script = "mkdir k; mv r.git/hooks k/; mv h r.git/hooks; mv s.git old; mv g s.git; cp old/HEAD s.git/";
    let (_, refused) = Run::begin(world, &before).end(script);
    assert_eq!(refused, ["r.git/hooks/update", "s.git/config", "s.git/hooks/update", "s.git/refs/x"]);
}

#[test]
fn protected_files_that_existed_are_restored() {
    let before = [
        (".envrc", "mine"),
        ("d/.npmrc", "mine"),
        ("b/.mcp.json", "mine"),
        (".vscode/settings.json", "{}"),
        ("c/.envrc", "same"),
        ("l/.bashrc", "mine"),
    ];
    let run = Run::begin(World::new(), &before);
    let (world, refused) = run.end("echo theirs > .envrc; rm d/.npmrc; rm -r b; mv l m; ln -s $PWD/../home l;  sed -i s/x/y/ .vscode/settings.json; cat c/.envrc > /dev/null; ln -sf ../x .envrc");
    // An edit that changes nothing makes another file, but no change.
    assert_eq!(refused, [".envrc", "d/.npmrc"]);
    for (name, text) in [(".envrc", "mine"), ("d/.npmrc", "mine"), (".vscode/settings.json", "{}")] {
        assert_eq!(fs::read_to_string(world.work.join(name)).unwrap(), text, "{name}");
        assert!(!world.work.join(name).is_symlink());
    }
    assert!(!world.root.join("home/.bashrc").exists(), "nothing is restored through a link");
    assert!(!world.work.join("b").exists(), "a removed folder stays removed");
}

#[test]
fn files_that_settings_of_git_run_are_restored() {
    for (settings, before, script, refused) in [
        ("core.hooksPath hooks", "hooks/pre-commit", "{evil} hooks/pre-commit", &["hooks/pre-commit"][..]),
        ("core.hooksPath hooks", "hooks/pre-commit", "{evil} hooks/post-checkout", &["hooks/post-checkout"]),
        ("core.hooksPath t/hooks", "t/hooks/pre-commit", "mv t u; mkdir -p t/hooks; {evil} t/hooks/pre-commit", &["t/hooks/pre-commit"]),
        ("core.hooksPath t/hooks", "t/hooks/pre-commit", "mv t u; mkdir -p x/hooks; {evil} x/hooks/pre-commit; ln -s x t", &["t"]),
        ("core.hooksPath .husky/_", ".husky/pre-commit", "{evil} .husky/pre-commit", &[".husky/pre-commit"]),
        ("core.hooksPath missing", "b", "mkdir missing; {evil} missing/pre-commit", &["missing/pre-commit"]),
        ("core.fsmonitor ./watch", "watch", "{evil} watch", &["watch"]),
        ("core.fsmonitor ./watch", "watch", "rm watch; {evil} y; ln -s y watch", &["watch"]),
        ("include.path ../settings", "settings", "printf '[core]\n fsmonitor = touch $MARKER' > settings", &["settings"]),
        ("filter.x.clean ./clean", "clean", "{evil} clean; echo '* filter=x' > .gitattributes", &["clean"]),
    ] {
        let world = World::new();
        let evil = "f() { rm -f \"$1\"; printf '#!/bin/sh\ntouch $MARKER\ncat\n' > \"$1\"; chmod +x \"$1\"; }; f";
        world.git_ok(&[&["config"][..], &settings.split(' ').collect::<Vec<_>>()].concat());
        let text = if before == "settings" { "" } else { "#!/bin/sh\ncat\n" };
        let (world, found) = Run::begin(world, &[(before, text)]).end(&script.replace("{evil}", evil));
        assert_eq!(found, refused, "{settings}: {script}");
        world.assert_harmless(&world.work, settings);
    }
}

#[test]
fn neighbours_of_what_settings_of_git_run_can_be_changed() {
    let world = World::new();
    world.git_ok(&["config", "core.hooksPath", "tools/hooks"]);
    let (world, refused) =
        Run::begin(world, &[("tools/hooks/pre-commit", "x"), ("tools/other", "x")]).end("echo y > tools/other; echo y > tools/new");
    assert_eq!(refused, Vec::<String>::new());
    assert_eq!(fs::read_to_string(world.work.join("tools/other")).unwrap(), "y\n");
}

#[test]
fn pointers_to_repositories_are_restored() {
    let world = World::new();
    world.git_ok(&["worktree", "add", "-q", "t", "other"]);
    world.git_ok(&["worktree", "add", "-q", "u", "-b", "u"]);
    let pointer = fs::read(world.work.join("t/.git")).unwrap();
    let script = "git init -q --bare evil; git -C evil config core.fsmonitor 'touch $MARKER'; echo gitdir: ../evil > t/.git; rm u/.git";
    let (world, refused) = Run::begin(world, &[]).end(script);
    assert_eq!(refused, ["evil/config", "t/.git", "u/.git"]);
    assert_eq!(fs::read(world.work.join("t/.git")).unwrap(), pointer);
    world.assert_harmless(&world.work.join("t"), "pointer");
    world.git_ok(&["-C", "u", "status"]);
}

#[test]
fn names_that_no_tool_may_use_hide_nothing() {
    let (world, refused) = Run::begin(World::new(), &[])
        .end("mkdir $'x\\ny'; echo x > $'x\\ny/.envrc'; echo x > $'x\\ny/z'; git init -q $'x\\ny'; echo x > $'x\\ny/.git/hooks/h'");
    assert_eq!(refused, ["x\ny/.envrc", "x\ny/.git/hooks/h"]);
    assert!(world.work.join("x\ny/z").exists());
}

#[test]
fn new_repositories_are_cleaned_wherever_they_are() {
    let world = World::new();
    let source = world.root.join("source");
    fs::create_dir(&source).unwrap();
    for (name, text) in [(".envrc", "x"), (".gitmodules", ""), ("README", "x"), (".vscode/settings.json", "{}")] {
        fs::create_dir_all(source.join(name).parent().unwrap()).unwrap();
        fs::write(source.join(name), text).unwrap();
    }
    for words in [&["init", "-q"][..], &["add", "-f", "."], &["commit", "-qm", "x"]] {
        assert!(world.git_in(&source, words).status.success());
    }
    let script = "git init -q fresh; git clone -q ../source clone; \
                  git init -q evil; git -C evil config core.fsmonitor 'touch $MARKER'; \
                  git init -q --bare evil.git; git -C evil.git config core.fsmonitor 'touch $MARKER'; \
                  mkdir -p sneaky; echo ../evil.git > sneaky/commondir; cp evil.git/HEAD sneaky; \
                  mkdir -p node_modules/x; git init -q node_modules/x; echo x > node_modules/x/.git/hooks/pre-commit; \
                  git worktree add -q tree other; mkdir bad; echo gitdir: ../../elsewhere > bad/.git; mkdir lone; ln -s ../evil/.git lone/.git; \
                  git init -q UP; mv UP/.git UP/.GIT; echo x > UP/.GIT/hooks/x; \
                  ln -s $PWD/../data/sandbox/evil into";
    let (world, refused) = Run::begin(world, &[]).end(script);
    let expected = [
        "UP/.GIT/hooks/x",
        "bad/.git",
        "clone/.envrc",
        "clone/.vscode/settings.json",
        "evil.git/config",
        "evil/.git/config",
        "into",
        "lone/.git",
        "node_modules/x/.git/hooks/pre-commit",
        "sneaky/commondir",
    ];
    assert_eq!(refused, expected);
    for name in ["fresh", "clone", "evil", "evil.git", "sneaky", "node_modules/x", "tree", "bad", "lone"] {
        world.assert_harmless(&world.work.join(name), name);
    }
    assert!(world.work.join("clone/.gitmodules").exists());
    assert_eq!(world.git_ok(&["-C", "tree", "log", "-1", "--format=%s"]), "by the user");
}

#[test]
fn repositories_without_overlays_keep_what_they_had() {
    let world = World::empty();
    world.git_ok(&["init", "-q", "--bare", "b.git"]);
    world.git_ok(&["-C", "b.git", "config", "receive.denyDeletes", "true"]);
    fs::write(world.work.join("b.git/hooks/update"), "mine").unwrap();
    let (world, refused) = Run::begin(world, &[]).end("git -C b.git config core.fsmonitor x; echo x > b.git/hooks/post-update");
    assert_eq!(refused, ["b.git/config", "b.git/hooks/post-update"]);
    assert_eq!(world.git_ok(&["-C", "b.git", "config", "receive.denyDeletes"]), "true");
    assert!(world.work.join("b.git/hooks/update").exists());
}

#[test]
fn a_run_that_does_nothing_finds_nothing() {
    let world = World::new();
    world.git_ok(&["worktree", "add", "-q", "t", "other"]);
    world.git_ok(&["init", "-q", "--bare", "b.git"]);
    let (_, refused) = Run::begin(world, &[(".envrc", "x"), (".claude/settings.json", "x")]).end("git status; ls -la");
    assert_eq!(refused, Vec::<String>::new());
}

/// A workspace that is the home folder: the data folder lies in it.
fn home_workspace() -> World {
    let mut world = World::empty();
    world.work = world.root.clone();
    world.git_ok(&["init", "-q"]);
    world
}

#[test]
fn data_folder_in_a_workspace_is_left_as_it_is() {
    let before = [("data/haft.db", "1"), ("data/sandbox/h/home/.profile", "x"), ("data/sandbox/h/gitconfig", "x")];
    let script = "mkdir -p data/sandbox/git/run/0/upper data/changes/c/0/upper/.vscode data/sandbox/h/home/.ssh data/sandbox/h/tmp/s/tmp; \
                  git init -q --bare data/sandbox/git/run/0/upper/x; echo x > data/sandbox/git/run/0/upper/x/hooks/pre-commit; \
                  echo x > data/sandbox/h/home/.bashrc; echo y > data/sandbox/h/home/.profile; echo x > data/sandbox/h/tmp/s/tmp/.npmrc; \
                  echo x > data/changes/c/0/upper/.vscode/settings.json; ln -s ../../../haft.db data/sandbox/h/home/link; \
                  git init -q data/sandbox/h/tmp/s/tmp/r; echo 2 > data/haft.db; echo x > .envrc; mkdir -p d; ln -s ../data/haft.db d/link";
    let (world, refused) = Run::begin(home_workspace(), &before).end(script);
    assert_eq!(refused, [".envrc", "d/link"], "the neighbours of the data folder are guarded");
    for (name, text) in [("data/haft.db", "2\n"), ("data/sandbox/h/home/.profile", "y\n"), ("data/sandbox/h/tmp/s/tmp/.npmrc", "x\n")] {
        assert_eq!(fs::read_to_string(world.work.join(name)).unwrap(), text, "{name}");
    }
    for name in ["git/run/0/upper/x/hooks/pre-commit", "h/home/.bashrc", "h/home/link", "h/gitconfig", "h/tmp/s/tmp/r/.git/HEAD"] {
        assert!(world.work.join("data/sandbox").join(name).symlink_metadata().is_ok(), "{name}");
    }
}

#[test]
fn repositories_in_a_private_home_are_no_way_for_git_out_of_a_home_workspace() {
    let evil = "evil() { git init -q \"$1\"; git -C \"$1\" commit -q --allow-empty -m x; git -C \"$1\" config core.fsmonitor 'touch $MARKER'; }; \
                mkdir -p data/sandbox/h/home data/changes/c; evil data/sandbox/h/home/e; ";
    for (attack, refused) in [
        ("git update-index --add --cacheinfo 160000,$(git -C data/sandbox/h/home/e rev-parse HEAD),data/sandbox/h/home/e", &[][..]),
        ("git add data/sandbox/h/home/e 2> /dev/null; git commit -qm x", &[]),
        ("mkdir d; echo gitdir: ../data/sandbox/h/home/e/.git > d/.git", &["d/.git"]),
        ("git init -q data/changes/c/e; mkdir d; echo gitdir: $PWD/data/changes/c/e/.git > d/.git", &["d/.git"]),
        ("mkdir d; ln -s ../data/sandbox/h/home/e/.git d/.git", &["d/.git"]),
        ("mkdir d; ln -s ../data/sandbox/h/home/e d/e", &["d/e"]),
        (
            "git init -q d; cp d/.git/HEAD d/H; rm -r d/.git; mkdir d/.git; mv d/H d/.git/HEAD; echo $PWD/data/sandbox/h/home/e/.git > d/.git/commondir",
            &["d/.git/commondir"],
        ),
    ] {
        let (world, mut found) = Run::begin(home_workspace(), &[]).end(&format!("{evil}{attack}"));
        found.retain(|path| path != "data/sandbox/h/home/e/.git/config");
        assert_eq!(found, refused, "{attack}");
        for folder in ["", "d", "d/e"].map(|name| world.work.join(name)).iter().filter(|folder| folder.is_dir()) {
            world.assert_harmless(folder, attack);
        }
    }
}

/// Runs this as the owner of files without the right to ignore their modes, which root has.
fn without_override<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    std::thread::scope(|scope| {
        let limited = scope.spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            set_capabilities(None, sets).unwrap();
            run()
        });
        limited.join().unwrap()
    })
}

#[test]
fn folders_that_a_command_closes_are_looked_into_and_stay_closed_while_it_runs_if_nobody_can_enter_them() {
    for (mode, is_left) in [(0o000, true), (0o200, true), (0o400, true), (0o600, true), (0o100, false), (0o300, false)] {
        for folder in ["new", "up"] {
            let hook = if folder == "up" { "up/new/.git/hooks/pre-commit" } else { "new/.git/hooks/pre-commit" };
            let run = Run::begin(World::new(), &[]);
            let script = format!(
                "git init -q $(dirname $(dirname $(dirname {hook}))); echo '#!/bin/sh' > {hook}; chmod +x {hook}; chmod {mode:o} {folder}"
            );
            run.world.sandboxed(&run.overlays, &script);
            let (quarantine, origin) = (run.world.quarantine(), Origin::default());
            let closed = run.world.work.join(folder);
            let look = |extent| {
                let (refused, _) = without_override(|| run.guard.check(&run.files, &quarantine, &origin, extent));
                let paths: Vec<_> = refused.into_iter().map(|refused| refused.path).collect();
                (paths, fs::metadata(&closed).unwrap().mode() & 0o777)
            };
            let (while_running, mode_left) = look(WalkExtent::Running);
            let (afterwards, _) = look(WalkExtent::Ended);
            let expected = vec![run.world.work.join(hook)];
            if is_left {
                assert_eq!((while_running, mode_left), (vec![], mode), "{folder} {mode:o}");
                assert_eq!(afterwards, expected, "{folder} {mode:o}");
            } else {
                assert_eq!((while_running, afterwards), (expected, vec![]), "{folder} {mode:o}");
            }
            assert!(!run.world.work.join(hook).exists(), "{folder} {mode:o}");
        }
    }
}
