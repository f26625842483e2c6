//! After each attack the repository is used outside, as the user would, and no foreign code runs.

use super::*;

const ID: &str = "0123456789012345678901234567890123456789";

/// What each attack writes, what the report names, and which settings it names.
const ATTACKS: &[(&str, &str, &[&str])] = &[
    ("hook", "printf '#!/bin/sh\\ntouch $MARKER\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", &["hooks/pre-commit"]),
    (
        "hooks as a folder of links",
        "rm -r .git/hooks; mkdir x; printf '#!/bin/sh\\ntouch $MARKER\\n' > x/pre-commit; chmod +x x/pre-commit; ln -s ../x .git/hooks",
        &["hooks/user-hook", "hooks"],
    ),
    (
        "hook that was a sample",
        "cd .git/hooks; printf '#!/bin/sh\\ntouch $MARKER\\n' > post-checkout.sample; mv post-checkout.sample post-checkout; chmod +x post-checkout",
        &["hooks/post-checkout"],
    ),
    (
        "hooks path",
        "mkdir h; printf '#!/bin/sh\\ntouch $MARKER\\n' > h/pre-commit; chmod +x h/pre-commit; git config core.hooksPath h",
        &["config: core.hookspath"],
    ),
    ("fsmonitor", "git config core.fsmonitor 'touch $MARKER; false'", &["config: core.fsmonitor"]),
    ("alias", "git config alias.st '!touch $MARKER'", &["config: alias.st"]),
    ("pager", "git config core.pager 'touch $MARKER; cat'; git config pager.log 'touch $MARKER'", &["config: core.pager, pager.log"]),
    (
        "editor",
        "git config core.editor 'touch $MARKER'; git config sequence.editor 'touch $MARKER'",
        &["config: core.editor, sequence.editor"],
    ),
    ("ssh", "git config core.sshCommand 'touch $MARKER'; git remote add origin ssh://localhost/x", &["config: core.sshcommand"]),
    ("external diff", "git config diff.external 'touch $MARKER'", &["config: diff.external"]),
    (
        "filter",
        "git config filter.x.clean 'touch $MARKER'; git config filter.x.smudge 'touch $MARKER'; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
        &["info/attributes", "config: filter.x.clean, filter.x.smudge"],
    ),
    ("text conversion", "git config diff.x.textconv 'touch $MARKER; cat'; echo 'a diff=x' > .gitattributes", &["config: diff.x.textconv"]),
    ("merge driver", "git config merge.x.driver 'touch $MARKER'; echo '* merge=x' > .gitattributes", &["config: merge.x.driver"]),
    ("include", "printf '[core]\\n\\tfsmonitor = touch $MARKER\\n' > evil; git config include.path ../evil", &["config: include.path"]),
    (
        "include on one line",
        "printf '[core]\\n\\tfsmonitor = touch $MARKER\\n' > evil; echo '[include] path = ../evil' >> .git/config",
        &["config: include.path"],
    ),
    (
        "conditional include",
        "printf '[core]\\n\\tfsmonitor = touch $MARKER\\n' > evil; git config includeIf.gitdir:/.path ../evil",
        &["config: includeif.gitdir:/.path"],
    ),
    ("mixed case", "printf '[CoRe]\\n\\tFsMonitor = touch $MARKER\\n' >> .git/config", &["config: core.fsmonitor"]),
    (
        "continued lines",
        "printf '[user]\\n\\tname = a\\\\\\n[core]\\n\\tfsmonitor = touch \\\\\\n$MARKER\\n' >> .git/config",
        &["config: user.fsmonitor"],
    ),
    ("line break in a value", "git config user.name $'x\\n[core]\\nfsmonitor = touch $MARKER'", &["config: user.name"]),
    ("odd quotes", "printf '[core] fsmon\\\"itor = x\\n' >> .git/config", &["config: cannot be parsed"]),
    ("quoted value", "printf '[core]\\n\\tfsmonitor = \\\"touch \\\"$MARKER\\n' >> .git/config", &["config: core.fsmonitor"]),
    (
        "CRLF",
        "printf '[core]\\r\\n\\tfsmonitor = touch $MARKER\\r\\n[user]\\r\\n\\temail = x\\r\\n' >> .git/config",
        &["config: core.fsmonitor"],
    ),
    (
        "byte order mark",
        "printf '\\xef\\xbb\\xbf[core]\\n\\tfsmonitor = touch $MARKER\\n' > x; cat .git/config >> x; cp x .git/config",
        &["config: core.fsmonitor"],
    ),
    (
        "NUL bytes",
        "printf '[user]\\n\\tname = a\\0\\n[core]\\n\\tfsmonitor = touch $MARKER\\n' >> .git/config",
        &["config: cannot be parsed"],
    ),
    (
        "dots of a subsection",
        "printf '[filter.x]\\n\\tclean = touch $MARKER\\n[remote.a \\\"b]\\\"]\\n\\tvcs = x\\n' >> .git/config",
        &["config: filter.x.clean, remote.a.b].vcs"],
    ),
    (
        "duplicated keys",
        "printf '[core]\\n\\tbare = false\\n\\tfsmonitor = false\\n[core]\\n\\tfsmonitor = touch $MARKER\\n' >> .git/config",
        &["config: core.fsmonitor"],
    ),
    (
        "remote helper",
        "git config remote.x.url 'ext::sh -c touch% $MARKER'; git config protocol.ext.allow always; git config branch.main.remote 'ext::sh -c x'",
        &["config: remote.x.url, protocol.ext.allow, branch.main.remote"],
    ),
    (
        "option as host",
        "git config remote.x.url 'ssh://-oProxyCommand=touch/x'; git config remote.y.url -u; git config remote.z.url 'a@-oX:y'",
        &["config: remote.x.url, remote.y.url, remote.z.url"],
    ),
    (
        "upload pack",
        "git remote add x .; git config remote.x.uploadpack 'touch $MARKER; git-upload-pack'",
        &["config: remote.x.uploadpack"],
    ),
    (
        "remote in Haft's data",
        "git remote add x $PWD/../data/x.git; git remote add y ../data/y; git remote add z file://$PWD/../data/z",
        &["config: remote.x.url, remote.y.url, remote.z.url"],
    ),
    ("credential helper", "git config credential.helper '!touch $MARKER'", &["config: credential.helper"]),
    (
        "signing program",
        "git config gpg.program $PWD/evil; git config commit.gpgsign true; printf '#!/bin/sh\\ntouch $MARKER' > evil; chmod +x evil",
        &["config: gpg.program, commit.gpgsign"],
    ),
    ("other address", "git config url.ext::x.insteadOf https://", &["config: url.ext::x.insteadof"]),
    ("working tree", "git config core.worktree /", &["config: core.worktree"]),
    (
        "format",
        "git config core.repositoryformatversion 1; git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = touch $MARKER' > .git/config.worktree; git config extensions.objectformat sha256 || true",
        &["config.worktree", "config: extensions.objectformat"],
    ),
    ("linked config", "printf '[core]\\n\\tfsmonitor = touch $MARKER\\n' > evil; rm .git/config; ln -s ../evil .git/config", &["config"]),
    ("config as a folder", "rm .git/config; mkdir .git/config; touch .git/config/x", &["config", "config/x"]),
    (
        "common folder",
        "cp -r .git evil; printf '[core]\\n\\tfsmonitor = touch $MARKER\\n' >> evil/config; echo ../evil > .git/commondir",
        &["commondir"],
    ),
    ("gitdir", "echo ../evil > .git/gitdir", &["gitdir"]),
    (
        "alternates",
        "mkdir -p .git/objects/info; echo /etc > .git/objects/info/alternates; echo http://x > .git/objects/info/http-alternates",
        &["objects/info/alternates", "objects/info/http-alternates"],
    ),
    (
        "rebase",
        "git checkout -q other; GIT_SEQUENCE_EDITOR='sed -i 1iexec\\ touch\\ $MARKER' git rebase -qi HEAD --exec false || true; git checkout -q main",
        &[],
    ),
    (
        "todo",
        "git checkout -q other; echo c > a; git commit -qam c; git rebase -q main || true; printf '\\texec touch $MARKER\\n' > .git/rebase-merge/git-rebase-todo; cat .git/rebase-merge/git-rebase-todo > .git/rebase-merge/git-rebase-todo.backup; git add a",
        &["rebase-merge/git-rebase-todo"],
    ),
    (
        "strategy",
        "git checkout -q other; echo c > a; git commit -qam c; git rebase -q main || true; echo '../../evil' > .git/rebase-merge/strategy",
        &["rebase-merge/strategy"],
    ),
    (
        "pick options",
        "mkdir .git/sequencer; printf '[options]\\n\\tstrategy = ../x\\n' > .git/sequencer/opts; echo 'pick HEAD' > .git/sequencer/todo; git rev-parse HEAD > .git/sequencer/head",
        &["sequencer/opts"],
    ),
    (
        "index with a hook",
        "printf '#!/bin/sh\\ntouch $MARKER\\n' > evil; git update-index --add --cacheinfo 100755,$(git hash-object -w evil),!git/hooks/post-checkout; python3 -c \"import hashlib; b = open('.git/index', 'rb').read()[:-20].replace(b'!git/hooks/post-checkout', b'.git/hooks/post-checkout'); open('.git/index', 'wb').write(b + hashlib.sha1(b).digest())\"",
        &["index"],
    ),
    (
        "index with a path that leads up",
        "echo x > evil; git update-index --add --cacheinfo 100755,$(git hash-object -w evil),!!/marker; python3 -c \"import hashlib; b = open('.git/index', 'rb').read()[:-20].replace(b'!!/marker', b'../marker'); open('.git/index', 'wb').write(b + hashlib.sha1(b).digest())\"",
        &["index"],
    ),
    ("linked index", "cp .git/index x; rm .git/index; ln -s ../x .git/index", &["index"]),
    ("linked HEAD", "rm .git/HEAD; ln -s refs/heads/other .git/HEAD", &["HEAD"]),
    ("linked refs", "rm -r .git/refs/heads; ln -s /tmp .git/refs/heads", &["refs/heads", "refs/heads/main", "refs/heads/other"]),
    (
        "ref that leads up",
        "echo 'ref: ../../config' > .git/refs/heads/up; echo 'ref: refs/../config' > .git/refs/heads/up2",
        &["refs/heads/up", "refs/heads/up2"],
    ),
    (
        "names of refs",
        "git rev-parse HEAD > .git/refs/heads/.x; git rev-parse HEAD > '.git/refs/heads/a b'",
        &["refs/heads/.x", "refs/heads/a b"],
    ),
    ("HEAD with another content", "echo 'ref: ../x' > .git/HEAD", &["HEAD"]),
    ("packed refs", "echo 'garbage' > .git/packed-refs; rm .git/refs/heads/other", &["packed-refs", "refs/heads/other"]),
    ("packed refs that lead up", "echo \"$(git rev-parse HEAD) refs/heads/../../x\" > .git/packed-refs", &["packed-refs"]),
    (
        "new worktree outside",
        "mkdir -p .git/worktrees/x; echo /etc/.git > .git/worktrees/x/gitdir; echo ../.. > .git/worktrees/x/commondir; cp .git/HEAD .git/worktrees/x",
        &["worktrees/x"],
    ),
    (
        "new worktree with another repository",
        "mkdir -p .git/worktrees/x t; echo $PWD/t/.git > .git/worktrees/x/gitdir; echo ../../../evil > .git/worktrees/x/commondir; cp .git/HEAD .git/worktrees/x; echo gitdir: $PWD/.git/worktrees/x > t/.git",
        &["worktrees/x"],
    ),
    (
        "old remotes",
        "mkdir -p .git/remotes .git/branches; echo 'URL: ext::x' > .git/remotes/origin; echo ext::x > .git/branches/b",
        &["branches/b", "remotes/origin"],
    ),
    (
        "module",
        "mkdir -p .git/modules/m/hooks; cd .git/modules/m; git init -q --bare .; git config core.fsmonitor 'touch $MARKER'; git config core.worktree ../../../..; printf x > hooks/pre-commit",
        &["modules/m/hooks/pre-commit", "modules/m/config: core.fsmonitor, core.worktree"],
    ),
    ("file in modules", "mkdir -p .git/modules/x; echo x > .git/modules/x/config", &["modules/x/config"]),
    ("pipe", "mkfifo .git/ORIG_HEAD .git/refs/heads/p", &["ORIG_HEAD", "refs/heads/p"]),
    ("bisect", "echo '$(touch $MARKER)' > .git/BISECT_NAMES; echo --orphan > .git/BISECT_START", &["BISECT_NAMES", "BISECT_START"]),
    ("resolutions", "mkdir -p .git/rr-cache; printf 'ID\\t.git/hooks/pre-commit\\0' > .git/MERGE_RR", &["MERGE_RR"]),
    ("object with another content", "f=$(find .git/objects/?? -type f | head -1); chmod +w $f; echo evil > $f", &["objects/"]),
    (
        "unknown names",
        "echo x > .git/unknown; echo x > .git/objects/evil; echo x > .git/fsmonitor--daemon.ipc; echo x > .git/refs.x",
        &["fsmonitor--daemon.ipc", "objects/evil", "refs.x", "unknown"],
    ),
    ("deleted settings", "git config --unset core.editor2 || true; rm .git/config", &["config"]),
    ("deleted hooks", "rm .git/hooks/user-hook", &["hooks/user-hook"]),
    ("long line", "git config user.name \"$(printf 'a%.0s' $(seq 2000))[core] fsmonitor = touch $MARKER\"", &["config: user.name"]),
];

