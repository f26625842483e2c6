//! `deny write(docs/**)` and `deny write(**/*.lock)`, and all ways to write.

use std::fs;
use std::path::Path;

use super::super::effects::{Entry, Scene, tree, user_git_text};
use super::{
    Background, BashRepl, Exec, Names, NodeRepl, Pty, PythonRepl, Row, Table, Target, commit_all, folder_names, try_rows,
    try_rows_unsandboxed,
};

const FOLDERS: [&str; 4] = ["docs", "memo", "DOCS", "MEMO"];

pub(super) const TABLE: Table = Table {
    rules: |_| "rules.deny = ['write(docs/**)']\n".to_owned(),
    fixture,
    denied: |scene| folder_names(scene, "docs"),
    permitted: |scene| folder_names(scene, "memo"),
    happened,
};

/// A rule on files that no mount can express.
const GLOBS: Table = Table {
    rules: |_| "rules.deny = ['write(**/*.lock)']\n".to_owned(),
    fixture,
    denied: |_| extension("lock"),
    permitted: |_| extension("text"),
    happened: |scene, _, target| {
        let names = match target {
            Target::Denied => ["deps.lock", "deep/er/deps.lock", "deep/new.lock", "new.lock"],
            Target::Permitted => ["deps.text", "deep/er/deps.text", "deep/new.text", "new.text"],
        };
        names.iter().any(|name| fs::read_to_string(scene.file(name)).is_ok_and(|text| text.contains("EVIL")))
    },
};

fn extension(name: &str) -> Names {
    vec![("@e@", name.to_owned())]
}

fn fixture(scene: &Scene) {
    scene.write(".gitignore", "loot\n");
    scene.write("Makefile", "spoil:\n\t@echo EVIL > $(D)/guide.md\n");
    for folder in FOLDERS {
        scene.write(&format!("{folder}/guide.md"), "EVIL: the first version\n");
    }
    for name in ["deps", "deep/er/deps"] {
        scene.write(&format!("{name}.lock"), "as it was\n");
        scene.write(&format!("{name}.text"), "as it was\n");
    }
    commit_all(scene);
    for folder in FOLDERS {
        scene.write(&format!("{folder}/guide.md"), "as it was\n");
    }
    user_git_text(scene, "", &["commit", "-qam", "second"]);
    for folder in FOLDERS {
        let patch = format!("--- a/{folder}/guide.md\n+++ b/{folder}/guide.md\n@@ -1 +1 @@\n-as it was\n+EVIL\n");
        scene.write(&format!("patches/{folder}.patch"), patch);
        scene.write(&format!("archive/{folder}/guide.md"), "EVIL\n");
    }
}

/// Whether anything in one of the folders is no longer as it was.
fn happened(scene: &Scene, _: &[u8], target: Target) -> bool {
    let folders = match target {
        Target::Denied => ["docs", "DOCS"],
        Target::Permitted => ["memo", "MEMO"],
    };
    let is_untouched = |folder: &str| {
        let found = tree(&scene.file(folder), &[]);
        found.len() == 1 && found.get(Path::new("guide.md")) == Some(&Entry::File(b"as it was\n".to_vec()))
    };
    !folders.into_iter().all(is_untouched)
}

