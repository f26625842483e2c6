//! The part of a page that it is about.
//!
//! The page's own word comes first (`main`, `article`); without it, paragraphs give points to what surrounds them, as in Readability.
//! Boilerplate was taken out before, so in doubt the larger part is chosen: a reader skips a line too many more easily than one too few.

use crate::boilerplate::{has_word, is_boilerplate};
use crate::hidden::HidingRules;
use crate::html::tree::{HtmlTree, NodeId, ROOT};

/// Classes of the element with the text, in the usual site software.
const CONTENT_WORDS: &[&str] = &["articlebody", "markdown"];
const CONTENT_CLASSES: &[&str] =
    &["entry-content", "post-content", "article-body", "article-content", "post-body", "story-body", "page-content"];

/// How the part was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The page marks it.
    Markup,
    /// It has the most text in paragraphs.
    Score,
    /// The whole page, without its boilerplate.
    Page,
}

/// A page with its parts marked.
#[derive(Debug)]
pub(crate) struct ContentTree<'t, 'a> {
    pub(crate) tree: &'t HtmlTree<'a>,
    dropped: Vec<bool>,
    stats: Vec<TextStats>,
}

/// What is beneath a node.
#[derive(Debug, Clone, Copy, Default)]
struct TextStats {
    /// Characters that are not blank.
    text: u32,
    /// Those of them in links.
    link_text: u32,
    links: u32,
    commas: u32,
}

