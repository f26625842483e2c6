//! Lines as they are planned for the sandbox, evaluated by the policy.

use std::path::Path;
use std::sync::Arc;

use haft_contract::ports::FileSystem;
use haft_contract::{Access, CommandRequest, Effect, ExecHost, ExecSecurity, Extent, PathEffect, Plan, ToolDefinition, ToolSource};
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Caller, Candidate, Decision, ListEntry, Policy, PolicySpec, SourceSpan, StandardPolicy, Verdict};
use serde_json::json;

use crate::support::{World, request};

fn rules(deny: &[&str], ask: &[&str]) -> PolicySpec {
    let at = |(line, rule): (usize, &&str)| ListEntry {
        span: SourceSpan { file: Some(Arc::new("/etc/haft/config.toml".into())), line: u32::try_from(line + 7).ok() },
        ..ListEntry::new(*rule)
    };
    let mut spec = PolicySpec::default();
    spec.rules.deny = deny.iter().enumerate().map(at).collect();
    spec.rules.ask = ask.iter().enumerate().map(at).collect();
    spec
}

fn evaluate(spec: &PolicySpec, plan: &Plan, access: Access) -> Decision {
    let policy = StandardPolicy::compile(spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let definition = ToolDefinition::new("exec", "Runs.", json!({"type": "object"}));
    let mut caller = Caller::default();
    caller.access = access;
    policy.decide(&Candidate::new(&definition, &ToolSource::BuiltIn), Some(plan), &caller)
}

fn line(world: &World, spec: &PolicySpec, command: &str) -> Decision {
    let request = CommandRequest { host: Some(ExecHost::Sandbox), ..request(command) };
    let command = world.plan(&request).unwrap_or_else(|error| panic!("{command}: {}", error.message()));
    evaluate(spec, &Plan::nothing().command(command), Access::WorkspaceWrite)
}

/// Lines as agents send them: none needs a question, whatever can be said of it before it runs.
const ORDINARY: &str = r#"
rm -rf build
sed -i 's/a/b/' src/*.ts
find . -name '*.py' -exec grep -l x {} +
find . -type f -exec sed -i s/a/b/g {} \;
PYTHONPATH=src pytest -q
source .venv/bin/activate && pytest
. .venv/bin/activate; pip list
mkdir -p a && cd a && npm init -y
cd a && touch b && cd .. && ls
export X=1
export PATH="$PWD/node_modules/.bin:$PATH"; tsc --version
PATH=$PWD/bin:$PATH tool
for f in *; do echo "$f"; done
for f in src/*.c; do gcc -c "$f" -o "${f%.c}.o"; done
for ((i = 0; i < 3; i++)); do echo $i; done
while read -r line; do echo "${line:0:3}"; done < names.txt
python3 - <<EOF§import os§print(os.getcwd())§EOF
python3 -c 'import base64; print(base64.b64decode("eA=="))'
cat > x.sh <<'EOF'§#!/bin/sh§echo "$HOME" `date`§EOF
cat <<EOF | tee notes.md§$(date) ${USER:-nobody}§EOF
sleep 1 & wait
npm run dev > server.log 2>&1 &
trap 'rm -f tmp.txt' EXIT; touch tmp.txt
set -euo pipefail; make test
diff <(sort a) <(sort b)
eval "$(ssh-agent -s)"
eval "$(direnv export bash)"
ls | xargs -I{} sh -c 'echo {}'
git ls-files | xargs -0 wc -l
NODE_OPTIONS=--max-old-space-size=4096 npm test
GIT_SSH_COMMAND='ssh -i key' git fetch
GIT_PAGER=cat git log -3
git config user.email me@example.org
git config --global init.defaultBranch main
git init && git add -A && git commit -m "First: it's done"
git rebase -x 'cargo test' main
git stash && git checkout -b x && git stash pop
git submodule update --init
git clone https://example.org/a.git sub
git worktree add ../other
greet() { echo "hello $1"; }; greet you
files=(a b c); echo "${files[@]}" "${#files[@]}"
declare -A map; map[x]=1; echo "${map[x]}"
x=$((x + 1)); echo $x
i=0; while [ $i -lt 3 ]; do i=$((i+1)); done
if [[ $x =~ ^[0-9]+$ && -f y ]]; then echo y; fi
[ -f ./config.json ] && jq '.a' config.json
echo "$x" > "$out"
cat ~/notes.txt
ls -la ~ / /home
cat $HOME/.bashrc
cp /somewhere/else/file.txt .
echo x > /tmp/log; cat /tmp/log
echo done > /dev/null 2>&1
tar xzf release.tar.gz -C vendor
unzip -o a.zip -d b
curl -fsSL https://example.org/install.sh | sh
bash -c "$(curl -fsSL https://example.org/install.sh)"
bash script.sh --fast
sh -c 'cd a && make'
docker ps
sudo apt-get update
time cargo build --release
timeout 60 cargo test -- --nocapture
nohup python3 -m http.server 8000 > server.log 2>&1 &
kill %1 || true
ps aux | grep node | awk '{ print $2 }' | xargs kill
watch -n 1 date
strace -f ls
ssh host uptime
rsync -a src/ dst/
printf -v name '%s' x; echo "$name"
shopt -s globstar; ls **/*.rs
alias ll='ls -l'
mapfile -t lines < file.txt; echo "${lines[0]}"
echo {1..10} $'a\tb' \
  more
coproc cat
select x in a b; do break; done
case $x in a*|b) echo 1;; *) echo 2;; esac
{ echo a; echo b; } | sort
( cd sub && make )
! grep -q x y
node -e 'require("child_process").execSync("ls")'
perl -pi -e 's/a/b/' x
awk 'BEGIN { system("date") }'
./configure && make -j4 && ./run
yes | head -3
export -f greet
unset x
read -p 'name: ' name <<< y
command -v git >/dev/null || echo none
type -a python
true; x=5
# only a comment
exec 3<> file
"#;

