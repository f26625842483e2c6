//! Programs that seldom read, write or delete, system calls by their number, and parts of Git and Python that few know.

use super::{BashRepl, Exec, NodeRepl, PythonRepl, Row, delete, read, run, try_rows, try_rows_unsandboxed, write};

#[rustfmt::skip] // one row a line
pub(super) const READS: &[Row] = &[
    ("pr", Exec, "pr -t @d@/key.txt"),
    ("fold", Exec, "fold -w 500 @d@/key.txt"),
    ("paste", Exec, "paste @d@/key.txt"),
    ("comm", Exec, "comm @d@/key.txt /dev/null"),
    ("tac", Exec, "tac @d@/key.txt"),
    ("shuf", Exec, "shuf @d@/key.txt"),
    ("basenc and back", Exec, "basenc --base16 @d@/key.txt | basenc --base16 -d"),
    ("tail that follows", Exec, "timeout 1 tail -f @d@/key.txt; true"),
    ("read of the shell", Exec, "read -r x < @d@/key.txt; echo \"$x\""),
    ("link in the temporary folder", Exec, "ln -sfn \"$PWD/@d@\" /tmp/to-@d@; cat /tmp/to-@d@/key.txt; rm /tmp/to-@d@"),
    ("git grep without a repository", Exec, "git grep --no-index -h . -- @d@/key.txt"),
    ("git interpret-trailers", Exec, "git interpret-trailers @d@/key.txt"),
    ("git stripspace", Exec, "git stripspace < @d@/key.txt"),
    ("git add by force", Exec, "git add -f @d@/key.txt; git show :@d@/key.txt; git rm -q --cached @d@/key.txt"),
    ("git hash-object", Exec, "git hash-object -w @d@/key.txt | xargs git cat-file -p"),
    ("git diff with nothing", Exec, "git diff --no-index /dev/null @d@/key.txt; true"),
    ("git archive with a file", Exec, "git archive --add-file=@d@/key.txt HEAD | tar xO"),
    ("openssl", Exec, "openssl enc -base64 -in @d@/key.txt"),
    ("jq", Exec, "jq -Rr . @d@/key.txt"),
    ("make include", Exec, "printf '$(info $(file < @d@/key.txt))\\nall:;@:\\n' | make -s -f -"),
    ("folders that change places", Exec, "mkdir loot/in; python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'@d@', -100, b'loot/in', 2)\"; cat loot/in/key.txt @d@/key.txt"),
    ("linecache", Exec, "python3 -c \"import linecache; print(linecache.getline('@d@/key.txt', 1))\""),
    ("preadv", Exec, "python3 -c \"import os; b = bytearray(99); os.preadv(os.open('@d@/key.txt', 0), [b], 0); print(b)\""),
    ("openat2 by its number", Exec, "python3 -c \"import ctypes, os, struct; print(os.read(ctypes.CDLL(None).syscall(437, -100, b'@d@/key.txt', struct.pack('QQQ', 0, 0, 0), 24), 99))\""),
    ("address of a file", Exec, "node -e \"process.stdout.write(require('fs').readFileSync(new URL('file://' + process.cwd() + '/@d@/key.txt')))\""),
    ("repl python by fileinput", PythonRepl, "import fileinput; print(list(fileinput.input('@d@/key.txt')))"),
    ("repl bash by mapfile", BashRepl, "mapfile -t lines < @d@/key.txt; echo \"${lines[0]}\""),
];

