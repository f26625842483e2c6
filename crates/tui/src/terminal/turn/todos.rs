//! The to-do list of a session.

use haft_contract::ports::{Todo, TodoStatus};
use haft_text::display;
use haft_text::numbers::count;

use super::style::{StyledLine, SymbolSet, TurnStyle};
use crate::output::{CYAN, DIM, GOOD, PLAIN, STRONG};
use crate::text_builder::INDENT;

/// Items of a list that are shown; of a longer one, completed items are left out first.
const SHOWN_ITEMS: usize = 20;

/// The list, one line for each item.
pub(super) fn render(todos: &[Todo], style: &TurnStyle) -> String {
    let columns = (style.columns)();
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let mut heading = StyledLine::default();
    heading.add(STRONG, "To-do");
    heading.add(DIM, format!("{}{done} of {} done", style.symbols.separator(), todos.len()));
    let (shown, hidden) = selection(todos);
    let mut text = heading.render(columns);
    for todo in shown {
        text += &item(todo, style.symbols).render(columns);
    }
    for line in hidden {
        let mut rest = StyledLine::default();
        rest.add(DIM, format!("{INDENT}{line}"));
        text += &rest.render(columns);
    }
    text
}

/// The items that are shown, and notes on the others.
fn selection(todos: &[Todo]) -> (Vec<&Todo>, Vec<String>) {
    if todos.len() <= SHOWN_ITEMS {
        return (todos.iter().collect(), Vec::new());
    }
    let open: Vec<&Todo> = todos.iter().filter(|todo| todo.status != TodoStatus::Completed).collect();
    let (done, rest) = (todos.len() - open.len(), open.len().saturating_sub(SHOWN_ITEMS));
    let note = |number: usize, what: &str| (number > 0).then(|| format!("({} {what})", count(number as u64, "item")));
    let notes = [note(rest, "more"), note(done, "completed")];
    (open.into_iter().take(SHOWN_ITEMS).collect(), notes.into_iter().flatten().collect())
}

fn item(todo: &Todo, symbols: SymbolSet) -> StyledLine {
    let (symbol, word, mark_style, style) = match todo.status {
        TodoStatus::Completed => ("✓", "done: ", GOOD, DIM),
        TodoStatus::InProgress => ("▸", "now: ", CYAN, STRONG),
        TodoStatus::Pending => ("○", "open: ", DIM, PLAIN),
    };
    let mark = match symbols {
        SymbolSet::Symbols => format!("{INDENT}{symbol} "),
        SymbolSet::Words => format!("{INDENT}{word}"),
    };
    let mut line = StyledLine::default();
    line.add(mark_style, mark);
    line.add(style, display::escape_line(todo.text()).into_owned());
    line
}
