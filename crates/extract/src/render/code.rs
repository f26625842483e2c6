//! Code: as it was written, in fences that it cannot close.

use super::{PageRenderer, Style};
use crate::html::tree::NodeId;

impl PageRenderer<'_, '_, '_> {
    pub(super) fn preformatted(&mut self, id: NodeId) {
        let text = self.visible_text(id);
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.trim().is_empty() {
            return;
        }
        self.writer.block();
        match self.style {
            Style::Text => text.lines().for_each(|line| self.writer.verbatim_line(line)),
            Style::Markdown => {
                let fence = "`".repeat(longest_run(text).max(2) + 1);
                self.writer.verbatim_line(&format!("{fence}{}", self.language(id)));
                text.lines().for_each(|line| self.writer.verbatim_line(line));
                self.writer.verbatim_line(&fence);
            }
        }
        self.writer.block();
    }

    pub(super) fn inline_code(&mut self, id: NodeId) {
        let text = self.visible_text(id);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || self.style == Style::Text {
            return self.children(id);
        }
        let fence = "`".repeat(if text.contains('`') { longest_run(&text) + 1 } else { 1 });
        let padding = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        self.writer.inline(&format!("{fence}{padding}{text}{padding}{fence}"));
    }

    /// All shown text beneath a node, with its blanks; `br` ends a line.
    fn visible_text(&self, id: NodeId) -> String {
        let (content, tree) = (self.content, self.content.tree);
        let mut text = String::new();
        for inner in (id + 1..tree.end_of(id)).filter(|inner| !content.is_dropped(*inner)) {
            match tree.text(inner) {
                Some(piece) => text.extend(piece.chars().filter(|ch| !crate::hidden::is_invisible(*ch) && *ch != '\r')),
                None if tree.name(inner) == "br" => text.push('\n'),
                // Line tables of code viewers.
                None if matches!(tree.name(inner), "tr" | "div") && !text.is_empty() && !text.ends_with('\n') => text.push('\n'),
                None => {}
            }
        }
        text
    }

    /// The language, as highlighters write it into classes.
    fn language(&self, id: NodeId) -> String {
        let tree = self.content.tree;
        let around = [Some(id), tree.children(id).find(|child| tree.name(*child) == "code"), Some(tree.parent(id))];
        let named = around.into_iter().flatten().find_map(|id| {
            let classes = tree.attributes(id).get("class")?;
            let named = |class: &str| {
                ["language-", "lang-", "highlight-source-", "highlight-", "brush:"]
                    .iter()
                    .find_map(|prefix| Some(class.strip_prefix(prefix)?.to_owned()))
            };
            classes.split_whitespace().find_map(named)
        });
        named
            .filter(|name| name.len() <= 20 && name.chars().all(|ch| ch.is_ascii_alphanumeric() || "+#-_".contains(ch)))
            .unwrap_or_default()
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0)
}
