//! Finds the files of the workspace that a hook's command names. Changing one of them changes what the hook does.

use std::path::{Path, PathBuf};

use haft_programs::class_of;
use haft_text::paths::lexical;

/// Files of the workspace that a command names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandFiles {
    /// Existing files; of a link both itself and its target.
    pub(crate) files: Vec<PathBuf>,
    /// Missing programs.
    pub(crate) missing: Vec<PathBuf>,
    /// Folders: which of their files are read is not known.
    pub(crate) folders: Vec<PathBuf>,
}

/// The deepest nesting of quoted commands that is searched.
const MAX_NESTED: usize = 4;
/// Words of the shell before a command.
const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "do", "while", "until", "!", "."];

/// Finds the files that the words of a command name, as far as it can be told without running it.
pub(crate) fn files_of(command: &str, workspace: &Path, home: Option<&Path>) -> CommandFiles {
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let mut search = FileSearch { workspace: &workspace, home, found: CommandFiles::default() };
    search.command(command, 0);
    search.found
}

struct FileSearch<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
    found: CommandFiles,
}

impl FileSearch<'_> {
    fn command(&mut self, command: &str, depth: usize) {
        for word in words(command) {
            self.word(&word);
            if depth < MAX_NESTED && word.quoted && word.text.contains(|ch: char| ch.is_whitespace() || is_operator(ch)) {
                self.command(&word.text, depth + 1);
            }
        }
    }

    /// The word itself, and its parts where it is a setting or a list: `PATH=./bin:$PATH`, `--rules=check.awk`, `@body.json`.
    fn word(&mut self, word: &CommandFileWord) {
        let parts = word.text.split(['=', ':', ',']).filter(|part| *part != word.text);
        for text in std::iter::once(word.text.as_str()).chain(parts) {
            self.path(text.trim_start_matches('@'), word.runs);
        }
    }

    fn path(&mut self, text: &str, runs: bool) {
        let Some(written) = self.expanded(text).filter(|written| !written.is_empty()) else { return };
        if let Some(open) = written.find(['*', '?', '[', '$']) {
            // It may match any file of the folder.
            if let Some(end) = written[..open].rfind('/') {
                self.add(&written[..=end], false);
            }
            return;
        }
        let is_program = runs && written.contains('/') || written.starts_with("./") || written.starts_with('/');
        self.add(&written, is_program || runs && Path::new(&written).extension().is_some());
    }

    /// Replaces variables for the workspace and the home; `None` where there is no home.
    fn expanded(&self, text: &str) -> Option<String> {
        let (workspace, home) = (self.workspace.to_string_lossy(), self.home.map(Path::to_string_lossy));
        let text = text.replace("${PWD}", &workspace).replace("$PWD", &workspace);
        let Some(home) = home else { return (!text.starts_with('~') && !text.contains("HOME")).then_some(text) };
        let text = text.replace("${HOME}", &home).replace("$HOME", &home);
        Some(text.strip_prefix("~/").map(|rest| format!("{home}/{rest}")).unwrap_or(text))
    }

    fn add(&mut self, written: &str, is_program: bool) {
        let path = lexical(&self.workspace.join(written));
        let inside = |path: &Path| path.starts_with(self.workspace);
        let real = path.canonicalize().ok();
        let paths: Vec<PathBuf> = [Some(path), real.clone()].into_iter().flatten().filter(|path| inside(path)).collect();
        let list = match real.as_deref().map(Path::is_dir) {
            Some(true) => &mut self.found.folders,
            Some(false) => &mut self.found.files,
            None if is_program => &mut self.found.missing,
            None => return,
        };
        for path in paths {
            if !list.contains(&path) {
                list.push(path);
            }
        }
    }
}

/// A word of a shell command.
#[derive(Debug, PartialEq, Eq)]
struct CommandFileWord {
    text: String,
    /// Whether it is the program, or the script of an interpreter.
    runs: bool,
    quoted: bool,
}

const fn is_operator(ch: char) -> bool {
    matches!(ch, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '{' | '}' | '\n')
}

/// The words of a shell command. Too many do no harm: a word that is no file in the workspace names nothing.
fn words(command: &str) -> Vec<CommandFileWord> {
    let mut splitter = WordSplitter { words: Vec::new(), text: String::new(), started: false, quoted: false, runs: true };
    let mut chars = command.chars();
    let mut quote = None;
    while let Some(ch) = chars.next() {
        match (quote, ch) {
            (None, '\'' | '"') => {
                quote = Some(ch);
                (splitter.started, splitter.quoted) = (true, true);
            }
            (Some(open), _) if open == ch => quote = None,
            (None | Some('"'), '\\') => splitter.text.extend(chars.next().filter(|next| *next != '\n')),
            (None, _) if ch.is_whitespace() || is_operator(ch) => splitter.end(ch),
            _ => splitter.text.push(ch),
        }
    }
    splitter.end(' ');
    splitter.words
}

struct WordSplitter {
    words: Vec<CommandFileWord>,
    text: String,
    started: bool,
    quoted: bool,
    runs: bool,
}

impl WordSplitter {
    /// Ends a word at this separator.
    fn end(&mut self, separator: char) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() || self.started {
            let runs = self.runs && !text.starts_with('-');
            self.runs = self.runs && !runs || KEYWORDS.contains(&text.as_str()) || is_setting(&text) || runs && runs_next_word(&text);
            self.words.push(CommandFileWord { text, runs, quoted: self.quoted });
        }
        (self.started, self.quoted) = (false, false);
        self.runs = match separator {
            '<' | '>' => false,
            _ => self.runs || is_operator(separator),
        };
    }
}

fn is_setting(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

fn runs_next_word(program: &str) -> bool {
    class_of(program).is_some_and(|class| class.runs_scripts() || class.runs_command())
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
        let CommandFiles { files, missing, folders } = files_of(&command.replace("WORK", &work.to_string_lossy()), &work, Some(&home));
        let short = |paths: Vec<PathBuf>| {
            paths.iter().map(|path| path.strip_prefix(&work).unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        (short(files), short(missing), short(folders))
    }

    #[test]
    fn files_are_found_however_they_are_named() {
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
    fn missing_programs_and_whole_folders_are_found() {
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
