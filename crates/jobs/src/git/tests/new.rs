//! Repositories that a command makes, cleaned in place.

use std::time::SystemTime;

use haft_contract::RefusedChange;

use super::*;

impl World {
    /// Runs a script outside of any overlay, and cleans a repository that it made.
    fn make(&self, script: &str, git: &str) -> Vec<RefusedChange> {
        let output = self.command("bash").args(["-ec", script]).current_dir(&self.work).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        fs::remove_file(self.marker()).ok();
        self.clean(git, SystemTime::UNIX_EPOCH, None)
    }

    fn clean(&self, git: &str, since: SystemTime, old_config: Option<&[u8]>) -> Vec<RefusedChange> {
        self.look_at(git, since, old_config, false)
    }

    fn look_at(&self, git: &str, since: SystemTime, old_config: Option<&[u8]>, is_running: bool) -> Vec<RefusedChange> {
        let (quarantine, origin) = (self.quarantine(), Origin::default());
        let overlaid = if self.git_dir().is_dir() { vec![self.git_dir()] } else { Vec::new() };
        let new = NewRepository {
            writable: std::slice::from_ref(&self.work),
            overlaid: &overlaid,
            since,
            old_config,
            kept: &[self.work.join(git).join("hooks/update")],
            staged: None,
            is_running,
            quarantine: &quarantine,
            origin: &origin,
        };
        sanitize_new(&self.work.join(git), &new)
    }
}

#[test]
fn new_repositories_stay_as_git_makes_them() {
    for (script, git) in [
        ("git init -q n", "n/.git"),
        ("git init -q --bare n.git", "n.git"),
        ("git clone -q ../source n", "n/.git"),
        ("git clone -q --mirror ../source n.git", "n.git"),
        ("git clone -q --depth 1 file://$PWD/../source n", "n/.git"),
        ("git clone -q --filter=blob:none file://$PWD/../source n", "n/.git"),
        (
            "git clone -q ../source n; cd n; git config user.email x; echo x > f; git add f; git commit -qm x; git stash list; git gc -q",
            "n/.git",
        ),
        ("git clone -q ../source n; git clone -q --shared n m", "m/.git"),
        (
            "git init -q n; cd n; git commit -q --allow-empty -m x; git worktree add -q ../t; git -c protocol.file.allow=always submodule add -q ../../source s",
            "n/.git",
        ),
        ("git init -q --separate-git-dir=sep n", "n/.git"),
        ("git init -q --object-format=sha256 n", "n/.git"),
    ] {
        let world = World::empty();
        let source = world.root.join("source");
        for words in [&["init", "-q", "../source"][..], &["-C", "../source", "commit", "-q", "--allow-empty", "-m", "source"]] {
            world.git_ok(words);
        }
        let output = world.command("bash").args(["-ec", script]).current_dir(&world.work).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        let before = listing(&world.work);
        assert_eq!(world.clean(git, SystemTime::UNIX_EPOCH, None), [], "{script}");
        assert_eq!(listing(&world.work), before, "{script}: nothing changed");
        assert!(source.exists());
    }
}

/// A later command sees an overlay of the repository, and could change what has a name elsewhere without it.
#[test]
fn files_of_a_new_repository_have_no_second_name() {
    let world = World::empty();
    let script = "git init -q n; git -C n commit -q --allow-empty -m x; ln n/.git/config plain; ln n/.git/HEAD head";
    assert_eq!(world.make(script, "n/.git"), []);
    let before = listing(&world.work.join("n"));
    for name in ["plain", "head"] {
        fs::write(world.work.join(name), "changed").unwrap();
    }
    assert_eq!(listing(&world.work.join("n")), before);
    world.git_ok(&["-C", "n", "log", "-1"]);
}

