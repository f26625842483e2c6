//! Secrets, taken out of text before it is stored or sent to a model: by their shape, by one table of shapes.
#![warn(missing_docs)]

mod key_like;
mod private_keys;
mod scan;
mod shapes;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

pub use self::key_like::redact_key_like;
use self::private_keys::KeyPatterns;
use self::scan::is_suspicious;
use self::shapes::SHAPES;
pub use self::stream::Redactor;

/// The start of a word: also behind an escape, a percent sign's two digits, or a colour of a terminal.
const WORD: &str = r"(?:\b|\\[bfnrtv]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|[\[;][0-9]{0,3}m)";
/// The beginning of a token that did not become one is passed over as a whole, so that no text makes the search slow.
const PASSED_OVER: &str = "eyJ[A-Za-z0-9_-]{10,}";

// The patterns are constant and a test compiles them; if one ever did not compile, everything is withheld.
static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let alternatives = |begin_words: bool| {
        let shapes = SHAPES.iter().filter(|shape| shape.after.is_empty() == begin_words);
        shapes.map(|shape| format!("{}(?P<{}>{})", shape.after, shape.name, shape.secret)).collect::<Vec<_>>().join("|")
    };
    compiled(&format!("{WORD}(?:{}|{PASSED_OVER})|{}", alternatives(true), alternatives(false)))
});
static KEYS: LazyLock<Option<KeyPatterns>> = LazyLock::new(KeyPatterns::compiled);

fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

/// The text without secrets; borrowed when there are none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let found = find(text.as_bytes());
    if found.spans.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf8_lossy(&found.replaced(text.as_bytes())).into_owned())
}

/// Whether something in a text begins like a secret. Where it does not, no part of the text holds one.
pub fn may_hold_secret(text: &str) -> bool {
    is_suspicious(text.as_bytes())
}

/// The name of the shape of the first secret in a text.
pub fn first_secret(text: &str) -> Option<&'static str> {
    find(text.as_bytes()).spans.first().map(|secret| secret.name)
}

/// One secret in a text. The match that decides that it is one begins at `from`.
struct Secret {
    name: &'static str,
    from: usize,
    span: Range<usize>,
}

#[derive(Default)]
struct Secrets {
    /// In order, without overlap.
    spans: Vec<Secret>,
    /// The start of a key block that the text does not end.
    open: Option<usize>,
}

impl Secrets {
    /// The secret that a cut at this position would go through.
    fn across(&self, cut: usize) -> Option<&Secret> {
        self.spans.iter().find(|secret| secret.from < cut && cut < secret.span.end)
    }

    /// The text with `[redacted:…]` for each secret. Secrets that end behind it are ignored.
    fn replaced(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut copied = 0;
        for secret in self.spans.iter().take_while(|secret| secret.span.end <= bytes.len()) {
            out.extend_from_slice(&bytes[copied..secret.span.start]);
            out.extend_from_slice(format!("[redacted:{}]", secret.name).as_bytes());
            copied = secret.span.end;
        }
        out.extend_from_slice(&bytes[copied..]);
        out
    }
}

fn find(bytes: &[u8]) -> Secrets {
    let mut found = Secrets::default();
    if !is_suspicious(bytes) {
        return found;
    }
    let (Some(tokens), Some(keys)) = (&*TOKENS, &*KEYS) else {
        found.spans.push(Secret { name: "everything, for want of patterns", from: 0, span: 0..bytes.len() });
        return found;
    };
    let mut at = 0;
    let blocks = keys.blocks(bytes, &mut found.open);
    for block in blocks {
        find_tokens(tokens, bytes, at..block.from, &mut found.spans);
        at = block.span.end;
        found.spans.push(block);
    }
    find_tokens(tokens, bytes, at..bytes.len(), &mut found.spans);
    found
}

fn find_tokens(tokens: &Regex, bytes: &[u8], within: Range<usize>, secrets: &mut Vec<Secret>) {
    let (offset, part) = (within.start, &bytes[within]);
    // Mostly nothing matches, and `is_match` is far cheaper than captures.
    if !tokens.is_match(part) {
        return;
    }
    secrets.extend(tokens.captures_iter(part).filter_map(|found| token(&found, offset)));
}

/// A match as a secret, unless it was passed over, or is made of words.
fn token(found: &Captures<'_>, offset: usize) -> Option<Secret> {
    let (name, secret) = SHAPES.iter().find_map(|shape| found.name(shape.name).map(|secret| (shape.name, secret)))?;
    let from = offset + found.get(0).map_or(secret.start(), |whole| whole.start());
    (!is_words(secret.as_bytes())).then(|| Secret { name, from, span: offset + secret.start()..offset + secret.end() })
}

/// Words with separators, as in a sentence, a file name or an identifier: no secret looks like that.
fn is_words(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).all(is_word)
}

/// Lower case, upper case or camel case, and a short number behind: `oauth2`, `HTTP`, `TokenHandler`.
fn is_word(text: &[u8]) -> bool {
    const LONGEST: usize = 15;
    let word = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, number) = text.split_at(word);
    let one_case = word.iter().all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase);
    let mut humps = word.chunk_by(|_, next| next.is_ascii_lowercase());
    number.len() <= 4
        && number.iter().all(u8::is_ascii_digit)
        && (one_case && word.len() <= LONGEST || humps.all(|hump| (3..=LONGEST).contains(&hump.len())))
}
