//! What is on every page of a site, and not what this page is about: navigation, banners, forms, advertisements.

use crate::html::tree::{HtmlTree, NodeId};

/// Words in a class or id that say so.
const BOILERPLATE_WORDS: &[&str] = &[
    "ad",
    "ads",
    "adsense",
    "advert",
    "advertisement",
    "adverts",
    "banner",
    "breadcrumb",
    "breadcrumbs",
    "comments",
    "consent",
    "cookie",
    "cookies",
    "disqus",
    "edit",
    "editsection",
    "footer",
    "gdpr",
    "masthead",
    "menu",
    "menubar",
    "metadata",
    "modal",
    "mw-editsection",
    "nav",
    "navbar",
    "navbox",
    "navigation",
    "newsletter",
    "outbrain",
    "pager",
    "pagination",
    "paywall",
    "popup",
    "printfooter",
    "promo",
    "recommended",
    "related",
    "respond",
    "share",
    "sharing",
    "sidebar",
    "signup",
    "skip",
    "social",
    "sponsor",
    "sponsored",
    "subscribe",
    "subscription",
    "taboola",
    "tags",
    "toc",
    "toolbar",
    "upvote",
    "widget",
];

const BOILERPLATE_ROLES: &[&str] =
    &["navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog", "tooltip"];

/// Boxes at the side that belong to the text.
const NOTES: &[&str] = &["admonition", "callout", "note", "tip", "warning", "caution", "important", "info", "pullquote", "infobox"];

/// Whether an element is boilerplate. `share` is its part of all text of the page.
pub(crate) fn is_boilerplate(tree: &HtmlTree<'_>, id: NodeId, share: f32) -> bool {
    let (name, attributes) = (tree.name(id), tree.attributes(id));
    match name {
        "nav" => return share < 0.8,
        "footer" => return share < 0.5 && !is_within(tree, id, "blockquote"),
        "form" => return share < 0.3,
        "header" => return share < 0.4 && !is_within(tree, id, "article") && !is_within(tree, id, "main"),
        "aside" => return share < 0.4 && !has_word(tree, id, NOTES),
        "" | "html" | "body" | "main" | "article" | "table" | "tbody" | "tr" | "td" | "pre" | "code" => return false,
        _ => {}
    }
    if attributes.is_empty() {
        return false;
    }
    let role = attributes.get("role");
    if role.as_deref() == Some("main") {
        return false;
    }
    share < 0.4 && (role.is_some_and(|role| BOILERPLATE_ROLES.contains(&role.trim())) || has_word(tree, id, BOILERPLATE_WORDS))
}

fn is_within(tree: &HtmlTree<'_>, id: NodeId, name: &str) -> bool {
    let mut at = id;
    while at != 0 {
        at = tree.parent(at);
        if tree.name(at) == name {
            return true;
        }
    }
    false
}

/// Whether a class or the id has one of these words: `site-nav` and `siteNav` have `nav`, `navy` has not.
pub(crate) fn has_word(tree: &HtmlTree<'_>, id: NodeId, words: &[&str]) -> bool {
    let attributes = tree.attributes(id);
    ["class", "id"].into_iter().filter_map(|name| attributes.get(name)).any(|value| {
        let parts = value.split(|ch: char| !ch.is_ascii_alphanumeric()).flat_map(camel_words);
        let mut parts = parts.map(str::to_ascii_lowercase);
        parts.any(|part| words.contains(&part.as_str()))
    })
}

fn camel_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let border = (1..bytes.len()).find(|at| bytes[*at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase());
        let (word, after) = rest.split_at(border.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boilerplate_is_told_by_name_role_and_words() {
        for (html, share, expected) in [
            ("<nav>", 0.1, true),
            ("<footer>", 0.1, true),
            ("<blockquote><footer>", 0.1, false),
            ("<header>", 0.1, true),
            ("<article><header>", 0.1, false),
            ("<aside>", 0.1, true),
            ("<aside class=admonition>", 0.1, false),
            ("<form>", 0.1, true),
            ("<form id=aspnetForm>", 0.9, false),
            ("<div class='site-nav'>", 0.1, true),
            ("<div class='siteNav'>", 0.1, true),
            ("<div class='navy'>", 0.1, false),
            ("<div class='page with-sidebar'>", 0.9, false),
            ("<div role=complementary>", 0.1, true),
            ("<div role=main class=menu>", 0.1, false),
            ("<article class=sponsored>", 0.1, false),
            ("<div>", 0.1, false),
        ] {
            let tree = HtmlTree::parse(html);
            assert_eq!(is_boilerplate(&tree, tree.len() - 1, share), expected, "{html}");
        }
    }
}
