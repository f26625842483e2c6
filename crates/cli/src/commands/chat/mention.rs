//! Files that a message names with `@`: found while one types, and named to the model, which reads them with its own tool.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

/// How many entries of a tree are looked at.
const MOST_ENTRIES: usize = 20_000;
/// How many files are offered.
const MOST_OFFERED: usize = 50;
/// Folders that hold what programs made.
const MADE: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// The beginning of a mention that ends at this place of a line, and what was typed of its path.
pub(super) fn begun(line: &str, position: usize) -> Option<(usize, &str)> {
    let before = line.get(..position)?;
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    before[start..].strip_prefix('@').map(|path| (start, path))
}

/// The files of a folder that fit what was typed, the likeliest first.
pub(super) fn fitting(folder: &Path, typed: &str) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let mut found: Vec<(u8, String)> = files(folder).into_iter().filter_map(|path| Some((rank(&path, &wanted)?, path))).collect();
    found.sort_by(|(rank, path), (other_rank, other)| (rank, path.len(), path).cmp(&(other_rank, other.len(), other)));
    found.into_iter().take(MOST_OFFERED).map(|(_, path)| path).collect()
}

/// How well a path fits: it begins so, its name begins so, it contains it, its letters come in this order; or not at all.
fn rank(path: &str, wanted: &str) -> Option<u8> {
    let path = path.to_lowercase();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let ranks = [path.starts_with(wanted), name.starts_with(wanted), path.contains(wanted), in_order(&path, wanted)];
    ranks.iter().position(|fits| *fits).and_then(|rank| u8::try_from(rank).ok())
}

/// Whether the letters of one text come in another in the same order.
pub(super) fn in_order(text: &str, letters: &str) -> bool {
    let mut rest = text.chars();
    letters.chars().all(|letter| rest.any(|other| other == letter))
}

/// The files beneath a folder. Hidden ones, what git is told to ignore, and what programs made are left out.
fn files(folder: &Path) -> Vec<String> {
    let wanted = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_str().is_some_and(|name| MADE.contains(&name));
    let walk = WalkBuilder::new(folder).require_git(false).filter_entry(wanted).build();
    // What cannot be read has nothing to offer.
    let files = walk.take(MOST_ENTRIES).flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.filter_map(|entry| entry.path().strip_prefix(folder).ok()?.to_str().map(str::to_owned)).collect()
}

/// A message as the model gets it: a file that is there is named without the sign, all else stays as it was typed.
pub(super) fn named(message: &str, folder: &Path) -> String {
    message.split_inclusive(char::is_whitespace).map(|word| without_sign(word, folder)).collect()
}

fn without_sign<'a>(word: &'a str, folder: &Path) -> &'a str {
    let Some(path) = word.strip_prefix('@') else { return word };
    let bare = path.trim_end().trim_end_matches([',', '.', ';', ':', '?', '!', ')']);
    if bare.is_empty() || !folder.join(bare).exists() { word } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in ["README.md", "src/main.rs", "src/model.rs", "docs/reading.md", ".git/config", "target/main.rs", ".env", "out/main.rs"]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(folder.path().join(".gitignore"), "/out\n").unwrap();
        folder
    }

    #[test]
    fn the_likeliest_file_comes_first_and_what_is_hidden_ignored_or_made_is_not_offered() {
        let folder = tree();
        for (typed, expected) in [
            ("", &["README.md", "src/main.rs", "src/model.rs", "docs/reading.md"][..]),
            ("rea", &["README.md", "docs/reading.md"]),
            ("src/m", &["src/main.rs", "src/model.rs"]),
            ("main", &["src/main.rs"]),
            ("smo", &["src/model.rs"]),
            ("env", &[]),
        ] {
            assert_eq!(fitting(folder.path(), typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_mention_is_the_word_before_the_cursor() {
        for (line, position, expected) in [
            ("@", 1, Some((0, ""))),
            ("read @src/m", 11, Some((5, "src/m"))),
            ("lies\u{3000}@ä", 10, Some((7, "ä"))),
            ("read @src and", 9, Some((5, "src"))),
            ("read @src ", 10, None),
            ("ann@example.org", 15, None),
            ("", 0, None),
        ] {
            assert_eq!(begun(line, position), expected, "{line:?} {position}");
        }
    }

    #[test]
    fn only_files_that_are_there_lose_their_sign() {
        let folder = tree();
        for (message, named_so) in [
            ("what does @README.md say?", "what does README.md say?"),
            ("compare @src/main.rs,\n@src/model.rs.", "compare src/main.rs,\nsrc/model.rs."),
            ("ask @ann, ann@example.org and @", "ask @ann, ann@example.org and @"),
            ("@missing.md  @src", "@missing.md  src"),
        ] {
            assert_eq!(named(message, folder.path()), named_so);
        }
    }
}
