//! Tokens and signing keys.

use std::borrow::Cow;

/// Shorter parts of a secret are words that may be anywhere.
const SHORTEST_PART: usize = 8;
const NOT_SHOWN: &[u8; 11] = b"(not shown)";

/// In one pass: a service may repeat a token a hundred thousand times.
fn replace<'a>(text: &'a [u8], part: &[u8]) -> Cow<'a, [u8]> {
    let (mut replaced, mut rest) = (Cow::Borrowed(&text[..0]), text);
    while let Some(at) = rest.windows(part.len()).position(|window| window == part) {
        let found = replaced.to_mut();
        found.extend_from_slice(&rest[..at]);
        found.extend_from_slice(NOT_SHOWN);
        rest = &rest[at + part.len()..];
    }
    if let Cow::Owned(found) = &mut replaced {
        found.extend_from_slice(rest);
        return replaced;
    }
    Cow::Borrowed(text)
}

/// A secret: it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelSecret(String);

impl ChannelSecret {
    /// Takes a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }
    /// Takes the secret out of text that a service wrote. Each part of it counts: a service may write the signs between them as it likes.
    pub(crate) fn redact(&self, text: &mut Vec<u8>) {
        let parts = self.0.split(|ch: char| !ch.is_ascii_alphanumeric() && !"-_".contains(ch));
        for part in std::iter::once(&*self.0).chain(parts).filter(|part| part.len() >= SHORTEST_PART) {
            if let Cow::Owned(replaced) = replace(text, part.as_bytes()) {
                *text = replaced;
            }
        }
    }
    /// The secret itself, for a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ChannelSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_secret_is_taken_out_wherever_it_is() {
        for (secret, text, expected) in [
            ("123456:AAbb_cc-dd11", "no /bot123456:AAbb_cc-dd11/getMe", "no /bot(not shown)/getMe"),
            ("123456:AAbb_cc-dd11", "/bot123456%3AAAbb_cc-dd11/ AAbb_cc-dd11", "/bot123456%3A(not shown)/ (not shown)"),
            ("xoxb-1-secretsecret", "invalid token xoxb-1-secretsecret.", "invalid token (not shown)."),
            ("MT.short.parts", "of MT.short.parts, short", "of (not shown), short"),
            ("short", "a short word", "a short word"),
            ("tokentoken", "tokentokentokentoken x", "(not shown)(not shown) x"),
            ("", "nothing", "nothing"),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            ChannelSecret::new(secret).redact(&mut bytes);
            assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{secret}");
        }
    }
}
