//! More ways around the same rules: tools that read or write files as a side effect, system calls that few programs use, descriptors that
//! are passed on, links that were there before, and Git.

use super::{Background, BashRepl, Exec, NodeRepl, PythonRepl, Row, delete, read, run, try_rows, try_rows_unsandboxed, write};

#[rustfmt::skip] // one row a line
pub(super) const READS: &[Row] = &[
    ("hard link that was there", Exec, "cat hard-@d@"),
    ("hard link into a deep folder", Exec, "cat hard-deep-@d@"),
    ("link to the folder that was there", Exec, "cat link-folder-@d@/key.txt"),
    ("hard links by inode", Exec, "find . -maxdepth 1 -name 'hard-@d@' -exec cat {} +"),
    ("copied hard link", Exec, "cp -l hard-@d@ loot/again 2>/dev/null; cat loot/again"),
    ("ar", Exec, "ar rc loot/x.a @d@/key.txt; ar p loot/x.a"),
    ("assembler", Exec, "printf '.incbin \"@d@/key.txt\"\\n' > loot/a.s; as loot/a.s -o loot/a.o"),
    ("linker", Exec, "ld -r -b binary -o loot/x.o @d@/key.txt"),
    ("make function", Exec, "printf '$(info $(file <@d@/key.txt))\\nall:\\n' > loot/m; make -s -f loot/m"),
    ("history", Exec, "set -o history; history -r @d@/key.txt; history"),
    ("verbose shell", Exec, "bash -v @d@/key.txt 2>&1; true"),
    ("xargs -a", Exec, "xargs -a @d@/key.txt echo"),
    ("date -f", Exec, "date -f @d@/key.txt 2>&1; true"),
    ("grep -f", Exec, "grep -o -f @d@/key.txt @d@/key.txt"),
    ("error of python", Exec, "python3 @d@/key.txt 2>&1; true"),
    ("error of node", Exec, "node -e \"try { require('./@d@/key.txt') } catch (e) { console.log(e.stack) }\""),
    ("tar -T", Exec, "echo @d@/key.txt > loot/names; tar cf - -T loot/names | tar xO"),
    ("rsync", Exec, "rsync -a @d@/ loot/copy/"),
    ("descriptor of a child", Exec, "exec 7<@d@/key.txt; bash -c 'cat <&7'"),
    ("descriptor by proc", Exec, "exec 7<@d@/key.txt; cat /proc/$$/fd/7"),
    ("descriptor over a socket", Exec, "python3 -c \"import socket, os; a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [os.open('@d@/key.txt', 0)]); print(os.read(socket.recv_fds(b, 1, 1)[1][0], 99))\""),
    ("path descriptor opened again", Exec, "python3 -c \"import os; p = os.open('@d@/key.txt', os.O_PATH); print(open('/proc/self/fd/%d' % p).read())\""),
    ("mmap", Exec, "python3 -c \"import mmap; f = open('@d@/key.txt', 'rb'); print(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:])\""),
    ("splice", Exec, "python3 -c \"import os; r, w = os.pipe(); os.splice(os.open('@d@/key.txt', 0), w, 99); print(os.read(r, 99))\""),
    ("copy_file_range", Exec, "python3 -c \"import os; os.copy_file_range(os.open('@d@/key.txt', 0), os.open('loot/c', os.O_CREAT | os.O_WRONLY), 99)\""),
    ("sendfile", Exec, "python3 -c \"import os; os.sendfile(os.open('loot/c', os.O_CREAT | os.O_WRONLY), os.open('@d@/key.txt', 0), 0, 99)\""),
    ("fchdir", Exec, "python3 -c \"import os; os.fchdir(os.open('@d@', os.O_PATH)); print(open('key.txt').read())\""),
    ("zip by python", Exec, "python3 -m zipfile -c loot/x.zip @d@/key.txt && python3 -m zipfile -e loot/x.zip loot/out"),
    ("jq --rawfile", Exec, "jq -n --rawfile f @d@/key.txt '$f'"),
    ("sqlite import", Exec, "sqlite3 :memory: 'create table t(x)' '.import @d@/key.txt t' 'select x from t'"),
    ("git commit -F", Exec, "git commit -q --allow-empty -F @d@/key.txt && git log -1 --format=%B"),
    ("git notes -F", Exec, "git notes add -f -F @d@/key.txt && git notes show"),
    ("git config --file", Exec, "git config --file @d@/key.txt --list 2>/dev/null; git --no-pager diff --no-index --word-diff /dev/null @d@/deep/er/key.txt"),
    ("git work tree", Exec, "git --git-dir=.git --work-tree=@d@ add -f key.txt && git show :key.txt"),
    ("git blob by its path", Exec, "git cat-file blob \"$(git hash-object -w --stdin < @d@/key.txt)\""),
    ("exported descriptor in the background", Background, "exec 8<@d@/key.txt; (sleep 0.1; cat <&8 > loot/copy) & wait"),
    ("repl python by ctypes", PythonRepl, "import ctypes; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(99); c.read(c.open(b'@d@/key.txt', 0), b, 99); b.value"),
    ("repl javascript by a stream", NodeRepl, "await new Promise(done => require('fs').createReadStream('@d@/key.txt').on('data', d => done(String(d))).on('error', e => done(e.code)))"),
    ("repl bash by a link", BashRepl, "ln -sf ../@d@ loot/l; cat loot/l/key.txt"),
];

