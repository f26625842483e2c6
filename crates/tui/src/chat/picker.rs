//! A list to choose from, with a preview of the option under the cursor. It is drawn below the prompt and erased when it is done.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use haft_text::truncate::ellipsize_to_width;

use super::mention::has_chars_in_order;
use crate::failure::{Exit, Failure};
use crate::interrupt::{leave, listen};
use crate::output::{CYAN, DIM, live_columns};
use crate::terminal::{KeyReader, Screen, TerminalModes};

/// Rows of the list, and of the preview.
const ROWS: usize = 8;
const PREVIEW_ROWS: usize = 4;

/// An option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PickerOption {
    /// One line.
    pub(super) text: String,
    /// Lines that are shown while the cursor is on it.
    pub(super) preview: Vec<String>,
    /// Whether it belongs to this folder.
    pub(super) is_here: bool,
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PickerStep {
    Draw,
    Ignore,
    Chosen(usize),
    Cancelled,
}

/// The state of the list.
#[derive(Debug)]
pub(super) struct Picker {
    question: String,
    options: Vec<PickerOption>,
    filter: String,
    cursor: usize,
    only_here: bool,
}

impl Picker {
    pub(super) fn new(question: &str, options: Vec<PickerOption>) -> Self {
        Self { question: question.to_owned(), options, filter: String::new(), cursor: 0, only_here: false }
    }

    /// Indices of the options that match.
    fn matching(&self) -> Vec<usize> {
        let filter = self.filter.to_lowercase();
        let matches = |option: &PickerOption| {
            let text = option.text.to_lowercase();
            (option.is_here || !self.only_here) && (text.contains(&filter) || has_chars_in_order(&text, &filter))
        };
        self.options.iter().enumerate().filter(|(_, option)| matches(option)).map(|(index, _)| index).collect()
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> PickerStep {
        let last = self.matching().len().saturating_sub(1);
        match key.code {
            _ if key.kind == KeyEventKind::Release => return PickerStep::Ignore,
            KeyCode::Esc => return PickerStep::Cancelled,
            KeyCode::Char('c' | 'd') if key.modifiers == KeyModifiers::CONTROL => return PickerStep::Cancelled,
            KeyCode::Enter => return self.matching().get(self.cursor).map_or(PickerStep::Ignore, |index| PickerStep::Chosen(*index)),
            KeyCode::Up => self.cursor = if self.cursor == 0 { last } else { self.cursor - 1 },
            KeyCode::Down => self.cursor = if self.cursor >= last { 0 } else { self.cursor + 1 },
            KeyCode::Tab => (self.only_here, self.cursor) = (!self.only_here, 0),
            KeyCode::Backspace => {
                self.filter.pop();
                self.cursor = 0;
            }
            KeyCode::Char(ch) if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
                self.filter.push(ch);
                self.cursor = 0;
            }
            _ => return PickerStep::Ignore,
        }
        PickerStep::Draw
    }

    /// The list on a terminal of this width.
    pub(super) fn rows(&self, columns: usize) -> Vec<String> {
        let columns = columns.saturating_sub(1);
        let matching = self.matching();
        let first = self.cursor.saturating_sub(ROWS - 1);
        let mut rows = vec![ellipsize_to_width(&format!("? {} {}", self.question, self.filter), columns)];
        for (row, index) in matching.iter().enumerate().skip(first).take(ROWS) {
            let text = ellipsize_to_width(&self.options[*index].text, columns.saturating_sub(2));
            rows.push(if row == self.cursor { format!("{CYAN}> {text}{CYAN:#}") } else { format!("  {text}") });
        }
        if matching.is_empty() {
            rows.push(format!("{DIM}  nothing matches{DIM:#}"));
        }
        let preview = matching.get(self.cursor).map(|index| self.options[*index].preview.as_slice()).unwrap_or_default();
        rows.extend(
            preview
                .iter()
                .take(PREVIEW_ROWS)
                .map(|line| format!("{DIM}  │ {}{DIM:#}", ellipsize_to_width(line, columns.saturating_sub(4)))),
        );
        let scope = if self.only_here { "Tab: every folder" } else { "Tab: this folder" };
        let keys = format!("[{scope} · Enter: choose · Esc: none · type to filter]");
        rows.push(format!("{DIM}{}{DIM:#}", ellipsize_to_width(&keys, columns)));
        rows
    }
}

