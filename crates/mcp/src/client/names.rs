//! Names of a server's tools as our registry takes them: `mcp__SERVER__TOOL`.
//!
//! A registry takes lower-case letters, digits and `_`, at most 64. Names that differ in other characters alone, or are too long, get
//! a suffix made of their SHA-256, so that each name stands for one tool, in every process and whatever else the server offers.

use std::collections::HashMap;

use haft_text::hex;
use ring::digest::{SHA256, digest};

/// The longest name that a registry takes.
const MAX_NAME: usize = 64;
/// Digits of the suffix.
const SUFFIX: usize = 8;

/// The prefix of the names of a server's tools.
pub fn prefix(server: &str) -> String {
    format!("mcp__{server}__")
}

/// Our name for each of a server's names, in their order.
pub(crate) fn map<'n>(server: &str, names: &[&'n str]) -> Vec<(&'n str, String)> {
    let prefix = prefix(server);
    let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *uses.entry(name).or_default() += 1;
    }
    let ours = names.iter().zip(&plain).map(|(name, plain)| {
        let is_own = *name == plain.as_str();
        let is_unique = uses.get(plain.as_str()) == Some(&1);
        let fits = !plain.is_empty() && prefix.len() + plain.len() <= MAX_NAME;
        let ours = if fits && (is_own || is_unique) { format!("{prefix}{plain}") } else { with_suffix(&prefix, plain, name) };
        (*name, ours)
    });
    ours.collect()
}

/// The name in the characters of ours.
fn plain(name: &str) -> String {
    let fold = |ch: char| if ch.is_ascii_alphanumeric() { ch.to_ascii_lowercase() } else { '_' };
    name.chars().map(fold).collect()
}

fn with_suffix(prefix: &str, plain: &str, name: &str) -> String {
    let digest = hex::encode(digest(&SHA256, name.as_bytes()));
    let space = MAX_NAME.saturating_sub(prefix.len() + SUFFIX + 1);
    let plain = &plain[..plain.len().min(space)];
    format!("{prefix}{plain}_{}", &digest[..SUFFIX])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(names: &[&str]) -> Vec<String> {
        map("hub", names).into_iter().map(|(_, ours)| ours).collect()
    }

    #[test]
    fn plain_names_stay_and_others_are_folded() {
        assert_eq!(mapped(&["read_file", "getTime", "a.b/c-d"]), ["mcp__hub__read_file", "mcp__hub__gettime", "mcp__hub__a_b_c_d"]);
    }

    #[test]
    fn names_that_clash_are_told_apart_in_any_order() {
        let (one, other) = (mapped(&["a_b", "a-b", "A_B"]), mapped(&["A_B", "a_b", "a-b"]));
        assert_eq!(one[0], "mcp__hub__a_b", "the one that needs no folding keeps its name");
        assert!(one[1].starts_with("mcp__hub__a_b_") && one[2].starts_with("mcp__hub__a_b_") && one[1] != one[2], "{one:?}");
        assert_eq!((&one[0], &one[1], &one[2]), (&other[1], &other[2], &other[0]));
    }

    #[test]
    fn names_that_do_not_fit_are_short_and_distinct() {
        let (long, other) = ("x".repeat(200), format!("{}y", "x".repeat(199)));
        let ours = mapped(&[&long, &other, "", "日本"]);
        let distinct: std::collections::HashSet<&String> = ours.iter().collect();
        assert_eq!(distinct.len(), 4);
        let fits =
            |name: &String| name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        assert!(ours.iter().all(fits), "{ours:?}");
    }
}
