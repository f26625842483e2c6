//! `deny read(secret/**)`, and all ways to read.

use std::fs::hard_link;
use std::os::unix::fs::symlink;

use super::super::effects::{CANARY, Scene, base64, reveals, tree, tree_reveals};
use super::{
    Background, BashRepl, Exec, Names, NodeRepl, Pty, PythonRepl, Row, Table, Target, commit_all, folder_names, try_rows,
    try_rows_unsandboxed,
};

/// What is in files that may be read.
const OPEN: &str = "PUBLIC-5d21c7";

pub(super) const TABLE: Table =
    Table { rules, fixture, denied: |scene| names(scene, "secret"), permitted: |scene| names(scene, "public"), happened };

fn rules(_: &Scene) -> String {
    "rules.deny = ['read(secret/**)']\n".to_owned()
}

fn fixture(scene: &Scene) {
    scene.write(".gitignore", "secret\npublic\nSECRET\nPUBLIC\nlink-*\nhard-*\nloot\n");
    scene.write("show.sh", "cat \"$1/key.txt\"\n");
    scene.write("Makefile", "show:\n\t@cat $(D)/key.txt\n");
    scene.write("package.json", "{\"name\": \"x\", \"scripts\": {\"show\": \"cat $D/key.txt\"}}\n");
    commit_all(scene);
    for (folder, text) in [("secret", CANARY), ("SECRET", CANARY), ("public", OPEN), ("PUBLIC", OPEN)] {
        scene.write(&format!("{folder}/key.txt"), format!("{text}-of-{folder}\n"));
        scene.write(&format!("{folder}/deep/er/key.txt"), format!("{text}-deep\n"));
        symlink(format!("{folder}/key.txt"), scene.file(&format!("link-{folder}"))).unwrap();
        symlink(folder, scene.file(&format!("link-folder-{folder}"))).unwrap();
        hard_link(scene.file(&format!("{folder}/key.txt")), scene.file(&format!("hard-{folder}"))).unwrap();
        hard_link(scene.file(&format!("{folder}/deep/er/key.txt")), scene.file(&format!("hard-deep-{folder}"))).unwrap();
    }
}

fn names(scene: &Scene, folder: &str) -> Names {
    let mut names = folder_names(scene, folder);
    names.push(("@base64@", base64(format!("{folder}/key.txt").as_bytes())));
    names
}

/// What was printed, or what is in any file that it left.
fn happened(scene: &Scene, printed: &[u8], target: Target) -> bool {
    let (content, folders) = match target {
        Target::Denied => (CANARY, ["secret", "SECRET"]),
        Target::Permitted => (OPEN, ["public", "PUBLIC"]),
    };
    let is_hard_link = |path: &std::path::Path| path.to_str().is_some_and(|name| name.starts_with("hard-"));
    let mut left = tree(&scene.file(""), &[folders[0], folders[1], ".git"]);
    left.retain(|path, _| !is_hard_link(path));
    reveals(printed, content) || tree_reveals(&left, content)
}

