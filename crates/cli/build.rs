//! Links the launcher statically, and the program with packed relocations, where that is possible.
#![allow(clippy::print_stdout, reason = "how a build script talks to Cargo")]

include!("../sandbox/static_launcher.rs");

/// A hundred thousand relocations of the program as a bit for each instead of 24 bytes: the file is 2.4 MB smaller, and starts sooner. The
/// C library reads them from 2.36 on; an older one refuses the program, which the trial shows.
const PACKED: &str = "-Wl,-z,pack-relative-relocs";

fn main() {
    println!("cargo:rerun-if-changed=../sandbox/static_launcher.rs");
    link_statically("haft-launcher");
    pack_relocations("haft");
}

fn pack_relocations(binary: &str) {
    let Some(folder) = env::var_os("OUT_DIR").map(|folder| Path::new(&folder).join("packed")) else { return };
    let is_possible = is_native_gnu_linux() && fs::create_dir_all(&folder).is_ok();
    if is_possible && links_and_runs(&folder, &[PACKED.to_owned()]) {
        println!("cargo:rustc-link-arg-bin={binary}={PACKED}");
    }
}
