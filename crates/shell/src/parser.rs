//! The parser, within limits.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// How often the parser may report progress. It does so every hundred steps, and some twenty words are a hundred steps; quoted
/// texts are one.
const MOST_REPORTS: u32 = 300;
/// The parser gets a line in pieces of this size, and sometimes looks ahead to the end of the line at every step.
const PIECE: usize = 512;
/// How often it may ask for each of them.
const MOST_READS: usize = 16;

thread_local! {
    // Making one costs more than reading a line with it.
    static PARSER: RefCell<Option<Parser>> = RefCell::new(parser());
}

fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// The tree of a line; nothing where it takes too much work. Work is counted, not timed, so that the answer is always the same.
pub(crate) fn parse(line: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|parser| {
        let parser = parser.as_mut()?;
        // A stopped parse would resume with the next command.
        parser.reset();
        let bytes = &ascii(line);
        let reads = Cell::new((bytes.len() / PIECE + 4) * MOST_READS);
        let mut piece = |offset: usize, _| {
            reads.set(reads.get().saturating_sub(1));
            // Beyond the limit the line ends: the tree is thrown away.
            let end = if reads.get() == 0 { offset } else { bytes.len().min(offset + PIECE) };
            bytes.get(offset..end).unwrap_or_default()
        };
        let mut reports = 0;
        let mut watch = |_: &ParseState| {
            reports += 1;
            if reports > MOST_REPORTS || reads.get() == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut watch);
        parser.parse_with_options(&mut piece, None, Some(options)).filter(|_| reads.get() > 0)
    })
}

/// The line with a dot for each byte of other characters: the scanner of the grammar looks them up in a table for bytes and crashes.
/// A dot is part of a word and never of a name, as they are; offsets stay, and words are read from the line itself.
fn ascii(line: &str) -> Cow<'_, [u8]> {
    if line.is_ascii() {
        return Cow::Borrowed(line.as_bytes());
    }
    line.bytes().map(|byte| if byte.is_ascii() { byte } else { b'.' }).collect()
}