#[rustfmt::skip] // one row a line
pub(super) const WRITES: &[Row] = &[
    ("exchange", Exec, "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'archive/@d@', -100, b'@d@', 2)\""),
    ("copy_file_range", Exec, "python3 -c \"import os; os.copy_file_range(os.open('archive/@d@/guide.md', 0), os.open('@d@/guide.md', os.O_WRONLY), 4)\""),
    ("splice", Exec, "python3 -c \"import os; r, w = os.pipe(); os.write(w, b'EVIL'); os.splice(r, os.open('@d@/guide.md', os.O_WRONLY), 4)\""),
    ("hole", Exec, "fallocate -p -o 0 -l 4 @d@/guide.md"),
    ("kept descriptor", Exec, "exec 6>>@d@/guide.md; echo EVIL >&6"),
    ("descriptor by proc", Exec, "exec 6<@d@/guide.md; echo EVIL > /proc/self/fd/6"),
    ("rsync", Exec, "rsync -a --ignore-times archive/@d@/ @d@/"),
    ("find -fprintf", Exec, "find . -maxdepth 0 -fprintf @d@/guide.md EVIL"),
    ("sort -o", Exec, "echo EVIL | sort -o @d@/guide.md"),
    ("openssl -out", Exec, "echo EVIL | openssl base64 -out @d@/guide.md"),
    ("curl -o", Exec, "curl -s file:///etc/hostname -o @d@/guide.md"),
    ("split", Exec, "echo EVIL | split - @d@/x"),
    ("process substitution", Exec, "echo EVIL > >(cat > @d@/guide.md); sleep 0.3"),
    ("terminal log", Exec, "script -qec 'echo EVIL' @d@/guide.md >/dev/null"),
    ("pipe", Exec, "mkfifo @d@/pipe"),
    ("tar through a link", Exec, "ln -s ../@d@ loot/@d@; tar cf - -C archive @d@ | tar xf - -C loot --keep-directory-symlink"),
    ("git reset", Exec, "git reset -q --hard HEAD~1"),
    ("git show", Exec, "git show HEAD~1:@d@/guide.md > @d@/guide.md"),
    ("git read-tree", Exec, "git read-tree HEAD~1 && git checkout-index -f -a"),
    ("git worktree", Exec, "git worktree add -q --detach @d@/tree HEAD"),
    ("git clone", Exec, "git clone -q . @d@/copy"),
    ("git init", Exec, "git init -q @d@/new"),
    ("git cherry-pick", Exec, "git checkout -q -b other HEAD~1 && git checkout -q main -- . 2>/dev/null; git checkout -q -f other"),
    ("npm script", Exec, "printf '{\"scripts\":{\"x\":\"echo EVIL > ../@d@/guide.md\"}}' > loot/package.json; cd loot && npm run --silent x"),
    ("repl python by ctypes", PythonRepl, "import ctypes; c = ctypes.CDLL(None); c.write(c.open(b'@d@/guide.md', 1), b'EVIL', 4)"),
    ("repl javascript by a stream", NodeRepl, "await new Promise(done => require('fs').createWriteStream('@d@/guide.md').on('error', e => done(e.code)).end('EVIL', done))"),
    ("background loop", Background, "for i in 1 2 3; do echo EVIL > @d@/guide.md; sleep 0.05; done"),
];

