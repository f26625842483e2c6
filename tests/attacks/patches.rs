//! A21 and A24: patches that name something forbidden, anywhere, change nothing at all.

use std::os::unix::fs::symlink;
use std::path::Path;

use haft::ErrorKind;
use serde_json::json;

use crate::snapshot;
use crate::world::{World, failure, put};

/// Links to folders and files outside, and something protected.
fn traps(base: &Path, ws: &Path) {
    symlink(base.join("vault"), ws.join("out")).unwrap();
    symlink(base.join("vault/canary.txt"), ws.join("to-canary.txt")).unwrap();
    symlink("../out", ws.join("sub/twice")).unwrap();
    for name in [".git/config", ".git/hooks/pre-commit", ".haft/config.toml", "nested/.git/config", "one.txt", "two.txt", "three.txt"] {
        put(&ws.join(name), "old\n");
    }
}

/// Sections that are fine by themselves.
const GOOD: [&str; 3] = [
    "*** Add File: new/file.txt\n+new\n",
    "*** Update File: one.txt\n@@\n-old\n+new\n",
    "*** Update File: two.txt\n*** Move to: moved/two.txt\n@@\n-old\n+new\n",
];
/// What can be done to a file; `{}` is where the forbidden path stands.
const SECTIONS: [&str; 5] = [
    "*** Add File: {}\n+new\n",
    "*** Delete File: {}\n",
    "*** Update File: {}\n@@\n-old\n+new\n",
    "*** Update File: {}\n*** Move to: free.txt\n@@\n-old\n+new\n",
    "*** Update File: three.txt\n*** Move to: {}\n@@\n-old\n+new\n",
];
/// Names that are outside, lead there, or are protected.
const FORBIDDEN: [&str; 12] = [
    "../vault/canary.txt",
    "../vault/new.txt",
    "{base}/vault/canary.txt",
    "out/canary.txt",
    "out/new/new.txt",
    "sub/twice/canary.txt",
    "to-canary.txt",
    ".git/config",
    ".git/hooks/post-commit",
    "nested/.GIT/config",
    ".haft/config.toml",
    ".ssh/authorized_keys",
];

/// Every forbidden name, in every kind of section, before, between and after sections that would succeed.
pub(crate) fn one_forbidden_name_forbids_all() {
    let world = World::new(traps);
    let before = snapshot::of(&world.ws, &[]);
    for name in FORBIDDEN.map(|name| name.replace("{base}", world.base.to_str().unwrap())) {
        for section in SECTIONS {
            for place in [0, 1, GOOD.len()] {
                let patch = patch_with(&section.replace("{}", &name), place);
                let (kind, message) = failure(&world.call("apply_patch", json!({"input": patch})));
                assert_eq!(kind, ErrorKind::PathNotAllowed, "{patch}: {message}");
                assert_eq!(snapshot::of(&world.ws, &[]), before, "{patch}");
            }
        }
    }
    // The sections themselves are fine: what forbids them is the name alone.
    world.call("apply_patch", json!({"input": patch_with("", 0)})).outcome.unwrap();
    assert_eq!((world.content("one.txt"), world.content("moved/two.txt")), (b"new\n".to_vec(), b"new\n".to_vec()));
    world.check_records();
}

fn patch_with(section: &str, place: usize) -> String {
    let mut sections = GOOD.map(str::to_owned).to_vec();
    sections.insert(place, section.to_owned());
    format!("*** Begin Patch\n{}*** End Patch\n", sections.concat())
}

/// A folder that holds something protected cannot be moved away, written to under another name, and moved back; nor can what is
/// protected be moved out or in.
pub(crate) fn what_is_protected_cannot_be_moved() {
    let world = World::new(traps);
    let before = snapshot::of(&world.ws, &[]);
    for (from, to, kind) in [
        (".git", "renamed", ErrorKind::PathNotAllowed),
        (".git/config", "config", ErrorKind::PathNotAllowed),
        (".git/config", ".git/config.old", ErrorKind::PathNotAllowed),
        ("one.txt", ".git/config", ErrorKind::PathNotAllowed),
        ("one.txt", ".git", ErrorKind::PathNotAllowed),
        ("one.txt", ".haft/policy.toml", ErrorKind::PathNotAllowed),
        // Folders are not moved at all.
        ("nested", "renamed", ErrorKind::ValidationError),
        (".", "../renamed", ErrorKind::PathNotAllowed),
        ("sub", "sub2", ErrorKind::ValidationError),
    ] {
        for patch in [
            format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n*** End Patch\n"),
            format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"),
        ] {
            let (found, message) = failure(&world.call("apply_patch", json!({"input": patch})));
            assert_eq!(found, kind, "{patch}: {message}");
            assert_eq!(snapshot::of(&world.ws, &[]), before, "{patch}");
        }
    }
}
