//! Here-documents: `<<END`. Only the plain form is followed; where the text ends is checked by bash's rule.

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::analysis::{Redirection, RedirectionKind};
use crate::builder::CommandPosition;

impl ShellReader<'_> {
    /// The document, and whatever stands on its first line: files, pipes, `&& command`.
    pub(super) fn document<'n>(&mut self, node: Node<'n>, around: &CommandPosition, into: &mut Vec<Redirection>) -> Vec<Node<'n>> {
        let parts = children(node);
        let why = "only one plain here-document on a line is, 'END' as a plain word; write the text with the file tools";
        match self.outline(&parts) {
            Outline::Plain => {}
            Outline::Bounded => self.unfollowed(node, why),
            Outline::Unclear => self.unclear(node, why),
        }
        into.push(Redirection { kind: RedirectionKind::HereDocument, target: None });
        let mut behind = Vec::new();
        for part in parts.into_iter().filter(Node::is_named) {
            match part.kind() {
                "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                "heredoc_body" => self.inside(part),
                "file_redirect" | "herestring_redirect" => behind.extend(self.redirection(part, around, into)),
                "pipeline" => self.statement(part, &CommandPosition { piped: true, ..around.clone() }),
                kind if super::gaps::is_statement(kind) => self.statement(part, around),
                _ => behind.push(part),
            }
        }
        behind
    }

    fn outline(&self, parts: &[Node<'_>]) -> Outline {
        let find = |kind: &str| parts.iter().find(|part| part.kind() == kind).copied();
        let (Some(start), Some(end)) = (find("heredoc_start"), find("heredoc_end")) else { return Outline::Unclear };
        let (name, quoted) = unquoted(self.text(start));
        let rest = self.line.get(start.end_byte()..).unwrap_or_default();
        let Some((first_line, body)) = rest.split_once('\n') else { return Outline::Unclear };
        let tabs = parts.iter().any(|part| part.kind() == "<<-");
        let Some(length) = body_length(body, name, tabs) else { return Outline::Unclear };
        let body_start = start.end_byte() + first_line.len() + 1;
        let plain_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        // Where bash finds the end the parser must have found it, too.
        let same_end = end.start_byte() == body_start + length && self.text(end) == name;
        // A quote that continues past the end of the first line would move the beginning, and so would a second document.
        let closed = |quote: char| first_line.matches(quote).count() % 2 == 0;
        let one_line = !first_line.contains(['\\', '`', '(', '#']) && !first_line.contains("<<") && closed('\'') && closed('"');
        if !plain_name || !same_end || !one_line {
            return Outline::Unclear;
        }
        let plain_line = !first_line.contains(['\'', '"']);
        if plain_line && (quoted || is_plain_text(&body[..length])) { Outline::Plain } else { Outline::Bounded }
    }
}

/// What is certain of a document.
enum Outline {
    Plain,
    /// Where it begins and ends is, and so are the commands around it.
    Bounded,
    Unclear,
}

/// The name of the end, and whether it is quoted, which keeps the text as it is.
fn unquoted(name: &str) -> (&str, bool) {
    let inner = |quote: char| name.strip_prefix(quote).and_then(|name| name.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).map_or((name, false), |name| (name, true))
}

/// Where the end of a document begins.
fn body_length(body: &str, name: &str, tabs: bool) -> Option<usize> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let begins = if tabs { text.len() - text.trim_start_matches('\t').len() } else { 0 };
        if &text[begins..] == name {
            return Some(at + begins);
        }
        at += line.len();
    }
    None
}

/// A document that expands may hold plain `$name`, and nothing that runs or joins lines.
fn is_plain_text(text: &str) -> bool {
    let runs = ["$(", "${", "$["].iter().any(|start| text.contains(start));
    !runs && !text.contains(['`', '\\'])
}
