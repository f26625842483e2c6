//! Where the validators are installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The folder of the validators, from `./check`; installs them if it is not set.
pub(super) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::var_os("HAFT_VALIDATORS").map_or_else(|| install(None), PathBuf::from))
}

/// The folder of the validators of MCP.
pub(super) fn mcp_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::var_os("HAFT_VALIDATORS_MCP").map_or_else(|| install(Some("mcp")), PathBuf::from))
}

/// A file of the validators in the repository.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/validators").join(name)
}

fn install(part: Option<&str>) -> PathBuf {
    let output = Command::new(source("setup")).args(part).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the validators cannot be installed; see the output of tests/validators/setup");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
}

#[test]
fn dependencies_document_lists_the_installed_validators() {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let document = read(source("../../docs/internal/DEPENDENCIES.md"));
    let mut rows = Vec::new();
    for part in ["", "mcp/"] {
        let package: serde_json::Value = serde_json::from_str(&read(source(&format!("{part}package.json")))).unwrap();
        let of_npm = ["dependencies", "optionalDependencies"].map(|key| package[key].as_object().unwrap().clone());
        let of_npm = of_npm.into_iter().flatten().map(|(name, version)| (name, version.as_str().unwrap().to_owned()));
        let of_pypi = read(source(&format!("{part}requirements.in")));
        let of_pypi = of_pypi.lines().map(|line| line.split_once("==").unwrap());
        let of_pypi = of_pypi.map(|(name, version)| (name.to_owned(), version.to_owned()));
        rows.extend(of_npm.chain(of_pypi).map(|(name, version)| format!("| `{name}` | {version} |")));
    }
    assert_eq!(rows.len(), 14, "{rows:?}");
    let missing: Vec<&String> = rows.iter().filter(|row| !document.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/internal/DEPENDENCIES.md has no row that begins with {missing:?}");
}
