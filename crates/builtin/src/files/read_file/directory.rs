//! The listing of a directory, where a file was expected.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{FileKind, ToolContext, ToolError, ToolOutput, TreeEntry, TreeOptions, TreeVisitor, Visit};
use haft_text::display;
use haft_text::numbers;
use serde_json::json;

use super::Params;

/// Most names in the list.
const SHOWN: usize = 100;
/// Most names that are counted.
const COUNTED: usize = 100_000;

/// Lists a directory that could not be opened as a file; returns the refusal for anything else.
pub(super) async fn list(params: &Params, refusal: ToolError, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    match cx.fs().info(&params.path).await {
        Ok(info) if info.kind == FileKind::Directory => {}
        _ => return Err(refusal),
    }
    let names = Arc::new(EntryVisitor::default());
    let options = TreeOptions::default().with_ignored(true).with_hidden(true).with_directories(true).to_depth(1);
    cx.fs().walk(&params.path, options, Arc::clone(&names) as Arc<dyn TreeVisitor>).await?;
    let found = std::mem::take(&mut *names.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(listing(&params.name(), &found))
}

/// The number of entries, and the first names with their sizes.
#[derive(Debug, Default)]
struct DirectoryEntries {
    first: BTreeMap<PathBuf, Option<u64>>,
    total: usize,
}

#[derive(Debug, Default)]
struct EntryVisitor(Mutex<DirectoryEntries>);

impl TreeVisitor for EntryVisitor {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.total += 1;
        let later = found.first.len() == SHOWN && found.first.last_key_value().is_some_and(|(last, _)| entry.path() > last.as_path());
        if !later {
            let size = (!entry.is_directory()).then(|| entry.facts().map_or(0, |(size, _)| size));
            found.first.insert(entry.path().to_owned(), size);
        }
        if found.first.len() > SHOWN {
            found.first.pop_last();
        }
        if found.total >= COUNTED { Visit::Enough } else { Visit::On }
    }
}

fn listing(name: &str, found: &DirectoryEntries) -> ToolOutput {
    let lines = found.first.iter().map(|(path, size)| {
        let path = path.to_string_lossy();
        let path = display::escape_line(&path);
        size.map_or_else(|| format!("{path}/\n"), |size| format!("{path} ({})\n", numbers::size(size)))
    });
    let lines: String = lines.collect::<Vec<_>>().concat();
    let count = match found.total {
        0 => "is empty".to_owned(),
        1 => "has 1 entry".into(),
        COUNTED.. => format!("has {COUNTED} entries or more"),
        total => format!("has {total} entries"),
    };
    let rest = if found.total > found.first.len() { format!("(and {} more)\n", found.total - found.first.len()) } else { String::new() };
    let advice = "(Name a file to read it. To find files by their names, also in the folders beneath, use glob_search.)";
    let details = json!({"path": name, "kind": "directory", "entries": found.total, "shown": found.first.len()});
    ToolOutput::text(format!("{name} is a directory and {count}:\n{lines}{rest}\n{advice}")).with_details(details)
}

#[cfg(test)]
mod tests {
    use haft_testkit::{FakeHost, expect_text};

    use super::super::tests::read;
    use super::*;

    #[tokio::test]
    async fn names_come_with_their_sizes_and_folders_with_a_stroke() {
        let host = FakeHost::new();
        host.files.put("d/b.txt", "12345");
        host.files.put("d/.hidden", "");
        host.files.put("d/a/deep/file", "x");
        host.files.put("d/odd\nname", vec![0; 2048]);
        host.files.make_directory("d/empty");
        let advice = "(Name a file to read it. To find files by their names, also in the folders beneath, use glob_search.)";
        let output = read(&host, json!({"path": "d"})).await.unwrap();
        let text =
            format!("d is a directory and has 5 entries:\n.hidden (0 bytes)\na/\nb.txt (5 bytes)\nempty/\nodd\\nname (2.0 KB)\n\n{advice}");
        let details = json!({"path": "d", "kind": "directory", "entries": 5, "shown": 5});
        assert_eq!(output, ToolOutput::text(text).with_details(details));
        let empty = read(&host, json!({"path": "d/empty"})).await;
        assert_eq!(expect_text(empty), format!("d/empty is a directory and is empty:\n\n{advice}"));
    }

    #[tokio::test]
    async fn the_first_hundred_are_shown_and_the_rest_counted() {
        let host = FakeHost::new();
        for number in (0..250).rev() {
            host.files.put(format!("d/{number:03}"), "");
        }
        let text = expect_text(read(&host, json!({"path": "d"})).await);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1], lines[100]), ("d is a directory and has 250 entries:", "000 (0 bytes)", "099 (0 bytes)"));
        assert_eq!(lines[101], "(and 150 more)");
    }

    #[test]
    fn a_directory_without_end_is_not_counted_to_it() {
        struct Nameless;
        impl TreeEntry for Nameless {
            fn path(&self) -> &std::path::Path {
                std::path::Path::new("x")
            }
            fn is_directory(&self) -> bool {
                false
            }
            fn facts(&self) -> std::io::Result<(u64, Option<std::time::SystemTime>)> {
                Ok((1, None))
            }
            fn open(&self) -> std::io::Result<Box<dyn std::io::Read + Send>> {
                Err(std::io::ErrorKind::Unsupported.into())
            }
        }
        let names = EntryVisitor::default();
        let visited = (0..2 * COUNTED).take_while(|_| names.visit(&Nameless) == Visit::On).count();
        assert_eq!(visited, COUNTED - 1);
        let output = listing("d", &names.0.into_inner().unwrap());
        assert!(
            output.texts().next().unwrap().starts_with("d is a directory and has 100000 entries or more:\nx (1 byte)\n(and 99999 more)\n")
        );
    }
}
