//! A30, and disks that are full or may only be read: each test runs itself again where mounts are nobody else's business.

use std::path::{Path, PathBuf};
use std::process::Command;

use haft::{Dialect, ErrorKind};
use serde_json::{Value, json};

use crate::doors::{Does, doors};
use crate::snapshot;
use crate::world::{World, everything_of, failure, notebook, put, text};

/// Set where a test runs again.
const AGAIN: &str = "HAFT_ATTACKS_AGAIN";

/// Whether this process has a mount namespace of its own; if not, the test is run again in one.
pub(crate) fn has_own_mounts(test: &str) -> bool {
    if std::env::var_os(AGAIN).is_some() {
        return true;
    }
    let Some(flags) = [["-m", "--"], ["-rm", "--"]].into_iter().find(|flags| succeeds(Command::new("unshare").args(flags).arg("true")))
    else {
        println!("{test}: this machine gives no mount namespace, so it is not tried here");
        return false;
    };
    let mut command = Command::new("unshare");
    command.args(flags).arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]).env(AGAIN, "1");
    assert!(succeeds(&mut command), "{test} failed in its own mount namespace");
    false
}

pub(crate) fn succeeds(command: &mut Command) -> bool {
    let Ok(output) = command.output() else { return false };
    if !output.status.success() {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

/// A mount that ends with the test, also with one that fails: its folder is removed next.
struct Mounted(PathBuf);

impl Mounted {
    fn new(arguments: &[&str], at: &Path) -> Self {
        assert!(succeeds(Command::new("mount").args(arguments).arg(at)), "mount {arguments:?} {}", at.display());
        Self(at.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        assert!(succeeds(Command::new("umount").arg("-l").arg(&self.0)), "{} stays mounted", self.0.display());
    }
}

fn kernel_and_folder(base: &Path, ws: &Path) {
    put(&base.join("other/file.txt"), "old\ntheirs\n");
    for folder in ["kernel", "mount"] {
        std::fs::create_dir_all(ws.join(folder)).unwrap();
    }
}

/// A folder that is mounted into the workspace is part of it, and no way to anything else; the kernel's files stay the kernel's,
/// wherever they are mounted.
pub(crate) fn mounts_are_contained() {
    if !has_own_mounts("table::a30") {
        return;
    }
    let world = World::new(kernel_and_folder);
    let other = world.base.join("other");
    let _kernel = Mounted::new(&["--rbind", "/proc"], &world.ws.join("kernel"));
    let _mount = Mounted::new(&["--bind", other.to_str().unwrap()], &world.ws.join("mount"));
    for door in doors().iter().filter(|door| door.does != Does::Choose) {
        for path in [
            "kernel/self/environ",
            "kernel/self/root{base}/vault/secret",
            "kernel/version",
            "kernel/self/cwd/x",
            "mount/../../vault/secret",
        ] {
            let path = format!(
                "{}{}",
                path.replace("{base}", world.base.to_str().unwrap()),
                if path.ends_with("secret") { door.end() } else { "" }
            );
            let result = world.call_unchecked(&world.session(door.dialect), door.tool, door.arguments(&path));
            world.check_outside(&path, &result);
            let (kind, message) = failure(&result);
            // A search passes over what belongs to the kernel, as if it were not there.
            let refused = [ErrorKind::PathNotAllowed, ErrorKind::ValidationError, ErrorKind::FileNotFound];
            assert!(refused.contains(&kind), "{} '{path}': {kind}: {message}", door.name);
        }
    }
    let read = world.call_unchecked(&world.session(Dialect::Haft), "read_file", json!({"path": "mount/file.txt"}));
    assert_eq!(text(&read), "old\ntheirs\n", "a mount made by the user can be read");
}

/// Every change that a disk can refuse. What is large is `{large}`.
fn changes(large: &str) -> Vec<(&'static str, Value)> {
    let lines: String = large.split('|').map(|line| ["+", line, "\n"].concat()).collect();
    let several = format!(
        "*** Begin Patch\n*** Update File: file.txt\n@@\n-old\n+new\n*** Add File: new/small.txt\n+x\n*** Add File: new/large.txt\n{lines}\
         *** Delete File: gone.txt\n*** End Patch\n"
    );
    vec![
        ("write_file", json!({"path": "file.txt", "content": large})),
        ("write_file", json!({"path": "file.txt", "content": large, "mode": "append"})),
        ("write_file", json!({"path": "a/b/new.txt", "content": large})),
        ("edit_file", json!({"path": "file.txt", "old_string": "old", "new_string": large})),
        ("edit_file", json!({"path": "a/new.txt", "old_string": "", "new_string": large})),
        ("apply_patch", json!({"input": several})),
        ("notebook_edit", json!({"notebook_path": "book.ipynb", "cell_id": "c", "new_source": large})),
    ]
}

fn fill_disk(ws: &Path) {
    put(&ws.join("file.txt"), "old\n");
    put(&ws.join("gone.txt"), "gone\n");
    put(&ws.join("book.ipynb"), notebook("old\n"));
}

fn small_disk(_base: &Path, ws: &Path) {
    assert!(succeeds(Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(ws)));
    fill_disk(ws);
}

#[test]
fn a_full_disk_leaves_every_file_as_it_was() {
    if !has_own_mounts("mounts::a_full_disk_leaves_every_file_as_it_was") {
        return;
    }
    let world = World::new(small_disk);
    let _mounted = Mounted(world.ws.clone());
    let before = snapshot::of(&world.ws, &[]).into_iter().map(|(path, item)| (path, content(item))).collect::<Vec<_>>();
    let large = vec!["x".repeat(99); 4000].join("|");
    for (tool, arguments) in changes(&large) {
        let (kind, message) = failure(&world.call(tool, arguments));
        assert_eq!(kind, ErrorKind::ExecutionError, "{tool}: {message:.300}");
        assert!(message.contains("The disk is full"), "{tool}: {message:.300}");
        let after = snapshot::of(&world.ws, &[]).into_iter().map(|(path, item)| (path, content(item))).collect::<Vec<_>>();
        assert_eq!(after, before, "{tool}");
    }
    for (tool, arguments) in changes("small") {
        assert!(world.call(tool, arguments.clone()).is_success(), "{tool} {arguments}: the small write fits");
        if tool != "apply_patch" {
            fill_disk(&world.ws);
        }
        drop(std::fs::remove_dir_all(world.ws.join("a")));
    }
}

/// What a file holds; a change that is taken back makes it a newer one.
fn content(item: snapshot::Item) -> Option<Vec<u8>> {
    if let snapshot::Item::File { content, .. } = item { Some(content) } else { None }
}

fn fixed_disk(_base: &Path, ws: &Path) {
    assert!(succeeds(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(ws)));
    fill_disk(ws);
    assert!(succeeds(Command::new("mount").args(["-o", "remount,bind,ro"]).arg(ws)));
}

#[test]
fn a_disk_that_may_only_be_read_says_so() {
    if !has_own_mounts("mounts::a_disk_that_may_only_be_read_says_so") {
        return;
    }
    let world = World::new(fixed_disk);
    let _mounted = Mounted(world.ws.clone());
    let before = snapshot::of(&world.ws, &[]);
    for (tool, arguments) in changes("small") {
        let (kind, message) = failure(&world.call(tool, arguments));
        assert_eq!(kind, ErrorKind::PermissionDenied, "{tool}: {message}");
        assert!(message.contains("its file system is mounted read-only"), "{tool}: {message}");
        assert_eq!(snapshot::of(&world.ws, &[]), before, "{tool}");
    }
    for (tool, arguments, expected) in [
        ("read_file", json!({"path": "file.txt"}), "old\n"),
        ("glob_search", json!({"pattern": "g*"}), "gone.txt"),
        ("grep_search", json!({"pattern": "gone", "output_mode": "content"}), "gone.txt:1:gone"),
    ] {
        let result = world.call(tool, arguments);
        assert!(text(&result).contains(expected), "{tool}: {}", everything_of(&result));
    }
}
