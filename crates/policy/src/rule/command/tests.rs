use std::path::Path;
use std::time::{Duration, Instant};

use haft_contract::{Effect, ExecHost, ExecNature};

use super::super::testing::{Fixture, HOME, both, exec, one};
use super::super::{RuleKind, RuleSet};
use crate::catalog::Vocabulary;

fn on(rule: &str, line: &str) -> (bool, bool) {
    both(rule, &Fixture::core("exec"), &Effect::Exec(exec(line)))
}

#[test]
fn words_are_compared_as_words() {
    for (rule, line, denied, allowed) in [
        ("exec(git)", "git", true, true),
        ("exec(git)", "gitfoo", false, false),
        ("exec(git)", "git status", true, false),
        ("exec(rg *)", "rgfoo", false, false),
        ("exec(rg *)", "rg", true, true),
        ("exec(rg *)", "rg a b", true, true),
        ("exec(git status)", "git status a", true, false),
        ("exec(git push *)", "git push", true, true),
        ("exec(git push *)", "git pushx", false, false),
        ("exec(git push *)", "git push origin main", true, true),
        ("exec(git push * main)", "git push origin main", true, true),
        ("exec(git push * main)", "git push origin dev", false, false),
        ("exec(cargo test-*)", "cargo test-all", true, false),
        ("exec(rg test-*)", "rg test-all", true, true),
        ("exec(rg test-*)", "rg test-all x", true, false),
        ("exec(ls \"*\")", "ls a", true, true),
        ("exec(ls \"*\")", "ls a b", true, false),
        ("exec(ls \"*\")", "ls", false, false),
        ("exec(ls \\*)", "ls *", true, true),
        ("exec(ls \\*)", "ls a", false, false),
        ("exec(ls a?)", "ls ab", false, false),
    ] {
        let on = |kind| {
            let vocabulary = Vocabulary::of_core(haft_builtin::metas());
            let known = RuleSet::check(kind, rule, &vocabulary, None).is_ok();
            known && one(kind, rule).on_effect(&Fixture::core("exec").candidate(), &Effect::Exec(exec(line))).is_some()
        };
        assert_eq!((on(RuleKind::Deny), on(RuleKind::Allow)), (denied, allowed), "{rule} on {line}");
    }
}

#[test]
fn what_is_forbidden_stays_so_behind_options_and_in_other_forms() {
    for (rule, line, denied, allowed) in [
        ("exec(git push *)", "git -C /x push origin", true, false),
        ("exec(git push *)", "git --git-dir=y push", true, false),
        ("exec(git push *)", "git -c a=b -C /x push", true, false),
        ("exec(git push *)", "git -v push", true, false),
        ("exec(git push *)", "git -C /x status push", false, false),
        ("exec(git push * --force *)", "git push origin --force", true, true),
        ("exec(git push * --force *)", "git push --forc origin", true, false),
        ("exec(GIT push)", "git push", true, false),
        ("exec(git push)", "GIT push", true, false),
    ] {
        assert_eq!(on(rule, line), (denied, allowed), "{rule} on {line}");
    }
    assert!(
        one(RuleKind::Deny, "exec(* --force *)").on_effect(&Fixture::core("exec").candidate(), &Effect::Exec(exec("x --force"))).is_some()
    );
}

