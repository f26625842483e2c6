//! Mount points in private folders, which stay between runs, so that a command may have replaced anything in them by a link.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// Creates a mount point in a private folder, and returns the folders above it, outermost first.
///
/// Whatever is not a directory in its place is removed: bubblewrap follows links, also to the host.
pub(super) fn create(private: &Path, inside: &Path, is_folder: bool) -> io::Result<Vec<PathBuf>> {
    let mut path = private.to_owned();
    let mut above = Vec::new();
    let mut names = inside.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a mount point contains '.' or '..'"));
        };
        path.push(name);
        if names.peek().is_some() {
            make_folder(&path)?;
            above.push(path.clone());
        } else if is_folder {
            make_folder(&path)?;
        } else {
            make_file(&path)?;
        }
    }
    Ok(above)
}

fn make_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    match DirBuilder::new().mode(0o755).create(path) {
        // Another run has created it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(path)?.is_dir() => Ok(()),
        other => other,
    }
}

fn make_file(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path)?,
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(path)?.is_file() => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_place_of_a_mount_point_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (private, host) = (folder.path().join("private"), folder.path().join("host"));
        fs::create_dir(&private).unwrap();
        fs::create_dir(&host).unwrap();
        std::os::unix::fs::symlink(&host, private.join(".cargo")).unwrap();
        let above = create(&private, Path::new(".cargo/bin"), true).unwrap();
        assert_eq!(above, [private.join(".cargo")]);
        assert!(private.join(".cargo/bin").is_dir() && !private.join(".cargo").is_symlink());
        assert_eq!(fs::read_dir(&host).unwrap().count(), 0, "nothing is created where the link leads");
        create(&private, Path::new(".cargo/bin"), false).unwrap();
        assert!(private.join(".cargo/bin").is_file());
        assert!(create(&private, Path::new("../host/x"), true).is_err());
    }
}
