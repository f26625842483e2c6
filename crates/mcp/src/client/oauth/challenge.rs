//! What a server that refuses a request says about how to be let in: the header `WWW-Authenticate`.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use serde::{Deserialize, Serialize};

/// A longer header is not read.
const MAX_HEADER: usize = 8 * 1024;
/// Rights that are asked for at one time.
const MAX_SCOPES: usize = 100;
const MAX_SCOPE: usize = 256;

/// The challenge of a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuthChallenge {
    /// Where the metadata of the server is.
    pub(super) resource_metadata: Option<String>,
    /// The rights that the request needs.
    pub(super) scopes: Vec<String>,
    /// Why the request was refused.
    pub(super) error: Option<String>,
}

impl AuthChallenge {
    /// The challenge for bearer tokens; an empty one if the headers hold none.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        values.filter(|value| value.len() <= MAX_HEADER).find_map(bearer).unwrap_or_default()
    }

    /// Whether the token was good, but not for this.
    pub(crate) fn wants_more_rights(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The rights in a text, each once, without those that are none.
pub(super) fn scopes(text: &str) -> Vec<String> {
    clean_scopes(text.split_ascii_whitespace())
}

/// These rights, each once, without those that are none.
pub(super) fn clean_scopes<'a>(written: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in written {
        let fits =
            !scope.is_empty() && scope.len() <= MAX_SCOPE && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
        if fits && scopes.len() < MAX_SCOPES && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

fn bearer(header: &str) -> Option<AuthChallenge> {
    let mut rest = header;
    let (mut found, mut is_bearer) = (None::<AuthChallenge>, false);
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (name, after) = token(rest);
        if name.is_empty() {
            return found;
        }
        let Some(after) = after.trim_start().strip_prefix('=') else {
            is_bearer = name.eq_ignore_ascii_case("bearer");
            if is_bearer {
                found.get_or_insert_default();
            }
            rest = after;
            continue;
        };
        let (value, after) = value(after.trim_start());
        rest = after;
        if let Some(challenge) = found.as_mut().filter(|_| is_bearer) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scopes = scopes(&value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
    }
}

/// The token at the start, and what follows it.
fn token(text: &str) -> (&str, &str) {
    text.split_at(text.find([' ', '\t', ',', '=', '"']).unwrap_or(text.len()))
}

/// The value at the start, quoted or not, and what follows it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, after) = text.split_at(text.find([' ', '\t', ',']).unwrap_or(text.len()));
        return (value.to_owned(), after);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, ch) in quoted.char_indices() {
        match ch {
            _ if is_escaped => {
                value.push(ch);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(ch),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(metadata: Option<&str>, scopes: &[&str], error: Option<&str>) -> AuthChallenge {
        let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
        AuthChallenge { resource_metadata: metadata.map(str::to_owned), scopes, error: error.map(str::to_owned) }
    }

    #[test]
    fn bearer_challenge_is_found_among_others() {
        for (header, expected) in [
            ("Bearer", Some(challenge(None, &[], None))),
            ("Basic realm=\"a, b\"", None),
            ("", None),
            ("=,\"", None),
            ("Bearer resource_metadata=\"https://a/b\"", Some(challenge(Some("https://a/b"), &[], None))),
            ("bearer scope=\"a b a\", error=insufficient_scope", Some(challenge(None, &["a", "b"], Some("insufficient_scope")))),
            ("Basic realm=\"x\", Bearer scope=\"a\"", Some(challenge(None, &["a"], None))),
            ("Bearer scope=\"a\", Digest scope=\"b\"", Some(challenge(None, &["a"], None))),
            ("Bearer error=\"say \\\"no\\\"\"", Some(challenge(None, &[], Some("say \"no\"")))),
            ("Bearer scope=\"a", Some(challenge(None, &["a"], None))),
            ("Negotiate YII==, Bearer scope = \"a\"", Some(challenge(None, &["a"], None))),
        ] {
            assert_eq!(bearer(header), expected, "{header}");
        }
    }

    #[test]
    fn scopes_are_cleaned_and_bounded() {
        assert_eq!(scopes("a  b\ta \"c\" \u{e4} d\\e"), ["a", "b"]);
        let many: Vec<String> = (0..500).map(|number| number.to_string()).collect();
        assert_eq!(scopes(&many.join(" ")).len(), MAX_SCOPES);
    }
}