#[test]
fn a_forbidden_option_is_found_wherever_and_however_it_is_written() {
    let denied = |rule: &str, line: &str| {
        one(RuleKind::Deny, rule).on_effect(&Fixture::core("exec").candidate(), &Effect::Exec(exec(line))).is_some()
    };
    for (rule, line, expected) in [
        ("exec(rm -rf *)", "rm -rf x", true),
        ("exec(rm -rf *)", "rm -fr x", true),
        ("exec(rm -rf *)", "rm -r -f x", true),
        ("exec(rm -rf *)", "rm x -f y -r", true),
        ("exec(rm -rf *)", "rm -rfv x", true),
        ("exec(rm -rf)", "rm -rf /", true),
        ("exec(rm -r -f)", "rm -fr x", true),
        ("exec(rm -rf *)", "rm -r x", false),
        ("exec(rm -rf *)", "rm --rf x", false),
        ("exec(rm -rf /)", "rm / -rf", true),
        ("exec(rm -rf /)", "rm -rf x", false),
        ("exec(git push --force *)", "git push origin --force", true),
        ("exec(git push --force *)", "git push origin main --force=yes", true),
        ("exec(git push --force *)", "git push --for", true),
        ("exec(git push --force *)", "git -C /x push --force", true),
        ("exec(git push --force *)", "git --force status push", false),
        ("exec(git push --force *)", "git push --force-with-lease", false),
        ("exec(git push --force *)", "git push", false),
        ("exec(git push --force origin)", "git push origin --force", true),
        ("exec(git push)", "git push o", true),
        ("exec(sort --compress-program *)", "sort --compress-prog=sh a", true),
        ("exec(sort --compress-program *)", "sort -- a", false),
        ("exec(x --mode=fast)", "x --mode fast", true),
        ("exec(x --mode=fast)", "x y --mo=fast", true),
        ("exec(x --mode=fast)", "x --mode slow", false),
        ("exec(x --mode=f*)", "x --mode fast", true),
        ("exec(find * -exec *)", "find . -name a -exec sh ;", true),
        ("exec(find * -exec *)", "find . -name a", false),
        ("exec(rg -*)", "rg -n x", true),
    ] {
        assert_eq!(denied(rule, line), expected, "{rule} on {line}");
    }
}

#[test]
fn a_program_is_forbidden_under_every_name_and_permitted_under_its_own() {
    let mut linked = exec("mygit push");
    linked.program = "/usr/lib/git".into();
    let mut renamed = exec("git push");
    renamed.program = "/usr/lib/other".into();
    for (rule, exec, expected) in [
        ("exec(git push)", exec("git push"), (true, true)),
        ("exec(git push)", exec("./git push"), (true, false)),
        ("exec(git push)", exec("/usr/bin/git push"), (true, false)),
        ("exec(git push)", linked, (true, false)),
        ("exec(git push)", renamed, (true, true)),
        ("exec(/usr/bin/git push)", exec("git push"), (true, true)),
        ("exec(/usr/bin/git push)", exec("./git push"), (false, false)),
        ("exec(~/ws/run)", exec("./run"), (true, true)),
        ("exec(/home/me/ws/run)", exec("run"), (false, false)),
    ] {
        let text = format!("{rule} on {exec:?}");
        assert_eq!(both(rule, &Fixture::core("exec"), &Effect::Exec(exec)), expected, "{text}");
    }
    let tail = one(RuleKind::Deny, "exec(./scripts/run.sh)");
    for (line, hit) in [("./scripts/run.sh", true), ("/opt/scripts/run.sh", true), ("./otherscripts/run.sh", false), ("run.sh", false)] {
        assert_eq!(tail.on_effect(&Fixture::core("exec").candidate(), &Effect::Exec(exec(line))).is_some(), hit, "{line}");
    }
}

