//! `deny exec(curl *)` and `deny exec(git push *)`, and all ways to run a program.

use super::super::effects::{Scene, run_line, user_git_text};
use super::{Background, BashRepl, Exec, Names, NodeRepl, Pty, PythonRepl, Row, Table, Target, commit_all, try_rows, try_rows_unsandboxed};

pub(super) const TABLE: Table = Table {
    rules: |_| "rules.deny = ['exec(curl *)']\n".to_owned(),
    fixture: |scene| {
        scene.write("Makefile", "version:\n\t@$(P) --version\n");
        scene.write(".gitignore", "loot\n");
        commit_all(scene);
    },
    denied: |_| names("curl"),
    permitted: |_| names("gzip"),
    happened: |scene, printed, target| {
        let wanted: &[u8] = if target == Target::Denied { b"libcurl" } else { b"Free Software Foundation" };
        let printed = [printed, scene.read("loot/version").as_bytes()].concat();
        printed.windows(wanted.len()).any(|part| part == wanted)
    },
};

fn names(program: &str) -> Names {
    let encoded = program.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<Vec<_>>().concat();
    vec![
        ("@p@", program.to_owned()),
        ("@start@", program[..2].to_owned()),
        ("@end@", program[2..].to_owned()),
        ("@hex@", encoded),
        ("@absolute@", format!("/usr/bin/{program}")),
    ]
}

#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[Row] = &[
    ("literal", Exec, "@p@ --version"),
    ("variable", Exec, "c=@p@; $c --version"),
    ("array", Exec, "c=(@p@ --version); \"${c[@]}\""),
    ("substitution", Exec, "$(echo @p@) --version"),
    ("printf", Exec, "\"$(printf '@hex@')\" --version"),
    ("ANSI quotes", Exec, "$'@hex@' --version"),
    ("quotes inside", Exec, "@start@''@end@ --version"),
    ("backslash", Exec, "\\@p@ --version"),
    ("brace", Exec, "{@p@,--version}"),
    ("absolute", Exec, "@absolute@ --version"),
    ("pattern", Exec, "/usr/bin/@start@@end@* --version 2>&1; true"),
    ("relative", Exec, "cd /usr/bin && ./@p@ --version"),
    ("proc self root", Exec, "/proc/self/root@absolute@ --version"),
    ("command", Exec, "command @p@ --version"),
    ("exec", Exec, "exec @p@ --version"),
    ("exec -a", Exec, "exec -a harmless @p@ --version"),
    ("env", Exec, "env @p@ --version"),
    ("env -S", Exec, "env -S '@p@ --version'"),
    ("timeout", Exec, "timeout 20 @p@ --version"),
    ("nohup nice setsid", Exec, "nohup nice setsid -w @p@ --version 2>&1"),
    ("xargs", Exec, "echo --version | xargs @p@"),
    ("xargs of the name", Exec, "echo @p@ --version | xargs -n2 env"),
    ("find and exec", Exec, "find . -maxdepth 0 -exec @p@ --version \\;"),
    ("sh -c", Exec, "sh -c '@p@ --version'"),
    ("eval", Exec, "eval @start@@end@ --version"),
    ("here-string", Exec, "bash <<< '@p@ --version'"),
    ("piped", Exec, "echo '@p@ --version' | sh"),
    ("function", Exec, "f() { \"$@\"; }; f @p@ --version"),
    ("alias", Exec, "shopt -s expand_aliases\nalias v=@p@\nv --version"),
    ("trap", Exec, "trap '@p@ --version' EXIT"),
    ("coprocess", Exec, "coproc @p@ --version; cat <&\"${COPROC[0]}\""),
    ("ampersand", Exec, "@p@ --version & wait"),
    ("script", Exec, "echo '@p@ --version' > loot/a.sh; sh loot/a.sh"),
    ("interpreter line", Exec, "printf '#!/usr/bin/env -S @p@ --version\\n' > loot/a; chmod +x loot/a; loot/a"),
    ("make", Exec, "make -s version P=@p@"),
    ("python", Exec, "python3 -c \"import subprocess; subprocess.run(['@p@', '--version'])\""),
    ("python execvp", Exec, "python3 -c \"import os; os.execvp('@p@', ['x', '--version'])\""),
    ("node", Exec, "node -e \"console.log(String(require('child_process').execFileSync('@p@', ['--version'])))\""),
    ("perl", Exec, "perl -e 'system \"@p@\", \"--version\"'"),
    ("awk", Exec, "awk 'BEGIN { system(\"@p@ --version\") }'"),
    ("sed e", Exec, "echo x | sed '1e @p@ --version'"),
    ("tar", Exec, "echo x > loot/x; tar cf - loot/x | tar xf - --to-command='@p@ --version'"),
    ("git alias", Exec, "git -c alias.v='!@p@ --version' v"),
    ("script program", Exec, "script -qec '@p@ --version' /dev/null"),
    ("copy", Exec, "cp @absolute@ loot/copy && loot/copy --version"),
    ("copy by cat", Exec, "cat @absolute@ > loot/copy; chmod +x loot/copy; loot/copy --version"),
    ("link", Exec, "ln -s @absolute@ loot/link; loot/link --version"),
    ("loader", Exec, "$(ls /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* 2>/dev/null | head -1) @absolute@ --version"),
    ("PATH", Exec, "ln -s @absolute@ loot/v; PATH=$PWD/loot:$PATH v --version"),
    ("hash", Exec, "hash -p @absolute@ v; v --version"),
    ("background job", Background, "@p@ --version > loot/version"),
    ("terminal", Pty, "@p@ --version"),
    ("repl python", PythonRepl, "import subprocess; print(subprocess.run(['@p@', '--version'], capture_output=True, text=True).stdout)"),
    ("repl javascript", NodeRepl, "String(require('child_process').execFileSync('@p@', ['--version']))"),
    ("repl bash", BashRepl, "@start@\"\"@end@ --version"),
];

