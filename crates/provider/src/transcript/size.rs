//! Estimates the size of a message in tokens.

use crate::{Block, Message, Opaque, ResultPart};

/// Tokens of an image: providers count its area, not its bytes.
const IMAGE_TOKENS: usize = 1_600;
const BYTES_PER_TOKEN: usize = 4;

/// Estimated tokens of a message.
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

fn piece_size(piece: &ResultPart) -> usize {
    match piece {
        ResultPart::Text { text } => tokens(text.len()),
        ResultPart::Image { .. } => IMAGE_TOKENS,
    }
}

fn opaque_bytes(opaque: Option<&Opaque>) -> usize {
    opaque.map_or(0, |opaque| opaque.value.to_string().len())
}

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}