#[test]
fn a_star_permits_options_but_none_that_runs_a_program_or_reads_more_of_them() {
    for (rule, line, allowed) in [
        ("exec(git log *)", "git log --output=x", false),
        ("exec(git log *)", "git log --oneline", true),
        ("exec(cargo build *)", "cargo build --release", true),
        ("exec(cargo build *)", "cargo build --release --features a,b", true),
        ("exec(cargo build *)", "cargo build --config net.offline=true", false),
        ("exec(npm test *)", "npm test -- --watch", true),
        ("exec(npm test *)", "npm test --script-shell=x", false),
        ("exec(git log *)", "git log main docs", true),
        ("exec(git log -* *)", "git log --oneline main", true),
        ("exec(git log -* *)", "git log main", true),
        ("exec(git log -* *)", "git log --output=x", false),
        ("exec(git log -* *)", "git log --outp x", false),
        ("exec(git log --output=x *)", "git log --output=x a", true),
        ("exec(git log --output=* *)", "git log --output=x a", true),
        ("exec(git log --output=* *)", "git log --output=x --oneline", true),
        ("exec(git switch -c *)", "git switch -c new", true),
        ("exec(git fetch *)", "git fetch origin", true),
        ("exec(git fetch *)", "git fetch ext::sh", false),
        ("exec(rg *)", "rg --pre x y", false),
        ("exec(rg -* *)", "rg --pre x y", false),
        ("exec(rg -* *)", "rg -n y", true),
        ("exec(rg \"*\")", "rg -x", false),
        ("exec(rg *x)", "rg -x", false),
        ("exec(gcc *)", "gcc @options", false),
        ("exec(rsync -* *)", "rsync -ave sh a b", false),
        ("exec(rsync -* *)", "rsync -av a b", true),
        ("exec(go build *)", "go build -ldflags=x", false),
        ("exec(npm view *)", "npm view @types/node", false),
        ("exec(npm view @types/*)", "npm view @types/node", true),
        ("exec(ls *)", "ls -la --color=auto docs", true),
        ("exec(grep *)", "grep -rn x src", true),
    ] {
        assert_eq!(on(rule, line), (true, allowed), "{rule} on {line}");
    }
}

#[test]
fn a_changed_environment_is_not_permitted() {
    for (variable, expected) in
        [("LD_PRELOAD", (true, false)), ("GIT_SSH_COMMAND", (true, false)), ("LC_ALL", (true, true)), ("CI", (true, true))]
    {
        let mut exec = exec("git status");
        exec.environment = vec![variable.to_owned()];
        assert_eq!(both("exec(git status)", &Fixture::core("exec"), &Effect::Exec(exec)), expected, "{variable}");
    }
}

#[test]
fn a_rule_can_speak_of_where_it_runs() {
    for (rule, line, expected) in [
        ("exec(host:container)", "rm -rf x", [false, false, true, false]),
        ("exec(host:gateway)", "rm -rf x", [false, false, true, false]),
        ("exec(host:sandbox cargo test *)", "cargo test", [false, true, false, false]),
        ("exec(host:sandbox cargo test *)", "cargo run", [false; 4]),
        ("exec(host:node ls)", "ls", [false, false, false, true]),
        ("exec(host:container bash *)", "bash -c x", [false, false, true, false]),
        ("exec(host:sandbox git *)", "git log --oneline", [false, true, false, false]),
    ] {
        for (host, hit) in ExecHost::ALL.into_iter().zip(expected) {
            let mut exec = exec(line);
            exec.host = host;
            assert_eq!(both(rule, &Fixture::core("exec"), &Effect::Exec(exec)), (hit, hit), "{rule} on {host:?}");
        }
    }
}

