//! A page as a tree in one vector, in document order: a parent stands before its children.
//!
//! The tree is for reading, not for display, so the repairs of browsers are left out that only move elements. Depth and number of
//! nodes are bounded, and every step is bounded by the depth: hostile nesting costs no more than other text.

use std::borrow::Cow;

use super::attributes::Attributes;
use super::builder::TreeBuilder;
use super::entities;
use super::tokens::Tokens;

/// The index of a node.
pub(crate) type NodeId = usize;

pub(crate) const ROOT: NodeId = 0;

/// An element or a text.
#[derive(Debug)]
pub(crate) struct HtmlNode<'a> {
    pub(crate) kind: NodeKind<'a>,
    pub(crate) parent: u32,
    pub(super) first_child: u32,
    pub(super) last_child: u32,
    pub(super) next: u32,
}

#[derive(Debug)]
pub(crate) enum NodeKind<'a> {
    Element {
        name: Cow<'a, str>,
        attributes: Attributes<'a>,
    },
    /// As written, with character references.
    Text(&'a str),
    /// As written, without.
    Literal(&'a str),
}

/// A page.
#[derive(Debug)]
pub(crate) struct HtmlTree<'a> {
    pub(super) nodes: Vec<HtmlNode<'a>>,
    /// Whether nodes were left out.
    pub(crate) truncated: bool,
}

impl<'a> HtmlTree<'a> {
    pub(crate) fn parse(html: &'a str) -> Self {
        let mut builder = TreeBuilder::new();
        for token in Tokens::html(html) {
            if !builder.add(token) {
                break;
            }
        }
        builder.tree
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn ids(&self) -> std::ops::Range<NodeId> {
        0..self.nodes.len()
    }

    pub(crate) fn node(&self, id: NodeId) -> &HtmlNode<'a> {
        &self.nodes[id]
    }

    /// The parent; the root is its own.
    pub(crate) fn parent(&self, id: NodeId) -> NodeId {
        self.nodes[id].parent as usize
    }

    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut next = self.nodes[id].first_child as usize;
        std::iter::from_fn(move || {
            let id = (next != ROOT).then_some(next)?;
            next = self.nodes[id].next as usize;
            Some(id)
        })
    }

    /// The name of an element; empty for text.
    pub(crate) fn name(&self, id: NodeId) -> &str {
        match &self.nodes[id].kind {
            NodeKind::Element { name, .. } => name,
            NodeKind::Text(_) | NodeKind::Literal(_) => "",
        }
    }

    pub(crate) fn attributes(&self, id: NodeId) -> Attributes<'a> {
        match &self.nodes[id].kind {
            NodeKind::Element { attributes, .. } => *attributes,
            NodeKind::Text(_) | NodeKind::Literal(_) => Attributes::default(),
        }
    }

    /// The text of a text node, decoded.
    pub(crate) fn text(&self, id: NodeId) -> Option<Cow<'a, str>> {
        match &self.nodes[id].kind {
            NodeKind::Text(text) => Some(entities::decode(text)),
            NodeKind::Literal(text) => Some(Cow::Borrowed(text)),
            NodeKind::Element { .. } => None,
        }
    }

    /// The text of a text node, as written: enough to measure it.
    pub(crate) fn source_text(&self, id: NodeId) -> Option<&'a str> {
        match &self.nodes[id].kind {
            NodeKind::Text(text) | NodeKind::Literal(text) => Some(text),
            NodeKind::Element { .. } => None,
        }
    }

    /// All text beneath a node, decoded.
    pub(crate) fn all_text(&self, id: NodeId) -> String {
        let end = self.end_of(id);
        (id..end).filter_map(|id| self.text(id)).collect()
    }

    /// The first node behind a subtree.
    pub(crate) fn end_of(&self, id: NodeId) -> NodeId {
        let mut last = id;
        while self.nodes[last].last_child as usize != ROOT {
            last = self.nodes[last].last_child as usize;
        }
        last + 1
    }

    pub(crate) fn find(&self, name: &str) -> Option<NodeId> {
        self.ids().find(|id| self.name(*id) == name)
    }
}
