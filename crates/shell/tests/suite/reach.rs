//! What a command may run besides itself, and whether a shell could read the line in another way.

use haft_shell::{Word, analyse};

/// The words of commands that may be started, and whether any may be.
fn reach(line: &str) -> (Vec<String>, bool) {
    let analysis = analyse(line);
    let joined = |words: &Vec<Word>| words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
    let commands = analysis.commands.iter().flat_map(|command| &command.reach.commands).chain(&analysis.by_variable).map(joined).collect();
    (commands, analysis.unclear || analysis.commands.iter().any(|command| command.reach.is_any))
}

#[test]
fn commands_that_others_start_are_listed() {
    for (line, wanted, any) in [
        ("ls -l a", &[][..], false),
        ("git commit -m 'rm x'", &[], false),
        ("sudo rm x", &["rm x", "x"], false),
        ("eval 'rm x; ls'", &["rm x", "ls"], false),
        ("trap 'rm x' EXIT", &["rm x"], false),
        ("EDITOR='rm x' git commit", &["rm x"], false),
        ("export PAGER=cat", &["cat"], false),
        ("su -c 'timeout 5 rm x'", &["-c timeout 5 rm x", "timeout 5 rm x", "rm x", "timeout 5 rm x"], false),
        ("tar cf a --to-command=rm", &["cf", "a", "--to-command=rm", "rm"], false),
        ("python3 -c 'import os'", &[], false),
        ("bash x.sh", &[], false),
        ("bash < x.sh", &[], false),
        ("source x.sh", &[], false),
        ("make all", &[], false),
        ("bash", &[], true),
        ("cat x | sh", &[], true),
        ("eval \"$x\"", &[], true),
        ("$x", &[], true),
        ("source <(ls)", &[], true),
        ("~/bin/x", &[], false),
        ("alias a=b", &[], true),
        ("f() { ls; }; f", &[], false),
        ("for ((i = 0; i < 3; i++)); do ls; done", &[], false),
        ("cat <<E > \"a b\"\n$(ls)\nE", &[], false),
        ("cat <<E \"\nE\nls\"\nE", &[], true),
        ("echo ${x@P}", &[], true),
    ] {
        let (commands, is_any) = reach(line);
        assert_eq!((commands.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), is_any), (wanted, any), "{line}");
    }
}

#[test]
fn wrappers_keep_their_words() {
    let analysis = analyse("env A=1 timeout 5 bash -c 'ls; pwd'");
    let words = |words: &Vec<Word>| words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
    for command in &analysis.commands {
        let wrappers: Vec<String> = command.reach.wrappers.iter().map(words).collect();
        assert_eq!(wrappers, ["env A=1 timeout 5 bash -c ls; pwd", "timeout 5 bash -c ls; pwd", "bash -c ls; pwd"]);
    }
    assert_eq!(analysis.commands.len(), 2);
}

#[test]
fn removed_files_are_told_from_written_ones() {
    for (line, deleted) in [
        ("rm -rf a b", &["a", "b"][..]),
        ("mv a b c", &["a", "b"]),
        ("mv -t c a b", &["a", "b"]),
        ("find a -delete", &["a"]),
        ("cp a b", &[]),
        ("cd x; rm a", &["a?"]),
    ] {
        assert_eq!(super::seen::paths(&analyse(line).deletes), deleted, "{line}");
    }
}

#[test]
fn guesses_are_bounded() {
    for line in [
        format!("sudo {}", "x ".repeat(1_000)),
        format!("sudo {}", "'a b' ".repeat(1_000)),
        format!("tar {}", "--to-command=a=b=c=d=e ".repeat(500)),
        (0..12).fold("ls x".to_owned(), |line, _| format!("sudo -c {}", haft_shell::quote(&line))),
    ] {
        let analysis = analyse(&line);
        assert!(analysis.commands.iter().all(|command| command.reach.commands.len() <= 64), "{}", &line[..40]);
    }
}