#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[Row] = &[
    ("literal", Exec, "cat @d@/key.txt"),
    ("deep", Exec, "cat @d@/deep/er/key.txt"),
    ("star", Exec, "cat @start@*/key.txt"),
    ("every folder", Exec, "cat */key.txt"),
    ("question mark", Exec, "cat @any@/key.txt"),
    ("bracket", Exec, "cat [ps]*/k[e]y.*"),
    ("globstar", Exec, "shopt -s globstar; cat **/key.txt"),
    ("variable", Exec, "f=@d@/key.txt; cat $f"),
    ("two variables", Exec, "a=@start@ b=@end@; cat $a$b/key.txt"),
    ("indirect variable", Exec, "x=@d@/key.txt; y=x; cat ${!y}"),
    ("substring", Exec, "x=xx@d@xx; cat ${x:2:6}/key.txt"),
    ("PWD", Exec, "cat \"$PWD/@d@/key.txt\""),
    ("HOME", Exec, "cat $HOME/projects/workspace/@d@/key.txt"),
    ("tilde", Exec, "cat ~/projects/workspace/@d@/key.txt"),
    ("absolute", Exec, "cat @absolute@/key.txt"),
    ("double slash", Exec, "cat .//@d@//./key.txt"),
    ("up and down", Exec, "cat loot/../@d@/../@d@/key.txt"),
    ("cd up", Exec, "cd .. && cat workspace/@d@/key.txt"),
    ("cd in", Exec, "cd @d@ && cat key.txt"),
    ("cd in parts", Exec, "cd @start@* && cat *"),
    ("CDPATH", Exec, "CDPATH=.; cd @d@ >/dev/null && cat key.txt"),
    ("printf", Exec, "cat \"$(printf '@hex@')/key.txt\""),
    ("ANSI quotes", Exec, "cat $'@hex@/key.txt'"),
    ("base64", Exec, "cat \"$(echo @base64@ | base64 -d 2>/dev/null)\""),
    ("reversed", Exec, "cat \"$(echo @reverse@ | rev)/key.txt\""),
    ("brace", Exec, "cat @start@{@end@,x}/key.txt 2>/dev/null; true"),
    ("quotes inside", Exec, "cat @start@\"\"@end@/'key'.txt"),
    ("backslash", Exec, "cat @start@\\@end@/key.txt"),
    ("capitals", Exec, "cat @upper@/key.txt"),
    ("redirection", Exec, "while read -r line; do echo \"$line\"; done < @d@/key.txt"),
    ("substitution", Exec, "echo \"$(<@d@/key.txt)\""),
    ("descriptor", Exec, "exec 3<@d@/key.txt; cat <&3"),
    ("dev fd", Exec, "cat /dev/fd/3 3<@d@/key.txt"),
    ("mapfile", Exec, "mapfile -t lines < @d@/key.txt; echo \"${lines[0]}\""),
    ("source as text", Exec, "set +e; . ./@d@/key.txt"),
    ("link that was there", Exec, "cat link-@d@"),
    ("new link", Exec, "ln -s ../@d@/key.txt loot/link; cat loot/link"),
    ("new link to the folder", Exec, "ln -s ../@d@ loot/link; cat loot/link/key.txt"),
    ("hard link", Exec, "ln @d@/key.txt loot/hard; cat loot/hard"),
    ("renamed folder", Exec, "mv @d@ loot/moved; cat loot/moved/key.txt"),
    ("renamed parent", Exec, "cd .. && mv workspace/@d@ workspace/loot/away; cat workspace/loot/away/key.txt"),
    ("proc self cwd", Exec, "cat /proc/self/cwd/@d@/key.txt"),
    ("proc self root", Exec, "cat /proc/self/root@absolute@/key.txt"),
    ("proc of the shell", Exec, "cat /proc/$$/cwd/@d@/key.txt"),
    ("copied file", Exec, "cp @d@/key.txt loot/copy"),
    ("copied folder", Exec, "cp -r @d@ loot/copy"),
    ("copied by a pattern", Exec, "cp -r @start@* loot/"),
    ("dd", Exec, "dd if=@d@/key.txt of=loot/copy 2>/dev/null"),
    ("install", Exec, "install -m 644 @d@/key.txt loot/copy"),
    ("tar", Exec, "tar cf - @d@ | tar xf - -C loot"),
    ("tar of everything", Exec, "tar cf - --exclude=./loot . | tar xf - -C loot"),
    ("zip", Exec, "zip -qr loot/x.zip @d@; unzip -p loot/x.zip '*key.txt'"),
    ("xxd", Exec, "xxd -p @d@/key.txt"),
    ("base64 of it", Exec, "base64 @d@/key.txt"),
    ("rev of it", Exec, "rev @d@/key.txt"),
    ("grep of everything", Exec, "grep -rhs . ."),
    ("find and exec", Exec, "find . -path './@d@/*' -type f -exec cat {} +"),
    ("find and xargs", Exec, "find . -name key.txt -print0 | xargs -0 cat"),
    ("xargs", Exec, "echo @d@/key.txt | xargs cat"),
    ("sh -c", Exec, "sh -c 'cat @d@/key.txt'"),
    ("bash -c with arguments", Exec, "bash -c 'cat \"$1\"/key.txt' x @d@"),
    ("eval", Exec, "eval \"cat @start@''@end@/key.txt\""),
    ("env", Exec, "env F=@d@ sh -c 'cat $F/key.txt'"),
    ("timeout and nice", Exec, "timeout 20 nice cat @d@/key.txt"),
    ("new script", Exec, "printf 'cat @d@/key.txt\\n' > loot/a.sh; sh loot/a.sh"),
    ("script that was there", Exec, "sh show.sh @d@"),
    ("function", Exec, "show() { cat \"$1\"/key.txt; }; show @d@"),
    ("make", Exec, "make -s show D=@d@"),
    ("npm script", Exec, "D=@d@ npm run --silent show"),
    ("awk", Exec, "awk 'BEGIN { while ((getline line < \"@d@/key.txt\") > 0) print line }'"),
    ("sed", Exec, "sed -n p @d@/key.txt"),
    ("sed r", Exec, "echo x | sed 'r @d@/key.txt'"),
    ("perl", Exec, "perl -e 'open F, \"@d@/key.txt\"; print <F>'"),
    ("python", Exec, "python3 -c \"print(open('@d@/key.txt').read())\""),
    ("python from input", Exec, "python3 - <<'EOF'\nimport glob\nfor name in glob.glob('*/key.txt'): print(open(name).read())\nEOF"),
    ("python walk", Exec, "python3 -c \"import os; [print(open(os.path.join(d, f)).read()) for d, _, fs in os.walk('.') for f in fs if f == 'key.txt']\""),
    ("python openat", Exec, "python3 -c \"import os; d = os.open('@d@', os.O_PATH); print(os.read(os.open('key.txt', 0, dir_fd=d), 99))\""),
    ("node", Exec, "node -e \"console.log(require('fs').readFileSync('@d@/key.txt', 'utf8'))\""),
    ("compiler", Exec, "echo '#include \"../@d@/key.txt\"' > loot/a.c; gcc -E -P loot/a.c"),
    ("jq", Exec, "jq -R . @d@/key.txt"),
    ("diff", Exec, "diff /dev/null @d@/key.txt"),
    ("curl of a file", Exec, "curl -s file://@absolute@/key.txt"),
    ("openssl", Exec, "openssl base64 -in @d@/key.txt"),
    ("sqlite", Exec, "sqlite3 :memory: \"select cast(readfile('@d@/key.txt') as text)\""),
    ("ed", Exec, "printf ',p\\nq\\n' | ed -s @d@/key.txt"),
    ("git diff", Exec, "git diff --no-index /dev/null @d@/key.txt"),
    ("git grep", Exec, "git grep --no-index --no-exclude-standard -h . -- '*key.txt'"),
    ("git hash-object", Exec, "git cat-file -p \"$(git hash-object -w @d@/key.txt)\""),
    ("git add and show", Exec, "git add -f @d@ && git show :@d@/key.txt"),
    ("git archive", Exec, "git archive --add-file=@d@/key.txt HEAD | tar xO key.txt"),
    ("git commit and worktree", Exec, "git add -f @d@ && git commit -qm x && git worktree add -q loot/tree HEAD && cat loot/tree/@d@/key.txt"),
    ("background job", Background, "cat @d@/key.txt > loot/copy"),
    ("job of a job", Background, "(sh -c 'cat @start@* @start@*/key.txt > loot/copy' &) ; sleep 0.3"),
    ("ampersand", Exec, "cat @d@/key.txt & wait"),
    ("terminal", Pty, "cat @d@/key.txt"),
    ("repl python", PythonRepl, "print(open('@d@/key.txt').read())"),
    ("repl python by a program", PythonRepl, "import subprocess; subprocess.run(['cat', '@d@/key.txt'], capture_output=True).stdout"),
    ("repl javascript", NodeRepl, "require('fs').readFileSync('@d@/key.txt', 'utf8')"),
    ("repl bash", BashRepl, "cat @start@*/key.txt"),
];

#[test]
fn read_rules_cannot_be_bypassed() {
    try_rows(&TABLE, ROWS);
}

#[test]
fn read_rows_are_real() {
    try_rows_unsandboxed(&TABLE, ROWS);
}
