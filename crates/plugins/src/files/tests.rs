use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

const MANIFEST: &str =
    "name = 'p'\nversion = '1'\ndescription = 'd'\ncommand = ['./run']\n[[tools]]\nname = 'count'\ndescription = 'Counts.'\n";

fn plugin() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(MANIFEST_FILE), MANIFEST).unwrap();
    fs::write(folder.path().join("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(folder.path().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn fault(folder: &TempDir) -> String {
    PluginFiles::read(folder.path()).and_then(|files| files.manifest()).unwrap_err().to_string()
}

#[test]
fn fingerprint_covers_paths_content_and_the_executable_bit() {
    let folder = plugin();
    let print = || PluginFiles::read(folder.path()).unwrap().fingerprint();
    let first = print();
    assert_eq!(print(), first);
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/index"), "x").unwrap();
    assert_eq!(print(), first, "what tools of the author keep is not part of it");
    let changes: [(&str, &dyn Fn()); 4] = [
        ("content", &|| fs::write(folder.path().join("run"), "#!/bin/sh\n:\n").unwrap()),
        ("mode", &|| fs::set_permissions(folder.path().join("run"), fs::Permissions::from_mode(0o644)).unwrap()),
        ("new", &|| fs::write(folder.path().join("more"), "").unwrap()),
        ("name", &|| fs::rename(folder.path().join("more"), folder.path().join("less")).unwrap()),
    ];
    let mut seen = vec![first];
    for (what, change) in changes {
        change();
        assert!(!seen.contains(&print()), "{what}");
        seen.push(print());
    }
}

#[test]
fn links_special_files_and_missing_commands_are_refused() {
    let linked = plugin();
    symlink("/etc/passwd", linked.path().join("secret")).unwrap();
    assert!(fault(&linked).contains("'secret' is a symbolic link"), "{}", fault(&linked));
    let folder_link = plugin();
    symlink("/etc", folder_link.path().join("etc")).unwrap();
    assert!(fault(&folder_link).contains("'etc' is a symbolic link"));
    let pipe = plugin();
    rustix::fs::mknodat(rustix::fs::CWD, pipe.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert!(fault(&pipe).contains("'pipe' is a pipe, socket or device"));
    let not_executable = plugin();
    fs::set_permissions(not_executable.path().join("run"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(fault(&not_executable).contains("'run', which is not executable"));
    let missing = plugin();
    fs::remove_file(missing.path().join("run")).unwrap();
    assert!(fault(&missing).contains("'command' names 'run', which is not in the folder"));
    let absolute = plugin();
    fs::write(absolute.path().join(MANIFEST_FILE), MANIFEST.replace("./run", "/bin/sh")).unwrap();
    assert!(fault(&absolute).contains("absolute path"));
    let up = plugin();
    fs::write(up.path().join(MANIFEST_FILE), MANIFEST.replace("./run", "../../bin/sh")).unwrap();
    assert!(fault(&up).contains("which is not in the folder"));
    let link_itself = TempDir::new().unwrap();
    symlink(plugin().path(), link_itself.path().join("p")).unwrap();
    assert!(PluginFiles::read(&link_itself.path().join("p")).is_err());
    let empty = TempDir::new().unwrap();
    assert!(fault(&empty).contains("has no plugin.toml"));
}

#[test]
fn sizes_are_bounded() {
    let large = plugin();
    fs::write(large.path().join(MANIFEST_FILE), vec![b'#'; 10 << 20]).unwrap();
    assert!(fault(&large).contains("too large at 'plugin.toml'"), "{}", fault(&large));
    let heavy = plugin();
    fs::File::create(heavy.path().join("blob")).unwrap().set_len(40 << 20).unwrap();
    assert!(fault(&heavy).contains("too large at 'blob'"), "{}", fault(&heavy));
    let many = plugin();
    for number in 0..MOST_FILES {
        fs::write(many.path().join(format!("f{number}")), "").unwrap();
    }
    assert!(fault(&many).contains("more than 2000 files"));
    let deep = plugin();
    fs::create_dir_all(deep.path().join("d/".repeat(DEEPEST + 2))).unwrap();
    assert!(fault(&deep).contains("deeper than 16 levels"));
}
