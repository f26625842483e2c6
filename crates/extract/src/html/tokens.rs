//! HTML as a stream of tokens. Nothing is an error: what cannot be a tag is text.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::attributes::Attributes;

/// A piece of a page. Text is as written: its character references are decoded where it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HtmlToken<'a> {
    /// Text with character references.
    Text(&'a str),
    /// Text without: the content of a script, or of a CDATA section.
    Literal(&'a str),
    /// A start tag.
    Start {
        /// In lower case.
        name: Cow<'a, str>,
        attributes: Attributes<'a>,
        self_closing: bool,
    },
    /// An end tag, in lower case.
    End(Cow<'a, str>),
}

/// Elements whose content has no tags, and whether it has character references.
const RAW_TEXT: &[(&str, bool)] = &[
    ("script", false),
    ("style", false),
    ("xmp", false),
    ("iframe", false),
    ("noembed", false),
    ("noframes", false),
    ("textarea", true),
    ("title", true),
];

/// Reads HTML, or XML, token by token.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    rest: &'a str,
    /// The element whose raw text comes next.
    raw: Option<(&'static str, bool)>,
    /// XML has neither raw text nor names without case.
    xml: bool,
}

impl<'a> Tokens<'a> {
    pub(crate) fn html(text: &'a str) -> Self {
        Self { rest: text, raw: None, xml: false }
    }

    pub(crate) fn xml(text: &'a str) -> Self {
        Self { rest: text, raw: None, xml: true }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take_past(&mut self, end: &str) -> &'a str {
        let found = memmem::find(self.rest.as_bytes(), end.as_bytes());
        let taken = self.take(found.unwrap_or(self.rest.len()));
        self.take(end.len());
        taken
    }

    fn raw_text(&mut self, name: &str, has_references: bool) -> HtmlToken<'a> {
        let text = self.take(raw_end(self.rest, name));
        if has_references { HtmlToken::Text(text) } else { HtmlToken::Literal(text) }
    }

    /// What begins with `<`; `None` if it is a comment or the like, which is skipped.
    fn markup(&mut self) -> Option<HtmlToken<'a>> {
        let second = self.rest.as_bytes().get(1).copied().unwrap_or(b' ');
        match second {
            b'!' if self.rest.starts_with("<!--") => self.comment(),
            b'!' if self.rest.starts_with("<![CDATA[") => {
                self.take(9);
                Some(HtmlToken::Literal(self.take_past("]]>")))
            }
            b'/' if self.rest.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic) => Some(self.end_tag()),
            b'!' | b'?' | b'/' => {
                self.take_past(">");
                None
            }
            letter if letter.is_ascii_alphabetic() => Some(self.start_tag()),
            _ => Some(self.text(1)),
        }
    }

    fn comment(&mut self) -> Option<HtmlToken<'a>> {
        self.take(2);
        // `<!-->` is a whole comment.
        if self.rest.starts_with("-->") {
            self.take(3)
        } else {
            self.take_past("-->")
        };
        None
    }

    /// Text up to the next `<`, which is looked for from here.
    fn text(&mut self, from: usize) -> HtmlToken<'a> {
        let next = memchr(b'<', &self.rest.as_bytes()[from..]).map_or(self.rest.len(), |at| from + at);
        HtmlToken::Text(self.take(next))
    }

    fn name(&mut self) -> Cow<'a, str> {
        let end = self.rest.find(|ch: char| ch.is_ascii_whitespace() || matches!(ch, '/' | '>')).unwrap_or(self.rest.len());
        let name = self.take(end);
        if self.xml || !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(name.to_ascii_lowercase())
        }
    }

    fn end_tag(&mut self) -> HtmlToken<'a> {
        self.take(2);
        let name = self.name();
        self.take_past(">");
        HtmlToken::End(name)
    }

    fn start_tag(&mut self) -> HtmlToken<'a> {
        self.take(1);
        let name = self.name();
        let inside = self.take(tag_end(self.rest));
        self.take(1);
        let self_closing = inside.ends_with('/');
        if !self.xml {
            self.raw = RAW_TEXT.iter().find(|(raw, _)| *raw == name).copied();
        }
        HtmlToken::Start { name, attributes: Attributes(inside), self_closing }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        if let Some((name, has_references)) = self.raw.take() {
            return Some(self.raw_text(name, has_references));
        }
        while !self.rest.is_empty() {
            if !self.rest.starts_with('<') {
                return Some(self.text(0));
            }
            if let Some(token) = self.markup() {
                return Some(token);
            }
        }
        None
    }
}

/// Where the end tag of a raw text element begins.
fn raw_end(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    let closes = |at: usize| {
        let after = at + 2 + name.len();
        bytes.get(at + 2..after).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
            && bytes.get(after).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))
    };
    memmem::find_iter(bytes, b"</").find(|at| closes(*at)).unwrap_or(text.len())
}

/// Where the `>` of a tag is; one within quotes does not count.
fn tag_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut after_equals = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return at,
            quote @ (b'"' | b'\'') if after_equals => match memchr(quote, &bytes[at + 1..]) {
                Some(length) => at += length + 1,
                // An open quote would swallow the rest of the page.
                None => return memchr(b'>', &bytes[at..]).map_or(text.len(), |end| at + end),
            },
            _ => {}
        }
        after_equals = byte == b'=' || (after_equals && byte.is_ascii_whitespace());
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        let show = |token: HtmlToken<'_>| match token {
            HtmlToken::Text(text) => format!("T({text})"),
            HtmlToken::Literal(text) => format!("L({text})"),
            HtmlToken::Start { name, attributes, self_closing } => {
                let pairs: Vec<_> = attributes.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                format!("<{name}{}{}>", pairs.concat(), if self_closing { " /" } else { "" })
            }
            HtmlToken::End(name) => format!("</{name}>"),
        };
        Tokens::html(html).map(show).collect()
    }

    #[test]
    fn tokens_are_found_in_any_text() {
        for (html, expected) in [
            ("a<b>c</B >d", "T(a)<b>T(c)</b>T(d)"),
            ("<!doctype html><!-- <p> --><p>x", "<p>T(x)"),
            ("<!-->x<!--a--!>b", "T(x)"),
            ("<A HREF='x>y' b = \"c\" d>e", "<a HREF=x>y b=c d=>T(e)"),
            ("<img src=a/b.png alt=c/>", "<img src=a/b.png alt=c/ />"),
            ("<br/>", "<br />"),
            ("a < b <3 </ x> </>", "T(a )T(< b )T(<3 )T( )"),
            ("<script>if (a</b/.test('</p>')) {}</SCRIPT>x", "<script>L(if (a</b/.test('</p>')) {})</script>T(x)"),
            ("<script>never closed <p>", "<script>L(never closed <p>)"),
            ("<title>a<b>&amp;</title>", "<title>T(a<b>&amp;)</title>"),
            ("<![CDATA[<x>&amp;]]>y", "L(<x>&amp;)T(y)"),
            ("<a title=\"open>x", "<a title=\"open>T(x)"),
            ("<p", "<p>"),
            ("<?php echo 1 ?>x", "T(x)"),
            ("", ""),
        ] {
            assert_eq!(shown(html), expected, "{html}");
        }
    }

    #[test]
    fn attributes_are_decoded_and_found_without_case() {
        let Some(HtmlToken::Start { attributes, .. }) = Tokens::html("<a HREF=\"?a&amp;b\" é=1 =x hidden>").next() else { panic!() };
        assert_eq!(attributes.get("href").as_deref(), Some("?a&b"));
        assert!(attributes.has("hidden") && attributes.has("é") && !attributes.has("title"));
    }
}