#[rustfmt::skip] // one row a line
pub(super) const WRITES: &[Row] = &[
    ("clobbered by force", Exec, "set -C; echo EVIL >| @d@/guide.md"),
    ("output of the shell", Exec, "exec > @d@/guide.md; echo EVIL"),
    ("nameless file with a name", Exec, "python3 -c \"import ctypes, os; f = os.open('@d@', os.O_TMPFILE | os.O_WRONLY); os.write(f, b'EVIL'); ctypes.CDLL(None).linkat(-100, b'/proc/self/fd/%d' % f, -100, b'@d@/new.md', 0x400)\""),
    ("pwritev", Exec, "python3 -c \"import os; os.pwritev(os.open('@d@/guide.md', os.O_WRONLY), [b'EVIL'], 0)\""),
    ("ftruncate", Exec, "python3 -c \"import os; os.ftruncate(os.open('@d@/guide.md', os.O_WRONLY), 1)\""),
    ("shared mapping", Exec, "python3 -c \"import mmap; f = open('@d@/guide.md', 'r+b'); mmap.mmap(f.fileno(), 0)[:2] = b'EV'\""),
    ("database", Exec, "sqlite3 @d@/x.db 'create table t(x)'"),
    ("socket in the folder", Exec, "python3 -c \"import os, stat; os.mknod('@d@/node', 0o600 | stat.S_IFIFO)\""),
    ("git archive -o", Exec, "git archive -o @d@/x.tar HEAD"),
    ("git bundle", Exec, "git bundle create -q @d@/x.bundle HEAD"),
    ("git format-patch", Exec, "git format-patch -q -1 -o @d@"),
    ("git checkout-index", Exec, "git checkout-index -a -f --prefix=@d@/copy/"),
    ("compiled python", Exec, "echo 'x = 1' > loot/m.py; python3 -c \"import py_compile; py_compile.compile('loot/m.py', cfile='@d@/m.pyc')\""),
    ("repl javascript by cpSync", NodeRepl, "require('fs').cpSync('archive/@d@', '@d@', {recursive: true})"),
];

#[rustfmt::skip] // one row a line
pub(super) const DELETES: &[Row] = &[
    ("tar that removes", Exec, "tar --remove-files -cf loot/x.tar @d@/a.txt"),
    ("rsync that removes", Exec, "rsync -a --remove-source-files @d@/a.txt loot/"),
    ("os.replace", Exec, "python3 -c \"import os; os.replace('@d@/a.txt', 'loot/x')\""),
    ("pathlib", Exec, "python3 -c \"import pathlib; pathlib.Path('@d@', 'a.txt').unlink()\""),
    ("shutil.move", Exec, "python3 -c \"import shutil; shutil.move('@d@/deep', 'loot/deep')\""),
    ("perl", Exec, "perl -e 'unlink shift' @d@/a.txt"),
    ("unlinkat of the C library", Exec, "python3 -c \"import ctypes; ctypes.CDLL(None).unlinkat(-100, b'@d@/a.txt', 0)\""),
    ("git stash with untracked files", Exec, "git stash -q -u -- @d@"),
];

#[rustfmt::skip] // one row a line
pub(super) const RUNS: &[Row] = &[
    ("standard path", Exec, "command -p @p@ --version"),
    ("terminal of python", Exec, "python3 -c \"import pty; pty.spawn(['@p@', '--version'])\""),
    ("spawnSync", Exec, "node -e \"require('child_process').spawnSync('@p@', ['--version'], {stdio: 'inherit'})\""),
    ("exec of perl", Exec, "perl -e 'exec @ARGV' @p@ --version"),
    ("words of a file", Exec, "printf '%s\\n' '@p@ --version' > loot/cmd; bash < loot/cmd"),
    ("link with another name", Exec, "ln -sf @absolute@ loot/tool; loot/tool --version"),
];

#[test]
fn read_rules_hold_for_uncommon_programs() {
    try_rows(&read::TABLE, READS);
}

#[test]
fn write_rules_hold_for_uncommon_programs() {
    try_rows(&write::TABLE, WRITES);
}

#[test]
fn delete_and_exec_rules_hold_for_uncommon_programs() {
    try_rows(&delete::TABLE, DELETES);
    try_rows(&run::TABLE, RUNS);
}

#[test]
fn uncommon_lines_would_have_their_effect_outside() {
    try_rows_unsandboxed(&read::TABLE, READS);
    try_rows_unsandboxed(&write::TABLE, WRITES);
    try_rows_unsandboxed(&delete::TABLE, DELETES);
    try_rows_unsandboxed(&run::TABLE, RUNS);
}
