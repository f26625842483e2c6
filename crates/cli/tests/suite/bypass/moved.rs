//! `deny write(**/*.lock)` and new folders: they are moved to their places whole, unless a rule holds back something in them.

use std::fs;
use std::path::Path;

use super::{Exec, Names, Row, Table, Target, commit_all, try_rows, try_rows_unsandboxed};
use crate::suite::effects::Scene;

const TABLE: Table = Table {
    rules: |_| "rules.deny = ['write(**/*.lock)']\n".to_owned(),
    fixture,
    denied: |_| extension("lock"),
    permitted: |_| extension("text"),
    happened: |scene, _, target| {
        let ending = if target == Target::Denied { "lock" } else { "text" };
        holds(&scene.file("fresh"), ending) || holds(&scene.file("deep"), ending) || holds(&scene.file("file"), ending)
    },
};

fn extension(name: &str) -> Names {
    vec![("@e@", name.to_owned())]
}

fn fixture(scene: &Scene) {
    scene.write(".gitignore", "loot\n");
    scene.write("file", "as it was\n");
    scene.write("deep/er/plain", "as it was\n");
    commit_all(scene);
}

/// Whether a folder has a file with this ending, by whatever link, that was written.
fn holds(folder: &Path, ending: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        let is_it = path.extension().is_some_and(|found| found == ending);
        (is_it && fs::read_to_string(&path).is_ok_and(|text| text.contains("EVIL"))) || (!path.is_symlink() && holds(&path, ending))
    })
}

#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[Row] = &[
    ("deep in a new folder", Exec, "mkdir -p fresh/a/b && echo EVIL > fresh/a/b/x.@e@"),
    ("among many", Exec, "mkdir -p fresh/a && for i in $(seq 50); do echo $i > fresh/a/$i; done; echo EVIL > fresh/a/x.@e@"),
    ("folder with another name first", Exec, "mkdir -p first/b && echo EVIL > first/b/x.@e@ && mv first fresh"),
    ("folder from elsewhere", Exec, "mkdir -p ${TMPDIR:-/tmp}/t/b && echo EVIL > ${TMPDIR:-/tmp}/t/b/x.@e@ && mv ${TMPDIR:-/tmp}/t fresh"),
    ("file with another name first", Exec, "mkdir fresh && echo EVIL > fresh/plain && mv fresh/plain fresh/x.@e@"),
    ("hard link", Exec, "mkdir fresh && echo EVIL > fresh/plain && ln fresh/plain fresh/x.@e@"),
    ("link", Exec, "mkdir fresh && echo EVIL > fresh/plain && ln -s plain fresh/x.@e@"),
    ("link to the whole folder", Exec, "mkdir -p fresh/a && echo EVIL > fresh/a/x.@e@ && ln -s a fresh/b"),
    ("archive", Exec, "mkdir -p loot/t/q && echo EVIL > loot/t/q/x.@e@ && tar cf loot/t.tar -C loot/t q && mkdir fresh && tar xf loot/t.tar -C fresh"),
    ("folder in place of a file", Exec, "rm file && mkdir file && echo EVIL > file/x.@e@"),
    ("folder in place of a folder", Exec, "mv deep gone && mkdir deep && echo EVIL > deep/x.@e@"),
    ("folder in place of itself", Exec, "rm -r deep && mkdir -p deep/er && echo EVIL > deep/er/x.@e@"),
    ("python", Exec, "python3 -c \"import os, pathlib; os.makedirs('new/a'); pathlib.Path('new/a/x.@e@').write_text('EVIL'); os.rename('new', 'fresh')\""),
    ("git checkout", Exec, "git checkout -q -b other && mkdir fresh && echo EVIL > fresh/x.@e@ && git add -f fresh && git commit -qm x && git checkout -q main && git checkout -q other"),
    ("git worktree", Exec, "mkdir -p deep && echo EVIL > deep/x.@e@ && git add -f deep && git commit -qm x && git worktree add -q --detach fresh HEAD"),
];

#[test]
fn write_rules_hold_for_new_folders_that_are_moved() {
    try_rows(&TABLE, ROWS);
}

#[test]
fn rows_with_new_folders_are_real() {
    try_rows_unsandboxed(&TABLE, ROWS);
}
