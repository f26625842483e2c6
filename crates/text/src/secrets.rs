//! Names of variables, headers and parameters that hold secrets.

/// Parts of names whose value is a secret, whatever its shape.
const CERTAIN: &[&str] =
    &["authorization", "cookie", "api-key", "api_key", "apikey", "password", "passwd", "passphrase", "secret", "token", "credential"];
/// Parts of names whose value may be one.
const LIKELY: &[&str] = &["auth", "key", "private", "dsn", "session", "signature"];

/// Whether the value under this name is a secret.
pub fn names_secret(name: &str) -> bool {
    has_part(name, CERTAIN)
}

/// Whether the value under this name may be a secret: for headers and variables, where leaving one out does little harm.
pub fn may_name_secret(name: &str) -> bool {
    has_part(name, CERTAIN) || has_part(name, LIKELY)
}

// Without a copy or a searcher, and most bytes are passed over by one look: this is done for each argument and record of each call.
fn has_part(name: &str, parts: &[&str]) -> bool {
    let name = name.as_bytes();
    let letter = |byte: u8| (byte | 0x20).wrapping_sub(b'a');
    let first_letters = parts.iter().fold(0_u32, |letters, part| letters | 1 << letter(part.as_bytes()[0]));
    let may_begin = |byte: u8| letter(byte) < 26 && first_letters >> letter(byte) & 1 == 1;
    let is_here = |rest: &[u8], part: &[u8]| rest.get(..part.len()).is_some_and(|word| word.eq_ignore_ascii_case(part));
    (0..name.len()).any(|at| may_begin(name[at]) && parts.iter().any(|part| is_here(&name[at..], part.as_bytes())))
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
            ("path", false, false),
            ("Accept", false, false),
        ] {
            assert_eq!((names_secret(name), may_name_secret(name)), (is_certain, is_likely), "{name}");
        }
    }
}
