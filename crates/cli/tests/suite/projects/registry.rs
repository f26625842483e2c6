//! A registry for Python, Node and Rust at once, with one small package each.

use std::process::Command;

use tempfile::TempDir;

use super::super::effects::{Answer, Server};

/// Makes a wheel that runs functions named `test_…`, a package of npm, and a crate, each as its registry serves it.
const MAKE: &str = r#"
set -eu
python3 - <<'PYTHON'
import zipfile
main = '''
import glob, importlib.util, sys

def main():
    passed = 0
    for name in glob.glob("tests/test_*.py"):
        spec = importlib.util.spec_from_file_location("tested", name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for key, value in vars(module).items():
            if key.startswith("test_"):
                value()
                passed += 1
    print(f"{passed} passed")
    sys.exit(0)

if __name__ == "__main__":
    main()
'''
info = "pytest-0.1.0.dist-info/"
with zipfile.ZipFile("pytest-0.1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("pytest/__init__.py", "")
    wheel.writestr("pytest/__main__.py", main)
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: pytest\nVersion: 0.1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "entry_points.txt", "[console_scripts]\npytest = pytest.__main__:main\n")
    wheel.writestr(info + "RECORD", "")
PYTHON
mkdir -p package tinylib-0.1.0/src
echo '{"name": "tiny-pad", "version": "1.0.0", "main": "index.js"}' > package/package.json
echo 'module.exports = (text, width) => text.padStart(width);' > package/index.js
tar czf tiny-pad-1.0.0.tgz package
printf '[package]\nname = "tinylib"\nversion = "0.1.0"\nedition = "2021"\n' > tinylib-0.1.0/Cargo.toml
echo 'pub fn number() -> u32 { 42 }' > tinylib-0.1.0/src/lib.rs
tar czf tinylib-0.1.0.crate tinylib-0.1.0
sha256sum tinylib-0.1.0.crate | cut -d' ' -f1 > checksum
"#;

pub(super) struct Registry {
    pub(super) server: Server,
}

impl Registry {
    pub(super) fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let made = Command::new("bash").args(["-c", MAKE]).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self { server: Server::with(move |path, host| answer(&folder, path, host)) }
    }

    pub(super) fn assert_served(&self, file: &str) {
        let requests = self.server.requests();
        assert!(requests.contains(&format!("/files/{file}")), "{requests:?}");
    }

    /// The configuration of a user who lets commands reach it.
    pub(super) fn allowed(&self) -> String {
        format!("network.allow = ['{0}']\nrules.allow = ['connect(domain:{0})']\n", self.server.host)
    }
}

fn answer(folder: &TempDir, path: &str, host: &str) -> Answer {
    let file = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let page = |kind: &str, body: Vec<u8>| (200, vec![("Content-Type".to_owned(), kind.to_owned())], body);
    let wheel = "pytest-0.1.0-py3-none-any.whl";
    match path.trim_end_matches('/') {
        "/simple/pytest" => page("text/html", format!("<html><body><a href=\"/files/{wheel}\">{wheel}</a></body></html>").into_bytes()),
        "/npm/tiny-pad" => page("application/json", packument(host).into_bytes()),
        "/index/config.json" => {
            page("application/json", format!("{{\"dl\": \"http://{host}/files/{{crate}}-{{version}}.crate\"}}").into_bytes())
        }
        "/index/ti/ny/tinylib" => page("text/plain", index_line(&String::from_utf8(file("checksum")).unwrap()).into_bytes()),
        path if path.starts_with("/files/") => page("application/octet-stream", file(&path["/files/".len()..])),
        _ => (404, Vec::new(), Vec::new()),
    }
}

fn packument(host: &str) -> String {
    let tarball = format!("http://{host}/files/tiny-pad-1.0.0.tgz");
    format!(
        "{{\"name\": \"tiny-pad\", \"dist-tags\": {{\"latest\": \"1.0.0\"}}, \"versions\": {{\"1.0.0\": {{\"name\": \"tiny-pad\", \
         \"version\": \"1.0.0\", \"main\": \"index.js\", \"dist\": {{\"tarball\": \"{tarball}\"}}}}}}}}"
    )
}

fn index_line(checksum: &str) -> String {
    let checksum = checksum.trim();
    format!("{{\"name\":\"tinylib\",\"vers\":\"0.1.0\",\"deps\":[],\"cksum\":\"{checksum}\",\"features\":{{}},\"yanked\":false}}\n")
}
