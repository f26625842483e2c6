//! The launcher alone: what the tests of this crate confine with, since a program of tests cannot be one.

fn main() {
    haft_sandbox::launcher::main_if_asked();
}
