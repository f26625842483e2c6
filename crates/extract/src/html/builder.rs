//! Tokens to a tree: which element closes which, within bounds.

use std::borrow::Cow;

use super::attributes::Attributes;
use super::names::{belongs_in_head, closed_by, heading_level, is_barrier, is_block, is_void};
use super::tokens::HtmlToken;
use super::tree::{HtmlNode, HtmlTree, NodeId, NodeKind, ROOT};

/// Deeper elements are read as if their tags were not there.
const MAX_DEPTH: usize = 200;
/// Nodes beyond are left out: no page for people has as many.
const MAX_NODES: usize = 400_000;

/// Puts tokens where they belong.
pub(super) struct TreeBuilder<'a> {
    pub(super) tree: HtmlTree<'a>,
    /// From the root to the innermost open element.
    open: Vec<NodeId>,
    /// Open elements beyond the depth, which have no nodes.
    too_deep: usize,
}

impl<'a> TreeBuilder<'a> {
    pub(super) fn new() -> Self {
        let kind = NodeKind::Element { name: Cow::Borrowed("html"), attributes: Attributes::default() };
        let root = HtmlNode { kind, parent: 0, first_child: 0, last_child: 0, next: 0 };
        Self { tree: HtmlTree { nodes: vec![root], truncated: false }, open: vec![ROOT], too_deep: 0 }
    }

    /// Adds a token, unless the tree is full.
    pub(super) fn add(&mut self, token: HtmlToken<'a>) -> bool {
        if self.tree.len() >= MAX_NODES {
            self.tree.truncated = true;
            return false;
        }
        match token {
            HtmlToken::Text(text) => self.add_text(text, NodeKind::Text(text)),
            HtmlToken::Literal(text) => self.add_text(text, NodeKind::Literal(text)),
            HtmlToken::Start { name, attributes, self_closing } => self.start(name, attributes, self_closing),
            HtmlToken::End(name) => self.end(&name),
        }
        true
    }

    fn add_text(&mut self, text: &str, kind: NodeKind<'a>) {
        if text.is_empty() {
            return;
        }
        if self.current() == "head" && !text.trim_ascii().is_empty() {
            self.open.pop();
        }
        self.append(kind);
    }

    fn append(&mut self, kind: NodeKind<'a>) -> NodeId {
        let id = self.tree.nodes.len();
        let parent = self.open.last().copied().unwrap_or(ROOT);
        // The number of nodes is bounded far below.
        let short = |id: NodeId| u32::try_from(id).unwrap_or(0);
        self.tree.nodes.push(HtmlNode { kind, parent: short(parent), first_child: 0, last_child: 0, next: 0 });
        let before = self.tree.nodes[parent].last_child as usize;
        if before == ROOT {
            self.tree.nodes[parent].first_child = short(id);
        } else {
            self.tree.nodes[before].next = short(id);
        }
        self.tree.nodes[parent].last_child = short(id);
        id
    }

    fn current(&self) -> &str {
        self.open.last().map_or("", |id| self.tree.name(*id))
    }

    fn start(&mut self, name: Cow<'a, str>, attributes: Attributes<'a>, self_closing: bool) {
        if name == "html" || (name == "body" && self.tree.find_open(&self.open, "body")) {
            return;
        }
        if self.current() == "head" && !belongs_in_head(&name) {
            self.open.pop();
        }
        self.close_implied(&name);
        let empty = is_void(&name) || (self_closing && self.in_foreign_content(&name));
        if self.open.len() >= MAX_DEPTH && !empty {
            self.too_deep += 1;
            return;
        }
        let id = self.append(NodeKind::Element { name, attributes });
        if !empty {
            self.open.push(id);
        }
    }

    /// In drawings and formulas a tag may close itself.
    fn in_foreign_content(&self, name: &str) -> bool {
        matches!(name, "svg" | "math") || self.open.iter().any(|id| matches!(self.tree.name(*id), "svg" | "math"))
    }

    fn close_implied(&mut self, name: &str) {
        if heading_level(name).is_some() && heading_level(self.current()).is_some() {
            self.open.pop();
        }
        let Some((closed, stops)) = closed_by(name) else { return };
        let inner = self.open.iter().rposition(|id| {
            let open = self.tree.name(*id);
            closed.contains(&open) || stops.contains(&open)
        });
        if let Some(at) = inner.filter(|at| closed.contains(&self.tree.name(self.open[*at]))) {
            self.open.truncate(at.max(1));
        }
        if is_block(name) && name != "p" && !matches!(closed, ["p"]) {
            self.close_paragraph();
        }
    }