#[rustfmt::skip] // one row a line
pub(super) const DELETES: &[Row] = &[
    ("renamed over another", Exec, "mv -f @d@/untracked.txt @d@/a.txt"),
    ("rsync --delete", Exec, "mkdir loot/empty; rsync -a --delete loot/empty/ @d@/"),
    ("gzip", Exec, "gzip @d@/a.txt"),
    ("find -execdir", Exec, "find @d@ -name a.txt -execdir rm {} \\;"),
    ("trap", Exec, "trap 'rm -f @d@/a.txt' EXIT"),
    ("subshell in the background", Exec, "(rm @d@/a.txt) & wait"),
    ("process substitution", Exec, "cat <(rm @d@/a.txt)"),
    ("here-string", Exec, "bash <<< 'rm @d@/a.txt'"),
    ("unlinkat", Exec, "python3 -c \"import os; os.unlink('a.txt', dir_fd=os.open('@d@', os.O_PATH))\""),
    ("git rm and clean", Exec, "git rm -rq --cached @d@ && git clean -fdq -- @d@"),
    ("git reset to before", Exec, "git reset -q --hard without-@d@"),
    ("repl javascript of a folder", NodeRepl, "require('fs').rmSync('@d@', {recursive: true, force: true})"),
];

#[rustfmt::skip] // one row a line
pub(super) const RUNS: &[Row] = &[
    ("positional arguments", Exec, "bash -c '\"$@\"' x @p@ --version"),
    ("process substitution", Exec, "cat <(@p@ --version)"),
    ("flock", Exec, "flock loot/l @p@ --version"),
    ("stdbuf", Exec, "stdbuf -o0 @p@ --version"),
    ("tar checkpoint", Exec, "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='@p@ --version' Makefile"),
    ("editor of Git", Exec, "GIT_EDITOR='@p@ --version #' git commit -q --allow-empty --amend"),
    ("filter of Git", Exec, "echo '* filter=x' > .gitattributes; git -c filter.x.clean='@p@ --version' hash-object --path=Makefile Makefile > /dev/null; git -c filter.x.clean='@p@ --version' hash-object -w --path=Makefile Makefile | xargs git cat-file -p"),
    ("memory file", Exec, "python3 -c \"import os; f = os.memfd_create('x', 0); os.write(f, open('@absolute@', 'rb').read()); os.execv('/proc/self/fd/%d' % f, ['x', '--version'])\""),
    ("spawn", Exec, "python3 -c \"import os; os.waitpid(os.posix_spawn('@absolute@', ['x', '--version'], os.environ), 0)\""),
    ("npm exec", Exec, "npm exec --offline -c '@p@ --version'"),
    ("shared descriptor", Exec, "exec 9<@absolute@; /proc/self/fd/9 --version"),
    ("archive", Exec, "tar cf - -C /usr/bin @p@ | tar xf - -C loot && loot/@p@ --version"),
];

#[test]
fn read_rules_hold_for_side_effects_of_tools_and_links() {
    try_rows(&read::TABLE, READS);
}

#[test]
fn write_rules_hold_for_side_effects_of_tools() {
    try_rows(&write::TABLE, WRITES);
}

#[test]
fn delete_and_exec_rules_hold_for_side_effects_of_tools() {
    try_rows(&delete::TABLE, DELETES);
    try_rows(&run::TABLE, RUNS);
}

#[test]
fn further_rows_are_real() {
    for (table, rows) in [(&read::TABLE, READS), (&write::TABLE, WRITES), (&delete::TABLE, DELETES), (&run::TABLE, RUNS)] {
        try_rows_unsandboxed(table, rows);
    }
}