/// A refusal as `path` or `path: settings`.
fn summary(report: &GitReport, git: &Path) -> Vec<String> {
    let short = |refused: &haft_contract::RefusedChange| {
        let path = refused.path.strip_prefix(git).unwrap().to_string_lossy().into_owned();
        match refused.why.split_once("what these settings say: ") {
            Some((_, keys)) => format!("{path}: {keys}"),
            None if refused.why.contains("cannot be parsed") => format!("{path}: cannot be parsed"),
            None => path,
        }
    };
    report.refused.iter().map(short).collect()
}

#[test]
fn no_attack_runs_code_outside() {
    let attack = |(name, script, expected): &(&str, &str, &[&str])| {
        let world = World::new();
        fs::write(world.git_dir().join("hooks/user-hook"), "mine").unwrap();
        let config = fs::read(world.git_dir().join("config")).unwrap();
        let report = world.run(&script.replace("ID", ID).replace("$MARKER", &world.marker().to_string_lossy()));
        let found = summary(&report, &world.git_dir());
        let matches = found.len() == expected.len() && found.iter().zip(*expected).all(|(found, expected)| found.starts_with(expected));
        assert!(matches, "{name}: {found:?} {:?}", report.refused);
        let text = String::from_utf8(fs::read(world.git_dir().join("config")).unwrap()).unwrap();
        for word in ["fsmonitor", "MARKER", "marker", "ext::", "include", "evil"] {
            assert!(!text.to_lowercase().contains(word), "{name}: {text}");
        }
        assert!(
            text.as_bytes().starts_with(&config[..config.len() - 1]) || matches!(*name, "format" | "duplicated keys"),
            "{name}: the user's settings stay: {text}"
        );
        assert_eq!(fs::read(world.git_dir().join("hooks/user-hook")).unwrap(), b"mine", "{name}");
        let links: Vec<_> = walk(&world.git_dir()).into_iter().filter(|path| path.is_symlink()).collect();
        assert_eq!(links, Vec::<PathBuf>::new(), "{name}");
        assert_eq!(world.git_ok(&["rev-parse", "--is-inside-work-tree"]), "true", "{name}");
        assert!(world.git_ok(&["branch", "--list", "main", "other"]).lines().count() == 2, "{name}: refs stay");
        world.assert_harmless(&world.work, name);
        for record in world.quarantine().list() {
            assert!(record.path.starts_with(world.git_dir()), "{name}");
        }
    };
    let failed: Vec<_> = ATTACKS.iter().filter(|case| std::panic::catch_unwind(|| attack(case)).is_err()).map(|(name, ..)| name).collect();
    assert_eq!(failed, Vec::<&&str>::new());
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    let inner = entries.iter().filter(|path| path.is_dir() && !path.is_symlink()).flat_map(|path| walk(path)).collect::<Vec<_>>();
    entries.into_iter().chain(inner).collect()
}

