//! Feeds: the items of RSS, Atom and RDF.

use crate::html::attributes::Attributes;
use crate::html::tokens::{HtmlToken, Tokens};
use crate::page::one_line;
use crate::render::Style;

/// More items are counted, not shown.
const MAX_ITEMS: usize = 50;
const SUMMARY_CHARS: usize = 500;

/// A feed, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feed {
    /// The title of the feed.
    pub title: Option<String>,
    /// The items, newest first where the feed has them so.
    pub items: Vec<FeedItem>,
    /// How many items there are in all.
    pub total: usize,
}

/// One item of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedItem {
    /// Its title.
    pub title: Option<String>,
    /// Its address.
    pub link: Option<String>,
    /// When it was published, as written.
    pub date: Option<String>,
    /// What it is about, as text.
    pub summary: Option<String>,
}

/// Whether a text begins as a feed.
pub fn is_feed(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(2048)];
    ["<rss", "<feed", "<rdf:RDF"].iter().any(|root| head.contains(root)) && !head.to_ascii_lowercase().contains("<html")
}

/// Reads a feed.
pub fn read_feed(xml: &str) -> Feed {
    let mut reader = FeedReader::default();
    for token in Tokens::xml(xml) {
        match token {
            HtmlToken::Start { name, attributes, self_closing } => reader.start(&name, attributes, self_closing),
            HtmlToken::End(name) => reader.end(local(&name)),
            HtmlToken::Text(text) => reader.text.push_str(&crate::html::entities::decode(text)),
            HtmlToken::Literal(text) => reader.text.push_str(text),
        }
    }
    reader.feed
}

impl Feed {
    /// The items as a list.
    pub fn render(&self, style: Style) -> String {
        let mut text = String::new();
        for item in &self.items {
            let title = item.title.as_deref().unwrap_or("(untitled)");
            match (&item.link, style) {
                (Some(link), Style::Markdown) => text.extend(["- [", &title.replace(['[', ']'], ""), "](", link, ")"]),
                (Some(link), Style::Text) => text.extend(["- ", title, ": ", link]),
                (None, _) => text.extend(["- ", title]),
            }
            if let Some(date) = &item.date {
                text.extend([" (", date, ")"]);
            }
            if let Some(summary) = &item.summary {
                text.extend(["\n  ", summary]);
            }
            text.push('\n');
        }
        if self.total > self.items.len() {
            text.extend(["(", &(self.total - self.items.len()).to_string(), " more items are in the feed.)\n"]);
        }
        text.trim_end().to_owned()
    }
}

#[derive(Default)]
struct FeedReader {
    feed: Feed,
    item: Option<FeedItem>,
    text: String,
}

impl FeedReader {
    fn start(&mut self, name: &str, attributes: Attributes<'_>, self_closing: bool) {
        self.text.clear();
        match local(name) {
            "item" | "entry" if !self_closing => self.item = Some(FeedItem::default()),
            "link" => self.link(attributes),
            _ => {}
        }
    }

    /// Atom names the address in an attribute.
    fn link(&mut self, attributes: Attributes<'_>) {
        let is_page = attributes.get("rel").is_none_or(|rel| rel == "alternate");
        if let (Some(item), Some(target), true) = (&mut self.item, attributes.get("href"), is_page) {
            item.link.get_or_insert(target.trim().to_owned());
        }
    }

    fn end(&mut self, name: &str) {
        let text = std::mem::take(&mut self.text);
        if matches!(name, "item" | "entry") {
            self.finish_item();
            return;
        }
        match &mut self.item {
            Some(item) => set(item, name, &text),
            None if name == "title" && self.feed.title.is_none() => self.feed.title = plain(&text),
            None => {}
        }
    }

    fn finish_item(&mut self) {
        let Some(item) = self.item.take() else { return };
        self.feed.total += 1;
        if self.feed.items.len() < MAX_ITEMS {
            self.feed.items.push(item);
        }
    }
}

fn set(item: &mut FeedItem, name: &str, text: &str) {
    match name {
        "title" => item.title = item.title.take().or_else(|| plain(text)),
        "link" => item.link = item.link.take().or_else(|| one_line(text)),
        "pubDate" | "published" | "updated" | "date" => item.date = item.date.take().or_else(|| one_line(text)),
        "description" | "summary" | "content" | "encoded" => item.summary = item.summary.take().or_else(|| summary(text)),
        _ => {}
    }
}

/// The name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Titles and summaries may be HTML.
fn plain(text: &str) -> Option<String> {
    if text.contains('<') { one_line(&crate::page::read_page(text, "", Style::Text).content) } else { one_line(text) }
}

fn summary(text: &str) -> Option<String> {
    let mut summary = if text.contains('<') { crate::page::read_page(text, "", Style::Text).content } else { text.to_owned() };
    summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    if summary.chars().count() > SUMMARY_CHARS {
        summary = summary.chars().take(SUMMARY_CHARS).chain(['…']).collect();
    }
    (!summary.is_empty()).then_some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RSS: &str = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title><link>http://a.test/</link>
        <item><title><![CDATA[One <b>bold</b>]]></title><link>http://a.test/1</link><pubDate>Mon, 2 Nov 2026</pubDate>
        <description>&lt;p&gt;First&lt;/p&gt;&lt;script&gt;x&lt;/script&gt;</description></item>
        <item><guid>2</guid></item></channel></rss>"#;
    const ATOM: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>Atom</title>
        <entry><title type="html">Two</title><link rel="self" href="http://a.test/self"/><link href="http://a.test/2"/>
        <updated>2026-11-02</updated><summary>Second</summary></entry></feed>"#;

    #[test]
    fn items_of_rss_and_atom_are_listed() {
        let feed = read_feed(RSS);
        assert_eq!((feed.title.as_deref(), feed.total), (Some("News & more"), 2));
        assert_eq!(feed.render(Style::Markdown), "- [One bold](http://a.test/1) (Mon, 2 Nov 2026)\n  First\n- (untitled)");
        assert_eq!(read_feed(ATOM).render(Style::Text), "- Two: http://a.test/2 (2026-11-02)\n  Second");
    }

    #[test]
    fn only_feeds_are_feeds() {
        assert!(is_feed(RSS) && is_feed(ATOM));
        assert!(!is_feed("<html><body><rss>") && !is_feed("{}") && !is_feed(""));
    }

    #[test]
    fn many_items_are_counted() {
        let feed = read_feed(&format!("<rss>{}</rss>", "<item><title>x</title></item>".repeat(60)));
        assert_eq!((feed.items.len(), feed.total), (50, 60));
        assert!(feed.render(Style::Markdown).ends_with("(10 more items are in the feed.)"));
    }
}
