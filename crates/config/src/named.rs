//! Which files of the workspace a hook's command names. Whoever can change one of them chooses what the hook does.

use std::path::{Component, Path, PathBuf};

/// What a command names in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Files that are there; of a link both itself and where it leads.
    pub(crate) files: Vec<PathBuf>,
    /// Programs that are not there yet.
    pub(crate) missing: Vec<PathBuf>,
    /// Folders: what is read in them nobody can tell.
    pub(crate) folders: Vec<PathBuf>,
}

/// Deeper than anyone quotes commands in commands.
const MAX_NESTED: usize = 4;
/// What runs the file that is named behind it.
const RUNNERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", ".",
    "source",
];
/// What stands before a command and is not the command.
const BEFORE: &[&str] =
    &["if", "then", "else", "elif", "do", "while", "until", "!", "exec", "env", "command", "nohup", "time", "sudo", "nice"];

/// What the words of a command name in a workspace, as far as it can be told without running it.
pub(crate) fn named(command: &str, workspace: &Path, home: Option<&Path>) -> Named {
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let mut search = Search { workspace: &workspace, home, found: Named::default() };
    search.line(command, 0);
    search.found
}

struct Search<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
    found: Named,
}

impl Search<'_> {
    fn line(&mut self, line: &str, depth: usize) {
        for word in words(line) {
            self.word(&word);
            if depth < MAX_NESTED && word.quoted && word.text.contains(|letter: char| letter.is_whitespace() || is_operator(letter)) {
                self.line(&word.text, depth + 1);
            }
        }
    }

    /// The word itself, and its parts where it is a setting or a list: `PATH=./bin:$PATH`, `--rules=check.awk`, `@body.json`.
    fn word(&mut self, word: &Word) {
        let parts = word.text.split(['=', ':', ',']).filter(|part| *part != word.text);
        for text in std::iter::once(word.text.as_str()).chain(parts) {
            self.path(text.trim_start_matches('@'), word.runs);
        }
    }

    fn path(&mut self, text: &str, runs: bool) {
        let Some(written) = self.expanded(text).filter(|written| !written.is_empty()) else { return };
        if let Some(open) = written.find(['*', '?', '[', '$']) {
            // What it stands for is known when it runs: any file of the folder.
            if let Some(end) = written[..open].rfind('/') {
                self.place(&written[..=end], false);
            }
            return;
        }
        let is_program = runs && written.contains('/') || written.starts_with("./") || written.starts_with('/');
        self.place(&written, is_program || runs && Path::new(&written).extension().is_some());
    }

    /// With what stands for the workspace and the home written out; `None` where there is no home.
    fn expanded(&self, text: &str) -> Option<String> {
        let (workspace, home) = (self.workspace.to_string_lossy(), self.home.map(Path::to_string_lossy));
        let text = text.replace("${PWD}", &workspace).replace("$PWD", &workspace);
        let Some(home) = home else { return (!text.starts_with('~') && !text.contains("HOME")).then_some(text) };
        let text = text.replace("${HOME}", &home).replace("$HOME", &home);
        Some(text.strip_prefix("~/").map(|rest| format!("{home}/{rest}")).unwrap_or(text))
    }

    fn place(&mut self, written: &str, is_program: bool) {
        let path = clean(&self.workspace.join(written));
        let inside = |path: &Path| path.starts_with(self.workspace);
        let real = path.canonicalize().ok();
        let places: Vec<PathBuf> = [Some(path), real.clone()].into_iter().flatten().filter(|path| inside(path)).collect();
        let list = match real.as_deref().map(Path::is_dir) {
            Some(true) => &mut self.found.folders,
            Some(false) => &mut self.found.files,
            None if is_program => &mut self.found.missing,
            None => return,
        };
        for place in places {
            if !list.contains(&place) {
                list.push(place);
            }
        }
    }
}

/// Without `.` and `..`, which are taken by their letters.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = clean.pop(),
            part => clean.push(part),
        }
    }
    clean
}

/// A word of a shell line.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    text: String,
    /// Whether it is what runs: the command, or the script of an interpreter.
    runs: bool,
    quoted: bool,
}

const fn is_operator(letter: char) -> bool {
    matches!(letter, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '{' | '}' | '\n')
}