#[test]
fn copy_of_a_repository_by_second_names_stays_while_git_works_in_it() {
    let world = World::empty();
    assert_eq!(world.make("git init -q o; cp -al o n", "o/.git"), []);
    let (head, lock) = (world.work.join("n/.git/HEAD"), world.work.join("n/.git/HEAD.lock"));
    fs::write(&lock, "").unwrap();
    fs::hard_link(&head, world.work.join("head")).unwrap();
    assert_eq!(world.look_at("n/.git", SystemTime::UNIX_EPOCH, None, true), []);
    fs::remove_file(&lock).unwrap();
    assert_eq!(world.clean("n/.git", SystemTime::UNIX_EPOCH, None), []);
    assert_eq!(fs::metadata(&head).unwrap().nlink(), 1);
}

/// Every file with its content.
fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(listing(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort_unstable();
    all
}

#[test]
fn nothing_that_a_new_repository_brings_is_run() {
    let hook = "printf '#!/bin/sh\\ntouch $MARKER\\n' >";
    let cases: &[(&str, &[&str])] = &[
        ("{hook} n/.git/hooks/pre-commit; chmod +x n/.git/hooks/pre-commit", &["hooks/pre-commit"]),
        ("mv n/.git/hooks h; {hook} h/pre-commit; chmod +x h/pre-commit; ln -s ../../h n/.git/hooks", &["hooks"]),
        ("git -C n config core.fsmonitor 'touch $MARKER'; git -C n config user.name x", &["config"]),
        ("git -C n config core.hooksPath ../h; mkdir h; {hook} h/pre-commit; chmod +x h/pre-commit", &["config"]),
        (
            "cp n/.git/config c; printf '[core]\\n\\tfsmonitor = touch $MARKER\\n' >> c; rm n/.git/config; ln -s ../../c n/.git/config",
            &["config"],
        ),
        ("cp -r n/.git e; git config -f e/config core.fsmonitor 'touch $MARKER'; echo ../../e > n/.git/commondir", &["commondir"]),
        (
            "git -C n config extensions.worktreeConfig true; git config -f n/.git/config.worktree core.fsmonitor 'touch $MARKER'",
            &["config.worktree"],
        ),
        (
            "cd n; echo x > x; git update-index --add --cacheinfo 100755,$(git hash-object -w x),!!/!!/marker; python3 -c \"import hashlib; b = open('.git/index', 'rb').read()[:-20].replace(b'!!/!!/marker', b'../../marker'); open('.git/index', 'wb').write(b + hashlib.sha1(b).digest())\"",
            &["index"],
        ),
        ("mkdir -p n/.git/objects/info; echo /etc > n/.git/objects/info/alternates", &["objects/info/alternates"]),
        (
            "mkdir -p n/.git/info; echo '* filter=x' > n/.git/info/attributes; git -C n config filter.x.clean 'touch $MARKER'",
            &["info/attributes", "config"],
        ),
        (
            "mkdir n/.git/rebase-merge; echo 'exec touch $MARKER' > n/.git/rebase-merge/git-rebase-todo; echo x > n/.git/rebase-merge/a",
            &["rebase-merge"],
        ),
        (
            "mkdir -p n/.git/worktrees/x; echo ../../../../e > n/.git/worktrees/x/commondir; echo /x/.git > n/.git/worktrees/x/gitdir",
            &["worktrees/x"],
        ),
        (
            "git init -q --bare n/.git/modules/m; git -C n/.git/modules/m config alias.st '!touch $MARKER'; {hook} n/.git/modules/m/hooks/x",
            &["modules/m/hooks/x", "modules/m/config"],
        ),
        ("ln -s /etc/passwd n/.git/refs/heads/x", &["refs/heads/x"]),
        ("printf '[core\\n' >> n/.git/config", &["config"]),
        ("mkdir n/.git/remotes; echo 'URL: ext::x' > n/.git/remotes/origin", &["remotes/origin"]),
        ("mv n/.git n/g; ln -s g n/.git", &[""]),
        ("rm -r n/.git; echo gitdir: ../../e > n/.git", &[""]),
        ("rm -r n/.git; echo gitdir: /nowhere > n/.git", &[""]),
        ("mv n/.git e; git -C e config core.fsmonitor 'touch $MARKER'; echo gitdir: ../e > n/.git", &["../../e/config"]),
    ];
    for (script, expected) in cases {
        let world = World::empty();
        let script = format!("git init -q n; git -C n commit -q --allow-empty -m x; {}", script.replace("{hook}", hook));
        let script = script.replace("$MARKER", &world.marker().to_string_lossy());
        let refused = world.make(&script, "n/.git");
        let git = world.work.join("n/.git");
        let paths: Vec<_> = refused.iter().map(|refused| refused.path.clone()).collect();
        let expected: Vec<_> = expected.iter().map(|path| normalize(&git.join(path))).collect();
        assert_eq!(paths, expected, "{script}");
        assert!(refused.iter().all(|refused| refused.quarantined.is_some()), "{script}: {refused:?}");
        world.assert_harmless(&world.work.join("n"), &script);
    }
}

#[test]
fn a_repository_that_existed_keeps_what_its_user_put_there() {
    let world = World::empty();
    let bare = world.work.join("b.git");
    world.git_ok(&["init", "-q", "--bare", "b.git"]);
    fs::write(bare.join("hooks/update"), "mine").unwrap();
    world.git_ok(&["-C", "b.git", "config", "receive.denyDeletes", "true"]);
    let old = fs::read(bare.join("config")).unwrap();
    let since = SystemTime::now();
    assert_eq!(world.clean("b.git", since, Some(&old)), []);
    world.tick();
    fs::write(bare.join("hooks/post-receive"), "theirs").unwrap();
    world.git_ok(&["-C", "b.git", "config", "core.fsmonitor", "x"]);
    world.git_ok(&["-C", "b.git", "config", "gc.auto", "0"]);
    let refused: Vec<_> = world.clean("b.git", since, Some(&old)).into_iter().map(|refused| refused.path).collect();
    assert_eq!(refused, [bare.join("hooks/post-receive"), bare.join("config")]);
    assert!(bare.join("hooks/update").exists());
    let text = fs::read_to_string(bare.join("config")).unwrap();
    assert!(text.contains("denyDeletes = true") && text.contains("auto = 0") && !text.contains("fsmonitor"), "{text}");
}

#[test]
fn a_linked_worktree_of_a_settled_repository_is_no_finding() {
    let world = World::new();
    let report = world.run("git worktree add -q t other; mkdir bad; echo gitdir: $PWD/.git/worktrees/none > bad/.git");
    assert_eq!(report.refused, []);
    assert_eq!(world.clean("t/.git", SystemTime::UNIX_EPOCH, None), []);
    let refused = world.clean("bad/.git", SystemTime::UNIX_EPOCH, None);
    assert_eq!(refused.len(), 1);
    assert!(!world.work.join("bad/.git").exists() && world.work.join("t/.git").exists());
}

/// A running command may put a link above a repository: what it leads to is not the command's.
#[test]
fn repository_behind_a_link_is_left_as_it_is() {
    let world = World::empty();
    let other = world.root.join("other");
    fs::create_dir(&other).unwrap();
    world.git_in(&other, &["init", "-q"]);
    world.git_in(&other, &["config", "alias.st", "status"]);
    fs::write(other.join(".git/hooks/pre-commit"), "mine").unwrap();
    std::os::unix::fs::symlink(&other, world.work.join("link")).unwrap();
    let before = listing(&other);
    world.clean("link/.git", SystemTime::UNIX_EPOCH, None);
    assert_eq!(listing(&other), before);
    let git = world.work.join("link/.git");
    let over = |roots: &[PathBuf]| GitOverlays::over(vec![(git.clone(), world.root.join("data"))], &world.root.join("data"), roots, &[]);
    assert!(over(std::slice::from_ref(&world.work)).is_err() && over(&[]).is_ok());
}
