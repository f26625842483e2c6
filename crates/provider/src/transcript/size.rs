//! What a conversation weighs.

use crate::{Block, Message, Opaque, Piece};

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
