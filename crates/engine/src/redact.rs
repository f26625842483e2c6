//! Known shapes of secrets, taken out before anything is stored or shown to a model.

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

use self::private_keys::Keys;
use self::scan::is_suspicious;
use self::shapes::SHAPES;
pub use self::stream::Redactor;

/// Where a word begins: also behind an escape, a percent sign's two digits, or a colour of a terminal.
const WORD: &str = r"(?:\b|\\[bfnrtv]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|[\[;][0-9]{0,3}m)";
/// The beginning of a token that did not become one is passed over as a whole, so that no text makes the search slow.
const PASSED_OVER: &str = "eyJ[A-Za-z0-9_-]{10,}";

// The patterns are constant and a test compiles them; if one ever did not compile, everything is withheld.
static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let those = |begin_words: bool| {
        let those = SHAPES.iter().filter(|shape| shape.after.is_empty() == begin_words);
        those.map(|shape| format!("{}(?P<{}>{})", shape.after, shape.name, shape.secret)).collect::<Vec<_>>().join("|")
    };
    compiled(&format!("{WORD}(?:{}|{PASSED_OVER})|{}", those(true), those(false)))
});
static KEYS: LazyLock<Option<Keys>> = LazyLock::new(Keys::compiled);

fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

/// The text without secrets; borrowed when there are none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let found = find(text.as_bytes());
    if found.secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf8_lossy(&found.replaced(text.as_bytes())).into_owned())
}

/// The name of the first secret in a text.
pub(crate) fn first(text: &str) -> Option<&'static str> {
    find(text.as_bytes()).secrets.first().map(|secret| secret.name)
}

/// One secret in a text. What decides that it is one begins at `from`.
struct Secret {
    name: &'static str,
    from: usize,
    place: Range<usize>,
}

#[derive(Default)]
struct Found {
    /// In order, apart from each other.
    secrets: Vec<Secret>,
    /// Where a key block begins that the text does not end.
    open: Option<usize>,
}

impl Found {
    /// The secret that a cut at this place would go through.
    fn across(&self, cut: usize) -> Option<&Secret> {
        self.secrets.iter().find(|secret| secret.from < cut && cut < secret.place.end)
    }

    /// The text with a mark in each secret's place. Secrets behind its end are not looked at.
    fn replaced(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut kept = 0;
        for secret in self.secrets.iter().take_while(|secret| secret.place.end <= bytes.len()) {
            out.extend_from_slice(&bytes[kept..secret.place.start]);
            out.extend_from_slice(format!("[redacted:{}]", secret.name).as_bytes());
            kept = secret.place.end;
        }
        out.extend_from_slice(&bytes[kept..]);
        out
    }
}

fn find(bytes: &[u8]) -> Found {
    let mut found = Found::default();
    if !is_suspicious(bytes) {
        return found;
    }
    let (Some(tokens), Some(keys)) = (&*TOKENS, &*KEYS) else {
        found.secrets.push(Secret { name: "everything, for want of patterns", from: 0, place: 0..bytes.len() });
        return found;
    };
    let mut at = 0;
    let blocks = keys.blocks(bytes, &mut found.open);
    for block in blocks {
        find_tokens(tokens, bytes, at..block.from, &mut found.secrets);
        at = block.place.end;
        found.secrets.push(block);
    }
    find_tokens(tokens, bytes, at..bytes.len(), &mut found.secrets);
    found
}

fn find_tokens(tokens: &Regex, bytes: &[u8], within: Range<usize>, secrets: &mut Vec<Secret>) {
    let (offset, part) = (within.start, &bytes[within]);
    // Mostly there is nothing to take out, and asking is far cheaper than taking.
    if !tokens.is_match(part) {
        return;
    }
    secrets.extend(tokens.captures_iter(part).filter_map(|found| token(&found, offset)));
}

/// A match as a secret, unless it was passed over, or is made of words.
fn token(found: &Captures<'_>, offset: usize) -> Option<Secret> {
    let (name, secret) = SHAPES.iter().find_map(|shape| found.name(shape.name).map(|secret| (shape.name, secret)))?;
    let from = offset + found.get(0).map_or(secret.start(), |whole| whole.start());
    (!is_words(secret.as_bytes())).then(|| Secret { name, from, place: offset + secret.start()..offset + secret.end() })
}

/// Words with something between them, as in a sentence, a file's name or an identifier: no secret looks like that.
fn is_words(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).all(is_word)
}

/// Lower case, upper case or camel case, and a short number behind: `oauth2`, `HTTP`, `TokenHandler`.
fn is_word(text: &[u8]) -> bool {
    const LONGEST: usize = 15;
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (letters, number) = text.split_at(letters);
    let one_case = letters.iter().all(u8::is_ascii_lowercase) || letters.iter().all(u8::is_ascii_uppercase);
    let mut humps = letters.chunk_by(|_, next| next.is_ascii_lowercase());
    number.len() <= 4
        && number.iter().all(u8::is_ascii_digit)
        && (one_case && letters.len() <= LONGEST || humps.all(|hump| (3..=LONGEST).contains(&hump.len())))
}
