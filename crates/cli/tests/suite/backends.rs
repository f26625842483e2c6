//! C10: sandboxes that are missing, too old or forbidden. What is required and cannot be had is refused with what to do; what
//! is weaker says so; nothing ever runs unsandboxed unnoticed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use super::container::root_folder;
use super::harness::{Ran, World};

/// Runs Haft where this shell script has spoiled the machine first: in namespaces of its own, so nothing of it stays.
pub(crate) fn run_spoiled(world: &World, unshare: &[&str], spoil: &str, words: &[&str]) -> Ran {
    let haft = world.command(words);
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", &format!("set -e; {spoil}; exec \"$@\""), "sh"]).arg(haft.get_program()).args(haft.get_args());
    command.current_dir(world.file("")).env_clear().envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
    world.ran(&command.output().unwrap())
}

fn script(world: &World, name: &str, text: &str) -> String {
    let path = world.path(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

const MOUNTS: &[&str] = &["--mount"];
pub(crate) const USER_NAMESPACE: &[&str] = &["--user", "--map-root-user", "--mount"];
pub(crate) const FORBIDDEN: &str = "echo 0 >/proc/sys/user/max_user_namespaces";

#[test]
fn what_is_required_and_cannot_be_had_is_refused_with_what_to_do() {
    let world = World::new();
    let old = script(&world, "old", "echo bubblewrap 0.4.1");
    let too_old = "its version is 'bubblewrap 0.4.1', and 0.8 or newer is needed";
    let unshare = USER_NAMESPACE;
    for (name, spoil, words, remedy) in [
        ("missing", format!("mount --bind /dev/null /usr/bin/bwrap; {FORBIDDEN}"), "the kernel refused it", "install bubblewrap"),
        ("too old", format!("mount --bind {old} /usr/bin/bwrap; {FORBIDDEN}"), too_old, "install a newer bubblewrap"),
        ("forbidden", FORBIDDEN.to_owned(), "the kernel refused it", "allow user namespaces"),
    ] {
        world.configure("sandbox.mode = 'required'\n");
        let call = ["call", "exec", r#"{"command":"touch ran"}"#, "--json"];
        let ran = run_spoiled(&world, unshare, &spoil, &call);
        let result = ran.json();
        assert_eq!((ran.code, &result["error_type"]), (1, &json!("sandbox_unavailable")), "{name}: {ran:?}");
        assert!(ran.stdout.contains(words) && ran.stdout.contains(remedy), "{name}: {result}");
        assert!(!world.file("ran").exists(), "{name}");
        let doctor = run_spoiled(&world, unshare, &spoil, &["doctor", "--json"]);
        assert!(doctor.code == 1 && doctor.stdout.contains(words), "{name}: {doctor:?}");

        // Landlock alone, where the kernel has it, and then every result says what that does not hold; else nothing.
        world.configure("sandbox.mode = 'preferred'\n");
        let ran = run_spoiled(&world, unshare, &spoil, &call);
        let result = ran.json();
        let told = result["result"].as_str().is_some_and(|text| text.contains("the sandbox was weaker") && text.contains(words));
        let weaker = result["details"]["sandbox"] == "landlock" && told;
        assert!(weaker || result["error_type"] == "sandbox_unavailable", "{name}: {ran:?}");
        let doctor = run_spoiled(&world, unshare, &spoil, &["doctor", "--json"]);
        assert!(doctor.stdout.contains(words), "{name}: {doctor:?}");
        fs::remove_file(world.file("ran")).ok();
    }
}

#[test]
fn what_is_weaker_says_so() {
    let world = World::new();
    let root = world.path("root");
    root_folder(&root);
    world.configure(&format!("sandbox.mode = 'preferred'\nsandbox.container.image = '{}'\n", root.display()));
    // The kernel mounts no new /proc for those who see only parts of the old one, and lets root make a container.
    let spoil = "mount --bind /dev/null /usr/bin/bwrap; mount -t tmpfs none /proc/fs";
    let ran = run_spoiled(&world, MOUNTS, spoil, &["call", "exec", r#"{"command":"echo ran"}"#, "--json"]);
    let result = ran.json();
    assert_eq!(result["details"]["sandbox"], "container", "{ran:?}");
    let told = "[haft: the sandbox was weaker than it should be: the sandbox 'bubblewrap' cannot be used here";
    assert!(result["result"].as_str().unwrap().starts_with("ran\n") && result["result"].as_str().unwrap().contains(told), "{result}");
}
