//! Files named with `@` in a message: completed while typing.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

/// How many entries of a tree are searched.
const MOST_ENTRIES: usize = 20_000;
/// How many files are offered.
const MOST_OFFERED: usize = 50;
/// Folders of generated files.
const GENERATED: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// Start and path of the mention that ends at this position.
pub(super) fn find_mention(line: &str, position: usize) -> Option<(usize, &str)> {
    let before = line.get(..position)?;
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    before[start..].strip_prefix('@').map(|path| (start, path))
}

/// The files that match what was typed, best match first.
pub fn matching_files(folder: &Path, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut ranked: Vec<(u8, String)> = files(folder).into_iter().filter_map(|path| Some((rank(&path, &typed)?, path))).collect();
    ranked.sort_by(|(rank, path), (other_rank, other)| (rank, path.len(), path).cmp(&(other_rank, other.len(), other)));
    ranked.into_iter().take(MOST_OFFERED).map(|(_, path)| path).collect()
}

/// Rank of a path: prefix of the path, prefix of the name, substring, characters in order; `None` for no match.
fn rank(path: &str, typed: &str) -> Option<u8> {
    let path = path.to_lowercase();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let ranks = [path.starts_with(typed), name.starts_with(typed), path.contains(typed), has_chars_in_order(&path, typed)];
    ranks.iter().position(|matches| *matches).and_then(|rank| u8::try_from(rank).ok())
}

/// Whether a text has these characters in this order.
pub(super) fn has_chars_in_order(text: &str, chars: &str) -> bool {
    let mut rest = text.chars();
    chars.chars().all(|ch| rest.any(|other| other == ch))
}

/// Files below a folder, without hidden, ignored and generated ones.
fn files(folder: &Path) -> Vec<String> {
    let wanted = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_str().is_some_and(|name| GENERATED.contains(&name));
    let walk = WalkBuilder::new(folder).require_git(false).filter_entry(wanted).build();
    let files = walk.take(MOST_ENTRIES).flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.filter_map(|entry| entry.path().strip_prefix(folder).ok()?.to_str().map(str::to_owned)).collect()
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
    fn mention_offers_best_match_first_without_hidden_ignored_or_generated_files() {
        let folder = tree();
        for (typed, expected) in [
            ("", &["README.md", "src/main.rs", "src/model.rs", "docs/reading.md"][..]),
            ("rea", &["README.md", "docs/reading.md"]),
            ("src/m", &["src/main.rs", "src/model.rs"]),
            ("main", &["src/main.rs"]),
            ("smo", &["src/model.rs"]),
            ("env", &[]),
        ] {
            assert_eq!(matching_files(folder.path(), typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn mention_is_the_word_before_the_cursor() {
        for (line, position, expected) in [
            ("@", 1, Some((0, ""))),
            ("read @src/m", 11, Some((5, "src/m"))),
            ("lies\u{3000}@ä", 10, Some((7, "ä"))),
            ("read @src and", 9, Some((5, "src"))),
            ("read @src ", 10, None),
            ("ann@example.org", 15, None),
            ("", 0, None),
        ] {
            assert_eq!(find_mention(line, position), expected, "{line:?} {position}");
        }
    }
}
