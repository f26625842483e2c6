//! B06: programs that start others come off, or the line is not followed.

use haft_shell::Concern::{Environment, Execution, Syntax, Target, Wrapper};
use haft_shell::Verdict::{Followed, Unknown};
use haft_shell::{Concern, analyse};

use super::seen::{check, words};

#[test]
fn b06_wrappers_come_off() {
    let table: &[(&str, &str, &[&str])] = &[
        ("env A=b ls x", "ls x", &["env"]),
        ("env -i -u HOME A=b ls", "ls", &["env"]),
        ("/usr/bin/env ls", "ls", &["env"]),
        ("timeout -k 5 10s ls x", "ls x", &["timeout"]),
        ("timeout --signal=KILL 10 ls", "ls", &["timeout"]),
        ("nice -n 5 ls", "ls", &["nice"]),
        ("nice -n5 ls", "ls", &["nice"]),
        ("nohup ls", "ls", &["nohup"]),
        ("stdbuf -oL ls", "ls", &["stdbuf"]),
        ("time -p ls", "ls", &["time"]),
        ("command ls", "ls", &["command"]),
        ("builtin cd x", "cd x", &["builtin"]),
        ("exec ls", "ls", &["exec"]),
        ("busybox ls", "ls", &["busybox"]),
        ("sh -c 'ls x'", "ls x", &["sh -c"]),
        ("bash -euxc 'ls x' name y", "ls x", &["bash -c"]),
        ("nohup nice timeout 5 env -- bash -c 'time ls'", "ls", &["nohup", "nice", "timeout", "env", "bash -c", "time"]),
        ("busybox sh -c ls", "ls", &["busybox", "sh -c"]),
        ("xargs -0 -n 1 wc -l", "wc -l <(what xargs reads)>", &["xargs"]),
        ("xargs", "echo <(what xargs reads)>", &["xargs"]),
        ("xargs -I% grep -e x%y", "grep -e <x%y>", &["xargs"]),
    ];
    for (line, command, wrappers) in table {
        let analysis = analyse(line);
        assert_eq!(analysis.verdict(), Followed, "{line}: {:?}", analysis.unknown);
        let seen: Vec<(String, Vec<&str>)> =
            analysis.commands.iter().map(|command| (words(command), command.wrappers.iter().map(String::as_str).collect())).collect();
        assert_eq!(seen, [((*command).to_owned(), wrappers.to_vec())], "{line}");
    }
}

#[test]
fn b06_what_does_not_come_off_is_not_followed() {
    let rows: &[(&str, &[Concern])] = &[
        ("env -S 'rm x'", &[Wrapper]),
        ("env --split-string='rm x'", &[Wrapper]),
        ("env -C / ls", &[Wrapper]),
        ("env --unse=A ls", &[Wrapper]),
        ("env $x ls", &[Wrapper]),
        ("nice -5 ls", &[Wrapper]),
        ("timeout $x ls", &[Wrapper]),
        ("timeout --foregr 5 ls", &[Wrapper]),
        ("exec -a x ls", &[Wrapper]),
        ("time ! ls", &[Wrapper]),
        ("time a=b ls", &[Wrapper]),
        ("xargs -a x ls", &[Wrapper]),
        ("xargs --arg-fi x ls", &[Wrapper]),
        ("sudo ls", &[Wrapper]),
        ("/usr/bin/sudo ls", &[Wrapper]),
        ("./sudo ls", &[Wrapper]),
        ("doas ls", &[Wrapper]),
        ("setsid ls", &[Wrapper]),
        ("chrt 1 ls", &[Wrapper]),
        ("ionice ls", &[Wrapper]),
        ("taskset 1 ls", &[Wrapper]),
        ("watch ls", &[Wrapper]),
        ("script -c ls", &[Wrapper]),
        ("ssh host ls", &[Wrapper]),
        ("flock x ls", &[Wrapper]),
        ("unshare ls", &[Wrapper]),
        ("nsenter ls", &[Wrapper]),
        ("chroot / ls", &[Wrapper]),
        ("su -c ls", &[Wrapper]),
        ("nohup sudo ls", &[Wrapper]),
        ("bash -c \"$x\"", &[Execution]),
        ("bash -lc ls", &[Execution]),
        ("zsh -c ls", &[Execution]),
        ("sh -c '[[ a > b ]]'", &[Syntax]),
        ("sh -c 'rm $1' x y", &[Target]),
        ("xargs rm", &[Target]),
        ("env PATH=x ls", &[Environment]),
    ];
    for (line, about) in rows {
        let analysis = analyse(line);
        assert_eq!((analysis.verdict(), super::seen::concerns(&analysis)), (Unknown, about.to_vec()), "{line}: {:?}", analysis.unknown);
    }
}

#[test]
fn b06_the_command_of_find_is_seen_by_rules_that_forbid_it() {
    check(&[(
        "B06",
        "find . -name x -exec rm -rf {} + -print",
        Unknown,
        &["rm -rf <{}>", "find . -name x -exec rm -rf {} + -print"],
        &[Target, Execution],
    )]);
}
