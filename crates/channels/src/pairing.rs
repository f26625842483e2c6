//! Codes by which a sender proves that the user of this machine knows them.

use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

use crate::signature::sha256;

/// How long a code can be used.
pub const CODE_LIFETIME: Duration = Duration::from_mins(10);
/// Wrong guesses of all senders after which a code is gone.
pub(crate) const MOST_GUESSES: u32 = 20;
/// Guesses of one sender: some at once, then one in ten minutes.
pub(crate) const SENDER_GUESSES: u32 = 5;
pub(crate) const SENDER_INTERVAL: Duration = Duration::from_mins(10);

const LENGTH: usize = 8;
/// No letters that look alike. 32 of them: 40 bits in a code.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// A new code, as `ABCD-EFGH`.
pub fn new_code() -> Result<String, String> {
    let mut bytes = [0; LENGTH];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "this machine gives no random numbers".to_owned())?;
    let letters: String = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
    Ok(format!("{}-{}", &letters[..4], &letters[4..]))
}

/// What is stored of a code.
pub(crate) fn hash(channel: &str, code: &str) -> String {
    sha256(format!("{channel}\n{}", plain(code)).as_bytes())
}

/// The code in a message: `/pair ABCD-EFGH`, or the code alone.
pub(crate) fn code_in(text: &str) -> Option<String> {
    let text = text.trim();
    let command =
        ["/pair ", "pair "].iter().find_map(|word| text.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word)).map(str::len));
    let code = plain(&text[command.unwrap_or_default()..]);
    let is_code = code.len() == LENGTH && code.bytes().all(|byte| LETTERS.contains(&byte));
    is_code.then_some(code)
}

fn plain(code: &str) -> String {
    code.trim().chars().filter(|ch| *ch != '-').map(|ch| ch.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_messages() {
        let code = new_code().unwrap();
        assert_eq!(code.len(), 9);
        assert_ne!(code, new_code().unwrap());
        let bare = code.replace('-', "");
        for text in [code.clone(), bare.clone(), format!("/pair {code}"), format!(" PAIR {} ", code.to_lowercase())] {
            assert_eq!(code_in(&text), Some(bare.clone()), "{text}");
        }
        for text in ["", "/pair", "hello", "pair me please", "ABCD-EFG", "ABCD-EFGHJ", "ABCD-EFG0", "äöüß-äöüß"] {
            assert_eq!(code_in(text), None, "{text}");
        }
        assert_eq!(hash("a", &code), hash("a", &bare.to_lowercase()));
        assert_ne!(hash("a", &code), hash("b", &code));
    }
}
