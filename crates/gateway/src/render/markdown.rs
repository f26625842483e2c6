//! Markdown as HTML: parsed by pulldown-cmark, sanitised by ammonia, block by block so that an answer can grow on the page.

use std::collections::HashSet;
use std::sync::LazyLock;

use ammonia::Builder;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, html};

use super::highlight::code;
use super::{MOST_CHARS, bounded, cut_note, visible};

/// A block that is longer than this is not sent again with every word.
const LONG_BLOCK: usize = 4_096;
/// Classes of rendered code.
const CODE_CLASSES: &[&str] = &["hl-keyword", "hl-string", "hl-comment", "hl-number", "hl-name"];

/// Lets through what text needs: no script, style, form, frame or handler, and pictures of nobody else's server.
static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder
        .add_tags(["input"])
        .rm_tags(["area", "img", "map"])
        .add_tag_attributes("input", ["checked", "disabled"])
        .set_tag_attribute_value("input", "type", "checkbox")
        .set_tag_attribute_value("input", "disabled", "")
        .add_allowed_classes("span", CODE_CLASSES)
        .add_allowed_classes("p", ["cut"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"))
        .set_tag_attribute_value("a", "target", "_blank")
        .attribute_filter(|element, attribute, value| match (element, attribute) {
            ("code", "class") => Some(value.into()).filter(|_| is_language(value)),
            _ => Some(value.into()),
        })
        .add_tag_attributes("code", ["class"]);
    builder
});

fn is_language(class: &str) -> bool {
    class.strip_prefix("language-").is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+".contains(&byte)))
}

/// A whole text.
pub(crate) fn markdown(text: &str) -> String {
    let (text, is_cut) = bounded(text);
    rendered(&visible(text)) + cut_note(is_cut)
}

/// The blocks of a text.
pub(crate) fn blocks(text: &str) -> Vec<String> {
    let mut growing = MarkdownBlocks::default();
    growing.push(text);
    growing.changed().into_iter().map(|(_, html)| html).collect()
}

fn rendered(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut raw = String::with_capacity(text.len() * 2);
    html::push_html(&mut raw, WithCode { events: Parser::new_ext(text, options) });
    SANITISER.clean(&raw).to_string()
}

/// Tags that models write where Markdown has none of its own. Every other one is shown as it was written: a text with `<T>` in it stays
/// whole, and nothing that the model wrote is hidden.
fn is_plain_tag(tag: &str) -> bool {
    let name = tag.trim_start_matches(['<', '/']).trim_end_matches(['>', '/', ' ']);
    ["br", "sub", "sup", "kbd", "mark"].contains(&name)
}

/// Events with code blocks rendered by us, pictures as links, and HTML as text.
struct WithCode<'t> {
    events: Parser<'t>,
}

impl<'t> Iterator for WithCode<'t> {
    type Item = Event<'t>;
    fn next(&mut self) -> Option<Event<'t>> {
        match self.events.next()? {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                let mut text = String::new();
                for event in self.events.by_ref() {
                    match event {
                        Event::Text(part) => text.push_str(&part),
                        Event::End(TagEnd::CodeBlock) => break,
                        _ => {}
                    }
                }
                Some(Event::Html(code(&text, &language).into()))
            }
            // A picture of another server would tell it that this text was read; a link does so only when it is followed.
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => Some(Event::Start(Tag::Link { link_type, dest_url, title, id })),
            Event::End(TagEnd::Image) => Some(Event::End(TagEnd::Link)),
            Event::Html(text) => Some(Event::Text(text)),
            Event::InlineHtml(tag) if !is_plain_tag(&tag) => Some(Event::Text(tag)),
            Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
            event => Some(event),
        }
    }
}

/// A text that grows: its blocks are rendered when they change, and a finished one never again.
#[derive(Debug, Default)]
pub(crate) struct MarkdownBlocks {
    /// What is not in a finished block yet.
    open: String,
    /// How many blocks are finished.
    finished: usize,
    /// Finished blocks that were not taken yet.
    pending: Vec<(usize, String)>,
    /// How much of the open text was rendered last.
    rendered: usize,
}

impl MarkdownBlocks {
    pub(crate) fn push(&mut self, text: &str) {
        self.open.push_str(text);
    }

    /// Whether enough was added that the open block is worth rendering again: a long one is, when it grew by a tenth.
    pub(crate) fn is_due(&self) -> bool {
        let wanted = if self.rendered < LONG_BLOCK { 1 } else { self.rendered / 10 };
        self.open.len() >= self.rendered + wanted
    }

    /// The blocks that are new or changed, by their index.
    pub(crate) fn changed(&mut self) -> Vec<(usize, String)> {
        if self.open.len() != self.rendered {
            self.finish_blocks();
        }
        let mut changed = std::mem::take(&mut self.pending);
        if self.open.len() != self.rendered && !self.open.trim().is_empty() {
            self.rendered = self.open.len();
            changed.push((self.finished, markdown(&self.open)));
        }
        changed
    }

