//! A Rust toolchain below the user's home.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Scene;

/// Gives this home the Rust toolchain that builds the tests, as rustup lays it out. Files are linked, because there are
/// 300 MB of them; without rustup, or with it on another file system, there is the toolchain of the system or none.
pub(crate) fn link_toolchain(scene: &Scene) {
    let Some((sysroot, rustup)) = installed_toolchain() else { return };
    let toolchain = scene.path("home/.rustup/toolchains/test");
    let libraries = fs::read_dir(sysroot.join("lib/rustlib")).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let targets = libraries.flat_map(|name| ["lib", "bin", "bin/gcc-ld"].map(|part| Path::new("lib/rustlib").join(&name).join(part)));
    for folder in [PathBuf::from("bin"), PathBuf::from("lib")].into_iter().chain(targets) {
        link_files(&sysroot.join(&folder), &toolchain.join(&folder));
    }
    let programs = scene.path("home/.cargo/bin");
    fs::create_dir_all(&programs).unwrap();
    if ["cargo", "rustc", "rustdoc"].iter().all(|name| fs::hard_link(&rustup, programs.join(name)).is_ok()) {
        fs::write(scene.path("home/.rustup/settings.toml"), "version = \"12\"\ndefault_toolchain = \"test\"\nprofile = \"minimal\"\n")
            .unwrap();
    }
}

fn installed_toolchain() -> Option<(PathBuf, PathBuf)> {
    let printed = Command::new("rustc").args(["--print", "sysroot"]).stderr(Stdio::null()).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(printed.stdout).ok()?.trim()).canonicalize().ok()?;
    let folders = std::env::split_paths(&std::env::var_os("PATH")?).collect::<Vec<_>>();
    let rustup = folders.iter().find_map(|folder| folder.join("rustup").canonicalize().ok())?;
    Some((sysroot, rustup))
}

/// Links the files of one folder, and none of those below it.
fn link_files(from: &Path, to: &Path) {
    let files = fs::read_dir(from).into_iter().flatten().flatten().filter(|entry| entry.path().is_file());
    for file in files {
        fs::create_dir_all(to).unwrap();
        if fs::hard_link(file.path().canonicalize().unwrap(), to.join(file.file_name())).is_err() {
            return;
        }
    }
}
