//! What coding agents do with Git works, without a question and without a finding.

use super::*;

fn assert_clean(report: &GitReport) {
    assert_eq!((&report.refused, &report.conflicts), (&Vec::new(), &Vec::new()));
}

#[test]
fn usual_commands_change_the_repository_as_outside() {
    // Each script, and a question to Git with its answer afterwards.
    let cases: &[(&str, &[&str], &str)] = &[
        ("echo three > a; git commit -qam third", &["log", "--format=%s"], "third\nsecond\nfirst"),
        ("echo x > b; git add b", &["diff", "--cached", "--name-only"], "b"),
        ("git branch new; git branch -d other", &["branch", "--format=%(refname:short)"], "main\nnew"),
        ("git checkout -q other", &["rev-parse", "--abbrev-ref", "HEAD"], "other"),
        (
            "git checkout -qb feature/one; echo f > f; git add f; git commit -qm f",
            &["log", "-1", "--format=%s %D"],
            "f HEAD -> feature/one",
        ),
        ("git switch -q --detach HEAD~1", &["log", "-1", "--format=%s %D"], "first HEAD, other"),
        ("echo dirty > a; git stash -q", &["stash", "list", "--format=%gs"], "WIP on main: {second} second"),
        ("git tag v1; git tag -am x v2", &["tag"], "v1\nv2"),
        ("git reset -q --hard HEAD~1", &["log", "--format=%s"], "first"),
        ("echo y > y; git add y; git commit -qm y; git rebase -q other main --onto HEAD~1", &["status", "--porcelain"], ""),
        (
            "git checkout -q other; echo o > o; git add o; git commit -qm o; git checkout -q main; git merge -q --no-edit other",
            &["log", "-1", "--format=%s"],
            "Merge branch 'other'",
        ),
        (
            "git pack-refs --all; git branch packed",
            &["for-each-ref", "--format=%(refname)"],
            "refs/heads/main\nrefs/heads/other\nrefs/heads/packed",
        ),
        ("git gc -q --prune=now", &["log", "--all", "--format=%s"], "second\nfirst"),
        ("git repack -adq; git prune", &["fsck", "--full"], ""),
        ("git config user.email me@example.com; git config user.name 'A \"B\" C'", &["config", "user.name"], "A \"B\" C"),
        ("git remote add origin https://example.org/x.git", &["remote", "get-url", "origin"], "https://example.org/x.git"),
        ("git remote add origin git@example.org:a/b.git; git remote remove origin", &["remote"], ""),
        (
            "git branch new; git branch -m new newer; git branch -u main newer",
            &["for-each-ref", "--format=%(upstream)", "refs/heads/newer"],
            "refs/heads/main",
        ),
        (
            "git branch a; git branch -d a; git branch a/b; git branch -d a/b; git branch a",
            &["branch", "--list", "a*", "--format=%(refname:short)"],
            "a",
        ),
        ("git notes add -m note", &["notes", "show"], "note"),
        ("git revert --no-edit HEAD", &["log", "-1", "--format=%s"], "Revert \"second\""),
        ("git mv a b; git commit -qm move", &["ls-files"], "b"),
        ("git commit -q --amend -m changed", &["log", "-1", "--format=%s"], "changed"),
        ("git init -q", &["log", "-1", "--format=%s"], "second"),
        ("git update-index --split-index", &["ls-files"], "a"),
        ("git bisect start HEAD HEAD~1 -q || git bisect start HEAD HEAD~1", &["bisect", "log"], ""),
        ("git reflog expire --expire=now --all", &["reflog"], ""),
        ("git status; git diff; git log > /dev/null", &["status", "--porcelain"], ""),
    ];
    for (script, question, answer) in cases {
        let world = World::new();
        let second = world.git_ok(&["rev-parse", "--short", "HEAD"]);
        let report = world.run(script);
        assert_clean(&report);
        let said = world.git_ok(question);
        if script.contains("bisect") {
            assert!(said.contains("git bisect start"), "{said}");
        } else {
            assert_eq!(said, answer.replace("{second}", &second), "{script}");
        }
        world.git_ok(&["fsck", "--full"]);
        assert!(world.git_dir().join("hooks/pre-commit.sample").exists());
        let left = walk(&world.git_dir()).into_iter().find(|path| path.extension().is_some_and(|end| end == "lock"));
        assert_eq!(left, None, "{script}");
    }
}

