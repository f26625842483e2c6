//! Parts of a conversation that is longer than the window: each is small enough to be sent, and a message that alone is too long is
//! shortened.

use haft_provider::transcript::size;
use haft_provider::{Block, Message, ResultPart, Role};
use haft_text::display::shorten;
use haft_text::truncate::first_bytes;

use super::is_cut_point;
use crate::context_budget::BYTES_PER_TOKEN;
use crate::runner::text_of;

/// The least that is left of a text.
const MIN_BYTES: usize = 200;
/// More than the note on what was left out.
const NOTE_BYTES: usize = 80;
/// How many messages of the user are named when there is no summary, and how much of each.
const NAMED_MESSAGES: usize = 10;
const NAMED_CHARS: usize = 200;

/// How many messages the first part has: as many as fit, and at least up to the first place where a conversation can be cut.
pub(super) fn part_length(messages: &[Message], limit: usize) -> usize {
    let (mut used, mut length) = (0, 0);
    for (index, message) in messages.iter().enumerate() {
        if index > 0 && is_cut_point(message) {
            if length > 0 && used > limit {
                return length;
            }
            length = index;
        }
        used += size(message);
    }
    if length > 0 && used > limit { length } else { messages.len() }
}

/// Shortens texts until the messages have at most so many tokens, the longest first. Returns how many messages were shortened.
pub(crate) fn shorten_messages(messages: &mut [Message], limit: usize) -> usize {
    let total = |messages: &[Message]| messages.iter().map(size).sum::<usize>();
    let mut shortened = vec![false; messages.len()];
    let mut cap = limit.saturating_mul(BYTES_PER_TOKEN).max(MIN_BYTES);
    while total(messages) > limit {
        for (message, is_shortened) in messages.iter_mut().zip(&mut shortened) {
            *is_shortened |= shorten_message(message, cap);
        }
        if cap == MIN_BYTES {
            break;
        }
        cap = (cap / 2).max(MIN_BYTES);
    }
    shortened.iter().filter(|is_shortened| **is_shortened).count()
}

/// Cuts texts that are longer than `cap` bytes, and leaves images out.
fn shorten_message(message: &mut Message, cap: usize) -> bool {
    let mut is_shortened = false;
    for block in &mut message.blocks {
        is_shortened |= match block {
            Block::Text { text, .. } => shorten_text(text, cap),
            Block::Image { mime, .. } => {
                *block = Block::text(format!("[An image of type {mime} was left out to save space.]"));
                true
            }
            Block::Result { content, .. } => content.iter_mut().map(|part| shorten_part(part, cap)).collect::<Vec<_>>().contains(&true),
            _ => false,
        };
    }
    is_shortened
}

fn shorten_part(part: &mut ResultPart, cap: usize) -> bool {
    match part {
        ResultPart::Text { text } => shorten_text(text, cap),
        ResultPart::Image { mime, .. } => {
            *part = ResultPart::Text { text: format!("[An image of type {mime} was left out to save space.]") };
            true
        }
        _ => false,
    }
}

fn shorten_text(text: &mut String, cap: usize) -> bool {
    let is_long = text.len() > cap;
    if is_long {
        let head = first_bytes(text, cap.saturating_sub(NOTE_BYTES));
        *text = format!("{head}\n[{} bytes were left out to save space]", text.len() - head.len());
    }
    is_long
}

/// What replaces messages that cannot even be summarized.
pub(super) fn dropped_note(messages: &[Message]) -> String {
    let users = messages.iter().filter(|message| message.role == Role::User).map(|message| text_of(&message.blocks));
    let users: Vec<String> = users.filter(|text| !text.trim().is_empty()).collect();
    let named = users.iter().rev().take(NAMED_MESSAGES).rev().map(|text| format!("- {}", shorten(text.trim(), NAMED_CHARS)));
    let lines: Vec<String> = named.collect();
    format!(
        "{} messages were dropped without a summary. The last messages of the user among them began:\n{}",
        messages.len(),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, tokens: usize) -> Message {
        Message { role, blocks: vec![Block::text("x".repeat(tokens * BYTES_PER_TOKEN))] }
    }

    #[test]
    fn parts_fit_their_limit_and_always_advance() {
        let messages: Vec<Message> = (0..10).map(|n| message(if n % 2 == 0 { Role::User } else { Role::Assistant }, 100)).collect();
        for (limit, length) in [(0, 1), (100, 1), (250, 2), (950, 9), (1_000, 10), (5_000, 10)] {
            assert_eq!(part_length(&messages, limit), length, "{limit}");
        }
        assert_eq!(part_length(&[message(Role::User, 100)], 1), 1);
    }

    #[test]
    fn messages_are_shortened_to_the_limit_and_short_ones_stay() {
        let mut messages = vec![message(Role::User, 5), message(Role::Assistant, 4_000), message(Role::User, 8_000)];
        messages[2].blocks.push(Block::Image { mime: "image/png".into(), data: "AAAA".into() });
        assert_eq!(shorten_messages(&mut messages, 2_000), 2);
        assert!(messages.iter().map(size).sum::<usize>() <= 2_000);
        assert_eq!(messages[0], message(Role::User, 5));
        assert_eq!(shorten_messages(&mut messages, 2_000), 0, "they fit");
        assert_eq!(shorten_messages(&mut [message(Role::User, 1_000)], 0), 1, "it ends although nothing can fit");
    }

    #[test]
    fn note_on_dropped_messages_names_those_of_the_user() {
        let messages = [Message::user("first"), message(Role::Assistant, 3), Message::user("second")];
        let expected = "3 messages were dropped without a summary. The last messages of the user among them began:\n- first\n- second";
        assert_eq!(dropped_note(&messages), expected);
    }
}
