//! A crate outside the workspace, made of the lines of README alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use haft_testkit::{ModelServer, Round};
use serde_json::json;

const README: &str = include_str!("../../README.md");

/// The first block of README behind a heading line, in this language.
fn block(language: &str, with: &str) -> String {
    let fence = format!("```{language}");
    let blocks = README.split(&fence).skip(1).filter_map(|rest| rest.split_once('\n')?.1.split_once("```"));
    let found = blocks.map(|(block, _)| block).find(|block| block.contains(with));
    found.expect("README has the block").to_owned()
}

/// The target folder of this build, so that nothing is compiled twice.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    // This is target/debug/deps/embedding-HASH.
    program.ancestors().nth(3).expect("a target folder").to_owned()
}

#[test]
fn crate_with_the_lines_of_readme_compiles_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = block("toml", "[dependencies]").replace("PATH", &root.display().to_string());
    // The same profile as here, so that crates that are built already are used again.
    let ours = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let profile = ours.split_once("[profile.dev]").unwrap().1.split_once("[profile.release]").unwrap().0;
    let package = "[package]\nname = \"embeds-haft\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n";
    std::fs::write(folder.path().join("Cargo.toml"), format!("{package}{manifest}\n[profile.dev]{profile}")).unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/main.rs"), block("rust", "haft::Agent")).unwrap();
    std::fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", target())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    std::fs::create_dir(folder.path().join("work")).unwrap();
    let script = vec![Round::call("1", "greet", json!({"name": "Ann"})), Round::Text("Ann is greeted.".into())];
    let server = ModelServer::start(script).unwrap();
    let run = Command::new(target().join("debug/embeds-haft")).current_dir(folder.path()).env("MODEL_URL", server.url()).output().unwrap();
    let (shown, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && shown.contains("Ann is greeted."), "{shown}{errors}");
}
