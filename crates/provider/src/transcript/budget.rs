//! What a conversation weighs, and how it gets lighter without losing a pair.

use crate::{Block, Message, Opaque, Piece, Role};

/// What a picture weighs, whatever its bytes: providers count its area.
const IMAGE_TOKENS: usize = 1_600;
const BYTES_PER_TOKEN: usize = 4;

/// About how many tokens a message has.
pub fn size(message: &Message) -> usize {
    message.blocks.iter().map(block_size).sum()
}

fn block_size(block: &Block) -> usize {
    match block {
        Block::Text { text, opaque } | Block::Thinking { text, opaque } => tokens(text.len() + opaque_bytes(opaque.as_ref())),
        Block::Image { .. } => IMAGE_TOKENS,
        Block::Call { id, name, arguments, opaque } => tokens(id.len() + name.len() + arguments.len() + opaque_bytes(opaque.as_ref())),
        Block::Result { id, name, content, .. } => tokens(id.len() + name.len()) + content.iter().map(piece_size).sum::<usize>(),
    }
}

fn piece_size(piece: &Piece) -> usize {
    match piece {
        Piece::Text { text } => tokens(text.len()),
        Piece::Image { .. } => IMAGE_TOKENS,
    }
}

fn opaque_bytes(opaque: Option<&Opaque>) -> usize {
    opaque.map_or(0, |opaque| opaque.value.to_string().len())
}

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// A conversation that gave way.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Shrunk {
    /// The conversation; as valid as it was.
    pub messages: Vec<Message>,
    /// The calls whose results gave way, by id, oldest first.
    pub removed: Vec<String>,
}

/// Replaces results by what `stub` says of them, the oldest first, until the conversation has at most `budget_tokens`. It stays
/// as it is where `stub` gives nothing or nothing shorter, and in the last `keep_last` messages. What comes back may still be
/// too long.
pub fn shrink(mut messages: Vec<Message>, budget_tokens: usize, keep_last: usize, stub: &dyn Fn(&Block) -> Option<String>) -> Shrunk {
    let mut total: usize = messages.iter().map(size).sum();
    let mut removed = Vec::new();
    let old = messages.len().saturating_sub(keep_last);
    for block in messages[..old].iter_mut().flat_map(|message| &mut message.blocks) {
        if total <= budget_tokens {
            break;
        }
        let before = block_size(block);
        if let Some((id, shorter)) = stubbed(block, stub).filter(|(_, shorter)| block_size(shorter) < before) {
            total = total - before + block_size(&shorter);
            *block = shorter;
            removed.push(id);
        }
    }
    Shrunk { messages, removed }
}

fn stubbed(block: &Block, stub: &dyn Fn(&Block) -> Option<String>) -> Option<(String, Block)> {
    let Block::Result { id, name, is_error, .. } = block else { return None };
    let content = vec![Piece::Text { text: stub(block)? }];
    Some((id.clone(), Block::Result { id: id.clone(), name: name.clone(), content, is_error: *is_error }))
}

/// Where a compaction may cut: what stands before the returned index is summed up, the rest stays. It is the earliest beginning
/// of a user's turn whose rest has at most `keep_tokens`; if none is that small, the last one; 0 if nothing can be cut.
pub fn cut_point(messages: &[Message], keep_tokens: usize) -> usize {
    let mut rest = 0;
    let mut best = None;
    for (index, message) in messages.iter().enumerate().rev() {
        rest += size(message);
        if best.is_some() && rest > keep_tokens {
            break;
        }
        if begins_turn(message) {
            best = Some(index);
        }
    }
    best.unwrap_or(0)
}

fn begins_turn(message: &Message) -> bool {
    message.role == Role::User && message.blocks.iter().all(|block| block.result_id().is_none())
}
