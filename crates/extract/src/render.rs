//! The content as Markdown or as text.

mod code;
mod table;
mod writer;

use url::Url;

use self::writer::TextWriter;
use crate::content::ContentTree;
use crate::html::names::{heading_level, is_block};
use crate::html::tree::{NodeId, NodeKind};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Markdown, with links and images.
    Markdown,
    /// Text without marks.
    Text,
}

/// Writes the content beneath a node. Links are made absolute with `base`.
pub(crate) fn render(content: &ContentTree<'_, '_>, root: NodeId, style: Style, base: Option<&Url>) -> String {
    let mut renderer = PageRenderer { content, style, base, writer: TextWriter::new(style), lists: Vec::new() };
    renderer.children(root);
    renderer.writer.finish()
}

struct PageRenderer<'c, 't, 'a> {
    content: &'c ContentTree<'t, 'a>,
    style: Style,
    base: Option<&'c Url>,
    writer: TextWriter,
    /// The number of the next item of each open list; `None` for lists without numbers.
    lists: Vec<Option<usize>>,
}

impl PageRenderer<'_, '_, '_> {
    fn children(&mut self, id: NodeId) {
        let content = self.content;
        content.tree.children(id).filter(|child| !content.is_dropped(*child)).for_each(|child| self.node(child));
    }

    fn node(&mut self, id: NodeId) {
        match &self.content.tree.node(id).kind {
            NodeKind::Element { .. } => self.element(id),
            NodeKind::Text(_) | NodeKind::Literal(_) => {
                let text = self.content.tree.text(id).unwrap_or_default();
                self.writer.text(&text);
            }
        }
    }

    fn element(&mut self, id: NodeId) {
        let name = self.content.tree.name(id);
        match name {
            "br" => self.writer.line(),
            "hr" => self.rule(),
            "pre" | "listing" | "xmp" | "plaintext" => self.preformatted(id),
            "code" | "kbd" | "samp" | "tt" => self.inline_code(id),
            "strong" | "b" => self.marked(id, "**"),
            "em" | "i" | "cite" | "var" => self.marked(id, "*"),
            "del" | "s" | "strike" => self.marked(id, "~~"),
            "a" => self.link(id),
            "img" => self.image(id),
            "iframe" | "frame" | "embed" | "video" => self.frame(id),
            "ul" | "menu" | "dir" => self.list(id, None),
            "ol" => self.list(id, Some(self.number(id, "start").unwrap_or(1))),
            "li" => self.item(id),
            "dt" => self.term(id),
            "dd" => self.prefixed(id, ": ", "  "),
            "blockquote" => self.quote(id),
            "table" => self.table(id),
            "math" => self.formula(id),
            "title" => {}
            _ => match heading_level(name) {
                Some(level) => self.heading(id, level),
                None if is_block(name) => self.block(id),
                None => self.children(id),
            },
        }
    }

    fn block(&mut self, id: NodeId) {
        self.writer.block();
        self.children(id);
        self.writer.block();
    }

    fn heading(&mut self, id: NodeId, level: usize) {
        self.writer.block();
        if self.style == Style::Markdown && self.content.text_length(id) > 0 {
            self.writer.marker(&format!("{} ", "#".repeat(level)));
        }
        self.writer.keep_on_line(true);
        self.children(id);
        self.writer.keep_on_line(false);
        self.writer.block();
    }

    fn rule(&mut self) {
        self.writer.block();
        if self.style == Style::Markdown {
            self.writer.verbatim("---");
        }
        self.writer.block();
    }

    fn marked(&mut self, id: NodeId, mark: &str) {
        if self.style == Style::Text || self.content.text_length(id) == 0 || self.has_blocks(id) {
            return self.children(id);
        }
        self.writer.open(mark);
        self.children(id);
        self.writer.close(mark);
    }

    fn has_blocks(&self, id: NodeId) -> bool {
        let tree = self.content.tree;
        (id + 1..tree.end_of(id)).any(|inner| is_block(tree.name(inner)) || tree.name(inner) == "br")
    }

    fn link(&mut self, id: NodeId) {
        let target = self.content.tree.attributes(id).get("href").and_then(|href| self.absolute(&href));
        let Some(target) = target.filter(|_| self.style == Style::Markdown && self.content.text_length(id) > 0) else {
            return self.children(id);
        };
        if self.has_blocks(id) {
            // A card: the link follows what it shows.
            self.children(id);
            self.writer.line();
            return self.writer.verbatim(&format!("<{target}>"));
        }
        self.writer.open("[");
        self.children(id);
        self.writer.close(&format!("]({target})"));
    }

    /// An address as it can be requested; `None` for what leads nowhere.
    fn absolute(&self, address: &str) -> Option<String> {
        let address = address.trim();
        if address.is_empty() || address.starts_with('#') {
            return None;
        }
        let url = match self.base {
            Some(base) => base.join(address).ok()?,
            None => Url::parse(address).ok()?,
        };
        let kept = matches!(url.scheme(), "http" | "https" | "mailto" | "tel" | "ftp");
        kept.then(|| url.as_str().replace('(', "%28").replace(')', "%29"))
    }

    fn image(&mut self, id: NodeId) {
        let attributes = self.content.tree.attributes(id);
        let alt = attributes.get("alt").unwrap_or_default();
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        if alt.is_empty() || self.style == Style::Text {
            return;
        }
        let sources = ["src", "data-src", "data-original"];
        match sources.into_iter().find_map(|name| self.absolute(&attributes.get(name)?)) {
            Some(target) => self.writer.inline(&format!("![{}]({target})", alt.replace(['[', ']'], ""))),
            None => self.writer.text(&alt),
        }
    }

    /// A page within the page is named, not read: it is another address.
    fn frame(&mut self, id: NodeId) {
        let attributes = self.content.tree.attributes(id);
        let Some(target) = attributes.get("src").and_then(|source| self.absolute(&source)) else { return };
        let title = attributes.get("title").or_else(|| attributes.get("name")).unwrap_or_else(|| "untitled".into());
        self.writer.block();
        match self.style {
            Style::Markdown => self.writer.verbatim(&format!("[Frame: {}]({target})", title.trim().replace(['[', ']', '\n'], " "))),
            Style::Text => self.writer.text(&format!("Frame: {title}")),
        }
        self.writer.block();
    }

    fn list(&mut self, id: NodeId, first: Option<usize>) {
        self.list_border();
        self.lists.push(first);
        self.children(id);
        self.lists.pop();
        self.list_border();
    }

    /// A list within a list stands close to its item.
    fn list_border(&mut self) {
        if self.lists.is_empty() {
            self.writer.block();
        } else {
            self.writer.line();
        }
    }

    fn item(&mut self, id: NodeId) {
        if self.content.text_length(id) == 0 && !self.shows_images(id) {
            return;
        }
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number += 1;
                marker
            }
            Some(None) | None => "- ".to_owned(),
        };
        let indent = " ".repeat(marker.len());
        self.prefixed(id, &marker, &indent);
    }

    fn shows_images(&self, id: NodeId) -> bool {
        let tree = self.content.tree;
        (id..tree.end_of(id)).any(|inner| tree.name(inner) == "img" && tree.attributes(inner).get("alt").is_some_and(|alt| !alt.is_empty()))
    }

    fn prefixed(&mut self, id: NodeId, marker: &str, indent: &str) {
        self.writer.line();
        self.writer.marker(marker);
        self.writer.indent(indent);
        self.children(id);
        self.writer.dedent();
        self.writer.line();
    }

    fn term(&mut self, id: NodeId) {
        self.writer.line();
        self.marked(id, "**");
        self.writer.line();
    }

    fn quote(&mut self, id: NodeId) {
        self.writer.block();
        self.writer.indent("> ");
        self.children(id);
        self.writer.dedent();
        self.writer.block();
    }

    /// The source of a formula, where the page has it.
    fn formula(&mut self, id: NodeId) {
        let tree = self.content.tree;
        let annotation = (id..tree.end_of(id)).find(|inner| tree.name(*inner) == "annotation").map(|inner| tree.all_text(inner));
        let source = tree.attributes(id).get("alttext").map(std::borrow::Cow::into_owned).or(annotation);
        match source.filter(|source| !source.trim().is_empty()) {
            Some(source) => self.writer.text(&source),
            None => self.children(id),
        }
    }

    fn number(&self, id: NodeId, attribute: &str) -> Option<usize> {
        self.content.tree.attributes(id).get(attribute)?.trim().parse().ok()
    }
}
