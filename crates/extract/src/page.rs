//! A page, read: its title, what it says about itself, and its content.

use url::Url;

use crate::content::{ContentTree, FoundBy};
use crate::html::tree::HtmlTree;
use crate::render::{Style, render};

/// Less text than this is hardly the content of a page that has more to say about itself.
const LITTLE_TEXT: usize = 60;
const LONGEST_TITLE: usize = 300;

/// The readable content of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The title, if it has one.
    pub title: Option<String>,
    /// The summary that it gives to search engines.
    pub description: Option<String>,
    /// The content.
    pub content: String,
    /// How the content was found.
    pub found_by: FoundBy,
    /// Whether the page was so large that its end was not read.
    pub truncated: bool,
}

/// Reads a page. Links are made absolute with its address.
pub fn read_page(html: &str, address: &str, style: Style) -> Page {
    let tree = HtmlTree::parse(html);
    let base = base_address(&tree, address);
    let mut content = ContentTree::new(&tree);
    let (root, found_by) = content.find();
    let mut text = render(&content, root, style, base.as_ref());
    let (title, description) = (title(&tree), described(&tree, &["og:description", "description"]));
    if text.chars().filter(|ch| !ch.is_whitespace()).count() < LITTLE_TEXT {
        add_fallback(&tree, description.as_deref(), &mut text);
    }
    Page { title, description, content: text, found_by, truncated: tree.truncated }
}

fn base_address(tree: &HtmlTree<'_>, address: &str) -> Option<Url> {
    let own = Url::parse(address).ok();
    let named = tree.find("base").and_then(|id| tree.attributes(id).get("href"));
    match (own, named) {
        (Some(own), Some(named)) => own.join(&named).ok().or(Some(own)),
        (own, _) => own,
    }
}

fn title(tree: &HtmlTree<'_>) -> Option<String> {
    let of_element = |name: &str| tree.find(name).map(|id| tree.all_text(id));
    let named = described(tree, &["og:title", "twitter:title"]);
    named.or_else(|| one_line(&of_element("title").unwrap_or_default())).or_else(|| one_line(&of_element("h1").unwrap_or_default()))
}

/// The content of the first of these `meta` elements that there is.
fn described(tree: &HtmlTree<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|wanted| {
        let metas = tree.ids().filter(|id| tree.name(*id) == "meta").map(|id| tree.attributes(id));
        let mut matching = metas.filter(|meta| {
            let name = meta.get("property").or_else(|| meta.get("name"));
            name.is_some_and(|name| name.eq_ignore_ascii_case(wanted))
        });
        matching.find_map(|meta| one_line(&meta.get("content")?))
    })
}

/// A text on one line, without what cannot be seen; `None` if nothing is left.
pub(crate) fn one_line(text: &str) -> Option<String> {
    let visible: String = text.chars().filter(|ch| !crate::hidden::is_invisible(*ch)).collect();
    let mut line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    line.truncate(line.floor_char_boundary(LONGEST_TITLE));
    (!line.is_empty()).then_some(line)
}

/// A page that a script fills: its summary, and what it tells browsers without scripts.
fn add_fallback(tree: &HtmlTree<'_>, description: Option<&str>, text: &mut String) {
    let without_scripts: String = tree.ids().filter(|id| tree.name(*id) == "noscript").map(|id| tree.all_text(id) + "\n").collect();
    for part in [description, one_line(&without_scripts).as_deref()].into_iter().flatten() {
        if !text.contains(part) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(part);
        }
    }
}

#[cfg(test)]
mod tests;
