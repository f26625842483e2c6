//! The files of a plugin: read once beneath a handle, so that what is shown, fingerprinted and copied is the same.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use haft_text::display;
use ring::digest::{Context, SHA256};
use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};

use crate::PluginFault;
use crate::manifest::{LARGEST, PluginManifest};

/// The file that makes a folder a plugin.
pub const MANIFEST_FILE: &str = "plugin.toml";
/// Most bytes and files of a plugin, and how deep its folders lie.
const MOST_BYTES: usize = 32 << 20;
const MOST_FILES: usize = 2_000;
const DEEPEST: usize = 16;
/// Folders that belong to tools of the author, not to the plugin.
const SKIPPED: &[&str] = &[".git", "__pycache__"];

/// The files of a plugin, by their paths in its folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PluginFiles {
    files: BTreeMap<String, PluginFile>,
    bytes: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct PluginFile {
    content: Vec<u8>,
    is_executable: bool,
}

impl PluginFiles {
    /// Reads a folder. Links and special files are refused: what they lead to is not part of it.
    pub fn read(folder: &Path) -> Result<Self, PluginFault> {
        let shown = display::escape_line(&folder.to_string_lossy()).into_owned();
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(folder, flags, Mode::empty());
        let opened = opened.map_err(|error| PluginFault::new(format!("'{shown}' cannot be opened as a folder: {error}")))?;
        let mut files = Self::default();
        files.add_folder(&opened, "", 0)?;
        if files.files.contains_key(MANIFEST_FILE) {
            Ok(files)
        } else {
            Err(PluginFault::new(format!("'{shown}' has no {MANIFEST_FILE}, so it is not a plugin")))
        }
    }

    fn add_folder(&mut self, folder: &OwnedFd, prefix: &str, depth: usize) -> Result<(), PluginFault> {
        let failed = |error: rustix::io::Errno| PluginFault::new(format!("the folder '{prefix}' cannot be read: {error}"));
        if depth > DEEPEST {
            return Err(PluginFault::new(format!("the folder '{prefix}' lies deeper than {DEEPEST} levels")));
        }
        for entry in Dir::read_from(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_str().map_err(|_| PluginFault::new(format!("a file name in '{prefix}' is not UTF-8")))?;
            if matches!(name, "." | "..") || SKIPPED.contains(&name) {
                continue;
            }
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            self.add_entry(folder, entry.file_type(), name, path, depth)?;
        }
        Ok(())
    }

    fn add_entry(&mut self, folder: &OwnedFd, kind: FileType, name: &str, path: String, depth: usize) -> Result<(), PluginFault> {
        let shown = display::escape_line(&path).into_owned();
        let refuse = |what: &str| PluginFault::new(format!("'{shown}' is {what}, which a plugin may not have: put the file itself there"));
        match kind {
            FileType::Symlink => return Err(refuse("a symbolic link")),
            FileType::RegularFile | FileType::Directory | FileType::Unknown => {}
            _ => return Err(refuse("a pipe, socket or device")),
        }
        // The entry may be another one by now: no link is followed, and a pipe is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let failed = |error: rustix::io::Errno| PluginFault::new(format!("'{shown}' cannot be read: {error}"));
        let opened = openat(folder, name, flags, Mode::empty()).map_err(|error| match error {
            rustix::io::Errno::LOOP => refuse("a symbolic link"),
            error => failed(error),
        })?;
        let state = fstat(&opened).map_err(failed)?;
        match FileType::from_raw_mode(state.st_mode) {
            FileType::Directory => self.add_folder(&opened, &path, depth + 1),
            FileType::RegularFile => self.add_file(File::from(opened), path, state.st_mode & 0o111 != 0),
            _ => Err(refuse("a pipe, socket or device")),
        }
    }

