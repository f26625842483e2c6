//! The launcher alone: the first steps of a sandbox start from it, because it starts faster than the whole of `haft`.

fn main() {
    haft_sandbox::launcher::main_if_asked();
    anstream::eprintln!("haft-launcher {}: started by haft, and of no use alone", env!("CARGO_PKG_VERSION"));
}