/// Lets the user choose; `None` for no choice.
pub(super) async fn pick(mut picker: Picker, modes: &TerminalModes) -> Result<Option<usize>, Failure> {
    let failed = |error: std::io::Error| Failure::failed("execution_error", format!("the terminal cannot be read: {error}"));
    let mut keys = KeyReader::read(modes).map_err(failed)?;
    let (mut signals, screen, mut drawn) = (listen()?, Screen::standard(), 0);
    let chosen = loop {
        let columns = live_columns().unwrap_or(80);
        let rows = picker.rows(columns);
        let rows: Vec<String> =
            if screen.is_coloured() { rows } else { rows.iter().map(|row| anstream::adapter::strip_str(row).to_string()).collect() };
        screen.draw(&format!("{}{}\n", erase(drawn), rows.join("\n")));
        drawn = rows.len();
        let step = loop {
            let step = tokio::select! {
                exit = signals.next() => if exit == Exit::Interrupted { PickerStep::Cancelled } else { leave(exit) },
                press = keys.next() => match press {
                    Some((_, Event::Key(key))) => picker.key(key),
                    Some((_, Event::Resize(..))) => PickerStep::Draw,
                    Some(_) => PickerStep::Ignore,
                    None => PickerStep::Cancelled,
                },
            };
            if step != PickerStep::Ignore {
                break step;
            }
        };
        match step {
            PickerStep::Chosen(index) => break Some(index),
            PickerStep::Cancelled => break None,
            PickerStep::Draw | PickerStep::Ignore => {}
        }
    };
    screen.draw(&erase(drawn));
    keys.end().await;
    Ok(chosen)
}

/// Moves up to the first of these rows, and clears everything below.
fn erase(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A\x1b[J") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let option = |text: &str, is_here| PickerOption { text: text.into(), preview: vec![format!("you: about {text}")], is_here };
        Picker::new("Which one?", vec![option("alpha", true), option("beta", false), option("gamma", true)])
    }

    fn press(picker: &mut Picker, codes: &[KeyCode]) -> PickerStep {
        codes.iter().fold(PickerStep::Ignore, |_, code| picker.key(KeyEvent::new(*code, KeyModifiers::NONE)))
    }

    #[test]
    fn keys_move_filter_toggle_and_choose() {
        use KeyCode::{Backspace, Char, Down, Enter, Esc, Tab, Up};
        for (keys, step) in [
            (&[Enter][..], PickerStep::Chosen(0)),
            (&[Down, Enter], PickerStep::Chosen(1)),
            (&[Up, Enter], PickerStep::Chosen(2)),
            (&[Down, Down, Down, Enter], PickerStep::Chosen(0)),
            (&[Tab, Down, Enter], PickerStep::Chosen(2)),
            (&[Tab, Tab, Down, Enter], PickerStep::Chosen(1)),
            (&[Char('b'), Enter], PickerStep::Chosen(1)),
            (&[Char('g'), Char('a'), Enter], PickerStep::Chosen(2)),
            (&[Char('z'), Enter], PickerStep::Ignore),
            (&[Char('z'), Backspace, Enter], PickerStep::Chosen(0)),
            (&[Down, Esc], PickerStep::Cancelled),
        ] {
            assert_eq!(press(&mut picker(), keys), step, "{keys:?}");
        }
    }

    #[test]
    fn preview_is_of_the_option_under_the_cursor() {
        let mut picker = picker();
        press(&mut picker, &[KeyCode::Down]);
        let rows = picker.rows(40).join("\n");
        assert!(rows.contains("about beta") && !rows.contains("about alpha"), "{rows}");
        press(&mut picker, &[KeyCode::Char('q')]);
        assert!(picker.rows(40).join("\n").contains("nothing matches"));
    }
}
