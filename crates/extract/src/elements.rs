//! Elements of a page by their class: for pages whose shape is known.

use url::Url;

use crate::html::tree::{HtmlTree, NodeId};
use crate::page::one_line;

/// An element that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundElement {
    /// The class that it was found by.
    pub class: String,
    /// Its text, on one line.
    pub text: String,
    /// Where it links to, absolute.
    pub link: Option<String>,
}

/// The elements that have one of these classes, in their order.
pub fn find_elements(html: &str, address: &str, classes: &[&str]) -> Vec<FoundElement> {
    let tree = HtmlTree::parse(html);
    let base = Url::parse(address).ok();
    let found = tree.ids().filter_map(|id| Some((id, class_of(&tree, id, classes)?)));
    found.map(|(id, class)| element(&tree, id, class, base.as_ref())).collect()
}

fn class_of(tree: &HtmlTree<'_>, id: NodeId, classes: &[&str]) -> Option<String> {
    let own = tree.attributes(id).get("class")?;
    own.split_whitespace().find(|class| classes.contains(class)).map(str::to_owned)
}

fn element(tree: &HtmlTree<'_>, id: NodeId, class: String, base: Option<&Url>) -> FoundElement {
    let link = tree.attributes(id).get("href").and_then(|href| base?.join(href.trim()).ok()).map(String::from);
    FoundElement { class, text: one_line(&tree.all_text(id)).unwrap_or_default(), link }
}

/// The text of a piece of HTML, on one line.
pub fn plain_text(html: &str) -> String {
    let tree = HtmlTree::parse(html);
    one_line(&tree.all_text(crate::html::tree::ROOT)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_class_with_their_links() {
        let html = "<div class='r x'><a class=t href='/l?u=1&amp;v'>A <b>b</b></a></div><p class=s>c</p><p class=other>d</p>";
        let found = find_elements(html, "https://a.test/q", &["t", "s"]);
        let expected = [("t", "A b", Some("https://a.test/l?u=1&v")), ("s", "c", None)];
        let expected =
            expected.map(|(class, text, link)| FoundElement { class: class.into(), text: text.into(), link: link.map(String::from) });
        assert_eq!(found, expected);
        assert_eq!(plain_text("a <strong>b</strong> &amp;\n c"), "a b & c");
    }
}
