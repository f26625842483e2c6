//! What lies between the parts that the parser found: blanks, or something that it has overlooked.

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::reason::{Concern, cut};

impl ShellReader<'_> {
    /// Every byte of a node belongs to a child or is blank.
    pub(super) fn check_gaps(&mut self, node: Node<'_>) {
        // The root begins behind what the parser has skipped.
        let is_root = node.kind() == "program";
        let mut end = if is_root { 0 } else { node.start_byte() };
        let mut left = None;
        for child in children(node) {
            self.check_gap(end, child.start_byte(), may_break(node, left));
            if !child.is_named() {
                self.check_token(child);
            }
            end = child.end_byte();
            left = Some(child);
        }
        let last = if is_root { self.line.len() } else { node.end_byte() };
        self.check_gap(end, last, may_break(node, left));
    }

    fn check_gap(&mut self, start: usize, end: usize, may_break: bool) {
        let gap = self.line.get(start..end);
        let blank = |ch: char| ch == ' ' || ch == '\t' || (ch == '\n' && may_break);
        if gap.is_some_and(|gap| gap.chars().all(blank) || is_continued(gap, blank)) {
            return;
        }
        self.found.analysis.unclear = true;
        let around = cut(self.line.get(start.saturating_sub(10)..).or(gap).unwrap_or_default());
        let message = format!("what stands near '{around}' could be read in two ways; put the commands on lines of their own");
        self.found.unknown(Concern::Syntax, message);
    }

    /// The parser's operators and keywords are what bash reads there.
    fn check_token(&mut self, token: Node<'_>) {
        let text = self.text(token);
        let is_break = token.kind() == "\n" && text.trim().is_empty();
        let rest = self.line.get(token.end_byte()..).unwrap_or_default();
        let joined = is_keyword(token.kind()) && !self.is_separated(rest);
        if joined || (!is_break && text.trim_start_matches([' ', '\t']) != token.kind()) {
            self.unclear(token, "it could be read in two ways; put blanks around it");
        }
    }

    /// A word ends where bash ends it, too.
    pub(super) fn check_end(&mut self, node: Node<'_>) {
        let rest = self.line.get(node.end_byte()..).unwrap_or_default();
        let glued = rest.starts_with("<(") || rest.starts_with(">(");
        let numbered = rest.starts_with(['<', '>']) && is_descriptor(self.text(node));
        if !self.is_separated(rest) || glued || numbered {
            self.unclear(node, "where the word ends could be read in two ways; put a blank behind it");
        }
    }

    /// Whether a word ends before this.
    fn is_separated(&self, rest: &str) -> bool {
        rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '&', '|', ')', '<', '>']) || (self.in_backticks && rest.starts_with('`'))
    }
}

/// Whether a line continues after a backslash, with a blank that separates what stands around it.
fn is_continued(gap: &str, blank: impl Fn(char) -> bool) -> bool {
    let joined = gap.replace("\\\n", "");
    !joined.is_empty() && joined.chars().all(blank)
}

/// Tokens that are words to bash, and part of a longer one where nothing separates them.
fn is_keyword(kind: &str) -> bool {
    kind.bytes().all(|byte| byte.is_ascii_alphabetic()) || matches!(kind, "!" | "{" | "}" | "[" | "]" | "[[" | "]]")
}

/// What bash takes for the number of a file when an arrow follows.
fn is_descriptor(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) || text.starts_with('{')
}

/// Whether a line may break behind the part to the left.
fn may_break(node: Node<'_>, left: Option<Node<'_>>) -> bool {
    let holds_statements = matches!(
        node.kind(),
        "program"
            | "list"
            | "pipeline"
            | "do_group"
            | "compound_statement"
            | "subshell"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "case_statement"
            | "case_item"
            | "command_substitution"
            | "process_substitution"
            | "while_statement"
            | "for_statement"
            | "array"
            | "heredoc_redirect"
    );
    // Where a document begins and ends is checked by itself.
    let anywhere = matches!(node.kind(), "array" | "heredoc_redirect");
    let behind = |left: Node<'_>| !left.is_named() || is_statement(left.kind()) || anywhere;
    holds_statements && left.is_none_or(behind)
}

/// The kinds of nodes that are whole statements.
pub(super) fn is_statement(kind: &str) -> bool {
    matches!(
        kind,
        "command"
            | "redirected_statement"
            | "list"
            | "pipeline"
            | "negated_command"
            | "compound_statement"
            | "subshell"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "do_group"
            | "variable_assignment"
            | "variable_assignments"
            | "declaration_command"
            | "unset_command"
            | "test_command"
            | "function_definition"
            | "comment"
    )
}
