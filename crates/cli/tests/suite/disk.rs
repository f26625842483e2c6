//! A data folder on a disk that is full or read-only, in a mount namespace of its own, and a clock before 1970.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::harness::{HAFT, Ran, World, haft, is_root};

/// Runs a script with its own mounts; `$HAFT` is the binary.
fn in_own_mounts(world: &World, script: &str) -> Ran {
    let shape = world.command::<&str>(&[]);
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).current_dir(world.path("workspace")).env_clear();
    for (name, value) in shape.get_envs() {
        command.env(name, value.unwrap());
    }
    world.ran(&command.env("HAFT", haft()).output().unwrap())
}

/// Every error names the database, the cause and what to do.
fn assert_said(ran: &Ran, cause: &str, fix: &str, times: usize) {
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), times, "{ran:?}");
    for error in errors {
        assert!(error.contains("[world]/home/state/haft.db: ") && error.contains(cause) && error.contains(fix), "{ran:?}");
    }
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

const READ_ONLY: &str = "mount --bind $HAFT_HOME $HAFT_HOME && mount -o remount,ro,bind $HAFT_HOME || exit 9";

#[test]
fn read_only_data_folder_is_named_with_its_cause_and_fix_and_nothing_is_changed() {
    let world = World::new();
    assert_eq!(world.run(&["call", "write_file", "--path", "a.txt", "--content", "old"]).code, 0);
    let script = format!(
        "{READ_ONLY}; $HAFT call write_file --path a.txt --content new; $HAFT history; $HAFT prune --yes; $HAFT doctor | grep -A1 ' history:'"
    );
    let ran = in_own_mounts(&world, &script);
    assert_said(&ran, "the disk is mounted read-only", "make it writable, or set HAFT_HOME to a folder that is", 1);
    // What is there can still be read.
    assert!(ran.stdout.contains("write_file  ok"), "{ran:?}");
    assert!(ran.stdout.contains("the disk is mounted read-only"), "{ran:?}");
    assert_eq!(world.read("a.txt"), "old");
}

#[test]
fn full_data_folder_is_named_with_its_cause_and_fix_and_nothing_is_changed() {
    let world = World::new();
    world.write("a.txt", "old");
    fs::create_dir_all(world.state()).unwrap();
    let ran = in_own_mounts(
        &world,
        "mount -t tmpfs -o size=800k,mode=0700 tmpfs $HAFT_HOME || exit 9
         $HAFT call noop || exit 8
         dd if=/dev/zero of=$HAFT_HOME/spills/fill bs=4k 2>/dev/null
         $HAFT call write_file --path a.txt --content new; $HAFT history
         rm $HAFT_HOME/spills/fill; $HAFT call noop && $HAFT history --json",
    );
    assert_said(&ran, "the disk is full", "free some space, then `haft prune` removes old data of haft; or set HAFT_HOME", 1);
    assert_eq!((ran.code, world.read("a.txt").as_str(), ran.stdout.matches("\"tool\":\"noop\"").count()), (0, "old", 2), "{ran:?}");
}

/// As root nothing is refused for its mode, so these run as an ordinary user too.
#[test]
fn data_folder_without_permission_is_named_with_its_cause_and_fix() {
    if is_root() {
        let again = haft_testkit::again_as_an_ordinary_user(&["data_folder_without_permission"], &[(HAFT, &haft())]);
        again.unwrap_or_else(|output| panic!("{output}"));
        return;
    }
    let world = World::new();
    assert_eq!(world.run(&["call", "noop"]).code, 0);
    let set_mode = |name: &str, mode: u32| fs::set_permissions(world.state().join(name), fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir_all(world.path("locked")).unwrap();
    fs::set_permissions(world.path("locked"), fs::Permissions::from_mode(0o500)).unwrap();
    let locked = world.path("locked/state");
    let ran = world.run_with(&[("HAFT_HOME", locked.to_str().unwrap())], &["call", "noop"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("[world]/locked/state: Permission denied"), "{ran:?}");
    assert!(ran.stderr.contains("give your user access to it (chown, chmod u+rwx), or set HAFT_HOME"), "{ran:?}");
    set_mode("pre-images", 0o500);
    world.write("a.txt", "old");
    // The folder is made private again, which gives its user the right to write.
    assert_eq!(world.run(&["call", "write_file", "--path", "a.txt", "--content", "new"]).code, 0);
}

/// Sets the clock of a process.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *out) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, out);
    if (code == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) out->tv_sec = -86400 * 365;
    return code;
}
"#;

#[test]
fn clock_before_1970_is_no_panic() {
    let world = World::new();
    let (source, library) = (world.path("clock.c"), world.path("clock.so"));
    fs::write(&source, CLOCK).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").status().unwrap();
    assert!(built.success());
    let preload = [("LD_PRELOAD", library.to_str().unwrap())];
    for (words, code) in [
        (&["call", "write_file", "--path", "a.txt", "--content", "x"][..], 0),
        (&["call", "write_file", "--path", "a.txt", "--content", "y"], 0),
        (&["call", "read_file", "--path", "a.txt"], 0),
        (&["history"], 0),
        (&["undo", "last"], 0),
        (&["run", "what time is it?"], 0),
        (&["sessions", "list"], 0),
        (&["prune", "--yes"], 0),
    ] {
        let ran = world.run_with(&preload, words);
        assert!(ran.code == code && !ran.stderr.contains("panicked"), "{words:?}: {ran:?}");
    }
    assert_eq!(world.read("a.txt"), "x");
    let listed = world.run(&["history"]);
    assert!(listed.stdout.contains("1969-01-01"), "{listed:?}");
}