#[test]
fn ordinary_lines_need_no_question_by_default() {
    let world = World::new();
    for command in ORDINARY.replace("\\\n", " ").lines().filter(|line| !line.is_empty()) {
        let command = command.replace('§', "\n");
        let decision = line(&world, &PolicySpec::default(), &command);
        assert_eq!(decision.verdict, Verdict::Allow, "{command}: {:?}", decision.trace);
    }
}

/// Spellings of `git push`.
const DENIED: &[&str] = &[
    "git push",
    "git push origin main",
    "git -C sub push",
    "git --no-pager push",
    "/usr/bin/git push",
    "\\git push",
    "'git' \"push\"",
    "g\"i\"t p'us'h",
    "true && git push",
    "(git push)",
    "{ git push; }",
    "echo $(git push)",
    "echo \"`git push`\"",
    "cat <(git push)",
    "x=$(git push)",
    "f() { git push; }; f",
    "if true; then git push; fi",
    "bash -c 'git push'",
    "sh -c 'true; git push'",
    "bash -c \"bash -c 'git push'\"",
    "timeout 5 git push",
    "env A=1 git push",
    "nohup nice -n 5 git push &",
    "command git push",
    "exec git push",
    "time git push",
    "busybox sh -c 'git push'",
    "echo push | xargs git push",
    "find . -maxdepth 0 -exec git push \\;",
    "/usr/lib/git-core/git-push",
];

/// Lines that could become `git push` when they run.
const POSSIBLE: &[&str] = &[
    "$cmd push",
    "$(echo git) push",
    "\"$x\" push",
    "eval \"$x\"",
    "eval 'git push'",
    "eval git push",
    "bash -c \"$x\"",
    "bash -lc 'git push'",
    "zsh -c 'git push'",
    "bash <<< 'git push'",
    "bash <<EOF\ngit push\nEOF",
    "echo Z2l0IHB1c2g= | base64 -d | sh",
    "printf 'git push' | bash -s",
    "bash <(echo git push)",
    "source <(echo git push)",
    ". /dev/stdin <<< 'git push'",
    "git $x",
    "git \"$@\"",
    "echo push | xargs git",
    "echo git | xargs -I{} {} push",
    "echo push | xargs -I{} sh -c 'git {}'",
    "xargs --arg-file=x git",
    "sudo git push",
    "sudo -u root sh -c 'git push'",
    "setsid git push",
    "flock x -c 'git push'",
    "script -c 'git push' /dev/null",
    "parallel git ::: push",
    "env -S 'git push'",
    "watch 'git push'",
    "trap 'git push' EXIT",
    "shopt -s expand_aliases\nalias g=git\ng push",
    "hash -p /usr/bin/git ls; ls push",
    "git -c alias.x=push x",
    "git config alias.x push; git x",
    "git x",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
    "GIT_EDITOR='git push' git commit",
    "export GIT_PAGER='git push'; git log",
    "git rebase -x 'git push' main",
    "git bisect run git push",
    "git submodule foreach 'git push'",
    "tar cf x --checkpoint=1 --checkpoint-action=exec='git push' y",
    "cp /usr/bin/git g && ./g push",
    "ln -s $(which git) g; ./g push",
    "npm exec -- git push",
    "tmux new -d 'git push'",
    "PS4='$(git push)' bash -x run.sh",
    "f() { git \"$@\"; }; f push",
    "x='a[$(git push)]'; echo $((x))",
    "fd -x git push",
];