#[test]
fn settings_that_send_a_later_push_or_fetch_elsewhere_are_applied_and_named() {
    let cases: &[(&str, &[&str])] = &[
        ("git remote set-url origin https://example.org/y.git", &["remote.origin.url = https://example.org/y.git"]),
        ("git remote set-url --push origin https://example.org/y.git", &["remote.origin.pushurl = https://example.org/y.git"]),
        ("git config branch.main.pushRemote https://example.org/y.git", &["branch.main.pushremote = https://example.org/y.git"]),
        ("git config branch.main.remote https://example.org/y.git", &["branch.main.remote = https://example.org/y.git"]),
        (
            "git remote set-url --add origin https://example.org/y.git",
            &["remote.origin.url = https://example.org/x.git", "remote.origin.url = https://example.org/y.git"],
        ),
        ("git config branch.new.remote https://u:p@example.org/y.git", &["branch.new.remote = https://(not shown)@example.org/y.git"]),
        ("git remote set-url origin https://token@example.org/y.git", &["remote.origin.url = https://(not shown)@example.org/y.git"]),
        ("git remote set-url origin ssh://git@example.org/y@z.git", &["remote.origin.url = ssh://git@example.org/y@z.git"]),
        ("git remote set-url origin ssh://a:b@c@example.org/y", &["remote.origin.url = ssh://(not shown)@example.org/y"]),
        ("git remote add other https://example.org/y.git; git config branch.other.remote other", &[]),
        ("git remote set-url origin https://example.org/x.git; git remote remove origin", &[]),
    ];
    for (script, settings) in cases {
        let world = World::new();
        world.git_ok(&["remote", "add", "origin", "https://example.org/x.git"]);
        world.git_ok(&["config", "branch.main.remote", "origin"]);
        let report = world.run(script);
        assert_clean(&report);
        let file = world.git_dir().join("config");
        let expected: Vec<_> = settings.iter().map(|setting| (file.clone(), (*setting).to_owned())).collect();
        assert_eq!(report.redirected, expected, "{script}");
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    let inner = entries.iter().filter(|path| path.is_dir()).flat_map(|path| walk(path)).collect::<Vec<_>>();
    entries.into_iter().chain(inner).collect()
}

#[test]
fn the_working_tree_is_clean_for_the_user_after_a_commit_inside() {
    let world = World::new();
    assert_clean(&world.run("for i in 1 2 3; do echo $i > f$i; git add f$i; git commit -qm c$i; done"));
    assert_eq!(world.git_ok(&["status", "--porcelain"]), "");
    assert_eq!(world.git_ok(&["rev-list", "--count", "HEAD"]), "5");
    assert_eq!(world.git_ok(&["reflog", "--format=%gs", "-1"]), "commit: c3");
}

#[test]
fn an_interrupted_rebase_or_merge_continues_outside() {
    let world = World::new();
    let report = world.run("git checkout -q other; echo conflict > a; git commit -qam other; git rebase -q main || true");
    assert_clean(&report);
    assert!(world.git_dir().join("rebase-merge").is_dir());
    fs::write(world.work.join("a"), "resolved\n").unwrap();
    world.git_ok(&["add", "a"]);
    world.git_ok(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(world.git_ok(&["log", "--format=%s"]), "other\nsecond\nfirst");
    // And one that began outside continues inside.
    world.git_ok(&["checkout", "-q", "-b", "third", "HEAD~2"]);
    fs::write(world.work.join("a"), "third\n").unwrap();
    world.git_ok(&["commit", "-qam", "third"]);
    world.git_in(&world.work, &["rebase", "-q", "main"]);
    assert!(world.git_dir().join("rebase-merge").is_dir());
    assert_clean(&world.run("echo r > a; git add a; GIT_EDITOR=true git rebase --continue"));
    assert!(!world.git_dir().join("rebase-merge").exists());
    assert_eq!(world.git_ok(&["log", "-1", "--format=%s %D"]), "third HEAD -> third");
    let report = world.run("git merge other || true");
    assert_clean(&report);
    world.git_ok(&["merge", "--abort"]);
    assert_eq!(world.git_ok(&["status", "--porcelain"]), "");
    for operation in ["git cherry-pick other", "git revert --no-edit HEAD~1"] {
        assert_clean(&world.run(&format!("{operation} || true")));
        let _ = world.git_in(&world.work, &[operation.split(' ').nth(1).unwrap(), "--abort"]);
        assert_eq!(world.git_ok(&["status", "--porcelain"]), "", "{operation}");
    }
}

#[test]
fn linked_worktrees_are_added_used_and_removed() {
    let world = World::new();
    assert_clean(&world.run("git worktree add -q t other"));
    assert_eq!(world.git_ok(&["-C", "t", "rev-parse", "--abbrev-ref", "HEAD"]), "other");
    assert_clean(&world.run("cd t; echo x > x; git add x; git commit -qm x"));
    assert_eq!(world.git_ok(&["log", "-1", "--format=%s", "other"]), "x");
    assert_eq!(world.git_ok(&["-C", "t", "status", "--porcelain"]), "");
    // A worktree that a command does not see is not pruned.
    let outside = world.root.join("outside");
    world.git_ok(&["worktree", "add", "-q", "--detach", outside.to_str().unwrap()]);
    let report = world.run(&format!("mount -t tmpfs tmpfs {}; git worktree prune; git worktree remove t", outside.display()));
    assert_eq!(refused(&report, &world.git_dir()), ["worktrees/outside"]);
    assert!(world.git_ok(&["worktree", "list"]).contains("outside"));
    assert_eq!(world.git_ok(&["worktree", "list"]).lines().count(), 2);
    assert!(!world.git_dir().join("worktrees/t").exists());
}

#[test]
fn submodules_are_fetched_without_what_git_runs() {
    let world = World::new();
    let library = world.root.join("library");
    fs::create_dir(&library).unwrap();
    for words in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "l"]] {
        assert!(world.git_in(&library, words).status.success());
    }
    let report = world.run(&format!("git -c protocol.file.allow=always submodule add -q {} lib; git commit -qm sub", library.display()));
    assert_clean(&report);
    assert!(world.git_ok(&["submodule", "status"]).contains("lib"));
    assert_eq!(world.git_ok(&["-C", "lib", "log", "-1", "--format=%s"]), "l");
    assert_eq!(world.git_ok(&["-C", "lib", "config", "core.worktree"]), "../../../lib");
    let report = world.run("cd lib; git checkout -qb x; git commit -q --allow-empty -m y; git config alias.st '!touch $MARKER'");
    assert_eq!(refused(&report, &world.git_dir()), ["modules/lib/config"]);
    assert_eq!(world.git_ok(&["-C", "lib", "log", "-1", "--format=%s"]), "y");
    world.assert_harmless(&world.work.join("lib"), "submodule");
}