#[test]
fn harmless_changes_beside_an_attack_are_applied() {
    let world = World::new();
    let report = world.run(
        "git config core.fsmonitor x; git config user.email me@example.com; echo x > .git/hooks/pre-commit; echo y > a; git commit -qam third --no-verify",
    );
    assert_eq!(summary(&report, &world.git_dir()), ["hooks/pre-commit", "config: core.fsmonitor"]);
    assert_eq!(world.git_ok(&["log", "-1", "--format=%s %ae"]), "third me@example.com");
    let id = report.refused[0].quarantined.as_deref().unwrap();
    let record = world.quarantine().find(id).unwrap();
    assert_eq!(world.quarantine().content(&record, 10).unwrap(), b"x\n");
}

#[test]
fn large_files_are_added_under_the_hash_of_their_content_only() {
    let world = World::new();
    let script = "for c in good bad; do h=$(printf good | sha256sum | cut -c1-64); [ $c = bad ] && h=${h//[0-4]/5}; d=.git/lfs/objects/${h:0:2}/${h:2:2}; \
                  mkdir -p $d; printf good > $d/$h; done; mkdir -p .git/lfs/tmp; echo x > .git/lfs/tmp/x";
    let report = world.run(script);
    assert_eq!((report.applied, report.refused.len()), (1, 1), "{report:?}");
    assert!(!world.git_dir().join("lfs/tmp").exists());
}

#[test]
fn a_link_in_the_repository_itself_is_not_written_through() {
    let world = World::new();
    let outside = world.root.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::rename(world.git_dir().join("logs"), outside.join("logs")).unwrap();
    std::os::unix::fs::symlink(outside.join("logs"), world.git_dir().join("logs")).unwrap();
    let before = fs::read(outside.join("logs/HEAD")).unwrap();
    world.run("rm .git/logs; mkdir .git/logs; git commit -q --allow-empty -m x");
    assert_eq!(fs::read(outside.join("logs/HEAD")).unwrap(), before);
}

#[test]
fn nothing_is_reported_twice_and_floods_are_counted() {
    let world = World::new();
    let report = world.run("for i in $(seq 120); do echo $i > .git/hooks/h$i; done");
    assert_eq!(report.refused.len(), 51);
    assert!(report.refused[50].why.starts_with("and 70 more"), "{}", report.refused[50].why);
    assert_eq!(
        fs::read_dir(world.git_dir().join("hooks"))
            .unwrap()
            .flatten()
            .filter(|entry| !entry.file_name().to_string_lossy().ends_with(".sample"))
            .count(),
        0
    );
}