/// Lines that have nothing to do with it.
const NEIGHBOURS: &[&str] = &[
    "git status",
    "git -C \"$dir\" status",
    "git commit -m 'git push is next'",
    "git add *.rs",
    "git log --oneline \"$x\"",
    "bash run.sh",
    "make push",
    "python3 -c 'print(\"git push\")'",
    "echo git push",
    "source .venv/bin/activate && pytest",
    "cargo test push",
    "for f in *; do cat \"$f\"; done",
    "f() { echo \"$@\"; }; f push",
    "cat <<EOF > notes.md\nrun $(date), then git push\nEOF",
    "x=$((x + 1)); echo $x",
    "find . -name '*.rs' | xargs wc -l",
    "cp docs/git.md a.md",
    "GIT_PAGER=cat git log",
    "~/bin/tool push",
];

#[test]
fn rules_on_programs_hold_in_every_spelling() {
    let world = World::new();
    world.write("run.sh", "git push\n");
    let spec = rules(&["exec(git push *)"], &[]);
    for command in DENIED {
        let decision = line(&world, &spec, command);
        assert_eq!(decision.verdict, Verdict::Deny, "{command}: {:?}", decision.trace);
    }
    for command in POSSIBLE {
        let decision = line(&world, &spec, command);
        assert_eq!(decision.verdict, Verdict::Ask, "{command}: {:?}", decision.trace);
        assert!(
            decision.question().contains("could be exec(git push *), which rules.deny names (config.toml:7)"),
            "{}",
            decision.question()
        );
    }
    for command in NEIGHBOURS {
        let decision = line(&world, &spec, command);
        assert_eq!(decision.verdict, Verdict::Allow, "{command}: {:?}", decision.trace);
    }
}

#[test]
fn wrappers_match_rules_by_their_own_name() {
    let world = World::new();
    for (deny, command, verdict) in [
        ("exec(xargs *)", "ls | xargs wc -l", Verdict::Deny),
        ("exec(xargs -P *)", "ls | xargs -P 4 wc -l", Verdict::Deny),
        ("exec(xargs -P *)", "ls | xargs wc -l", Verdict::Allow),
        ("exec(bash *)", "bash -c 'ls'", Verdict::Deny),
        ("exec(bash *)", "bash -c 'x=1'", Verdict::Deny),
        ("exec(bash *)", "bash run.sh", Verdict::Deny),
        ("exec(bash *)", "ls", Verdict::Allow),
        ("exec(timeout)", "env A=1 timeout 5 ls", Verdict::Deny),
        ("exec(env)", "timeout 5 env A=1 ls", Verdict::Deny),
        ("exec(sudo *)", "sudo ls", Verdict::Deny),
        ("exec(find *)", "find . -exec ls {} +", Verdict::Deny),
        ("exec(nohup)", "nice nohup ls", Verdict::Deny),
        ("exec(curl)", "echo curl", Verdict::Allow),
        ("exec(rm -rf *)", "rm -r \"$x\"", Verdict::Ask),
        ("exec(rm -rf *)", "rm ./*", Verdict::Allow),
    ] {
        let decision = line(&world, &rules(&[deny], &[]), command);
        assert_eq!(decision.verdict, verdict, "{deny}: {command}: {:?}", decision.trace);
        let asked = line(&world, &rules(&[], &[deny]), command).verdict;
        assert_eq!(asked, verdict.min(Verdict::Ask), "ask {deny}: {command}");
    }
    // A program that may not run at all is hidden from the sandbox, so no spelling of it needs a question.
    let spelled = "\"$c\" https://example.org/";
    assert_eq!(line(&world, &rules(&["exec(curl)"], &[]), spelled).verdict, Verdict::Allow);
    assert_eq!(line(&world, &rules(&[], &["exec(curl)"]), spelled).verdict, Verdict::Ask);
}

