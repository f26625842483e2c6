//! Keys taken out of short messages of services: some repeat the key that they refuse, whole or in part.

use crate::shapes::SHAPES;

/// Beginnings of keys that have no shape of their own.
const MORE_STARTS: [&str; 3] = ["sk_", "pk-", "rk_"];
/// Ids that are as long as keys, and that support asks for.
const IDS: [&str; 9] = ["req_", "resp_", "chatcmpl-", "call_", "rs_", "msg_", "fc_", "gen-", "run_"];
const SHORTEST_KEY: usize = 12;
/// A run of letters and digits this long is no word.
const LONGEST_WORD: usize = 24;

/// The text with `[key]` for everything that looks like a key, also where it is shorter than the shape of one. Takes out more
/// than [`redact`](crate::redact): for messages of services, not for content.
pub fn redact_key_like(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_scheme = false;
    while !rest.is_empty() {
        let word_end = rest.find(|ch| !is_key_char(ch)).unwrap_or(rest.len());
        let word = &rest[..word_end];
        let hidden = looks_like_key(word) || (after_scheme && word.len() >= SHORTEST_KEY);
        safe.push_str(if hidden { "[key]" } else { word });
        if !word.is_empty() {
            after_scheme = ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
        }
        let next = rest[word_end..].find(is_key_char).map_or(rest.len(), |gap| word_end + gap);
        safe.push_str(&rest[word_end..next]);
        rest = &rest[next..];
    }
    safe
}

fn is_key_char(ch: char) -> bool {
    ch.is_ascii_alphanumeric() || "-_.*+=~".contains(ch)
}

fn looks_like_key(word: &str) -> bool {
    let starts = SHAPES.iter().filter(|shape| shape.after.is_empty()).flat_map(|shape| shape.starts).chain(&MORE_STARTS);
    let begins = word.len() >= SHORTEST_KEY && starts.into_iter().any(|start| word.starts_with(start));
    let is_id = IDS.iter().any(|start| word.starts_with(start));
    begins || word.contains("***") || (!is_id && word.split(['-', '_', '.']).any(is_random))
}

fn is_random(run: &str) -> bool {
    run.len() >= LONGEST_WORD && run.contains(|c: char| c.is_ascii_digit()) && run.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_and_everything_else_stays() {
        for (message, safe) in [
            ("Incorrect API key provided: sk-proj-abcDEF123456. See", "Incorrect API key provided: [key] See"),
            ("key sk-ab***********xyz is wrong", "key [key] is wrong"),
            ("Authorization: Bearer some-secret-token!", "Authorization: Bearer [key]!"),
            ("use a Bearer token", "use a Bearer token"),
            ("api_key=0123456789abcdef0123456789abcdef", "[key]"),
            ("(AIzaSyA1234567890abcdefghijklmnopqrstuvw)", "([key])"),
            ("“gsk_abcdefgh1234”", "“[key]”"),
            ("pplx-abcdefgh and nvapi-abcdefgh", "[key] and [key]"),
            ("The model `gpt-4o-mini-2024-07-18` is gone", "The model `gpt-4o-mini-2024-07-18` is gone"),
            ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"),
            ("request id req_0123456789abcdef0123456789abcdef", "request id req_0123456789abcdef0123456789abcdef"),
            ("id 3f2b1c4d-1111-2222-3333-444455556666", "id 3f2b1c4d-1111-2222-3333-444455556666"),
            ("see https://platform.openai.com/account/api-keys", "see https://platform.openai.com/account/api-keys"),
            ("für 漢字", "für 漢字"),
            ("", ""),
        ] {
            assert_eq!(redact_key_like(message), safe);
        }
    }
}
