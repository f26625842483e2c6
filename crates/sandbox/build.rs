//! Links the launcher of the tests and benchmarks as that of `haft-cli` is linked.
#![allow(clippy::print_stdout, reason = "how a build script talks to Cargo")]

include!("static_launcher.rs");

fn main() {
    println!("cargo:rerun-if-changed=static_launcher.rs");
    link_statically("haft-test-launcher");
}
