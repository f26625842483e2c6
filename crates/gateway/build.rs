//! Makes the files of the page smaller and lists them, so that the binary contains them.

#[path = "src/assets"]
mod assets {
    pub(crate) mod minify;
}

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    println!("cargo::rerun-if-changed={}", page.display());
    println!("cargo::rerun-if-changed=src/assets");
    let target = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let mut files = Vec::new();
    collect(&page, &mut files);
    files.sort();
    let files: Vec<(String, Vec<u8>)> = files.iter().map(|file| (name_of(file, &page), read(file))).collect();
    let minifier = assets::minify::Minifier::new(files.iter().map(|(name, content)| (name.as_str(), content.as_slice())));
    let mut list = String::from("&[\n");
    for (name, content) in &files {
        let small = target.join(name.replace('/', "-"));
        if let Err(error) = fs::write(&small, minifier.minify(name, content)) {
            println!("cargo::error={name} cannot be embedded: {error}");
        }
        // Writing to a string does not fail.
        let _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", small.display().to_string());
    }
    list.push(']');
    fs::write(target.join("page.rs"), list)
        .unwrap_or_else(|error| println!("cargo::error=the list of the page's files cannot be written: {error}"));
}

fn name_of(file: &Path, page: &Path) -> String {
    file.strip_prefix(page).map(|name| name.to_string_lossy().replace('\\', "/")).unwrap_or_default()
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|error| {
        println!("cargo::error={} cannot be read: {error}", file.display());
        Vec::new()
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_shown = |ending: &str| path.extension().is_some_and(|extension| extension == ending);
        // The author of the page keeps what is for trying it out there.
        let is_apart = path.ends_with("mock") || path.ends_with("tests");
        if is_apart {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if ["html", "css", "js", "svg", "json", "ico", "png"].iter().any(|ending| is_shown(ending)) {
            files.push(path);
        }
    }
}
