//! Commands on an overlay: their changes are staged, and the sandbox policy is enforced there as well.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use haft_sandbox::{Container, Overlay, OverlayLayer, Sandbox, SandboxError, SandboxPolicy, Unconfined};
use support::{RunOutput, TestWorkspace, bubblewrap, run};

/// A policy whose changes go to a folder beside the workspace.
fn staged(ws: &TestWorkspace, name: &str) -> SandboxPolicy {
    let folder = ws.folder.path().join(name);
    fs::create_dir(&folder).unwrap();
    let overlay = Overlay::prepare(&folder, std::slice::from_ref(&ws.workspace)).unwrap();
    SandboxPolicy { overlay: Some(overlay), ..ws.policy() }
}

fn upper(policy: &SandboxPolicy) -> PathBuf {
    policy.overlay.as_ref().unwrap().layers()[0].upper.clone()
}

/// Content and metadata of a tree.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).chain([folder.clone()]) {
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() && path != folder {
                folders.push(path);
                continue;
            }
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            tree.insert(path, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content));
        }
    }
    tree
}

#[test]
fn changes_are_staged_and_the_workspace_stays_unchanged() {
    let ws = TestWorkspace::new();
    fs::create_dir(ws.workspace.join("old")).unwrap();
    fs::write(ws.workspace.join("old/file"), "old").unwrap();
    let before = tree(&ws.workspace);
    let policy = staged(&ws, "changes");
    let script = "echo new >new; rm -r old; mkdir old; echo x >old/other; ln -s new link; chmod 700 .git; cat new old/other; ls";
    let ran = run(&bubblewrap(), ws.shell(script), &policy);
    let stdout = "new\nx\nkeys\nlink\nnew\nold\nsettings\n".to_owned();
    assert_eq!(ran, RunOutput { code: Some(0), stdout, stderr: String::new() });
    assert_eq!(tree(&ws.workspace), before);
    let upper = upper(&policy);
    assert_eq!(fs::read_to_string(upper.join("new")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(upper.join("old/other")).unwrap(), "x\n");
    assert_eq!(fs::read_link(upper.join("link")).unwrap(), Path::new("new"));
    assert!(!upper.join("old/file").exists(), "the new directory is opaque");
    assert!(!upper.join(".haft").exists(), "a missing protected name is not reserved");
}

#[test]
fn deleted_file_is_a_whiteout() {
    let ws = TestWorkspace::new();
    fs::write(ws.workspace.join("file"), "x").unwrap();
    let policy = staged(&ws, "changes");
    run(&bubblewrap(), ws.shell("rm file"), &policy);
    let whiteout = fs::symlink_metadata(upper(&policy).join("file")).unwrap();
    assert_eq!((whiteout.file_type().is_char_device(), whiteout.rdev()), (true, 0));
    assert_eq!(fs::read_to_string(ws.workspace.join("file")).unwrap(), "x");
}

#[test]
fn policy_is_enforced_on_the_overlay() {
    let ws = TestWorkspace::new();
    let before = tree(&ws.workspace);
    for (number, (name, script)) in [
        ("a protected file", "(echo x >settings) 2>/dev/null; rm -f settings 2>/dev/null; mv settings s 2>/dev/null; grep -vx mine settings; echo blocked"),
        ("a protected directory", "(echo x >.git/hooks/pre-commit) 2>/dev/null && echo written; rm -rf .git 2>/dev/null && echo removed; echo blocked"),
        ("a secret", "cat .env keys/id 2>/dev/null; mv keys k 2>/dev/null; cat k/id 2>/dev/null; cp .env e 2>/dev/null && cat e; echo blocked"),
        ("the layers themselves", "(echo x >\"$OUT\"/../changes2/0/upper/x) 2>/dev/null && echo written; (echo x >\"$OUT\"/x) 2>/dev/null && echo written; echo blocked"),
        ("a mount", "mount -t tmpfs x /tmp 2>/dev/null && echo mounted; umount . 2>/dev/null && echo unmounted; grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -qv 0000000000000000 && echo some; echo blocked"),
    ]
    .iter()
    .enumerate()
    {
        let policy = staged(&ws, &format!("changes{number}"));
        let ran = run(&bubblewrap(), ws.shell(script), &policy);
        assert_eq!((ran.stdout.as_str(), ran.code), ("blocked\n", Some(0)), "{name}: {}", ran.stderr);
        assert_eq!(tree(&ws.workspace), before, "{name}");
    }
}

#[test]
fn several_roots_have_a_layer_each_whatever_their_names() {
    let ws = TestWorkspace::new();
    let (odd, inner) = (ws.folder.path().join("a,b:c\\d e"), ws.workspace.join("inner"));
    fs::create_dir(&odd).unwrap();
    fs::create_dir(&inner).unwrap();
    fs::write(ws.workspace.join("settings2"), "x").unwrap();
    fs::create_dir(ws.folder.path().join("changes")).unwrap();
    let roots = vec![inner.clone(), ws.workspace.clone(), odd.canonicalize().unwrap()];
    let overlay = Overlay::prepare(&ws.folder.path().join("changes"), &roots).unwrap();
    let policy = SandboxPolicy { writable: roots, overlay: Some(overlay.clone()), ..ws.policy() };
    let script = format!("rm settings2; echo 1 >one; echo 2 >inner/two; echo 3 >'{}/three'; cat one inner/two", odd.display());
    let ran = run(&bubblewrap(), ws.shell(&script), &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("1\n2\n", ""));
    let staged = |root: &Path, name: &str| overlay.layers().iter().any(|layer| layer.lower == *root && layer.upper.join(name).exists());
    assert!(staged(&ws.workspace, "one") && staged(&inner, "two") && staged(&odd.canonicalize().unwrap(), "three"));
    assert!(!ws.workspace.join("one").exists() && !inner.join("two").exists() && !odd.join("three").exists());
    overlay.remove_work_folders();
    assert!(!ws.folder.path().join("changes/0/work").exists(), "the work folder is removed");
}

/// A folder with an overlay of its own, such as `.git`, beside direct writes to the workspace.
#[test]
fn layer_of_a_folder_inside_the_workspace_takes_its_changes() {
    let ws = TestWorkspace::new();
    let git = ws.workspace.join(".git");
    fs::write(git.join("config"), "old").unwrap();
    let layer = OverlayLayer::prepare(&ws.folder.path().join("layer"), &git).unwrap();
    let policy = SandboxPolicy { layers: vec![layer.clone()], protected: Vec::new(), ..ws.policy() };
    let script =
        "echo new >.git/config; echo x >.git/hooks/pre-commit; echo x >direct; mv .git g 2>/dev/null && echo moved; cat .git/config";
    let ran = run(&bubblewrap(), ws.shell(script), &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("new\n", ""));
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "old");
    assert_eq!(fs::read_to_string(layer.upper.join("config")).unwrap(), "new\n");
    assert!(layer.upper.join("hooks/pre-commit").exists() && !git.join("hooks/pre-commit").exists());
    assert_eq!(fs::read_to_string(ws.workspace.join("direct")).unwrap(), "x\n");
    layer.remove_work_folder();
    // Staged changes of the workspace, and the layer on top of them.
    let layer = OverlayLayer::prepare(&ws.folder.path().join("layer2"), &git).unwrap();
    let policy = SandboxPolicy { layers: vec![layer.clone()], protected: Vec::new(), ..staged(&ws, "changes") };
    let ran = run(&bubblewrap(), ws.shell("echo a >.git/a; echo b >b; cat .git/a b"), &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("a\nb\n", ""));
    assert!(layer.upper.join("a").exists() && upper(&policy).join("b").exists() && !upper(&policy).join(".git/a").exists());
    assert!(!git.join("a").exists() && !ws.workspace.join("b").exists());
}

