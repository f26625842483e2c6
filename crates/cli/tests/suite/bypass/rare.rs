//! Programs that print a file when they fail at it or take it for something else, and options that few programs' users know.

use super::{BashRepl, Exec, NodeRepl, PythonRepl, Row, delete, read, run, try_rows, try_rows_unsandboxed, write};

#[rustfmt::skip] // one row a line
pub(super) const READS: &[Row] = &[
    ("error of the shell", Exec, "BASH_ENV=@d@/key.txt bash -c : 2>&1; true"),
    ("error of dash", Exec, "sh @d@/key.txt 2>&1; true"),
    ("error of python", Exec, "python3 @d@/key.txt 2>&1; true"),
    ("error of node", Exec, "node @d@/key.txt 2>&1; true"),
    ("error of the compiler", Exec, "gcc -x c -fsyntax-only @d@/key.txt 2>&1; true"),
    ("error of the assembler", Exec, "as -o loot/o @d@/key.txt 2>&1; gcc -E -P -x assembler-with-cpp @d@/key.txt; true"),
    ("error of date", Exec, "date -f @d@/key.txt 2>&1; true"),
    ("error of numfmt", Exec, "numfmt < @d@/key.txt 2>&1; true"),
    ("diff of folders", Exec, "diff -rN @d@ loot; true"),
    ("diff3", Exec, "diff3 -m @d@/key.txt /dev/null @d@/key.txt; true"),
    ("sdiff", Exec, "sdiff -w 300 @d@/key.txt /dev/null; true"),
    ("names for sort", Exec, "printf '@d@/key.txt\\0' | sort --files0-from=-"),
    ("names for tar", Exec, "echo @d@/key.txt | tar cf - -T - | tar xO"),
    ("names for rsync", Exec, "echo key.txt | rsync -a --files-from=- @d@/ loot/"),
    ("names for zip", Exec, "echo @d@/key.txt | zip -q loot/x.zip -@; unzip -p loot/x.zip"),
    ("difference to a copy", Exec, "cp -a --parents @d@/key.txt loot; cat loot/@d@/key.txt"),
    ("install", Exec, "install -D @d@/key.txt loot/in/x; cat loot/in/x"),
    ("csplit", Exec, "csplit -s -f loot/part @d@/key.txt 1; cat loot/part*"),
    ("uniq", Exec, "uniq @d@/key.txt"),
    ("join", Exec, "join -t '\\0' @d@/key.txt @d@/key.txt"),
    ("tsort", Exec, "tsort @d@/key.txt 2>/dev/null; ptx @d@/key.txt"),
    ("git blame of a file", Exec, "git blame -s --contents @d@/key.txt -- show.sh; true"),
    ("git message", Exec, "git commit -q --allow-empty -F @d@/key.txt; git log -1 --format=%B"),
    ("git tag", Exec, "git tag -f -F @d@/key.txt t; git cat-file -p t"),
    ("git mktag and mktree", Exec, "h=$(git hash-object -w --no-filters @d@/key.txt); printf '100644 blob %s\\tx\\n' $h | git mktree | xargs -I{} git show {}:x"),
    ("git fast-import", Exec, "printf 'blob\\nmark :1\\ndata %d\\n%s\\n' $(stat -c %s @d@/key.txt) \"$(cat @d@/key.txt)\" | git fast-import --quiet --export-marks=loot/m; cut -d' ' -f2 loot/m | xargs git cat-file -p"),
    ("git with another index", Exec, "GIT_INDEX_FILE=$PWD/loot/i git add -f @d@/key.txt; GIT_INDEX_FILE=$PWD/loot/i git show :@d@/key.txt"),
    ("git filter", Exec, "echo 'show.sh filter=x' > loot/a; git -c core.attributesFile=$PWD/loot/a -c filter.x.smudge='cat @d@/key.txt' -c filter.x.clean=cat cat-file --filters HEAD:show.sh"),
    ("git textconv", Exec, "echo 'show.sh diff=x' > loot/a; git -c core.attributesFile=$PWD/loot/a -c diff.x.textconv='cat @d@/key.txt; :' cat-file --textconv HEAD:show.sh"),
    ("git editor", Exec, "GIT_EDITOR='cat @d@/key.txt; :' git commit -q --allow-empty -m x --edit"),
    ("repl python by tokenize", PythonRepl, "import tokenize; print(tokenize.open('@d@/key.txt').read())"),
    ("repl javascript by a stream", NodeRepl, "require('readline').createInterface({input: require('fs').createReadStream('@d@/key.txt')}).on('line', line => console.log(line)); await new Promise(done => setTimeout(done, 300))"),
    ("repl bash by coproc", BashRepl, "coproc C { cat @d@/key.txt; }; read -r x <&\"${C[0]}\"; echo \"$x\""),
];

