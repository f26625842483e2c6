//! A cheap scan before the patterns: nearly all text has nothing that even begins like a secret.

use crate::shapes::{SHAPES, SecretShape};

/// The bytes that an escape before a word can begin with, and its greatest length.
const ESCAPES: &[u8] = b"\\%[;";
const ESCAPE: usize = 6;

/// The beginning of a private key block.
const BLOCK: &str = "-----BEGIN ";
/// Which shapes have a byte as the first, the second and the third of a start; the last bit is for `BLOCK`.
static SHAPES_BY_BYTE: [[u32; 256]; 3] = [shapes_by_byte(0), shapes_by_byte(1), shapes_by_byte(2)];

const fn shapes_by_byte(position: usize) -> [u32; 256] {
    let mut table = [0; 256];
    let mut shape = 0;
    while shape < SHAPES.len() {
        let mut start = 0;
        while start < SHAPES[shape].starts.len() {
            table[SHAPES[shape].starts[start].as_bytes()[position] as usize] |= 1 << shape;
            start += 1;
        }
        shape += 1;
    }
    table[BLOCK.as_bytes()[position] as usize] |= 1 << shape;
    table
}

/// Whether a pattern could match at all. The patterns take a millisecond to compile, and most processes never need them.
pub(super) fn is_suspicious(bytes: &[u8]) -> bool {
    let [first, second, third] = &SHAPES_BY_BYTE;
    let mut at = 0;
    // An index instead of an iterator: unoptimised builds scan much as well.
    while at + 2 < bytes.len() {
        let shapes = first[bytes[at] as usize] & second[bytes[at + 1] as usize] & third[bytes[at + 2] as usize];
        if shapes != 0 && is_start(bytes, at, shapes) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether one of these shapes begins here, or a key block.
fn is_start(bytes: &[u8], at: usize, shapes: u32) -> bool {
    let (before, rest) = bytes.split_at(at);
    let starts = |shape: &SecretShape| shape.starts.iter().any(|start| rest.starts_with(start.as_bytes()));
    let begins = |shape: &SecretShape| (!shape.after.is_empty() || may_begin_word(before)) && starts(shape);
    let mut candidates = SHAPES.iter().enumerate().filter(|(index, _)| shapes >> index & 1 == 1);
    rest.starts_with(BLOCK.as_bytes()) || candidates.any(|(_, shape)| begins(shape))
}

/// True at least where `WORD` matches.
fn may_begin_word(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(ESCAPE)..];
    !before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') || near.iter().any(|byte| ESCAPES.contains(byte))
}