/// The words of a shell line. Too many are better than too few: what is no file in the workspace names nothing.
fn words(line: &str) -> Vec<Word> {
    let mut reader = Reader { words: Vec::new(), text: String::new(), started: false, quoted: false, runs: true };
    let mut letters = line.chars();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                (reader.started, reader.quoted) = (true, true);
            }
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '\\') => reader.text.extend(letters.next().filter(|next| *next != '\n')),
            (None, _) if letter.is_whitespace() || is_operator(letter) => reader.end(letter),
            _ => reader.text.push(letter),
        }
    }
    reader.end(' ');
    reader.words
}

struct Reader {
    words: Vec<Word>,
    text: String,
    started: bool,
    quoted: bool,
    runs: bool,
}

impl Reader {
    /// The word is over, because this letter came.
    fn end(&mut self, letter: char) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() || self.started {
            let runs = self.runs && !text.starts_with('-');
            self.runs = self.runs && !runs || BEFORE.contains(&text.as_str()) || is_setting(&text) || runs && is_runner(&text);
            self.words.push(Word { text, runs, quoted: self.quoted });
        }
        (self.started, self.quoted) = (false, false);
        self.runs = match letter {
            '<' | '>' => false,
            _ => self.runs || is_operator(letter),
        };
    }
}

fn is_setting(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

fn is_runner(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    RUNNERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("home/project"));
        std::fs::create_dir_all(work.join("tools/sub")).unwrap();
        for file in ["project/check.sh", "project/tools/a b.sh", "project/rules.awk", "outside.sh"] {
            std::fs::write(home.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("check.sh", work.join("link")).unwrap();
        std::os::unix::fs::symlink("../outside.sh", work.join("away")).unwrap();
        let Named { files, missing, folders } = named(&command.replace("WORK", &work.to_string_lossy()), &work, Some(&home));
        let short = |paths: Vec<PathBuf>| {
            paths.iter().map(|path| path.strip_prefix(&work).unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        (short(files), short(missing), short(folders))
    }

    #[test]
    fn every_way_to_name_a_file_is_seen() {
        for (command, expected) in [
            ("sh ./check.sh", &["check.sh"][..]),
            ("check.sh", &["check.sh"]),
            ("cat<check.sh|awk -f rules.awk", &["check.sh", "rules.awk"]),
            ("sh -c './check.sh && \"tools/a b.sh\"'", &["check.sh", "tools/a b.sh"]),
            ("sh tools/a\\ b.sh", &["tools/a b.sh"]),
            ("awk --file=rules.awk; X=check.sh y", &["rules.awk", "check.sh"]),
            ("sh $PWD/check.sh", &["check.sh"]),
            ("sh \"${PWD}/tools/../check.sh\"", &["check.sh"]),
            ("sh ~/project/check.sh", &["check.sh"]),
            ("sh \"$HOME/project/check.sh\"", &["check.sh"]),
            ("WORK/check.sh", &["check.sh"]),
            ("echo `./check.sh` $(cat rules.awk)", &["check.sh", "rules.awk"]),
            ("./link", &["link", "check.sh"]),
            ("./away", &["away"]),
            ("curl -d @rules.awk x", &["rules.awk"]),
            ("~/outside.sh; /bin/true; make lint; echo 'check.sh is nice' > /dev/null", &["check.sh"]),
            ("../outside.sh", &[]),
        ] {
            assert_eq!(found(command).0, expected, "{command}");
        }
    }

    #[test]
    fn what_is_not_there_yet_and_whole_folders_are_seen() {
        for (command, missing, folders) in [
            ("./gone", &["gone"][..], &[][..]),
            ("sh gone.sh", &["gone.sh"], &[]),
            ("bash -e tools/gone", &["tools/gone"], &[]),
            ("FOO=1 tools/gone", &["tools/gone"], &[]),
            ("true && WORK/tools/gone", &["tools/gone"], &[]),
            ("sed s/a/b/; echo gone.sh", &[], &[]),
            ("cd tools && ./x", &["x"], &["tools"]),
            ("run-parts ./tools/sub", &[], &["tools/sub"]),
            ("for f in tools/*.sh; do sh $f; done", &[], &["tools"]),
            ("read -r call; case $call in *draft*) exit 2;; esac", &[], &[]),
        ] {
            let (_, seen_missing, seen_folders) = found(command);
            assert_eq!(
                (seen_missing, seen_folders),
                (missing.iter().map(ToString::to_string).collect(), folders.iter().map(ToString::to_string).collect()),
                "{command}"
            );
        }
    }
}
