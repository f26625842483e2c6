//! Links the launcher statically, and the program with packed relocations and ordered functions, where that is possible.
#![allow(clippy::print_stdout, reason = "how a build script talks to Cargo")]

include!("../sandbox/static_launcher.rs");

/// A hundred thousand relocations of the program as a bit for each instead of 24 bytes: the file is 2.4 MB smaller, and starts sooner. The
/// C library reads them from 2.36 on; an older one refuses the program, which the trial shows.
const PACKED: &str = "-Wl,-z,pack-relative-relocs";

/// Names a file with the functions that come first in the program, one a line: `tools/order-functions` records them.
const ORDER: &str = "HAFT_FUNCTION_ORDER";

fn main() {
    println!("cargo:rerun-if-changed=../sandbox/static_launcher.rs");
    link_statically("haft-launcher");
    pack_relocations("haft");
    order_functions("haft");
}

/// Names that the program does not have are passed over. A linker that knows no order, which the trial shows, keeps its own.
fn order_functions(binary: &str) {
    println!("cargo:rerun-if-env-changed={ORDER}");
    let (Some(order), Some(folder)) = (env::var_os(ORDER), env::var_os("OUT_DIR")) else { return };
    let (order, folder) = (PathBuf::from(order), Path::new(&folder).join("ordered"));
    println!("cargo:rerun-if-changed={}", order.display());
    let arguments = [format!("-Wl,--symbol-ordering-file={}", order.display()), "-Wl,--no-warn-symbol-ordering".to_owned()];
    if order.is_file() && fs::create_dir_all(&folder).is_ok() && links_and_runs(&folder, &arguments) {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bin={binary}={argument}");
        }
    }
}

fn pack_relocations(binary: &str) {
    let Some(folder) = env::var_os("OUT_DIR").map(|folder| Path::new(&folder).join("packed")) else { return };
    let is_possible = is_native_gnu_linux() && fs::create_dir_all(&folder).is_ok();
    if is_possible && links_and_runs(&folder, &[PACKED.to_owned()]) {
        println!("cargo:rustc-link-arg-bin={binary}={PACKED}");
    }
}
