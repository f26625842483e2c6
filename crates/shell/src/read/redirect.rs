//! Redirections: files that the shell itself opens.

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::analysis::{Redirection, RedirectionKind};
use crate::builder::CommandPosition;
use crate::reason::cut;
use crate::word::Word;

impl ShellReader<'_> {
    /// A statement with redirections behind it.
    pub(super) fn redirected(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.deeper(|reader| {
            reader.check_gaps(node);
            let parts = children(node);
            let body = parts.iter().copied().find(|part| super::gaps::is_statement(part.kind()));
            let (mut redirections, mut behind) = (Vec::new(), Vec::new());
            for part in parts.iter().filter(|part| part.kind().ends_with("_redirect")) {
                behind.extend(reader.redirection(*part, around, &mut redirections));
            }
            reader.redirected_body(body, &behind, &redirections, around);
        });
    }

    fn redirected_body(&mut self, body: Option<Node<'_>>, behind: &[Node<'_>], redirections: &[Redirection], around: &CommandPosition) {
        let outer = self.tail.take();
        self.tail = body.map(|body| (last_part(body).id(), self.found.analysis.commands.len()));
        match body {
            Some(body) if body.kind() == "command" => self.command(body, behind, around),
            Some(body) => {
                self.statement(body, around);
                self.misplaced(behind);
            }
            None => self.misplaced(behind),
        }
        // The redirections of a group are those of each of its commands.
        let first = self.tail.map_or(usize::MAX, |(_, before)| before);
        for command in self.found.analysis.commands.iter_mut().skip(first) {
            command.redirections.extend(redirections.iter().cloned());
        }
        self.tail = outer;
    }

    fn misplaced(&mut self, words: &[Node<'_>]) {
        for word in words {
            self.unclear(*word, "it stands behind a redirection; write redirections last");
        }
    }

    /// One redirection. The parser takes the words behind its file for files as well: they are returned.
    pub(super) fn redirection<'n>(&mut self, node: Node<'n>, around: &CommandPosition, into: &mut Vec<Redirection>) -> Vec<Node<'n>> {
        self.check_gaps(node);
        match node.kind() {
            "herestring_redirect" => self.here_string(node, into),
            "heredoc_redirect" => return self.document(node, around, into),
            _ => return self.file(node, into),
        }
        Vec::new()
    }

    fn here_string(&mut self, node: Node<'_>, into: &mut Vec<Redirection>) {
        self.found.analysis.needs_bash = true;
        let words: Vec<Node<'_>> = children(node).into_iter().filter(|part| part.is_named() && part.kind() != "file_descriptor").collect();
        for word in words {
            let target = Some(self.word(word));
            into.push(Redirection { kind: RedirectionKind::HereString, target });
        }
    }

    fn file<'n>(&mut self, node: Node<'n>, into: &mut Vec<Redirection>) -> Vec<Node<'n>> {
        let parts = children(node);
        let operator = parts.iter().find(|part| !part.is_named()).map_or("", |part| part.kind());
        let mut words = parts.into_iter().filter(|part| part.is_named() && part.kind() != "file_descriptor");
        if operator.ends_with('-') {
            self.check_close(node, operator);
            into.push(Redirection { kind: RedirectionKind::Duplicate, target: None });
            return words.collect();
        }
        let Some(word) = words.next() else { return Vec::new() };
        let target = self.word(word);
        let kind = self.kind(operator, &target, word);
        match kind {
            RedirectionKind::Read => self.found.read(&target),
            RedirectionKind::Write | RedirectionKind::Append => self.found.write(&target),
            _ => {}
        }
        into.push(Redirection { kind, target: Some(target) });
        words.collect()
    }

    /// `>&-x` is a file named `-x` to bash.
    fn check_close(&mut self, node: Node<'_>, operator: &str) {
        let behind = self.text(node).split_once(operator).and_then(|(_, rest)| rest.chars().next());
        let next = behind.or_else(|| self.line.get(node.end_byte()..).and_then(|rest| rest.chars().next()));
        if next.is_some_and(|ch| !" \t\n;&|)<>`".contains(ch)) {
            self.unclear(node, "put a blank behind '-'");
        }
    }

    fn kind(&mut self, operator: &str, target: &Word, node: Node<'_>) -> RedirectionKind {
        let number = target.as_literal().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        match operator {
            "<" => RedirectionKind::Read,
            ">" | ">|" => RedirectionKind::Write,
            ">>" => RedirectionKind::Append,
            ">&" | "<&" if number || target.as_literal() == Some("-") => RedirectionKind::Duplicate,
            "&>" | "&>>" | ">&" => {
                self.found.analysis.needs_bash = true;
                // Bash takes quotes off twice there.
                if operator == ">&" && target.as_literal() != Some(self.text(node)) {
                    self.unfollowed(node, "quotes behind '>&' are read twice; use '&>'");
                }
                if operator == "&>>" { RedirectionKind::Append } else { RedirectionKind::Write }
            }
            _ => {
                let text = cut(self.text(node));
                self.unfollowed(node, &format!("'{operator}{text}' is not a known redirection"));
                RedirectionKind::Write
            }
        }
    }
}

/// The parser puts a redirection around a whole list, and bash gives it to the last command.
fn last_part(body: Node<'_>) -> Node<'_> {
    let mut node = body;
    while matches!(node.kind(), "list" | "pipeline" | "negated_command") {
        let Some(last) = children(node).into_iter().rfind(Node::is_named) else { return node };
        node = last;
    }
    node
}
