//! A cheap scan before the patterns: nearly all text has nothing that even begins like a secret.

use std::sync::LazyLock;

use aho_corasick::packed::{Config, MatchKind, Searcher};

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

/// The end of `BLOCK`, which is rarer than its dashes: text is full of rulers.
const BLOCK_END: &str = "-BEGIN ";
/// Finds the starts many bytes at a time, where the processor can.
static STARTS: LazyLock<Option<Searcher>> = LazyLock::new(|| {
    let mut starts: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.starts).copied().chain([BLOCK_END]).collect();
    starts.sort_unstable();
    // A start that begins with another one is found with it.
    starts.dedup_by(|next, before| next.starts_with(&**before));
    Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(starts).build()
});
/// Below this length the plain scan is faster than the other one starts.
const SHORT: usize = 64;

/// Whether a pattern could match at all. The patterns take a millisecond to compile, and most processes never need them.
pub(super) fn is_suspicious(bytes: &[u8]) -> bool {
    match &*STARTS {
        Some(starts) if bytes.len() >= SHORT.max(starts.minimum_len()) => has_start(starts, bytes),
        _ => has_start_bytewise(bytes),
    }
}

fn has_start(starts: &Searcher, bytes: &[u8]) -> bool {
    let mut from = 0;
    // One start can lie across another, so that the search continues one byte behind each.
    while let Some(found) = starts.find_in(bytes, (from..bytes.len()).into()) {
        let at = found.start();
        let is_block = || bytes[at..].starts_with(BLOCK_END.as_bytes()) && bytes[..at + BLOCK_END.len()].ends_with(BLOCK.as_bytes());
        if is_block() || is_start(bytes, at, u32::MAX) {
            return true;
        }
        from = at + 1;
    }
    false
}

fn has_start_bytewise(bytes: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of starts, what stands before them, and filling.
    const PIECES: &[&str] = &[
        "sk-",
        "s",
        "k-",
        "sk-ant-",
        "AIz",
        "a",
        "AKIA",
        "ASI",
        "gh",
        "ghp_",
        "p_",
        "github_pat_",
        "xo",
        "xoxb-",
        "-----BEGIN ",
        "-----BEGI",
        "-",
        "eyJ",
        "ey",
        "Authorization",
        "uthorization",
        "Bearer",
        "bear",
        "hf_",
        "fw_",
        "\\",
        "%2",
        "[0m",
        " ",
        "\n",
        "_",
        "0",
        "é",
        "some text of no kind ",
    ];

    proptest! {
        #[test]
        fn both_scans_agree(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40), filling in 0..200_usize) {
            let text = ". ".repeat(filling) + &pieces.concat();
            prop_assert_eq!(is_suspicious(text.as_bytes()), has_start_bytewise(text.as_bytes()), "{}", text);
        }
    }

    #[test]
    fn every_start_is_found_wherever_it_stands() {
        for start in SHAPES.iter().flat_map(|shape| shape.starts).chain([&BLOCK]) {
            for before in 0..150 {
                let text = format!("{} {start}{}", ".".repeat(before), ".".repeat(100));
                assert!(is_suspicious(text.as_bytes()), "{start} behind {before} bytes");
            }
        }
        assert!(!is_suspicious("nothing of the kind, as nearly all text ".repeat(50).as_bytes()));
    }
}
