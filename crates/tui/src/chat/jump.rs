//! `/jump`: the prompts of the conversation as a list, and what followed the one that is chosen.

use haft_provider::{Message, Role};
use haft_text::display;

use super::chat_session::ChatSession;
use super::input::ChatInput;
use super::session_choice::text_of;
use crate::failure::Failure;
use crate::markdown;
use crate::output::{STRONG, note, print};
use crate::table::wrap_hard;
use crate::text_builder::TextBuilder;

const SHOWN_CHARACTERS: usize = 100;

/// A prompt, and the answers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) prompt: String,
    pub(super) answers: Vec<String>,
    /// How many calls were made for it.
    pub(super) calls: usize,
}

/// The prompts of a conversation, in order.
pub(super) fn exchanges(messages: &[Message]) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for message in messages {
        let text = text_of(message);
        let is_answer = message.blocks.iter().any(|block| block.result_id().is_some());
        match (message.role, exchanges.last_mut()) {
            (Role::User, _) if !is_answer && !text.trim().is_empty() => {
                exchanges.push(Exchange { prompt: text.trim().to_owned(), answers: Vec::new(), calls: 0 });
            }
            (Role::Assistant, Some(exchange)) => {
                exchange.calls += message.blocks.iter().filter(|block| block.call_id().is_some()).count();
                if !text.trim().is_empty() {
                    exchange.answers.push(text);
                }
            }
            _ => {}
        }
    }
    exchanges
}

/// `3  and now the docs · 2 calls`.
pub(super) fn describe(number: usize, exchange: &Exchange) -> String {
    let calls = if exchange.calls > 0 { format!(" · {}", haft_text::numbers::count(exchange.calls, "call")) } else { String::new() };
    format!("{number:>3}  {}{calls}", display::shorten(&exchange.prompt, SHOWN_CHARACTERS))
}

/// The prompt and its answers.
pub(super) fn page(number: usize, exchange: &Exchange, columns: Option<usize>) -> String {
    let mut page = TextBuilder::default();
    let prompt = format!("{number}. {}", display::escape_lines(&exchange.prompt));
    for line in wrap_hard(&prompt, columns.unwrap_or(usize::MAX)) {
        page.line(format_args!("{STRONG}{line}{STRONG:#}"));
    }
    for answer in &exchange.answers {
        page.text(&markdown::render(&display::escape_lines(answer), columns));
    }
    page.finish()
}

impl ChatSession<'_> {
    /// Shows a prompt of the conversation again, with its answer.
    pub(super) async fn jump(&self, number: Option<usize>, input: &mut ChatInput) -> Result<(), Failure> {
        let exchanges = exchanges(&self.conversation.runner.messages);
        if exchanges.is_empty() {
            note("no messages yet");
            return Ok(());
        }
        let options: Vec<String> = (1..).zip(&exchanges).map(|(number, exchange)| describe(number, exchange)).collect();
        let index = match number {
            Some(number) => number.checked_sub(1),
            None if input.is_attended() => match input.choose("Which prompt?", options).await? {
                Some(index) => Some(index),
                None => return Ok(()),
            },
            None => return print(&format!("{}\n", options.join("\n"))),
        };
        if let Some((index, exchange)) = index.and_then(|index| Some((index, exchanges.get(index)?))) {
            return print(&page(index + 1, exchange, self.output.width));
        }
        let message = format!("there is no prompt {}: this conversation has {}", number.unwrap_or_default(), exchanges.len());
        Err(Failure::usage(message).help("/jump lists them"))
    }
}
