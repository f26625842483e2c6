//! Earlier input in a private file. Lines with secrets, or a leading blank, are not saved.

use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use reedline::{FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery};

/// The file in the data folder.
pub(super) const FILE: &str = "chat_lines";
/// How many lines are saved.
const MOST_LINES: usize = 1_000;
/// The longest line that is saved.
const MOST_BYTES: usize = 8 * 1024;
const PRIVATE: u32 = 0o600;

/// The saved lines.
#[derive(Debug)]
pub(super) struct InputHistory(FileBackedHistory);

impl InputHistory {
    /// Opens the file. If that fails, lines are remembered in this process only.
    pub(super) fn open(data_folder: &Path) -> Self {
        let file = data_folder.join(FILE);
        let private = || {
            let opened = OpenOptions::new().create(true).append(true).mode(PRIVATE).open(&file)?;
            opened.set_permissions(Permissions::from_mode(PRIVATE))?;
            Ok::<_, std::io::Error>(FileBackedHistory::with_file(MOST_LINES, file.clone())?)
        };
        Self(private().unwrap_or_default())
    }
}

fn may_be_saved(line: &str) -> bool {
    !line.starts_with(char::is_whitespace) && line.len() <= MOST_BYTES && haft_redact::redact(line) == line
}

impl History for InputHistory {
    fn save(&mut self, item: HistoryItem) -> Result<HistoryItem> {
        if may_be_saved(&item.command_line) { self.0.save(item) } else { Ok(item) }
    }
    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.0.load(id)
    }
    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.0.count(query)
    }
    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.0.search(query)
    }
    fn update(&mut self, id: HistoryItemId, updater: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        self.0.update(id, updater)
    }
    fn clear(&mut self) -> Result<()> {
        self.0.clear()
    }
    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.0.delete(id)
    }
    fn sync(&mut self) -> std::io::Result<()> {
        self.0.sync()
    }
    fn session(&self) -> Option<HistorySessionId> {
        self.0.session()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_history_is_private_and_leaves_out_secrets_and_indented_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        std::fs::write(&file, "before\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let mut history = InputHistory::open(folder.path());
        let secret = format!("use sk-ant-api03-{}", "Zx9".repeat(31));
        let long = "x".repeat(MOST_BYTES + 1);
        for line in ["what time is it?", " not this", &secret, &long, "two\nlines"] {
            history.save(HistoryItem::from_command_line(line)).unwrap();
        }
        history.sync().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "before\nwhat time is it?\ntwo<\\n>lines\n");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, PRIVATE);
        let again = InputHistory::open(folder.path());
        assert_eq!(again.count_all().unwrap(), 3);
    }

    #[test]
    fn input_history_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = InputHistory::open(folder.path());
        for number in 0..=MOST_LINES {
            history.save(HistoryItem::from_command_line(format!("line {number}"))).unwrap();
        }
        history.sync().unwrap();
        let saved = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!((saved.lines().count(), saved.lines().next()), (MOST_LINES, Some("line 1")));
    }
}
