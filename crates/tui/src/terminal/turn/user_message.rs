//! A message of the model to the user, sent during a turn.

use haft_contract::ports::{Attachment, MessageLevel, UserMessage};
use haft_text::display;
use haft_text::numbers::size;

use super::style::{StyledLine, SymbolSet, TurnStyle};
use crate::output::{CAUTION, CYAN, DIM, PLAIN, STRONG};
use crate::table::wrap_hard;
use crate::text_builder::INDENT;

/// The message, its lines wrapped, and its attachments below.
pub(super) fn render(message: &UserMessage, style: &TurnStyle) -> String {
    let columns = (style.columns)();
    let (symbol, word, mark_style) = match message.level {
        MessageLevel::Info => ("•", "message", CYAN),
        MessageLevel::Warning => ("!", "warning", CAUTION),
        MessageLevel::Question => ("?", "question", STRONG),
    };
    let mark = match style.symbols {
        SymbolSet::Symbols => format!("{symbol} "),
        SymbolSet::Words => format!("{word}: "),
    };
    let text = display::escape_lines(&message.message);
    let lines: Vec<String> = match columns {
        Some(columns) => wrap_hard(&text, columns.saturating_sub(mark.chars().count())),
        None => text.lines().map(str::to_owned).collect(),
    };
    let mut page = String::new();
    for (index, content) in lines.into_iter().enumerate() {
        let mut line = StyledLine::default();
        if index == 0 {
            line.add(mark_style, mark.clone());
        } else {
            line.add(PLAIN, INDENT);
        }
        line.add(PLAIN, content);
        page += &line.render(columns);
    }
    let attachments = message.attachments.iter().map(|attachment| file(attachment, style).render(columns));
    page + &attachments.collect::<String>()
}

fn file(attachment: &Attachment, style: &TurnStyle) -> StyledLine {
    let kind = if attachment.is_image { "image" } else { "file" };
    let path = attachment.path.to_string_lossy();
    let mut line = StyledLine::default();
    line.add(PLAIN, format!("{INDENT}{}", display::escape_line(&path)));
    line.add(DIM, format!("{}{kind}, {}", style.symbols.separator(), size(attachment.size)));
    line
}