#[test]
fn what_would_let_everything_through_cannot_be_permitted() {
    let check = |kind, rule: &str| RuleSet::check(kind, rule, &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME)));
    for rule in [
        "exec",
        "exec()",
        "exec(*)",
        "bash",
        "repl",
        "PowerShell(*)",
        "process",
        "e*",
        "*",
        "exec(* status)",
        "exec(* *)",
        "exec(g*)",
        "exec(/usr/bin/*)",
        "exec(host:host)",
        "exec(host:node *)",
        "exec(bash *)",
        "exec(bash -c *)",
        "exec(/bin/sh *)",
        "exec(python3.12 *)",
        "exec(python3 scripts/*)",
        "exec(env *)",
        "exec(sudo apt *)",
        "exec(find . *)",
        "bash(npx *)",
        "exec(./run.sh)",
        "exec(git *)",
        "exec(git -* status)",
        "exec(git -C * status)",
        "exec(git bisect run *)",
        "exec(git submodule foreach *)",
        "exec(git rebase -x *)",
        "exec(cargo *)",
        "exec(cargo run *)",
        "exec(npm exec *)",
        "exec(npm audit *)",
        "exec(make *)",
        "exec(sed *)",
        "exec(java *)",
        "exec(guile *)",
        "exec(sqlite3 x.db *)",
        "exec(ssh-agent *)",
        "exec(prlimit *)",
        "exec(fakeroot *)",
        "exec(/lib64/ld-linux-x86-64.so.2 *)",
        "exec(tar xf *)",
    ] {
        assert!(check(RuleKind::Allow, rule).is_err(), "allow {rule}");
        assert_eq!(check(RuleKind::Deny, rule), Ok(()), "deny {rule}");
    }
    for rule in [
        "exec(python3 scripts/check.py)",
        "exec(bash run.sh)",
        "exec(cargo test *)",
        "exec(make test)",
        "exec(git -C docs status)",
        "exec(tar xf a.tar)",
        "exec(host:sandbox)",
        "exec(host:sandbox make *)",
        "exec(/opt/x *)",
    ] {
        assert_eq!(check(RuleKind::Allow, rule), Ok(()), "{rule}");
    }
    let fault = check(RuleKind::Allow, "exec(bash *)").unwrap_err().to_string();
    assert_eq!(
        fault,
        "'bash' runs other programs, so '*' behind it would let everything through; write out the words, such as 'exec(bash scripts/check)'"
    );
    for (rule, message) in [
        (
            "exec(git *)",
            "'git' has commands that run other programs, so '*' in their place would let everything through; write the command right behind the name, as in 'exec(git COMMAND *)'",
        ),
        (
            "exec(git bisect run *)",
            "'git bisect' runs other programs, so '*' behind it would let everything through; write out the words, as in 'exec(git bisect x)'",
        ),
    ] {
        assert_eq!(check(RuleKind::Allow, rule).unwrap_err().to_string(), message);
    }
    let fault = check(RuleKind::Allow, "exec").unwrap_err().to_string();
    assert_eq!(
        fault,
        "'allow' of 'exec' would let any program through; name the program, such as 'exec(cargo test *)', or the sandbox: 'exec(host:container)'"
    );
}

#[test]
fn words_that_no_command_has_are_refused_with_what_to_write() {
    let many = format!("exec(x{})", " a".repeat(60));
    for (rule, message) in [
        ("exec(host:moon)", "nothing runs on the host 'moon'; write host:sandbox, host:container, host:host or host:node"),
        ("exec(git push:*)", "'git push:*' ends with ':*', which stands for nothing here; write 'git push *'"),
        (
            "exec(git add && git commit)",
            "'&&' joins commands, and a rule speaks of one program; write one rule for each program: every part of a line must be allowed by itself",
        ),
        (
            "exec(git add; git commit)",
            "'add;' joins commands, and a rule speaks of one program; write one rule for each program: every part of a line must be allowed by itself",
        ),
        ("exec(FOO=1 git push)", "a rule names a program, not the variables before it; begin the rule with the program"),
        ("exec(git \"a)", "a \" is not closed; close it, or write '\\\"' for one that means itself"),
        ("exec(\"\" a)", "the program's name is empty; write its name, such as 'exec(git status)'"),
        ("exec(scripts/* x)", "'*' needs a whole path of the program, or a bare name; write a path that begins with '/' or '~/'"),
        ("exec(domain:x.org)", "'domain:…' can never match a program; write the program and its arguments, such as 'git push *'"),
        (many.as_str(), "the rule has more than 60 words; write '*' in place of some"),
    ] {
        let fault = RuleSet::check(RuleKind::Deny, rule, &Vocabulary::of_core(haft_builtin::metas()), None).unwrap_err();
        assert_eq!(fault.to_string(), message, "{rule}");
    }
    assert_eq!(RuleSet::check(RuleKind::Deny, "exec(find * -exec * ';')", &Vocabulary::of_core(haft_builtin::metas()), None), Ok(()));
    assert_eq!(RuleSet::check(RuleKind::Deny, "exec(docs/x)", &Vocabulary::of_core(haft_builtin::metas()), None), Ok(()));
}

#[test]
fn many_stars_take_no_longer_than_few() {
    let rule = format!("exec(x{} b)", " * a".repeat(29));
    let (set, command) = (one(RuleKind::Deny, &rule), exec(&format!("x{}", " a".repeat(20_000))));
    let started = Instant::now();
    assert!(set.on_effect(&Fixture::core("exec").candidate(), &Effect::Exec(command)).is_none());
    assert!(started.elapsed() < Duration::from_secs(2));
}

