//! What commands read, write and reach, and of what nature they are.

use haft_shell::Nature::{ChangesShell, ExecutesOthers, Interpreter, Network, Ordinary, ReadsOnly, Shell, Writes};
use haft_shell::{Directory, Nature, analyse};

use super::seen::paths;

/// A line, the nature of its first command, what is written, what is read, and whether that is all.
type Row<'a> = (&'a str, Nature, &'a [&'a str], &'a [&'a str], bool);

#[test]
fn known_programs_are_bounded_by_what_they_name() {
    let table: &[Row<'_>] = &[
        ("cat a b", ReadsOnly, &[], &["a", "b"], true),
        ("cat -n -- -a", ReadsOnly, &[], &["-a"], true),
        ("grep -rn x src", ReadsOnly, &[], &["src"], true),
        ("grep -e x -f p src", ReadsOnly, &[], &["p", "src"], true),
        ("rg -n 'a b' src", ReadsOnly, &[], &["src"], true),
        ("head -5 a", ReadsOnly, &[], &["a"], true),
        ("wc -l < a", ReadsOnly, &[], &["a"], true),
        ("ls *.c", ReadsOnly, &[], &["*.c?"], false),
        ("/usr/bin/ls", ReadsOnly, &[], &[], true),
        ("./ls", Ordinary, &[], &[], false),
        ("ls --colour=x", Ordinary, &[], &[], false),
        ("nosuch a", Ordinary, &[], &[], false),
        ("sort -o a b", Writes, &["a"], &["b"], true),
        ("sort -oa b", Writes, &["a"], &["b"], true),
        ("sort --output=a b", Writes, &["a"], &["b"], true),
        ("uniq a b", Writes, &["b"], &["a"], true),
        ("cp a b c", Writes, &["c"], &["a", "b"], true),
        ("cp -t c a b", Writes, &["c"], &["a", "b"], true),
        ("mv a b", Writes, &["a", "b"], &[], true),
        ("rm -rf a b", Writes, &["a", "b"], &[], true),
        ("mkdir -p a/b", Writes, &["a/b"], &[], true),
        ("touch a", Writes, &["a"], &[], true),
        ("ln -s a b", Writes, &["b"], &["a"], true),
        ("ln -s a", Writes, &["."], &[], true),
        ("chmod 644 a", Writes, &["a"], &[], true),
        ("install -m 644 a b", Writes, &["b"], &["a"], true),
        ("truncate -s 0 a", Writes, &["a"], &[], true),
        ("tee -a a", Writes, &["a"], &[], true),
        ("dd if=a of=b bs=1", Writes, &["b"], &["a"], true),
        ("dd if=a count=1", ReadsOnly, &[], &["a"], true),
        ("sed -n 1,5p a", ReadsOnly, &[], &["a"], true),
        ("sed -i s/a/b/ c", Writes, &["c"], &["c"], true),
        ("sed -i.bak s/a/b/ c", Writes, &["c", "c.bak"], &["c"], true),
        ("find a -name '*.c' -type f", ReadsOnly, &[], &["a"], true),
        ("find a -delete", Writes, &["a"], &["a"], true),
        ("find a -fprint b", Writes, &["b"], &["a"], true),
        ("find -nosuch", Ordinary, &[], &[], false),
        ("tar tzf a", ReadsOnly, &[], &["a"], true),
        ("tar -xzf a", Ordinary, &[], &["a"], false),
        ("git status -s", ReadsOnly, &[], &[], true),
        ("git --no-pager log -3 --oneline", ReadsOnly, &[], &[], true),
        ("git -C a diff --stat", ReadsOnly, &[], &["a"], true),
        ("git --version", ReadsOnly, &[], &[], true),
        ("git branch -a", ReadsOnly, &[], &[], true),
        ("git branch x", Ordinary, &[], &[], false),
        ("git commit -m x", ExecutesOthers, &[], &[], false),
        ("git -c color.ui=never -c User.Name=a log -3", ReadsOnly, &[], &[], true),
        ("git -c user.email=a@example.org commit -m x", ExecutesOthers, &[], &[], false),
        ("make", ExecutesOthers, &[], &[], false),
        ("python3 a.py", Interpreter, &[], &[], false),
        ("awk '{print $1}' a", Interpreter, &[], &[], false),
        ("jq .a b.json", ReadsOnly, &[], &["b.json"], true),
        ("jq 'import \"a\" as $a; $a'", Ordinary, &[], &[], false),
        ("jq 'include \"a\"; b' c", Ordinary, &[], &["c"], false),
        ("jq \"$x\"", Ordinary, &[], &[], false),
        ("sort -o a b", Writes, &["a"], &["b"], true),
        ("bash a.sh", Shell, &[], &[], false),
        ("export a=b", ChangesShell, &[], &[], false),
        ("curl -s https://a.example/x", Network, &[], &[], true),
        ("curl -o a https://a.example/x", Network, &["a"], &[], true),
        ("curl -F x=@a -F 'y=<b;type=c' -b d https://a.example/x", Network, &[], &["a", "b", "d"], true),
        ("curl -b a=b -d c@d https://a.example/x", Network, &[], &[], true),
        ("curl -n https://a.example/x", Ordinary, &[], &[], false),
        ("git diff /etc/x main..dev", ReadsOnly, &[], &["/etc/x"], true),
        ("curl -d @a https://a.example/x", Network, &[], &["a"], true),
        ("wget -q -O - https://a.example/x", Network, &[], &[], true),
        ("wget https://a.example/x", Network, &["."], &[], true),
        ("test -f a", ReadsOnly, &[], &[], true),
        ("[ a = b ]", ReadsOnly, &[], &[], true),
        ("install -s a b", Ordinary, &["b"], &["a"], false),
        ("date +%F", ReadsOnly, &[], &[], true),
        ("hostname x", Ordinary, &[], &[], false),
        ("command -v git", ReadsOnly, &[], &[], true),
    ];
    for (line, nature, writes, reads, bounded) in table {
        let analysis = analyse(line);
        let seen = (analysis.commands[0].nature, paths(&analysis.writes), paths(&analysis.reads), analysis.is_bounded());
        let text = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(seen, (*nature, text(writes), text(reads), *bounded), "{line}: {:?} {:?}", analysis.unknown, analysis.commands[0].notes);
    }
}