#[rustfmt::skip] // one row a line
pub(super) const WRITES: &[Row] = &[
    ("sqlite writefile", Exec, "sqlite3 :memory: \"select writefile('@d@/guide.md', 'EVIL')\""),
    ("patch in the folder", Exec, "patch -s -p2 -d @d@ < patches/@d@.patch"),
    ("git apply in the folder", Exec, "git apply -p2 --directory=@d@ patches/@d@.patch"),
    ("csplit into the folder", Exec, "echo EVIL > loot/x; csplit -s -f @d@/part loot/x 1"),
    ("shuf and uniq", Exec, "echo EVIL | shuf -o @d@/guide.md; echo EVIL | uniq - @d@/new.md"),
    ("install of a folder", Exec, "install -d @d@/sub; echo EVIL > loot/x; install -t @d@ loot/x"),
    ("output of openssl", Exec, "echo EVIL | openssl enc -base64 -out @d@/guide.md"),
    ("output of the compiler", Exec, "echo 'int x;' | gcc -x c -c - -o @d@/x.o"),
    ("output of curl", Exec, "echo EVIL > loot/x; curl -s -o @d@/guide.md file://$PWD/loot/x"),
    ("coproc", Exec, "coproc T { cat > @d@/guide.md; }; echo EVIL >&\"${T[1]}\"; eval \"exec ${T[1]}>&-\"; wait; sleep 0.1"),
    ("process substitution", Exec, "echo EVIL > >(tee @d@/guide.md > /dev/null); sleep 0.2"),
    ("git with another work tree", Exec, "git --git-dir=.git --work-tree=. checkout -q HEAD~1 -- @d@"),
    ("git unpack", Exec, "f=$(git unpack-file HEAD:a 2>/dev/null || git unpack-file HEAD:@d@/guide.md); echo EVIL > $f; mv $f @d@/"),
];

#[rustfmt::skip] // one row a line
pub(super) const DELETES: &[Row] = &[
    ("find by inode", Exec, "find . -inum $(stat -c %i @d@/a.txt) -delete"),
    ("zip that moves", Exec, "zip -qm loot/x.zip @d@/a.txt"),
    ("gzip in place", Exec, "gzip -f @d@/a.txt"),
    ("mv of the folder above", Exec, "mkdir -p loot/up && mv @d@ loot/up/"),
    ("install over it", Exec, "rm -rf @d@/deep && install -d @d@/deep"),
    ("rsync with an empty folder", Exec, "mkdir -p loot/none && rsync -a --delete loot/none/ @d@/"),
];

#[rustfmt::skip] // one row a line
pub(super) const RUNS: &[Row] = &[
    ("nameless file", Exec, "python3 -c \"import os; f = os.memfd_create('x', 0); os.write(f, open('@absolute@', 'rb').read()); os.execve(f, ['@p@', '--version'], dict(os.environ))\""),
    ("loader", Exec, "for l in /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.*; do [ -e $l ] && $l @absolute@ --version; done; true"),
    ("descriptor", Exec, "exec 9< @absolute@; /proc/self/fd/9 --version"),
    ("copy", Exec, "cp @absolute@ loot/tool; loot/tool --version"),
    ("find with another name", Exec, "find /usr/bin -name '@start@*' -path '*/@p@' -exec {} --version \\;"),
    ("git alias", Exec, "git -c alias.v='!@p@ --version' v"),
];

#[test]
fn read_rules_hold_for_rare_ways() {
    try_rows(&read::TABLE, READS);
}

#[test]
fn write_delete_and_exec_rules_hold_for_rare_ways() {
    try_rows(&write::TABLE, WRITES);
    try_rows(&delete::TABLE, DELETES);
    try_rows(&run::TABLE, RUNS);
}

#[test]
fn rare_ways_would_have_their_effect_outside() {
    try_rows_unsandboxed(&read::TABLE, READS);
    try_rows_unsandboxed(&write::TABLE, WRITES);
    try_rows_unsandboxed(&delete::TABLE, DELETES);
    try_rows_unsandboxed(&run::TABLE, RUNS);
}
