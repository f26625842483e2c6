// Links the launcher with the archives of the C library, for the build scripts of its packages. Several processes of each sandbox start
// from it, and loading shared libraries takes most of the time of such a short process.
//
// Cargo has no such setting for one program of a package. The shared libraries that rustc names are linker scripts here, which name the
// archives. Where one is missing, or an empty program linked so does not run, the launcher is linked as any other program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What rustc links for this target.
const LIBRARIES: &[&str] = &["util", "rt", "pthread", "m", "dl"];
const UNWINDING: &str = "-lgcc_eh -lgcc";

fn link_statically(binary: &str) {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    if !is_native_gnu_linux() {
        return;
    }
    if let Some(folder) = write_scripts() {
        let arguments = [format!("-L{}", folder.display()), "-static-pie".to_owned()];
        if links_and_runs(&folder, &arguments) {
            for argument in &arguments {
                println!("cargo:rustc-link-arg-bin={binary}={argument}");
            }
        }
    }
}

/// Whether a program that is linked here runs here, with shared libraries of the usual C library.
fn is_native_gnu_linux() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.split(',').any(|feature| feature == "crt-static"));
    is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && is_native && !is_static
}

/// The folder with the linker scripts; `None` if an archive is missing.
fn write_scripts() -> Option<PathBuf> {
    let folder = Path::new(&env::var_os("OUT_DIR")?).join("static");
    fs::create_dir_all(&folder).ok()?;
    if !["libc.a", "libgcc_eh.a", "libgcc.a", "rcrt1.o"].into_iter().all(has_file) {
        return None;
    }
    for name in LIBRARIES {
        let archive = format!("lib{name}.a");
        if !has_file(&archive) {
            return None;
        }
        fs::write(folder.join(format!("lib{name}.so")), format!("INPUT ( -l:{archive} )\n")).ok()?;
    }
    fs::write(folder.join("libgcc_s.so"), format!("GROUP ( {UNWINDING} )\n")).ok()?;
    fs::write(folder.join("libc.so"), format!("GROUP ( -l:libc.a {UNWINDING} )\n")).ok()?;
    Some(folder)
}

/// Whether an empty program can be linked so, and runs: linkers differ, and so do C libraries.
fn links_and_runs(folder: &Path, arguments: &[String]) -> bool {
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    if fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("-Clinker=");
        option.push(linker);
        rustc.arg(option);
    }
    rustc.arg("--edition=2024").arg(&source).arg("-o").arg(&program);
    rustc.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    rustc.output().is_ok_and(|made| made.status.success()) && Command::new(&program).status().is_ok_and(|status| status.success())
}

/// Whether the linker finds a file: it prints the whole path of one that it has.
fn has_file(name: &str) -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let printed = Command::new(linker).arg(format!("-print-file-name={name}")).output();
    printed.is_ok_and(|printed| Path::new(String::from_utf8_lossy(&printed.stdout).trim()).is_absolute())
}
