//! `deny delete(keep/**)`, and all ways to delete.

use super::super::effects::{Scene, user_git_text};
use super::{
    Background, BashRepl, Exec, NodeRepl, Pty, PythonRepl, Row, Table, Target, commit_all, folder_names, try_rows, try_rows_unsandboxed,
};

pub(super) const TABLE: Table = Table {
    rules: |_| "rules.deny = ['delete(keep/**)']\n".to_owned(),
    fixture,
    denied: |scene| folder_names(scene, "keep"),
    permitted: |scene| folder_names(scene, "toss"),
    happened: |scene, _, target| {
        let folder = if target == Target::Denied { "keep" } else { "toss" };
        let names = ["a.txt", "deep/b.txt", "untracked.txt"];
        !names.iter().all(|name| scene.file(folder).join(name).is_file())
    },
};

fn fixture(scene: &Scene) {
    scene.write(".gitignore", "loot\n");
    scene.write("Makefile", "spoil:\n\t@rm -rf $(D)\n");
    commit_all(scene);
    for folder in ["keep", "toss"] {
        scene.write(&format!("{folder}/a.txt"), "a\n");
        scene.write(&format!("{folder}/deep/b.txt"), "b\n");
        user_git_text(scene, "", &["add", folder]);
        user_git_text(scene, "", &["commit", "-qm", folder]);
        // A branch on which the other folder alone is.
        user_git_text(scene, "", &["branch", &format!("without-{}", if folder == "keep" { "toss" } else { "both" })]);
    }
    user_git_text(scene, "", &["checkout", "-q", "-b", "without-keep"]);
    user_git_text(scene, "", &["rm", "-rq", "keep"]);
    user_git_text(scene, "", &["commit", "-qm", "without keep"]);
    user_git_text(scene, "", &["checkout", "-q", "main"]);
    for folder in ["keep", "toss"] {
        scene.write(&format!("{folder}/untracked.txt"), "u\n");
    }
}

#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[Row] = &[
    ("literal", Exec, "rm @d@/a.txt"),
    ("recursive", Exec, "rm -rf @d@"),
    ("unlink", Exec, "unlink @d@/a.txt"),
    ("star", Exec, "rm @start@*/a.txt"),
    ("everything", Exec, "cd @d@ && rm -rf ./*"),
    ("variable", Exec, "f=@d@/a.txt; rm $f"),
    ("printf", Exec, "rm \"$(printf '@hex@')/a.txt\""),
    ("absolute", Exec, "rm @absolute@/a.txt"),
    ("proc self cwd", Exec, "rm /proc/self/cwd/@d@/a.txt"),
    ("find -delete", Exec, "find @start@* -name a.txt -delete"),
    ("find and exec", Exec, "find . -path './@d@/*' -name a.txt -exec rm {} +"),
    ("xargs", Exec, "echo @d@/a.txt | xargs rm"),
    ("moved file", Exec, "mv @d@/a.txt loot/"),
    ("moved folder", Exec, "mv @d@ loot/moved"),
    ("moved deep folder", Exec, "mv @d@/deep loot/moved"),
    ("link", Exec, "ln -s ../@d@ loot/link; rm loot/link/a.txt"),
    ("sh -c", Exec, "sh -c 'rm @d@/a.txt'"),
    ("eval", Exec, "eval 'rm @start@'@end@/a.txt"),
    ("script", Exec, "echo 'rm @d@/a.txt' > loot/a.sh; sh loot/a.sh"),
    ("make", Exec, "make -s spoil D=@d@"),
    ("python", Exec, "python3 -c \"import os; os.remove('@d@/a.txt')\""),
    ("python rmtree", Exec, "python3 -c \"import shutil; shutil.rmtree('@d@')\""),
    ("node", Exec, "node -e \"require('fs').rmSync('@d@', {recursive: true})\""),
    ("perl", Exec, "perl -e 'unlink \"@d@/a.txt\"'"),
    ("tar", Exec, "tar --remove-files -cf loot/x.tar @d@/a.txt"),
    ("zip", Exec, "zip -qm loot/x.zip @d@/a.txt"),
    ("shred", Exec, "shred -u @d@/a.txt"),
    ("git rm", Exec, "git rm -qf @d@/a.txt"),
    ("git clean", Exec, "git clean -fdqx -- @d@"),
    ("git checkout", Exec, "git checkout -q without-@d@"),
    ("git stash", Exec, "git stash push -qu -- @d@"),
    ("git mv", Exec, "git mv @d@/a.txt loot-a.txt"),
    ("background job", Background, "rm @d@/a.txt"),
    ("terminal", Pty, "rm @d@/a.txt"),
    ("repl python", PythonRepl, "import os; os.remove('@d@/a.txt')"),
    ("repl javascript", NodeRepl, "require('fs').unlinkSync('@d@/a.txt')"),
    ("repl bash", BashRepl, "rm @start@*/a.txt"),
];

#[test]
fn delete_rules_cannot_be_bypassed() {
    try_rows(&TABLE, ROWS);
}

#[test]
fn delete_rows_are_real() {
    try_rows_unsandboxed(&TABLE, ROWS);
}
