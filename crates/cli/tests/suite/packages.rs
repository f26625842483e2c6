//! The Debian package, installed in a clean root and used there as a newcomer would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::harness::haft;

/// The exit code of `packaging/test` where it cannot run.
const CANNOT_RUN: i32 = 3;
/// A tenth of this is usual on an idle machine.
const LONGEST: Duration = Duration::from_mins(5);

fn packaging(script: &str, words: &[&str], folder: &Path) -> Output {
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(repository.join("packaging").join(script));
    command.args(words).current_dir(&repository).env("TMPDIR", folder).output().unwrap()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn is_package(line: &str) -> bool {
    Path::new(line).extension().is_some_and(|ending| ending == "deb")
}

#[test]
fn debian_package_is_installed_used_and_removed_in_a_clean_root() {
    let (folder, began) = (TempDir::new().unwrap(), Instant::now());
    let (binary, packages) = (haft(), folder.path().join("packages"));
    let binaries = binary.parent().unwrap().to_str().unwrap();
    let built = packaging("build", &["--quick", "--binaries", binaries, "--output", packages.to_str().unwrap()], folder.path());
    assert!(built.status.success(), "{}", told(&built));
    let Some(package) = String::from_utf8_lossy(&built.stdout).lines().find(|line| is_package(line)).map(str::to_owned) else {
        return say_that_it_did_not_run(&told(&built));
    };
    let tested = packaging("test", &[&package], folder.path());
    if tested.status.code() == Some(CANNOT_RUN) {
        return say_that_it_did_not_run(&told(&tested));
    }
    assert!(tested.status.success() && told(&tested).ends_with("packaging/test: all good\n"), "{}", told(&tested));
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
}

#[allow(clippy::print_stderr, reason = "a test that did not run must not look like one that did")]
fn say_that_it_did_not_run(why: &str) {
    eprintln!("NOT RUN: {}", why.trim());
}

#[test]
fn wrong_words_build_no_package() {
    let folder = TempDir::new().unwrap();
    let built = packaging("build", &["--wrong"], folder.path());
    assert_eq!((built.status.code(), told(&built).contains("packaging/build --quick")), (Some(2), true), "{}", told(&built));
}