#[test]
fn changes_of_another_program_are_kept_and_the_commits_are_named() {
    let world = World::new();
    let report = world.run_then("echo inside > a; git commit -qam inside", || {
        world.git_ok(&["commit", "-q", "--allow-empty", "-m", "outside"]);
    });
    assert_eq!(world.git_ok(&["log", "-1", "--format=%s"]), "outside");
    assert!(report.conflicts.contains(&world.git_dir().join("refs/heads/main")), "{report:?}");
    let why = &report.refused.iter().find(|refused| refused.path.ends_with("refs/heads/main")).unwrap().why;
    let id = why.rsplit(' ').next().unwrap();
    assert_eq!(world.git_ok(&["log", "-1", "--format=%s", id]), "inside");
    // A lock of a program that runs is a conflict as well.
    fs::write(world.git_dir().join("index.lock"), "").unwrap();
    let overlays = world.prepare();
    world.sandboxed(&overlays, "rm .git/index.lock; git commit -q --allow-empty -m again");
    fs::write(world.git_dir().join("index.lock"), "changed").unwrap();
    let report = overlays.settle(std::slice::from_ref(&world.work), &world.quarantine(), &Origin::default());
    assert!(world.git_dir().join("index.lock").exists());
    assert!(!report.conflicts.is_empty());
    fs::remove_file(world.git_dir().join("index.lock")).unwrap();
    // One that was left behind may be removed.
    fs::write(world.git_dir().join("index.lock"), "").unwrap();
    assert_clean(&world.run("rm .git/index.lock"));
    assert!(!world.git_dir().join("index.lock").exists());
}

#[test]
fn fetched_branches_do_not_block_a_commit() {
    let world = World::new();
    let origin = world.root.join("origin");
    world.git_ok(&["clone", "-q", "--bare", ".", origin.to_str().unwrap()]);
    world.git_ok(&["remote", "add", "origin", origin.to_str().unwrap()]);
    let report = world.run_then("git fetch -q; echo x > a; git commit -qam x", || {
        world.git_ok(&["fetch", "-q"]);
    });
    assert_eq!(world.git_ok(&["log", "-1", "--format=%s"]), "x");
    assert_eq!(report.refused, []);
    assert_eq!(world.git_ok(&["status", "--porcelain"]), "");
}

#[test]
fn a_repository_is_not_removed_by_a_command() {
    let world = World::new();
    let report = world.run("rm -rf .git/* 2> /dev/null || true");
    assert_eq!(refused(&report, &world.work), [".git"]);
    assert_eq!(world.git_ok(&["log", "--format=%s"]), "second\nfirst");
    let report = world.run("rm -rf .git/* 2> /dev/null || true; git init -q; git add .; git commit -qm fresh");
    assert_eq!(report.conflicts, Vec::<PathBuf>::new());
    assert_eq!(world.git_ok(&["log", "--format=%s"]), "fresh");
}

#[test]
fn a_moved_repository_is_settled_where_it_is_now() {
    let world = World::empty();
    let inner = world.work.join("sub");
    fs::create_dir(&inner).unwrap();
    world.git_in(&inner, &["init", "-q"]);
    world.git_in(&inner, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let report =
        world.run("cd sub; git commit -q --allow-empty -m second; cd ..; mv sub moved; mkdir -p sub/.git; echo x > sub/.git/config");
    assert_clean(&report);
    assert_eq!(world.git_ok(&["-C", "moved", "log", "--format=%s"]), "second\nfirst");
    assert_eq!(fs::read_dir(world.work.join("sub/.git")).unwrap().count(), 1, "nothing is written to another folder");
}