#[test]
fn hosts_are_named_or_the_line_is_not_followed() {
    let table: &[(&str, &[&str], bool)] = &[
        ("curl https://A.example/x http://b.example:80", &["a.example", "b.example"], true),
        ("curl --url https://a.example", &["a.example"], true),
        ("curl $x", &[], false),
        ("curl https://a@b/", &[], false),
        ("curl -x http://p https://a.example", &["a.example"], false),
        ("curl --resolve a:1:2 https://a.example", &["a.example"], false),
        ("curl --nosuch https://a.example", &["a.example"], false),
        ("curl file:///etc/passwd", &[], false),
        ("nc a.example 80", &[], false),
        ("scp a b:c", &[], false),
    ];
    for (line, hosts, followed) in table {
        let analysis = analyse(line);
        assert_eq!(
            (analysis.hosts.clone(), analysis.unknown.is_empty()),
            (hosts.iter().map(ToString::to_string).collect(), *followed),
            "{line}"
        );
    }
}

#[test]
fn a_change_of_directory_is_followed_only_at_the_beginning() {
    let table: &[(&str, Directory, &[&str])] = &[
        ("ls > a", Directory::Same, &["a"]),
        ("cd b && ls > a", Directory::Changed("b".into()), &["a"]),
        ("cd b && ls && touch a", Directory::Changed("b".into()), &["a"]),
        ("cd b; touch a", Directory::Unclear, &["a?"]),
        ("cd b && ls || touch a", Directory::Unclear, &["a?"]),
        ("cd b && touch a; ls", Directory::Unclear, &["a?"]),
        ("cd b && cd c && touch a", Directory::Unclear, &["a?"]),
        ("(cd b && touch a)", Directory::Unclear, &["a?"]),
        ("cd $x && touch a", Directory::Unclear, &["a?"]),
        ("cd - && touch a", Directory::Unclear, &["a?"]),
        ("sh -c 'cd b && touch a'", Directory::Unclear, &["a?"]),
        ("cd b; touch /a", Directory::Unclear, &["/a"]),
    ];
    for (line, directory, writes) in table {
        let analysis = analyse(line);
        let writes = writes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let clear = !writes.iter().any(|path| path.ends_with('?'));
        assert_eq!((&analysis.directory, paths(&analysis.writes), analysis.unknown.is_empty()), (directory, writes, clear), "{line}");
    }
}

#[test]
fn what_surrounds_a_command_is_told() {
    let analysis = analyse("a=1 p 2>&1 | q & r");
    let seen: Vec<(&str, bool, bool, usize, usize)> = analysis
        .commands
        .iter()
        .map(|command| (command.program.text(), command.background, command.piped, command.assignments.len(), command.redirections.len()))
        .collect();
    assert_eq!(seen, [("p", true, false, 1, 1), ("q", true, true, 0, 0), ("r", false, false, 0, 0)]);
}

#[test]
fn only_bash_reads_some_lines_so() {
    for (line, needs_bash) in [
        ("ls > a", false),
        ("[ a = b ]", false),
        ("[[ a == b ]]", true),
        ("ls &> a", true),
        ("ls |& cat", true),
        ("cat <(ls)", true),
        ("cat <<< a", true),
        ("echo $'a'", true),
        ("a=(1)", true),
        ("((1 + 2))", true),
        ("bash -c '[[ a == b ]]'", false),
    ] {
        assert_eq!(analyse(line).needs_bash, needs_bash, "{line}");
    }
}