/// A rule on some arguments of a program leaves the program in the view, so it holds for lines: `git push` in all spellings of a line.
#[rustfmt::skip] // one row a line
pub(super) const PUSHES: &[(&str, &str)] = &[
    ("literal", "git push -q origin main"),
    ("options before", "git -C . --no-pager push -q origin main"),
    ("quotes", "git pu''sh -q origin main"),
    ("variable", "verb=push; git $verb -q origin main"),
    ("program in a variable", "g=git; $g push -q origin main"),
    ("substitution", "git $(echo push) -q origin main"),
    ("printf", "git \"$(printf '\\x70ush')\" -q origin main"),
    ("brace", "git {push,-q,origin,main}"),
    ("sh -c", "sh -c 'git push -q origin main'"),
    ("eval", "eval 'git pu'sh -q origin main"),
    ("xargs", "echo push -q origin main | xargs git"),
    ("find and exec", "find . -maxdepth 0 -exec git push -q origin main \\;"),
    ("timeout and env", "timeout 20 env A=b git push -q origin main"),
    ("absolute", "\"$(command -v git)\" push -q origin main"),
    ("function", "f() { git \"$@\"; }; f push -q origin main"),
    ("git alias", "git -c alias.p=push p -q origin main"),
    ("array", "a=(push -q origin main); git \"${a[@]}\""),
    ("here-string", "bash <<< 'git push -q origin main'"),
];

fn with_remote(rules: &str) -> Scene {
    let scene = Scene::with_config(rules);
    scene.write("a.txt", "a\n");
    commit_all(&scene);
    user_git_text(&scene, "", &["init", "-q", "--bare", "remote.git"]);
    user_git_text(&scene, "", &["remote", "add", "origin", "./remote.git"]);
    scene
}

fn refs(scene: &Scene) -> String {
    user_git_text(scene, "", &["--git-dir", "remote.git", "for-each-ref"])
}

#[test]
fn exec_rules_on_a_program_cannot_be_bypassed() {
    try_rows(&TABLE, ROWS);
}

#[test]
fn exec_rows_are_real() {
    try_rows_unsandboxed(&TABLE, ROWS);
    for (spelling, line) in PUSHES {
        let scene = with_remote("");
        super::run_unsandboxed(&scene, line);
        assert!(refs(&scene).contains("refs/heads/main"), "{spelling}: {line}");
    }
}

#[test]
fn exec_rules_on_arguments_hold_for_every_spelling_of_a_line() {
    let scene = with_remote("rules.deny = ['exec(git push *)']\n");
    let mut wrong = Vec::new();
    for (spelling, line) in PUSHES {
        let result = run_line(&scene, line);
        if !refs(&scene).is_empty() {
            wrong.push(format!("{spelling}: {line}\n    {}", result.brief()));
            user_git_text(&scene, "", &["--git-dir", "remote.git", "update-ref", "-d", "refs/heads/main"]);
        }
    }
    // Permitted neighbours: other commands of the same program.
    for line in [
        "git fetch -q origin",
        "git -C . --no-pager log --oneline",
        "sh -c 'git ls-remote origin'",
        "git commit -q --allow-empty -m pushed",
    ] {
        let result = run_line(&scene, line);
        if result.exit() != Some(0) {
            wrong.push(format!("permitted: {line}\n    {}", result.brief()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
