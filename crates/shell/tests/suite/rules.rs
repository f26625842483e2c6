//! Rules on commands, filters that need none, and what an answer "always" saves.

use haft_shell::{Pattern, SafeBins, allows, analyse, explain_exit, inner_programs, is_answer, satisfies_safe_bins};

#[test]
fn patterns_are_made_of_whole_words() {
    for (pattern, line, wanted) in [
        ("git", "git", true),
        ("git", "gitfoo", false),
        ("git", "git status", false),
        ("git status", "git status", true),
        ("git status", "git status -s", false),
        ("git status *", "git status", true),
        ("git status *", "git status -s a", true),
        ("git status *", "git statusx", false),
        ("git status *", "git 'status' x", true),
        ("git status *", "git status; rm x", false),
        ("git status *", "git status | cat", false),
        ("git status *", "git status $x", false),
        ("git status *", "git status \"./$x\"", true),
        ("git status *", "git -c a=b status", false),
        ("git status *", "/tmp/git status", false),
        ("git status *", "GIT_DIR=x git status", false),
        ("git status *", "timeout 5 git status", true),
        ("git status *", "sudo git status", false),
        ("cargo test-*", "cargo test-all", true),
        ("cargo test-*", "cargo test-all x", false),
        ("p * z", "p a b z", true),
        ("p * z", "p z z", true),
        ("p * z", "p a", false),
        ("p a*b*c", "p axbxc", true),
        ("p a*b*c", "p axc", false),
    ] {
        let patterns = [Pattern::parse(pattern).unwrap()];
        assert_eq!(allows(&patterns, &analyse(line)), wanted, "{pattern}: {line}");
    }
    let both = [Pattern::parse("git status *").unwrap(), Pattern::parse("head *").unwrap()];
    assert!(allows(&both, &analyse("git status | head -5")));
    assert!(!allows(&both, &analyse("")));
}

#[test]
fn patterns_name_a_program() {
    for (pattern, message) in [
        ("", "the pattern '' is empty; write a program and its first words, such as 'git status *'"),
        ("* x", "the pattern '* x' names no program; begin with its name, such as 'git status *'"),
        ("g*t x", "the pattern 'g*t x' names no program; begin with its name, such as 'git status *'"),
    ] {
        assert_eq!(Pattern::parse(pattern).unwrap_err().message, message);
    }
}

#[test]
fn filters_pass_only_without_files() {
    let safe = SafeBins::new(["jq", "cut", "uniq", "head", "tail", "tr", "wc", "grep", "sort"]).unwrap();
    for (line, wanted) in [
        ("jq .a", true),
        ("jq -r '.a[] | .b'", true),
        ("jq .a file.json", false),
        ("jq -f x", false),
        ("jq -L x .a", false),
        ("jq --from-file x", false),
        ("jq --slurpfile a b .a", false),
        ("cut -d: -f1", true),
        ("cut -d / -f 1", true),
        ("cut -d: -f1 /etc/passwd", false),
        ("uniq -c", true),
        ("uniq a b", false),
        ("head -5", true),
        ("head -n 5", true),
        ("head --lines=5", true),
        ("head --line=5", false),
        ("head x", false),
        ("tail -n 5", true),
        ("tail -f", false),
        ("tr a-z A-Z", true),
        ("tr -d '\\n'", true),
        ("tr a b c", false),
        ("wc -l", true),
        ("wc --files0-from=x", false),
        ("grep -i x", true),
        ("grep -e x", true),
        ("grep -e x y", false),
        ("grep x y", false),
        ("grep -f x", false),
        ("grep -r x", false),
        ("sort -nr -k 2", true),
        ("sort -o x", false),
        ("sort --output=x", false),
        ("sort --compress-program=sh", false),
        ("sort -T /tmp", false),
        ("head $x", false),
        ("head -n $x", false),
        ("jq *", false),
        ("tr /etc/x b", false),
        ("wc -l < x", false),
        ("wc -l > x", false),
        ("wc -l 2>&1", true),
        ("wc -l 2>/dev/null", true),
        ("a=b wc -l", false),
        ("./wc -l", false),
        ("/usr/bin/wc -l", true),
        ("timeout 5 wc -l", true),
        ("xargs wc -l", false),
        ("awk x", false),
    ] {
        let analysis = analyse(line);
        assert_eq!(satisfies_safe_bins(&analysis.commands[0], &safe), wanted, "{line}");
    }
    assert!(!satisfies_safe_bins(&analyse("grep x").commands[0], &SafeBins::default()));
    assert!(satisfies_safe_bins(&analyse("wc -l").commands[0], &SafeBins::default()));
    let message = "'python' cannot be a safe filter: its options are not known; known are cut, grep, head, jq, sort, tail, tr, uniq, wc. \
                   Write a rule for it instead";
    assert_eq!(SafeBins::new(["wc", "python"]).unwrap_err().message, message);
}

#[test]
fn always_saves_the_programs_inside_and_never_what_runs_anything() {
    for (line, wanted) in [
        ("git status -s", Some(vec!["git status *"])),
        ("cd a && timeout 5 cargo test --all | head -5", Some(vec!["cargo test *", "head *"])),
        ("bash -c 'git log | wc -l'", Some(vec!["git log *", "wc *"])),
        ("npm run build -- --x", Some(vec!["npm run build *"])),
        ("npm run", Some(vec!["npm run"])),
        ("ls; ls -l", Some(vec!["ls *"])),
        ("./build.sh x", Some(vec!["./build.sh *"])),
        ("bash x.sh", None),
        ("python3 x.py", None),
        ("awk x", None),
        ("ls && node x", None),
        ("sudo ls", None),
        ("npx x", None),
        ("docker run x", None),
        ("uv run x", None),
        ("git -C a status", None),
        ("git $x", None),
        ("vim x", None),
        ("find . -exec ls {} +", None),
        ("git config a b", None),
        ("cd a", None),
        ("", None),
    ] {
        let wanted = wanted.map(|patterns| patterns.iter().map(ToString::to_string).collect::<Vec<_>>());
        let analysis = analyse(line);
        assert_eq!(inner_programs(&analysis), wanted, "{line}");
        let patterns: Vec<Pattern> = wanted.into_iter().flatten().map(|pattern| Pattern::parse(&pattern).unwrap()).collect();
        let programs = analysis.commands.iter().filter(|command| command.program.as_literal() != Some("cd"));
        assert!(patterns.is_empty() || programs.clone().all(|command| patterns.iter().any(|pattern| pattern.matches(command))), "{line}");
    }
}

#[test]
fn exit_codes_are_explained() {
    for (program, code, wanted) in [
        ("grep", 1, Some("no line matched")),
        ("/usr/bin/rg", 1, Some("no line matched")),
        ("diff", 1, Some("the files differ")),
        ("[", 1, Some("the condition is false")),
        ("find", 1, Some("some folders could not be searched; what was found is printed")),
        ("nosuch", 127, Some("there is no such program: check its name and whether it is installed")),
        ("x", 137, Some("it was killed, by a limit or because memory ran out")),
        ("x", 1, None),
        ("grep", 0, None),
    ] {
        assert_eq!(explain_exit(program, code), wanted, "{program} {code}");
    }
    assert!(is_answer("grep", 1) && !is_answer("grep", 2) && !is_answer("cat", 1) && !is_answer("x", 127));
}