    fn close_paragraph(&mut self) {
        let inner = self.open.iter().rposition(|id| self.tree.name(*id) == "p" || is_barrier(self.tree.name(*id)));
        if let Some(at) = inner.filter(|at| self.tree.name(self.open[*at]) == "p") {
            self.open.truncate(at.max(1));
        }
    }

    fn end(&mut self, name: &str) {
        if matches!(name, "body" | "html") || is_void(name) {
            return;
        }
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let part_of_table = matches!(name, "table" | "tr" | "td" | "th" | "tbody" | "thead" | "tfoot");
        let stops = |open: &str| {
            if part_of_table { open == "table" } else { is_barrier(open) || (!is_block(name) && is_block(open)) }
        };
        let found = self.open.iter().rposition(|id| self.tree.name(*id) == name || stops(self.tree.name(*id)));
        if let Some(at) = found.filter(|at| self.tree.name(self.open[*at]) == name) {
            self.open.truncate(at.max(1));
        }
    }
}

impl HtmlTree<'_> {
    fn find_open(&self, open: &[NodeId], name: &str) -> bool {
        open.iter().any(|id| self.name(*id) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        fn show(tree: &HtmlTree<'_>, id: NodeId, out: &mut String) {
            if let Some(text) = tree.text(id) {
                out.push_str(&text);
                return;
            }
            out.extend([tree.name(id), "("]);
            tree.children(id).for_each(|child| show(tree, child, out));
            out.push(')');
        }
        let (tree, mut out) = (HtmlTree::parse(html), String::new());
        show(&tree, ROOT, &mut out);
        out.strip_prefix("html(").unwrap().strip_suffix(')').unwrap().to_owned()
    }

    #[test]
    fn elements_nest_as_people_meant_them() {
        for (html, expected) in [
            ("<p>a<p>b<div>c</div>d", "p(a)p(b)div(c)d"),
            ("<ul><li>a<li>b<ul><li>c</ul>d</ul>e", "ul(li(a)li(bul(li(c))d))e"),
            ("<table><tr><td>a<td>b<tr><td>c</table>d", "table(tr(td(a)td(b))tr(td(c)))d"),
            ("<table><tr><td><p>a</div></td><td>b", "table(tr(td(p(a))td(b)))"),
            ("<b><p>a</b>b</p>c", "b(p(ab)c)"),
            ("<div><i>a</div>b", "div(i(a))b"),
            ("<head><title>t</title><p>a", "head(title(t))p(a)"),
            ("<body>a</body></html>b<body>c", "body(abc)"),
            ("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt(a)dd(b)dt(c))"),
            ("<h2>a<h3>b</h3>", "h2(a)h3(b)"),
            ("<svg><path/><g><path/></g></svg>x", "svg(path()g(path()))x"),
            ("<br/>a</br><div/>b", "br()adiv(b)"),
            ("</p></div>a", "a"),
            ("&lt;a&gt;<script>&lt;</script>", "<a>script(&lt;)"),
            ("", ""),
        ] {
            assert_eq!(shown(html), expected, "{html}");
        }
    }

    #[test]
    fn depth_and_number_of_nodes_are_bounded() {
        let deep = format!("{}x{}y", "<div>".repeat(100_000), "</div>".repeat(100_000));
        let tree = HtmlTree::parse(&deep);
        assert_eq!((tree.len(), tree.all_text(ROOT).as_str(), tree.truncated), (MAX_DEPTH + 2, "xy", false));
        let many = "<b>a</b>".repeat(MAX_NODES);
        let tree = HtmlTree::parse(&many);
        assert_eq!((tree.len(), tree.truncated), (MAX_NODES, true));
    }

    #[test]
    fn a_subtree_ends_before_the_next_element() {
        let tree = HtmlTree::parse("<div><p>a<b>c</b></p></div><p>d</p>");
        let div = tree.find("div").unwrap();
        assert_eq!((tree.all_text(div), tree.name(tree.end_of(div))), ("ac".to_owned(), "p"));
    }
}
