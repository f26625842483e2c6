//! Names of variables, headers and parameters that hold secrets.

/// Parts of names whose value is a secret, whatever its shape.
const CERTAIN: &[&str] =
    &["authorization", "cookie", "api-key", "api_key", "apikey", "password", "passwd", "passphrase", "secret", "token", "credential"];
/// Parts of names whose value may be one.
const LIKELY: &[&str] = &["auth", "key", "private", "dsn", "session", "signature"];

static CERTAIN_PAIRS: LetterPairs = letter_pairs(CERTAIN);
static LIKELY_PAIRS: LetterPairs = letter_pairs(LIKELY);

/// Whether the value under this name is a secret.
pub fn names_secret(name: &str) -> bool {
    has_part(name, CERTAIN, &CERTAIN_PAIRS)
}

/// Whether the value under this name may be a secret: for headers and variables, where leaving one out does little harm.
pub fn may_name_secret(name: &str) -> bool {
    names_secret(name) || has_part(name, LIKELY, &LIKELY_PAIRS)
}

// Without a copy or a searcher, and nearly all bytes are passed over by one look: this is done for each argument and record of each call.
fn has_part(name: &str, parts: &[&str], pairs: &LetterPairs) -> bool {
    let name = name.as_bytes();
    let is_here = |rest: &[u8], part: &str| rest.get(..part.len()).is_some_and(|word| word.eq_ignore_ascii_case(part.as_bytes()));
    let may_begin = |pair: &[u8]| pairs[letter(pair[0])] >> letter(pair[1]) & 1 == 1;
    name.windows(2).enumerate().any(|(at, pair)| may_begin(pair) && parts.iter().any(|part| is_here(&name[at..], part)))
}

/// For each first letter of a part, which letters are the second; what is no letter has the last place.
type LetterPairs = [u32; 27];

/// Places below 26 are letters in any case.
const fn letter(byte: u8) -> usize {
    let place = (byte | 0x20).wrapping_sub(b'a');
    if place < 26 { place as usize } else { 26 }
}

const fn letter_pairs(parts: &[&str]) -> LetterPairs {
    let (mut pairs, mut at) = ([0; 27], 0);
    while at < parts.len() {
        let part = parts[at].as_bytes();
        pairs[letter(part[0])] |= 1 << letter(part[1]);
        at += 1;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_case() {
        for (name, is_certain, is_likely) in [
            ("Authorization", true, true),
            ("X-Api-Key", true, true),
            ("DB_PASSWD", true, true),
            ("github_token", true, true),
            ("SSH_KEY", false, true),
            ("x-session-id", false, true),
            ("my token", true, true),
            ("ApiKey", true, true),
            ("a\u{e9}password", true, true),
            ("AUTH", false, true),
            ("", false, false),
            ("t", false, false),
            ("tok", false, false),
            ("path", false, false),
            ("Accept", false, false),
        ] {
            assert_eq!((names_secret(name), may_name_secret(name)), (is_certain, is_likely), "{name}");
        }
    }
}
