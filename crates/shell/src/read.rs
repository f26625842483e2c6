//! From the parser's tree to commands.
//!
//! The parser is lenient and not bash: it recovers from errors, and reads some things in its own way. So nothing is taken from it
//! on trust. Every byte between two parts must be a blank ([`gaps`]), every word is read again by bash's rules ([`word`]), and a
//! kind of node that is not named here is not followed. What stays the parser's word is where commands begin.

mod command;
mod declaration;
mod document;
mod escape;
mod expansion;
mod gaps;
mod plain;
mod redirect;
mod statement;
mod test;
mod word;

use tree_sitter::Node;

use crate::builder::{AnalysisBuilder, CommandPosition, MOST_BYTES, MOST_NESTING};
use crate::characters;
use crate::parser;
use crate::reason::{Concern, cut};
use crate::syntax::SyntaxFault;

/// Reads one line, or one script inside a line.
pub(crate) struct ShellReader<'a> {
    line: &'a str,
    found: &'a mut AnalysisBuilder,
    depth: usize,
    /// Whether it is inside backticks, where one more ends a word.
    in_backticks: bool,
    /// The part that a redirection behind a list belongs to, and how many commands were found before it.
    tail: Option<(usize, usize)>,
}

/// Adds everything in a line to what has been found.
pub(crate) fn read(line: &str, found: &mut AnalysisBuilder, around: &CommandPosition) {
    if line.len() > MOST_BYTES {
        let length = line.len();
        return found.refuse(format!(
            "the line has {length} bytes, and {MOST_BYTES} are the most; write a script with the file tools and run that"
        ));
    }
    for fault in characters::faults(line) {
        found.reason(fault);
    }
    if !plain::read(line, found, around) {
        read_tree(line, found, around);
    }
}

/// Reads a line with the parser.
fn read_tree(line: &str, found: &mut AnalysisBuilder, around: &CommandPosition) {
    let Some(tree) = parser::parse(line) else {
        return found.refuse("the line has too many words or is too tangled to be read; write it in parts, or put long texts into quotes");
    };
    let root = tree.root_node();
    let mut reader = ShellReader { line, found, depth: 0, in_backticks: false, tail: None };
    if root.has_error() {
        reader.syntax_error(root, around.wrappers.is_empty());
    }
    reader.statements(root, around);
    if around.wrappers.is_empty() {
        reader.settle_directory(|reader| reader.opening_directory(root));
    }
}

impl<'a> ShellReader<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.line.get(node.byte_range()).unwrap_or_default()
    }

    /// A part that a shell could read in another way.
    fn unclear(&mut self, node: Node<'_>, why: &str) {
        self.found.analysis.unclear = true;
        self.unfollowed(node, why);
    }

    /// A part that is not followed.
    fn unfollowed(&mut self, node: Node<'_>, why: &str) {
        let message = format!("'{}' is not followed: {why}", cut(self.text(node).trim()));
        self.found.unknown(Concern::Syntax, message);
    }

    fn syntax_error(&mut self, root: Node<'_>, is_whole: bool) {
        let at = first_error(root).map_or(0, |node| node.start_byte());
        self.found.analysis.unclear = true;
        if is_whole {
            self.found.analysis.syntax = Some(SyntaxFault::new(self.line, at));
        }
        let rest = cut(self.line.get(at..).unwrap_or_default());
        let message = format!("the line cannot be read as shell from '{rest}' on; check quotes and brackets, or run it in parts");
        self.found.unknown(Concern::Syntax, message);
    }

    /// Goes one level down, as long as that is allowed.
    fn deeper(&mut self, enter: impl FnOnce(&mut Self)) {
        if self.depth >= MOST_NESTING {
            return self.found.refuse(format!("the line is nested deeper than {MOST_NESTING} levels; write it in simpler parts"));
        }
        if self.found.is_refused() {
            return;
        }
        self.depth += 1;
        enter(self);
        self.depth -= 1;
    }
}

/// All children, those without a name as well.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let count = node.child_count();
    // A cursor costs more than it saves where there are few.
    if count > 12 { node.children(&mut node.walk()).collect() } else { (0..count).filter_map(|index| node.child(index)).collect() }
}

/// The first place where the parser had to guess. A loop, because an error can be nested deeper than a stack.
fn first_error(root: Node<'_>) -> Option<Node<'_>> {
    let mut node = root;
    loop {
        if node.is_error() || node.is_missing() {
            return Some(node);
        }
        node = children(node).into_iter().find(Node::has_error)?;
    }
}
