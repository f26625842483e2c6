//! What Git is for works in the default configuration without a question, and the user's Git outside sees it.

use std::fs;
use std::sync::Mutex;

use super::super::effects::{Scene, on_threads, run_line, run_unsandboxed, user_git_text};
use super::super::harness::{haft, is_root};
use super::{Start, start};
use Start::{Files, Nested, Repository, Submodule, Worktree};

/// What is done in the sandbox, one call a line; then what the user looks at outside, and a part of what they see.
type Neighbour = (&'static str, Start, &'static [&'static str], &'static str, &'static str);

#[rustfmt::skip] // one a line
const NEIGHBOURS: &[Neighbour] = &[
    ("init and commit", Files, &["git init", "git add -A && git commit -m 'first of all'"], "git log --oneline", "first of all"),
    ("init with a branch", Files, &["git init -b trunk . && git add a.txt && git commit -qm x"], "git branch --show-current", "trunk"),
    ("init in one line", Files, &["git init -q && git add . && git commit -qm 'all at once'"], "git status --short; git log --format=%s", "all at once"),
    ("init below", Files, &["git init -q app && cd app && echo x > x && git add x && git commit -qm 'in app'"], "git -C app log --oneline", "in app"),
    ("init beside secrets", Files, &["mkdir -p app/config && n=.env && echo K=1 > $n && echo K=2 > app/config/$n && echo x > app/x", "git init -q && git add -A && git commit -qm 'without secrets'", "cd app && git init -q && git add -A && git commit -qm inner"], "git -C app log --format=%s; git log --format=%s", "inner\nwithout secrets"),
    ("identity of the user", Repository, &["git commit -q --allow-empty -m x"], "git log -1 --format='%an <%ae>'", "Ann <ann@example.org>"),
    ("commit", Repository, &["echo more >> a.txt && git commit -qam 'more of a'"], "git log -1 --format=%s; git status --short", "more of a"),
    ("commit by python", Repository, &["python3 -c \"import subprocess; subprocess.check_call(['git', 'commit', '-q', '--allow-empty', '-m', 'by python'])\""], "git log -1 --format=%s", "by python"),
    ("amend", Repository, &["git commit -q --amend --allow-empty -m 'amended'"], "git log --format=%s", "amended"),
    ("checkout -b", Repository, &["git checkout -q -b topic", "echo t > t && git add t && git commit -qm 'on topic'"], "git branch --show-current; git log -1 --format=%s", "topic\non topic"),
    ("switch and delete", Repository, &["git switch -q -c topic && git switch -q main && git branch -d topic"], "git branch --list", "  side"),
    ("stash and pop", Repository, &["echo s >> a.txt && git stash -q", "git stash pop -q"], "git diff; git stash list", "+s"),
    ("stash stays", Repository, &["echo s >> a.txt && git stash -q"], "git stash list", "stash@{0}"),
    ("rebase", Repository, &["git checkout -q side && git commit -q --allow-empty -m 'aside' && git rebase -q main"], "git log --format=%s", "aside\nsecond"),
    ("rebase -i", Repository, &["echo r >> a.txt && git commit -qam r && GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' GIT_EDITOR='echo reworded >' git rebase -q -i HEAD~1"], "git log -1 --format=%s; git status", "reworded"),
    ("rebase with a conflict", Repository, &["git checkout -q side && echo s > a.txt && git commit -qam s && git checkout -q main && echo m > a.txt && git commit -qam m", "git rebase side; echo both > a.txt && git add a.txt && GIT_EDITOR=true git rebase --continue"], "git log --format=%s; cat a.txt", "m\ns\n"),
    ("merge", Repository, &["git checkout -q side && echo s > s && git add s && git commit -qm 's' && git checkout -q main && git merge -q --no-ff -m 'merged side' side"], "git log -1 --format=%s; ls s", "merged side"),
    ("cherry-pick and revert", Repository, &["git checkout -q side && echo s > s && git add s && git commit -qm 'picked' && git checkout -q main && git cherry-pick side >/dev/null && git revert --no-edit HEAD >/dev/null"], "git log -2 --format=%s", "Revert \"picked\"\npicked"),
    ("reset", Repository, &["git commit -q --allow-empty -m gone && git reset -q --hard HEAD~1"], "git log -1 --format=%s", "second"),
    ("tag", Repository, &["git tag light && git tag -a v1 -m one"], "git tag -n", "v1              one"),
    ("config user.email", Repository, &["git config user.email bob@example.org && git config user.name Bob && git commit -q --allow-empty -m x"], "git config user.email; git log -1 --format=%an", "bob@example.org\nBob"),
    ("remote add", Repository, &["git remote add origin https://example.invalid/x.git", "git remote set-url origin https://example.invalid/y.git && git branch -q --set-upstream-to=main side"], "git remote -v; git config branch.side.merge", "https://example.invalid/y.git"),
    ("worktree add", Repository, &["git worktree add -q -b topic tree2", "cd tree2 && echo w > w && git add w && git commit -qm 'in the tree'"], "git worktree list; git log -1 --format=%s topic; git -C tree2 status", "in the tree"),
    ("worktree remove", Worktree, &["git worktree remove tree"], "git worktree list | wc -l", "1"),
    ("worktree commit", Worktree, &["cd tree && echo w > w && git add w && git commit -qm 'in the old tree'"], "git -C tree log -1 --format=%s", "in the old tree"),
    ("clone", Repository, &["git clone -q . copy", "cd copy && git commit -q --allow-empty -m 'in the copy' && git push -q origin HEAD:refs/heads/from-copy"], "git -C copy log -1 --format=%s; git log -1 --format=%s from-copy", "in the copy\nin the copy"),
    ("clone --bare", Repository, &["git clone -q --bare . bare.git"], "git -C bare.git log -1 --format=%s", "second"),
    ("nested commit", Nested, &["cd libs/one && echo x > x && git add x && git commit -qm 'in one'"], "git -C libs/one log -1 --format=%s", "in one"),
    ("nested removed", Nested, &["rm -rf libs/one && ls libs"], "ls -A libs | wc -l", "0"),
    ("nested removed and cloned", Nested, &["rm -rf libs/one && git clone -q . libs/one && git -C libs/one commit -q --allow-empty -m 'made anew'"], "git -C libs/one log -1 --format=%s", "made anew"),
    ("nested removed by a move", Nested, &["mv libs/one old && rm -rf old"], "ls -d old; ls -A libs | wc -l", "0"),
    ("submodule commit", Submodule, &["cd sub && git checkout -q -b topic && echo x > x && git add x && git commit -qm 'in sub'", "git add sub && git commit -qm 'sub moved'"], "git log -1 --format=%s; git -C sub log -1 --format=%s", "sub moved\nin sub"),
    ("mv of a tracked folder", Repository, &["mkdir src && git mv a.txt src/a.txt && git commit -qm moved && git mv src lib && git commit -qm 'moved again'"], "git log -1 --format=%s; ls lib/a.txt; git status --short", "moved again\nlib/a.txt"),
    ("gc", Repository, &["git gc -q --prune=now"], "git fsck && git log -1 --format=%s", "second"),
    ("gitignore and clean", Repository, &["echo '*.log' > .gitignore && git add .gitignore && git commit -qm ignore && touch x.log y && git clean -fdq"], "git log -1 --format=%s; ls", "ignore"),
    ("apply and am", Repository, &["echo p >> a.txt && git commit -qam 'as a patch' && git format-patch -q -1 --stdout > p.patch && git reset -q --hard HEAD~1 && git am -q p.patch"], "git log -1 --format=%s", "as a patch"),
    ("bisect", Repository, &["git bisect start -q HEAD HEAD~1 2>/dev/null || git bisect start HEAD HEAD~1; git bisect reset"], "git status; git branch --show-current", "main"),
    ("notes and describe", Repository, &["git notes add -m noted && git tag v1 && git describe --tags"], "git notes show", "noted"),
    ("sparse files and renames of branches", Repository, &["git branch -m side aside && git update-ref refs/heads/third HEAD && git symbolic-ref HEAD refs/heads/third"], "git branch --list; git branch --show-current", "third"),
    ("sparse checkout", Repository, &["mkdir one two && echo x > one/x && echo y > two/y && git add . && git commit -qm folders", "git sparse-checkout set one && ls"], "git sparse-checkout list; git status --short; ls -d two", "one\n"),
    ("sparse checkout ended", Repository, &["mkdir one two && echo x > one/x && echo y > two/y && git add . && git commit -qm folders && git sparse-checkout set one", "git sparse-checkout disable"], "git status --short; ls two", "y\n"),
    ("worktree moved", Worktree, &["git worktree move tree moved && git -C moved status --short"], "git worktree list | grep -c moved; git -C moved branch --show-current && git worktree prune && echo sound", "sound"),
    ("submodule added", Nested, &["git -c protocol.file.allow=always submodule add -q ./libs/one vendored && git commit -qm 'add vendored'"], "git status --short .gitmodules vendored; git submodule status; git log -1 --format=%s", "add vendored"),
    ("list of submodules of another branch", Repository, &["git checkout -q -b modules && git config -f .gitmodules submodule.x.path x && git config -f .gitmodules submodule.x.url https://example.invalid/x && git add .gitmodules && git commit -qm list && git checkout -q main", "git checkout -q modules"], "git status --short .gitmodules; cat .gitmodules", "example.invalid"),
    ("submodule removed", Submodule, &["git rm -qf sub && git commit -qm 'without sub'"], "git log -1 --format=%s; ls .gitmodules 2>&1; git status --short", "without sub"),
];

#[test]
fn git_works_and_the_user_sees_it_outside() {
    let wrong = Mutex::new(Vec::new());
    on_threads(3, NEIGHBOURS, |(name, kind, lines, look, part)| {
        let scene = start(*kind);
        let results: Vec<_> = lines.iter().map(|line| run_line(&scene, line)).collect();
        let failed = results.iter().any(|result| result.exit() != Some(0));
        let seen = run_unsandboxed(&scene, &format!("export GIT_CONFIG_NOSYSTEM=1; {look}"));
        let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
        if failed || !seen.contains(part) {
            let briefs: Vec<String> = results.iter().map(super::CallResult::brief).collect();
            wrong
                .lock()
                .unwrap()
                .push(format!("{name}: {lines:?}\n    wanted {part:?}, the user sees {seen:?}\n    {}", briefs.join("\n    ")));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} do not work:\n{}", wrong.len(), NEIGHBOURS.len(), wrong.join("\n"));
}

#[test]
fn git_neighbours_work_outside_too() {
    let wrong = Mutex::new(Vec::new());
    on_threads(3, NEIGHBOURS, |(name, kind, lines, look, part)| {
        let scene: Scene = start(*kind);
        for line in *lines {
            let output = run_unsandboxed(&scene, line);
            if !output.status.success() {
                wrong.lock().unwrap().push(format!("{name}: {line}: {output:?}"));
            }
        }
        let seen = run_unsandboxed(&scene, look);
        if !String::from_utf8_lossy(&seen.stdout).contains(part) {
            wrong.lock().unwrap().push(format!("{name}: wanted {part:?}, got {seen:?}"));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A project that a group shares, or one that was given to a user with `chown ann`: the sandbox of an ordinary user does not know the
/// group of its files.
#[test]
fn git_works_for_an_ordinary_user_in_a_project_of_another_group() {
    if is_root() {
        check_git_in_project_of_another_group("--clear-groups");
        check_git_in_project_of_another_group("--groups=54321");
    }
}

fn check_git_in_project_of_another_group(groups: &str) {
    let scene = start(Start::Worktree);
    let program = |words: &[&str]| {
        let output = scene.program(words[0]).args(&words[1..]).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let as_user = |words: &[&str]| program(&[&["setpriv", "--reuid=65534", "--regid=65534", groups][..], words].concat());
    // The user does not reach the build folder.
    let copy = scene.path("haft").display().to_string();
    fs::copy(haft(), &copy).unwrap();
    let (whole, workspace) = (scene.path("").display().to_string(), scene.file("").display().to_string());
    program(&["chown", "-R", "65534:65534", &whole]);
    program(&["chown", "-R", "65534:54321", &workspace]);
    program(&["find", &workspace, "-type", "d", "-exec", "chmod", "g+ws", "{}", "+"]);
    for (line, wanted) in [
        ("echo more >> a.txt && git add -A && git commit -qm shared && git log -1 --format=%s", "shared"),
        ("git switch -qc deep/er/topic && echo t > t && git add t && git commit -qm topic && git branch --show-current", "deep/er/topic"),
        ("echo s >> a.txt && git stash -q && git stash pop -q && git diff --stat | cat", "a.txt"),
        ("git checkout -q a.txt && git switch -q main && git rebase -q deep/er/topic && git tag -a v1 -m one && git describe", "v1"),
        ("git -C tree commit -q --allow-empty -m linked && git -C tree log -1 --format=%s", "linked"),
        ("git fetch -q . side:refs/heads/copy && git gc -q && git fsck && git reflog | wc -l && echo sound", "sound"),
        ("git commit -q --allow-empty -m 'after all of it' && git log -2 --format=%s", "after all of it"),
    ] {
        let said = as_user(&[&copy, "call", "exec", "--command", &format!("set -e; {line}")]);
        assert!(said.contains(wanted) && !said.contains("error"), "{groups}, {line}: {said}");
    }
    assert_eq!(as_user(&["git", "log", "-2", "--format=%s"]), "after all of it\ntopic\n");
    // What is new in the repository is the group's as well.
    assert_eq!(as_user(&["find", ".git/objects", ".git/refs", "-type", "d", "!", "-perm", "-g+w"]), "", "{groups}");
    let state = [&["git", "status", "--short", "a.txt"][..], &["git", "fsck", "--no-dangling"], &["git", "branch", "--show-current"]];
    assert_eq!(state.map(as_user), ["", "", "main\n"], "{groups}");
}

#[test]
fn address_of_a_remote_that_a_command_changes_is_named_in_its_result() {
    let scene = start(Repository);
    user_git_text(&scene, "", &["remote", "add", "origin", "https://example.invalid/x.git"]);
    let result = run_line(&scene, "git remote add fork https://example.invalid/f.git && git remote -v");
    assert_eq!((result.exit(), result.text().contains("goes there")), (Some(0), false), "{}", result.text());
    let result = run_line(&scene, "git remote set-url origin https://example.invalid/y.git");
    let named = "now has 'remote.origin.url = https://example.invalid/y.git': a later push or fetch of this repository goes there.";
    assert!(result.exit() == Some(0) && result.text().contains(named), "{}", result.text());
    assert_eq!(user_git_text(&scene, "", &["remote", "get-url", "origin"]), "https://example.invalid/y.git\n");
}

/// Files that look like secrets are hidden from a command, and Git in it takes those that it tracks for unchanged and ignores the others.
#[test]
fn hidden_files_are_in_nobodys_way() {
    for version in ["2", "4"] {
        let scene = start(Repository);
        for name in [".env", "fixtures/key.pem"] {
            scene.write(name, "as it was\n");
        }
        user_git_text(&scene, "", &["add", "-A"]);
        user_git_text(&scene, "", &["commit", "-qm", "with keys"]);
        user_git_text(&scene, "", &["update-index", "--index-version", version]);
        scene.write("local.pem", "not in Git\n");
        for line in [
            "test -z \"$(git status --short)\"",
            "echo more >> a.txt && git add -A && git commit -qm 'all of it'",
            "echo again >> a.txt && git commit -qam again && git diff HEAD~1 --stat",
            "git checkout -q -b topic && echo t > t && git add . && git commit -qm topic && git checkout -q main && git merge -q topic",
        ] {
            let result = run_line(&scene, line);
            assert_eq!(result.exit(), Some(0), "{line}: {}", result.brief());
        }
        let seen = |words: &[&str]| user_git_text(&scene, "", words);
        assert_eq!(seen(&["status", "--short"]), "?? local.pem\n", "version {version}");
        assert_eq!(seen(&["ls-files", "-v", ".env", "fixtures"]), "H .env\nH fixtures/key.pem\n", "the marks are gone");
        assert_eq!(seen(&["log", "-3", "--format=%s"]), "topic\nagain\nall of it\n");
        assert_eq!(seen(&["show", "HEAD:.env"]), "as it was\n");
        assert_eq!(scene.read(".env"), "as it was\n");
    }
}