/// A command of which some words are known only when it runs.
fn expanded(line: &str) -> Effect {
    let mut exec = exec(line);
    exec.nature = ExecNature::Expanded;
    Effect::Exec(exec)
}

#[test]
fn what_is_known_only_when_it_runs_is_forbidden_if_it_may_be() {
    for (rule, line, denied) in [
        ("exec(rm *)", "rm $x", true),
        ("exec(rm)", "rm $x", true),
        ("exec(rm -rf *)", "rm $x", true),
        ("exec(rm -rf *)", "rm *", true),
        ("exec(rm -rf *)", "rm ./*", false),
        ("exec(rm -rf *)", "rm ~/x", false),
        ("exec(rm -rf *)", "rm '-'*", true),
        ("exec(rm -rf *)", "rm build/$x", true),
        ("exec(rm src/key)", "rm src/*", true),
        ("exec(rm -rf /)", "rm -rf $x", true),
        ("exec(rm -rf /)", "rm -r x $y", true),
        ("exec(git push *)", "git $x", true),
        ("exec(git push *)", "git $x origin", true),
        ("exec(git push *)", "git -C $x push", true),
        ("exec(git push *)", "git status $x", false),
        ("exec(git push --force *)", "git $x", true),
        ("exec(git push --force *)", "git push $x", true),
        ("exec(git push --force *)", "git push src/*", false),
        ("exec(git push --force *)", "git status $x", false),
        ("exec(git push origin main)", "git push `x`", true),
        ("exec(x --mode=fast)", "x --mode=$y", true),
        ("exec(* --force *)", "x {}", true),
        // Another program puts the word in, and nothing shows where.
        ("exec(git push *)", "git WHAT", true),
        ("exec(rm -rf *)", "cp $x", false),
    ] {
        let tool = Fixture::core("exec");
        let hits = |kind| one(kind, rule).on_effect(&tool.candidate(), &expanded(line)).is_some();
        assert_eq!((hits(RuleKind::Deny), hits(RuleKind::Ask)), (denied, denied), "{rule} on {line}");
    }
}

#[test]
fn what_is_known_only_when_it_runs_is_permitted_only_if_everything_is() {
    for (rule, line, host, allowed) in [
        ("exec(ls *)", "ls $x", ExecHost::Host, true),
        ("exec(ls *)", "ls *.rs", ExecHost::Host, true),
        ("exec(ls)", "ls $x", ExecHost::Host, false),
        ("exec(ls \"*\")", "ls $x", ExecHost::Host, false),
        ("exec(ls \"\\$x\")", "ls $x", ExecHost::Host, false),
        ("exec(ls src *)", "ls src $x", ExecHost::Host, false),
        ("exec(rustfmt *)", "rustfmt $x", ExecHost::Host, false),
        ("exec(rustfmt -* *)", "rustfmt $x", ExecHost::Host, true),
        ("exec(rg -* *)", "rg $x", ExecHost::Host, false),
        ("exec(git status -* *)", "git status $x", ExecHost::Host, false),
        ("exec(bash scripts/check)", "bash scripts/check", ExecHost::Host, false),
        ("exec(host:sandbox)", "make $x", ExecHost::Sandbox, true),
        ("exec(host:sandbox)", "make $x", ExecHost::Host, false),
        ("exec(host:sandbox)", "$x now", ExecHost::Sandbox, true),
        ("exec(host:sandbox make *)", "make $x", ExecHost::Sandbox, true),
        ("exec(host:sandbox git *)", "git $x", ExecHost::Sandbox, false),
        ("exec(\"\\$x\" -* *)", "$x now", ExecHost::Host, false),
    ] {
        let Effect::Exec(mut exec) = expanded(line) else { unreachable!() };
        exec.host = host;
        let hit = one(RuleKind::Allow, rule).on_effect(&Fixture::core("exec").candidate(), &Effect::Exec(exec)).is_some();
        assert_eq!(hit, allowed, "{rule} on {line}");
    }
}
