//! Files and folders that are somebody else's, or may not be changed.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use haft::ErrorKind;
use serde_json::{Value, json};

use crate::mounts::succeeds;
use crate::snapshot::{self, Marks};
use crate::world::{World, failure, notebook, plain, put, text};

const TEST: &str = "faults::what_is_not_ours_is_refused_in_the_same_words_by_every_tool";
const AGAIN: &str = "HAFT_ATTACKS_BOUND";
const STRANGER: u32 = 54_321;

/// The rights of files do not bind the superuser, unless it gives up not being bound: then the test is run again so.
fn is_bound() -> bool {
    if !rustix::process::geteuid().is_root() || std::env::var_os(AGAIN).is_some() {
        return true;
    }
    let powers = "-dac_override,-dac_read_search,-fowner";
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", powers, "--inh-caps", powers]).arg(std::env::current_exe().unwrap());
    if succeeds(Command::new("setpriv").arg("--version")) {
        assert!(succeeds(command.args(["--exact", TEST, "--nocapture"]).env(AGAIN, "1")), "{TEST} failed without {powers}");
    } else {
        println!("{TEST}: the superuser is bound by no rights, and there is no setpriv to give that up");
    }
    false
}

/// Files that cannot be read, cannot be written, are a stranger's, and lie in folders like that.
fn fill(ws: &Path) {
    for (name, mode) in [("closed", 0o000), ("fixed", 0o444), ("stranger", 0o600), ("folder/file", 0o644), ("locked/file", 0o644)] {
        for (end, content) in [("txt", "old\n".to_owned()), ("ipynb", notebook("old\n"))] {
            let path = ws.join(format!("{name}.{end}"));
            put(&path, content);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            if name == "stranger" && chown(&path, Some(STRANGER), Some(STRANGER)).is_err() {
                println!("only the superuser gives files away; a closed one stands for a stranger's");
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
            }
        }
    }
    set_folders(ws, 0o555, 0o000);
}

fn set_folders(ws: &Path, folder: u32, locked: u32) {
    for (name, mode) in [("folder", folder), ("locked", locked)] {
        std::fs::set_permissions(ws.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
}

/// The folders can be looked into and removed again, also after a failure.
struct Unlocked<'a>(&'a Path);

impl Drop for Unlocked<'_> {
    fn drop(&mut self) {
        set_folders(self.0, 0o755, 0o755);
    }
}

fn calls(name: &str) -> Vec<(&'static str, Value)> {
    let path = format!("{name}.txt");
    let with_new_file = |section: &str| json!({"input": format!("*** Begin Patch\n*** Add File: new.txt\n+x\n{section}*** End Patch\n")});
    vec![
        ("write_file", json!({"path": path, "content": "new"})),
        ("write_file", json!({"path": path, "content": "new", "mode": "append"})),
        ("edit_file", json!({"path": path, "old_string": "old", "new_string": "new"})),
        ("apply_patch", with_new_file(&format!("*** Update File: {path}\n@@\n-old\n+new\n"))),
        ("notebook_edit", json!({"notebook_path": format!("{name}.ipynb"), "cell_id": "c", "new_source": "new"})),
    ]
}

#[test]
fn what_is_not_ours_is_refused_in_the_same_words_by_every_tool() {
    if !is_bound() {
        return;
    }
    let world = World::new(plain);
    fill(&world.ws);
    let _unlocked = Unlocked(&world.ws);
    let before = files(&world.ws);
    for name in ["closed", "fixed", "stranger", "folder/file", "locked/file"] {
        for (tool, arguments) in calls(name) {
            let session = world.session(haft::Dialect::Haft);
            let (kind, message) = failure(&world.call_unchecked(&session, tool, arguments.clone()));
            let wrapped = tool == "apply_patch" && kind == ErrorKind::ValidationError;
            assert!(kind == ErrorKind::PermissionDenied || wrapped, "{tool} {arguments}: {kind}: {message}");
            assert!(message.contains("Permission denied: cannot "), "{tool} {arguments}: {message}");
            assert_eq!(files(&world.ws), before, "{tool} {arguments}");
        }
    }
    reading(&world);
}

/// Every file as it is. What was made and put back leaves its folder as it was, but for the time.
fn files(ws: &Path) -> Marks {
    snapshot::marks(ws).into_iter().filter(|(path, _)| !path.is_dir()).collect()
}

fn reading(world: &World) {
    let session = world.session(haft::Dialect::Haft);
    for name in ["closed", "stranger", "locked/file"] {
        for (tool, arguments) in [
            ("read_file", json!({"path": format!("{name}.txt")})),
            ("grep_search", json!({"pattern": "old", "path": format!("{name}.txt")})),
        ] {
            let result = world.call_unchecked(&session, tool, arguments);
            let told = crate::world::everything_of(&result);
            assert!(!told.contains(":old") && told.to_lowercase().contains("permission denied"), "{tool} {name}: {told}");
        }
    }
    let found = text(&world.call_unchecked(&session, "grep_search", json!({"pattern": "old", "glob": ["*.txt"]})));
    assert!(found.contains("fixed.txt") && found.contains("folder/file.txt") && !found.starts_with("closed.txt"), "{found}");
    assert!(found.contains("ould not be read"), "what could not be searched is told: {found}");
}