    fn add_file(&mut self, file: File, path: String, is_executable: bool) -> Result<(), PluginFault> {
        let most = if path == MANIFEST_FILE { LARGEST } else { MOST_BYTES - self.bytes };
        let mut content = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let read = file.take(limit).read_to_end(&mut content);
        let shown = display::escape_line(&path).into_owned();
        read.map_err(|error| PluginFault::new(format!("'{shown}' cannot be read: {error}")))?;
        if content.len() > most {
            let limit = haft_text::numbers::size(if path == MANIFEST_FILE { LARGEST } else { MOST_BYTES } as u64);
            return Err(PluginFault::new(format!("it is too large at '{shown}': {limit} are the most")));
        }
        if self.files.len() >= MOST_FILES {
            return Err(PluginFault::new(format!("it has more than {MOST_FILES} files: ship fewer, or an archive that it unpacks")));
        }
        self.bytes += content.len();
        self.files.insert(path, PluginFile { content, is_executable });
        Ok(())
    }

    /// Reads the manifest.
    pub fn manifest(&self) -> Result<PluginManifest, PluginFault> {
        let content = self.files.get(MANIFEST_FILE).map(|file| file.content.as_slice()).unwrap_or_default();
        let text = std::str::from_utf8(content).map_err(|_| PluginFault::new(format!("{MANIFEST_FILE} is not UTF-8")))?;
        let manifest = PluginManifest::parse(text)?;
        self.check_command(&manifest)?;
        Ok(manifest)
    }

    /// Whether the parts of the command that lie in the folder are there, and the program is executable.
    fn check_command(&self, manifest: &PluginManifest) -> Result<(), PluginFault> {
        if let Some(component) = manifest.component.as_deref().filter(|component| !self.files.contains_key(*component)) {
            return Err(PluginFault::new(format!("'component' names '{}', which is not in the folder", display::escape_line(component))));
        }
        for (index, word) in manifest.words("").iter().enumerate() {
            let Some(path) = word.strip_prefix('/').filter(|_| manifest.command[index] != *word) else {
                if index == 0 && word.contains('/') {
                    let advice = "give a bare name, or a path in its own folder";
                    return Err(PluginFault::new(format!("'command' names the program by an absolute path: {advice}")));
                }
                continue;
            };
            let shown = display::escape_line(path);
            match self.files.get(path) {
                None => return Err(PluginFault::new(format!("'command' names '{shown}', which is not in the folder"))),
                Some(file) if index == 0 && !file.is_executable => {
                    return Err(PluginFault::new(format!("'command' names '{shown}', which is not executable: chmod +x {shown}")));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The content of a file.
    #[cfg(feature = "wasm")]
    pub(crate) fn take(mut self, path: &str) -> Option<Vec<u8>> {
        self.files.remove(path).map(|file| file.content)
    }

    /// SHA-256 of all files with their paths and whether they are executable, as hex.
    pub fn fingerprint(&self) -> String {
        let mut hash = Context::new(&SHA256);
        for (path, file) in &self.files {
            for part in [path.as_bytes(), &file.content] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            hash.update(&[u8::from(file.is_executable)]);
        }
        haft_text::hex::encode(hash.finish())
    }

    /// How many files and bytes there are.
    pub fn size(&self) -> (usize, usize) {
        (self.files.len(), self.bytes)
    }

    /// The paths that differ from other files, with what happened to each.
    pub(crate) fn differences(&self, before: &Self) -> Vec<String> {
        let now = self.files.iter().filter_map(|(path, file)| match before.files.get(path) {
            None => Some(format!("{path} (new)")),
            Some(old) if old != file => Some(format!("{path} (changed)")),
            Some(_) => None,
        });
        let gone = before.files.keys().filter(|path| !self.files.contains_key(*path)).map(|path| format!("{path} (gone)"));
        now.chain(gone).collect()
    }

    /// Writes the files into a new folder that is private to the user.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let make = |folder: &Path| DirBuilder::new().mode(0o700).recursive(true).create(folder);
        make(folder)?;
        for (path, file) in &self.files {
            let path = folder.join(path);
            make(path.parent().unwrap_or(folder))?;
            let mode = if file.is_executable { 0o500 } else { 0o400 };
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?.write_all(&file.content)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