#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[Row] = &[
    ("literal", Exec, "echo EVIL > @d@/guide.md"),
    ("appended", Exec, "echo EVIL >> @d@/guide.md"),
    ("clobbered", Exec, "echo EVIL >| @d@/guide.md"),
    ("new file", Exec, "echo EVIL > @d@/new.md"),
    ("new folder", Exec, "mkdir @d@/sub && touch @d@/sub/x"),
    ("touch", Exec, "touch @d@/new.md"),
    ("tee", Exec, "echo EVIL | tee @d@/guide.md"),
    ("cp", Exec, "echo EVIL > loot/x; cp loot/x @d@/guide.md"),
    ("cp of a folder", Exec, "cp -r archive/@d@ ."),
    ("mv over it", Exec, "echo EVIL > loot/x; mv loot/x @d@/guide.md"),
    ("install", Exec, "echo EVIL > loot/x; install -m 644 loot/x @d@/guide.md"),
    ("ln over it", Exec, "ln -sf /etc/hostname @d@/guide.md"),
    ("sed -i", Exec, "sed -i s/as/EVIL/ @d@/guide.md"),
    ("sed -i with a pattern", Exec, "sed -i s/as/EVIL/ @start@*/*.md"),
    ("perl -pi", Exec, "perl -pi -e 's/as/EVIL/' @d@/guide.md"),
    ("ed", Exec, "printf '1c\\nEVIL\\n.\\nw\\nq\\n' | ed -s @d@/guide.md"),
    ("dd", Exec, "echo EVIL | dd of=@d@/guide.md 2>/dev/null"),
    ("truncate", Exec, "truncate -s 0 @d@/guide.md"),
    ("variable", Exec, "f=@d@/guide.md; echo EVIL > $f"),
    ("loop over a pattern", Exec, "for f in @start@*/guide.md; do echo EVIL > \"$f\"; done"),
    ("printf", Exec, "echo EVIL > \"$(printf '@hex@')/guide.md\""),
    ("capitals", Exec, "echo EVIL > @upper@/guide.md"),
    ("capitals in a variable", Exec, "f=@upper@; echo EVIL > $f/guide.md"),
    ("cd", Exec, "cd @d@ && echo EVIL > guide.md"),
    ("cd up", Exec, "cd .. && echo EVIL > workspace/@d@/guide.md"),
    ("absolute", Exec, "echo EVIL > @absolute@/guide.md"),
    ("proc self cwd", Exec, "echo EVIL > /proc/self/cwd/@d@/guide.md"),
    ("proc self root", Exec, "echo EVIL > /proc/self/root@absolute@/guide.md"),
    ("link to the folder", Exec, "ln -s ../@d@ loot/link; echo EVIL > loot/link/guide.md"),
    ("link to the file", Exec, "ln -s ../@d@/guide.md loot/link; echo EVIL > loot/link"),
    ("hard link", Exec, "ln @d@/guide.md loot/hard; echo EVIL > loot/hard"),
    ("renamed folder and back", Exec, "mv @d@ loot/moved && echo EVIL > loot/moved/guide.md; mv loot/moved @d@"),
    ("replaced folder", Exec, "mv @d@ loot/moved && mv archive/@d@ @d@"),
    ("sh -c", Exec, "sh -c 'echo EVIL > @d@/guide.md'"),
    ("eval", Exec, "eval 'echo EVIL > @start@'@end@/guide.md"),
    ("xargs", Exec, "echo @d@/guide.md | xargs sed -i s/as/EVIL/"),
    ("find and exec", Exec, "find @start@* -name guide.md -exec sed -i s/as/EVIL/ {} +"),
    ("script", Exec, "echo 'echo EVIL > @d@/guide.md' > loot/a.sh; sh loot/a.sh"),
    ("make", Exec, "make -s spoil D=@d@"),
    ("awk", Exec, "awk 'BEGIN { print \"EVIL\" > \"@d@/guide.md\" }'"),
    ("sed w", Exec, "echo EVIL | sed -n 'w @d@/guide.md'"),
    ("python", Exec, "python3 -c \"open('@d@/guide.md', 'w').write('EVIL')\""),
    ("python openat", Exec, "python3 -c \"import os; d = os.open('@d@', os.O_PATH); os.write(os.open('guide.md', os.O_WRONLY, dir_fd=d), b'EVIL')\""),
    ("python mmap", Exec, "python3 -c \"import mmap; f = open('@d@/guide.md', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:4] = b'EVIL'\""),
    ("node", Exec, "node -e \"require('fs').writeFileSync('@d@/guide.md', 'EVIL')\""),
    ("perl", Exec, "perl -e 'open F, \">@d@/guide.md\"; print F \"EVIL\"'"),
    ("compiler", Exec, "echo 'int main;' | gcc -E -x c - -o @d@/guide.md"),
    ("tar", Exec, "tar cf - -C archive @d@ | tar xf -"),
    ("zip", Exec, "(cd archive && zip -qr ../loot/x.zip @d@); unzip -qo loot/x.zip"),
    ("patch", Exec, "patch -p1 < patches/@d@.patch"),
    ("git apply", Exec, "git apply patches/@d@.patch"),
    ("git checkout", Exec, "git checkout -q HEAD~1 -- @d@/guide.md"),
    ("git restore", Exec, "git restore -q --source=HEAD~1 -- @d@"),
    ("git archive", Exec, "git archive HEAD~1 @d@ | tar xf -"),
    ("git mv", Exec, "git mv @d@/guide.md @d@/other.md"),
    ("sqlite", Exec, "sqlite3 @d@/new.db 'create table t(x)'"),
    ("background job", Background, "echo EVIL > @d@/guide.md"),
    ("terminal", Pty, "echo EVIL > @d@/guide.md"),
    ("repl python", PythonRepl, "open('@d@/guide.md', 'w').write('EVIL')"),
    ("repl javascript", NodeRepl, "require('fs').writeFileSync('@d@/guide.md', 'EVIL')"),
    ("repl bash", BashRepl, "echo EVIL > @start@@end@/guide.md"),
];

#[rustfmt::skip] // one row a line
pub(super) const GLOB_ROWS: &[Row] = &[
    ("literal", Exec, "echo EVIL > deps.@e@"),
    ("below", Exec, "echo EVIL > deep/er/deps.@e@"),
    ("new", Exec, "echo EVIL > new.@e@"),
    ("new below", Exec, "echo EVIL > deep/new.@e@"),
    ("variable", Exec, "e=@e@; echo EVIL > deps.$e"),
    ("pattern", Exec, "for f in *.@e@; do echo EVIL > \"$f\"; done"),
    ("mv", Exec, "echo EVIL > loot/x; mv loot/x deps.@e@"),
    ("mv of a folder", Exec, "mkdir loot/d && echo EVIL > loot/d/deps.@e@ && rm -rf deep/er && mv loot/d deep/er"),
    ("tar", Exec, "mkdir loot/d && echo EVIL > loot/d/new.@e@ && tar cf - -C loot/d . | tar xf -"),
    ("python", Exec, "python3 -c \"open('deps.@e@', 'w').write('EVIL')\""),
    ("script", Exec, "echo 'echo EVIL > deps.@e@' > loot/a.sh; sh loot/a.sh"),
    ("hard link", Exec, "ln deps.@e@ loot/h; echo EVIL > loot/h"),
    ("repl python", PythonRepl, "open('deps.@e@', 'w').write('EVIL')"),
];

#[test]
fn write_rules_cannot_be_bypassed() {
    try_rows(&TABLE, ROWS);
}

#[test]
fn write_rules_on_files_cannot_be_bypassed() {
    try_rows(&GLOBS, GLOB_ROWS);
}

#[test]
fn write_rows_are_real() {
    try_rows_unsandboxed(&TABLE, ROWS);
    try_rows_unsandboxed(&GLOBS, GLOB_ROWS);
}
