//! Where the judges are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The folder that they are installed in: the one that `./check` names, or else they are installed now.
pub(super) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::var_os("HAFT_JUDGES").map_or_else(install, PathBuf::from))
}

/// What the repository has of them.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/judges").join(name)
}

fn install() -> PathBuf {
    let output = Command::new(source("setup")).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the judges cannot be installed: tests/judges/setup says why");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
}

#[test]
fn the_document_names_the_judges_that_are_installed() {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let document = read(source("../../docs/DEPENDENCIES.md"));
    let package: serde_json::Value = serde_json::from_str(&read(source("package.json"))).unwrap();
    let of_npm = ["dependencies", "optionalDependencies"].map(|key| package[key].as_object().unwrap().clone());
    let of_npm = of_npm.into_iter().flatten().map(|(name, version)| (name, version.as_str().unwrap().to_owned()));
    let of_pypi = read(source("requirements.in"));
    let of_pypi = of_pypi.lines().map(|line| line.split_once("==").unwrap()).map(|(name, version)| (name.to_owned(), version.to_owned()));
    let rows: Vec<String> = of_npm.chain(of_pypi).map(|(name, version)| format!("| `{name}` | {version} |")).collect();
    assert_eq!(rows.len(), 6, "{rows:?}");
    let missing: Vec<&String> = rows.iter().filter(|row| !document.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/DEPENDENCIES.md has no row that begins with {missing:?}");
}
