//! Commands on an overlay: what they change is kept apart, and the walls hold there as everywhere.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use haft_sandbox::{Container, Layer, Overlay, Policy, Sandbox, SandboxError, Unconfined};
use support::{Place, Ran, bubblewrap, run};

/// A policy whose changes go to a folder beside the workspace.
fn apart(place: &Place, name: &str) -> Policy {
    let folder = place.folder.path().join(name);
    fs::create_dir(&folder).unwrap();
    let overlay = Overlay::prepare(&folder, std::slice::from_ref(&place.workspace)).unwrap();
    Policy { overlay: Some(overlay), ..place.policy() }
}

fn upper(policy: &Policy) -> PathBuf {
    policy.overlay.as_ref().unwrap().layers()[0].upper.clone()
}

/// Everything of a tree that could be seen to change.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).chain([folder.clone()]) {
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() && path != folder {
                folders.push(path);
                continue;
            }
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content));
        }
    }
    found
}

#[test]
fn what_a_command_changes_is_kept_apart_and_the_workspace_is_as_it_was() {
    let place = Place::new();
    fs::create_dir(place.workspace.join("old")).unwrap();
    fs::write(place.workspace.join("old/file"), "old").unwrap();
    let before = tree(&place.workspace);
    let policy = apart(&place, "apart");
    let script = "echo new >new; rm -r old; mkdir old; echo x >old/other; ln -s new link; chmod 700 .git; cat new old/other; ls";
    let ran = run(&bubblewrap(), place.shell(script), &policy);
    let stdout = "new\nx\ndeep\nkeys\nlink\nnew\nold\nsettings\n".to_owned();
    assert_eq!(ran, Ran { code: Some(0), stdout, stderr: String::new() });
    assert_eq!(tree(&place.workspace), before);
    let upper = upper(&policy);
    assert_eq!(fs::read_to_string(upper.join("new")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(upper.join("old/other")).unwrap(), "x\n");
    assert_eq!(fs::read_link(upper.join("link")).unwrap(), Path::new("new"));
    assert!(!upper.join("old/file").exists(), "the directory is another one, that hides what was there");
    assert!(Layer::is_placeholder(&fs::metadata(upper.join(".haft")).unwrap()));
}

#[test]
fn a_file_that_is_gone_is_a_mark() {
    let place = Place::new();
    fs::write(place.workspace.join("file"), "x").unwrap();
    let policy = apart(&place, "apart");
    run(&bubblewrap(), place.shell("rm file"), &policy);
    let mark = fs::symlink_metadata(upper(&policy).join("file")).unwrap();
    assert_eq!((mark.file_type().is_char_device(), mark.rdev()), (true, 0));
    assert_eq!(fs::read_to_string(place.workspace.join("file")).unwrap(), "x");
}

#[test]
fn the_walls_hold_above_it() {
    let place = Place::new();
    let before = tree(&place.workspace);
    for (number, (name, script)) in [
        ("a protected file", "(echo x >settings) 2>/dev/null; rm -f settings 2>/dev/null; mv settings s 2>/dev/null; grep -vx mine settings; echo held"),
        ("a protected directory", "(echo x >.git/hooks/pre-commit) 2>/dev/null && echo written; mv .git g 2>/dev/null && echo moved; echo held"),
        ("a protected name that is missing", "mkdir .haft 2>/dev/null && echo made; (echo x >.haft/config) 2>/dev/null && echo written; rmdir .haft 2>/dev/null && echo removed; mkdir -p deep/er/missing 2>/dev/null && echo made; echo held"),
        ("a secret", "cat .env keys/id 2>/dev/null; mv keys k 2>/dev/null; cat k/id 2>/dev/null; cp .env e 2>/dev/null && cat e; echo held"),
        ("the layers themselves", "(echo x >\"$OUT\"/../apart3/0/upper/x) 2>/dev/null && echo written; (echo x >\"$OUT\"/x) 2>/dev/null && echo written; echo held"),
        ("a mount", "mount -t tmpfs x /tmp 2>/dev/null && echo mounted; umount . 2>/dev/null && echo unmounted; grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -qv 0000000000000000 && echo some; echo held"),
    ]
    .iter()
    .enumerate()
    {
        let policy = apart(&place, &format!("apart{number}"));
        let ran = run(&bubblewrap(), place.shell(script), &policy);
        assert_eq!((ran.stdout.as_str(), ran.code), ("held\n", Some(0)), "{name}: {}", ran.stderr);
        assert_eq!(tree(&place.workspace), before, "{name}");
    }
}

#[test]
fn several_roots_have_a_layer_each_and_names_may_hold_anything() {
    let place = Place::new();
    let (odd, inner) = (place.folder.path().join("a,b:c\\d e"), place.workspace.join("inner"));
    fs::create_dir(&odd).unwrap();
    fs::create_dir(&inner).unwrap();
    fs::write(place.workspace.join("settings2"), "x").unwrap();
    fs::create_dir(place.folder.path().join("apart")).unwrap();
    let roots = vec![inner.clone(), place.workspace.clone(), odd.canonicalize().unwrap()];
    let overlay = Overlay::prepare(&place.folder.path().join("apart"), &roots).unwrap();
    let policy = Policy { writable: roots, overlay: Some(overlay.clone()), ..place.policy() };
    let script = format!("rm settings2; echo 1 >one; echo 2 >inner/two; echo 3 >'{}/three'; cat one inner/two", odd.display());
    let ran = run(&bubblewrap(), place.shell(&script), &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("1\n2\n", ""));
    let found = |root: &Path, name: &str| overlay.layers().iter().any(|layer| layer.lower == *root && layer.upper.join(name).exists());
    assert!(found(&place.workspace, "one") && found(&inner, "two") && found(&odd.canonicalize().unwrap(), "three"));
    assert!(!place.workspace.join("one").exists() && !inner.join("two").exists() && !odd.join("three").exists());
    overlay.settle();
    assert!(!place.folder.path().join("apart/0/work").exists(), "what only the kernel needs goes");
}

/// It never runs on the real files instead.
#[test]
fn without_an_overlay_nothing_runs() {
    let place = Place::new();
    let policy = apart(&place, "apart");
    fs::remove_dir(place.folder.path().join("apart/0/work")).unwrap();
    let ran = run(&bubblewrap(), place.shell("echo ran >ran"), &policy);
    assert!(ran.setup_failure().unwrap().contains("for an overlay"), "{ran:?}");
    assert!(!place.workspace.join("ran").exists());
    let container = Container::new("podman", haft_sandbox::Image::Named("tools".into()), support::launcher());
    for (name, refused) in
        [("none", Unconfined.wrap(place.shell("true"), &policy)), ("container", container.wrap(place.shell("true"), &policy))]
    {
        assert!(matches!(refused, Err(SandboxError::Unsupported { backend, .. }) if backend == name), "{name}");
    }
}

#[test]
fn nothing_is_left_mounted() {
    let place = Place::new();
    let policy = apart(&place, "apart");
    run(&bubblewrap(), place.shell("echo x >x"), &policy);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&*place.workspace.to_string_lossy()), "{mounts}");
}

/// All of the above once more, by someone who has no rights at all.
#[test]
fn the_same_as_an_ordinary_person() {
    support::again_as_an_ordinary_person();
}
