//! Links the launcher statically, where that is possible.
#![allow(clippy::print_stdout, reason = "how a build script talks to Cargo")]

include!("../sandbox/static_launcher.rs");

fn main() {
    println!("cargo:rerun-if-changed=../sandbox/static_launcher.rs");
    link_statically("haft-launcher");
}