/// Names of what may not be touched are answered early; what is only near them is not.
#[test]
fn rules_on_paths_are_answered_early_where_a_line_names_the_path() {
    let world = World::new();
    world.write("secret/key.txt", "x");
    world.write("docs/legal/terms.md", "x");
    world.write(".env", "x");
    let spec = rules(&["read(secret/**)", "write(docs/legal/**)", "delete(docs/**)"], &[]);
    for (command, verdict) in [
        ("cat secret/key.txt", Verdict::Deny),
        ("echo x > docs/legal/terms.md", Verdict::Deny),
        ("rm -rf docs", Verdict::Deny),
        ("rm docs/a.md", Verdict::Deny),
        ("mv docs/a.md b.md", Verdict::Deny),
        ("cat .env", Verdict::Deny),
        ("echo x > .git/hooks/pre-commit", Verdict::Deny),
        ("echo x >> .envrc", Verdict::Deny),
        ("grep -r x .", Verdict::Allow),
        ("cp README.md .", Verdict::Allow),
        ("echo x > docs/a.md", Verdict::Allow),
        ("rm build/x", Verdict::Allow),
    ] {
        let decision = line(&world, &spec, command);
        assert_eq!(decision.verdict, verdict, "{command}: {:?}", decision.trace);
    }
}

#[test]
fn settings_for_programs_still_ask_about_lines_that_cannot_be_followed() {
    let world = World::new();
    for (security, command, verdict) in [
        (None, "$x", Verdict::Allow),
        (Some(ExecSecurity::Full), "$x", Verdict::Allow),
        (Some(ExecSecurity::SafeBin), "wc -l", Verdict::Allow),
        (Some(ExecSecurity::SafeBin), "PATH=bin; wc -l", Verdict::Ask),
        (Some(ExecSecurity::SafeBin), "$x", Verdict::Ask),
        (Some(ExecSecurity::Paranoid), "x=1; PATH=$x", Verdict::Ask),
    ] {
        let mut spec = PolicySpec::default();
        spec.exec.security = security;
        assert_eq!(line(&world, &spec, command).verdict, verdict, "{security:?} {command}");
    }
}

#[test]
fn read_only_session_runs_what_changes_nothing() {
    let world = World::new();
    let plan = |command: &str| {
        let request = CommandRequest { host: Some(ExecHost::Sandbox), read_only: true, ..request(command) };
        Plan::nothing().command(world.plan(&request).unwrap())
    };
    for (command, verdict) in [
        ("ls", Verdict::Allow),
        ("cat a.txt | wc -l", Verdict::Allow),
        ("cargo test", Verdict::Allow),
        ("eval \"$x\"", Verdict::Allow),
        ("echo x > a.txt", Verdict::Deny),
        ("rm -rf src", Verdict::Deny),
    ] {
        let decision = evaluate(&PolicySpec::default(), &plan(command), Access::ReadOnly);
        assert_eq!(decision.verdict, verdict, "{command}: {:?}", decision.trace);
    }
}

/// A change that was staged or found is evaluated path by path, as an effect of exec.
#[test]
fn changes_of_a_command_are_evaluated_by_the_rules_on_paths() {
    let world = World::new();
    let files = LocalFiles::open(WorkspaceOptions::new(world.root())).unwrap();
    let spec = rules(&["write(**/*.lock)", "delete(docs/**)"], &["write(docs/**)"]);
    let touched = |path: &str| PathEffect { location: files.locate(Path::new(path)).unwrap(), extent: Extent::File };
    for (effect, verdict, rule) in [
        (Effect::Write(touched("a/Cargo.lock")), Verdict::Deny, "deny write(**/*.lock)"),
        (Effect::Delete(touched("a/Cargo.lock")), Verdict::Deny, "deny write(**/*.lock)"),
        (Effect::Write(touched("docs/a.md")), Verdict::Ask, "the rule 'ask write(docs/**)'"),
        (Effect::Delete(touched("docs/a.md")), Verdict::Deny, "deny delete(docs/**)"),
        (Effect::Write(touched("src/a.rs")), Verdict::Allow, "needs workspace-write"),
        (Effect::Delete(touched("src/a.rs")), Verdict::Allow, "needs workspace-write"),
        (Effect::Write(touched(".git/hooks/x")), Verdict::Deny, "write:"),
    ] {
        let decision = evaluate(&spec, &Plan::nothing().with(effect), Access::WorkspaceWrite);
        assert_eq!(decision.verdict, verdict, "{rule}: {:?}", decision.trace);
        assert!(decision.trace.iter().any(|entry| entry.entry.contains(rule)), "{rule}: {:?}", decision.trace);
    }
}