impl TextStats {
    fn count(text: &str) -> Self {
        let mut stats = Self::default();
        for ch in text.chars() {
            stats.text += u32::from(!ch.is_whitespace());
            stats.commas += u32::from(matches!(ch, ',' | '،' | '、' | '，'));
        }
        stats
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn link_density(self) -> f32 {
        if self.text == 0 { 0.0 } else { self.link_text as f32 / self.text as f32 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn share_of(self, whole: Self) -> f32 {
        if whole.text == 0 { 0.0 } else { self.text as f32 / whole.text as f32 }
    }
}

impl<'t, 'a> ContentTree<'t, 'a> {
    /// Marks what is hidden and what is boilerplate.
    pub(crate) fn new(tree: &'t HtmlTree<'a>) -> Self {
        let mut content = Self { tree, dropped: vec![false; tree.len()], stats: Vec::new() };
        let hiding = HidingRules::from_tree(tree);
        content.drop_where(|id| hiding.hide(tree, id));
        content.count();
        let stats = std::mem::take(&mut content.stats);
        content.drop_where(|id| is_boilerplate(tree, id, stats[id].share_of(stats[ROOT])));
        content.count();
        content
    }

    pub(crate) fn is_dropped(&self, id: NodeId) -> bool {
        self.dropped[id]
    }

    /// The characters of text beneath a node.
    pub(crate) fn text_length(&self, id: NodeId) -> usize {
        self.stats[id].text as usize
    }

    fn drop_where(&mut self, drops: impl Fn(NodeId) -> bool) {
        for id in self.tree.ids().skip(1) {
            let is_element = !self.tree.name(id).is_empty();
            self.dropped[id] = self.dropped[id] || self.dropped[self.tree.parent(id)] || (is_element && drops(id));
        }
    }

    /// From the last node to the first: each adds itself to its parent.
    fn count(&mut self) {
        let tree = self.tree;
        self.stats = vec![TextStats::default(); tree.len()];
        for id in tree.ids().rev().filter(|id| !self.dropped[*id]) {
            if let Some(text) = tree.source_text(id) {
                self.stats[id] = TextStats::count(text);
            }
            let mut own = self.stats[id];
            if tree.name(id) == "a" {
                (own.link_text, own.links) = (own.text, own.links + 1);
            }
            if id != ROOT {
                let above = &mut self.stats[tree.parent(id)];
                above.text += own.text;
                above.link_text += own.link_text;
                above.links += own.links;
                above.commas += own.commas;
            }
        }
    }

    /// The element with the content.
    pub(crate) fn find(&mut self) -> (NodeId, FoundBy) {
        let found = self.marked().map(|id| (id, FoundBy::Markup)).or_else(|| Some((self.best_scored()?, FoundBy::Score)));
        let (root, by) = found.filter(|(id, _)| *id != ROOT).unwrap_or((ROOT, FoundBy::Page));
        self.drop_link_lists(root);
        (root, by)
    }

    fn marked(&self) -> Option<NodeId> {
        let tree = self.tree;
        let whole = self.stats[ROOT];
        let is_main = |id: &NodeId| tree.name(*id) == "main" || tree.attributes(*id).get("role").is_some_and(|role| role == "main");
        let main = self.visible().find(|id| is_main(id) && self.stats[*id].share_of(whole) > 0.2);
        match main {
            Some(main) => Some(self.article_in(main, 0.6).unwrap_or(main)),
            None => self.article_in(ROOT, 0.35),
        }
    }

    fn visible(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.tree.ids().skip(1).filter(|id| !self.dropped[*id] && !self.tree.name(*id).is_empty())
    }

    /// The article beneath a node, or what holds all articles of a list, if it is a large enough part.
    fn article_in(&self, top: NodeId, least: f32) -> Option<NodeId> {
        let end = self.tree.end_of(top);
        let mut articles: Vec<NodeId> = Vec::new();
        for id in self.visible().filter(|id| *id > top && *id < end && self.is_article(*id)) {
            let nested = articles.last().is_some_and(|last| id < self.tree.end_of(*last));
            if !nested {
                articles.push(id);
            }
        }
        let whole = self.stats[top];
        let around = articles.iter().copied().reduce(|one, other| self.common_ancestor(one, other))?;
        let largest = articles.iter().copied().max_by_key(|id| self.stats[*id].text)?;
        if self.stats[largest].share_of(whole) >= 0.6 {
            return Some(self.content_class_in(largest).unwrap_or(largest));
        }
        (self.stats[around].share_of(whole) >= least).then_some(around)
    }

    fn is_article(&self, id: NodeId) -> bool {
        let attributes = self.tree.attributes(id);
        self.tree.name(id) == "article"
            || attributes.get("itemprop").is_some_and(|value| value.eq_ignore_ascii_case("articleBody"))
            || self.has_content_class(id)
    }

    fn has_content_class(&self, id: NodeId) -> bool {
        let classes = self.tree.attributes(id).get("class");
        classes.is_some_and(|classes| classes.split_whitespace().any(|class| CONTENT_CLASSES.contains(&class)))
            || has_word(self.tree, id, CONTENT_WORDS)
    }

    /// Within an article, the element with nearly all of its text.
    fn content_class_in(&self, article: NodeId) -> Option<NodeId> {
        let end = self.tree.end_of(article);
        let whole = self.stats[article];
        self.visible()
            .filter(|id| *id > article && *id < end)
            .find(|id| self.has_content_class(*id) && self.stats[*id].share_of(whole) > 0.85)
    }

    fn common_ancestor(&self, one: NodeId, other: NodeId) -> NodeId {
        let (mut one, mut other) = (one, other);
        while one != other {
            if one > other { one = self.tree.parent(one) } else { other = self.tree.parent(other) }
        }
        one
    }

    fn best_scored(&self) -> Option<NodeId> {
        let points = self.scores();
        let candidates = self.visible().filter(|id| points[*id] > 0.0);
        let weight = |id: NodeId| points[id] * (1.0 - self.stats[id].link_density());
        let best = candidates.max_by(|one, other| weight(*one).total_cmp(&weight(*other)))?;
        Some(self.widened(best))
    }

    fn scores(&self) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.tree.len()];
        for id in self.visible() {
            let own = self.stats[id];
            if own.text < 25 || !matches!(self.tree.name(id), "p" | "pre" | "blockquote" | "td" | "dd" | "li") {
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "points")]
            let points = 1.0 + own.commas.min(20) as f32 + (own.text as f32 / 100.0).min(3.0);
            let parent = self.tree.parent(id);
            let grandparent = self.tree.parent(parent);
            scores[parent] += points;
            scores[grandparent] += points / 2.0;
            scores[self.tree.parent(grandparent)] += points / 3.0;
        }
        scores
    }

    /// Goes up until most of the text is inside, or links begin to prevail.
    fn widened(&self, best: NodeId) -> NodeId {
        let whole = self.stats[ROOT];
        let mut at = best;
        while at != ROOT && self.stats[at].share_of(whole) < 0.7 {
            let above = self.tree.parent(at);
            if self.stats[above].link_density() > 0.5 {
                break;
            }
            at = above;
        }
        at
    }

    /// Lists of short links are navigation, unless the page is one.
    fn drop_link_lists(&mut self, root: NodeId) {
        if self.stats[root].link_density() > 0.4 {
            return;
        }
        let end = self.tree.end_of(root);
        let lists: Vec<NodeId> = self.visible().filter(|id| *id > root && *id < end && self.is_link_list(*id)).collect();
        for id in lists {
            self.dropped[id] = true;
        }
        self.drop_where(|_| false);
    }

    fn is_link_list(&self, id: NodeId) -> bool {
        let own = self.stats[id];
        matches!(self.tree.name(id), "ul" | "ol" | "div" | "section")
            && own.links >= 5
            && own.link_density() > 0.85
            && own.text / own.links < 40
    }
}