    /// Splits off every top-level block that another one follows; one that is too long is split at a line.
    fn finish_blocks(&mut self) {
        let starts = block_starts(&self.open);
        let mut split = starts.last().copied().unwrap_or(0);
        if self.open.len() - split > MOST_CHARS {
            split = self.open.rfind('\n').map_or(self.open.len(), |at| at + 1);
        }
        if split == 0 {
            return;
        }
        let rest = self.open.split_off(split);
        let done = std::mem::replace(&mut self.open, rest);
        for part in parts(&done, &starts) {
            if !part.trim().is_empty() {
                self.pending.push((self.finished, markdown(part)));
                self.finished += 1;
            }
        }
        self.rendered = 0;
    }
}

/// The pieces of a text between these positions.
fn parts<'t>(text: &'t str, starts: &[usize]) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for start in starts.iter().copied().filter(|start| (1..text.len()).contains(start)) {
        parts.push(&text[from..start]);
        from = start;
    }
    parts.push(&text[from..]);
    parts
}

/// Where the top-level blocks begin.
fn block_starts(text: &str) -> Vec<usize> {
    let mut depth = 0usize;
    let mut starts = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    starts.push(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => starts.push(range.start),
            _ => {}
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What no rendered text contains.
    const BAD: &[&str] = &[
        "<script",
        "<iframe",
        "<style",
        "<form",
        "<svg",
        "<img",
        "onerror=",
        "onload=",
        "onclick=",
        "style=",
        "id=",
        "javascript:",
        "\"data:",
        "class=\"evil",
    ];

    #[test]
    fn markdown_cannot_inject() {
        for text in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[x](javascript:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "![x](https://evil.example/pixel.png)",
            "<svg onload=alert(1)><a xlink:href=\"javascript:x\">",
            "<iframe srcdoc=\"<script>x</script>\"></iframe>",
            "<a href=\"java\nscript:alert(1)\">x</a>",
            "<style>*{display:none}</style><form action=https://evil.example><input name=a></form>",
            "```\"><script>x</script>\n<script>y</script>\n```",
            "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
            "[a]: javascript:x\n\n[a]",
            "<p style=\"position:fixed\" onclick=x class=evil id=root>t</p>",
        ] {
            let html = markdown(text).to_lowercase();
            // Text has no '<' of its own.
            let tags: Vec<&str> = html.split('<').skip(1).filter_map(|tag| tag.split('>').next()).collect();
            let tags = format!("<{}>", tags.join("><"));
            for bad in BAD {
                assert!(!tags.contains(bad), "{text:?} gives {html}");
            }
        }
    }

    #[test]
    fn html_of_a_model_is_text_that_nothing_hides() {
        for (text, parts) in [
            ("Use Vec<T> and <T: Send>.", &["Vec&lt;T&gt;", "&lt;T: Send&gt;."][..]),
            ("a <!-- hidden --> <b onclick=x>c</b>", &["&lt;!-- hidden --&gt;", "&lt;b onclick=x&gt;c&lt;/b&gt;"]),
            ("<div hidden>\nsecret\n</div>\n\nnext", &["&lt;div hidden&gt;\nsecret", "<p>next</p>"]),
            ("<!-- begun\n\nnot ended", &["&lt;!-- begun", "not ended"]),
            ("x<sup>2</sup> <kbd>Esc</kbd>\n\n| a<br>b |\n|---|\n", &["x<sup>2</sup> <kbd>Esc</kbd>", "a<br>b"]),
        ] {
            let html = markdown(text);
            for part in parts {
                assert!(html.contains(part), "{part} is not in {html}");
            }
        }
    }

    #[test]
    fn markdown_renders_what_text_needs() {
        let html = markdown("# T\n\n*a* `b` [c](https://example.org)\n\n```rust\nfn x() {}\n```\n\n- [x] done\n");
        assert!(html.contains("<h1>T</h1>") && html.contains("<em>a</em>") && html.contains("<code>b</code>"), "{html}");
        assert!(html.contains("href=\"https://example.org\"") && html.contains("noreferrer"), "{html}");
        assert!(html.contains("<code class=\"language-rust\"><span class=\"hl-keyword\">fn</span>"), "{html}");
        assert!(html.contains("type=\"checkbox\""), "{html}");
    }

    #[test]
    fn growing_text_ends_as_the_whole_text_and_finished_blocks_stay() {
        let text = "# Title\n\nFirst *para*\n\n```rust\nlet a = 1;\n\nlet b = 2;\n```\n\n- one\n- two\n\nlast";
        for step in [1, 3, 7, text.len()] {
            let (mut growing, mut shown, mut count) = (MarkdownBlocks::default(), Vec::<String>::new(), 0);
            for chunk in text.as_bytes().chunks(step) {
                growing.push(std::str::from_utf8(chunk).unwrap());
                for (index, html) in growing.changed() {
                    count += 1;
                    assert!(index + 1 >= shown.len(), "a finished block changed");
                    if index == shown.len() { shown.push(html) } else { shown[index] = html }
                }
            }
            assert_eq!(shown, blocks(text), "{step}");
            assert!(count >= shown.len());
        }
        assert_eq!(blocks(text).len(), 5);
    }
}