/// It never runs on the real files instead.
#[test]
fn command_does_not_run_without_its_overlay() {
    let ws = TestWorkspace::new();
    let policy = staged(&ws, "changes");
    fs::remove_dir(ws.folder.path().join("changes/0/work")).unwrap();
    let ran = run(&bubblewrap(), ws.shell("echo ran >ran"), &policy);
    assert!(ran.setup_failure().unwrap().contains("for an overlay"), "{ran:?}");
    assert!(!ws.workspace.join("ran").exists());
    let container = Container::new("podman", haft_sandbox::ContainerImage::Named("tools".into()), support::launcher());
    for (name, refused) in [("none", Unconfined.wrap(ws.shell("true"), &policy)), ("container", container.wrap(ws.shell("true"), &policy))]
    {
        assert!(matches!(refused, Err(SandboxError::Unsupported { backend, .. }) if backend == name), "{name}");
    }
}

#[test]
fn overlay_mounts_end_with_the_run() {
    let ws = TestWorkspace::new();
    let policy = staged(&ws, "changes");
    run(&bubblewrap(), ws.shell("echo x >x"), &policy);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&*ws.workspace.to_string_lossy()), "{mounts}");
}

/// All of the above once more, without root privileges.
#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}

/// The kernel refuses to rename a folder of the lower layer. Python's `os.rename` shows it; `mv` would copy.
#[test]
fn folders_can_be_renamed_on_the_overlay() {
    let ws = TestWorkspace::new();
    fs::create_dir_all(ws.workspace.join("src/deep/empty")).unwrap();
    fs::write(ws.workspace.join("src/deep/file"), "text\n").unwrap();
    fs::write(ws.workspace.join("src/top"), "top\n").unwrap();
    fs::create_dir_all(ws.workspace.join("full/locked")).unwrap();
    fs::write(ws.workspace.join("full/x"), "x\n").unwrap();
    let before = tree(&ws.workspace);
    let cases = [
        ("by name", "os.rename('src', 'lib')", "find lib | sort; ls -d src", "0\nlib\nlib/deep\nlib/deep/empty\nlib/deep/file\nlib/top\n"),
        ("by absolute path", "os.rename(os.getcwd() + '/src', os.getcwd() + '/lib')", "cat lib/deep/file", "0\ntext\n"),
        (
            "in an open folder",
            "d = os.open('src', os.O_RDONLY); os.rename('deep', 'flat', src_dir_fd=d, dst_dir_fd=d)",
            "cat src/flat/file",
            "0\ntext\n",
        ),
        ("into another folder", "os.rename('src', 'full/src/')", "cat full/src/deep/file full/x", "0\ntext\nx\n"),
        ("there and back", "os.rename('src', 'lib'); os.rename('lib', 'src')", "cat src/deep/file", "0\ntext\n"),
        ("over an empty folder", "os.mkdir('new'); os.rename('src', 'new')", "cat new/top", "0\ntop\n"),
        ("a file", "os.rename('src/top', 'top')", "cat top; ls src", "0\ntop\ndeep\n"),
        ("over a folder with content", "os.rename('src', 'full')", "cat full/x src/top", "39\nx\ntop\n"),
        ("into itself", "os.rename('src', 'src/x')", "cat src/top", "22\ntop\n"),
        ("what is not there", "os.rename('missing', 'src')", "cat src/top", "2\ntop\n"),
        ("to another file system", "os.rename('src', '/tmp/src')", "ls -d /tmp/src; cat src/top", "18\ntop\n"),
        ("with a protected folder inside", "os.rename('full', 'moved')", "ls -d moved; ls full; cat full/x", "16\nlocked\nx\nx\n"),
    ];
    for (number, (name, code, look, expected)) in cases.into_iter().enumerate() {
        let mut policy = staged(&ws, &format!("changes{number}"));
        policy.protected.push(ws.workspace.join("full/locked"));
        let script = format!("import os\ntry:\n  {code}\n  print(0)\nexcept OSError as error:\n  print(error.errno)\n");
        let ran = run(&bubblewrap(), ws.shell(&format!("python3 -c \"{script}\"; {look} 2>/dev/null")), &policy);
        assert_eq!(ran.stdout, expected, "{name}: {}", ran.stderr);
        assert_eq!(tree(&ws.workspace), before, "{name}");
    }
}

#[test]
fn renames_of_many_processes_are_all_answered() {
    let ws = TestWorkspace::new();
    for number in 0..32 {
        fs::create_dir(ws.workspace.join(format!("from{number}"))).unwrap();
        fs::write(ws.workspace.join(format!("from{number}/file")), format!("{number}\n")).unwrap();
    }
    let policy = staged(&ws, "changes");
    let script = "for n in $(seq 0 31); do python3 -c \"import os; os.rename('from$n', 'to$n')\" & done; wait; cat to*/file | sort -n | tail -n 1; \
                  ls -d to* | wc -l; ls -d from* 2>/dev/null | wc -l";
    let ran = run(&bubblewrap(), ws.shell(script), &policy);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("31\n32\n0\n", ""));
}
