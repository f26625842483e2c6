//! Names of tools, and patterns on them.

use std::borrow::Cow;

/// One spelling for every way a model or a user may write a name: trimmed, lower case, `_` for `-` and blanks.
pub fn folded(name: &str) -> String {
    name.trim().chars().map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// A name without blanks around it, in lower case; nearly always it is that already.
pub(crate) fn lowered(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let is_lower = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { Cow::Borrowed(name) } else { Cow::Owned(name.to_lowercase()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_is_one() {
        for name in ["Read-File", " read_file ", "READ FILE"] {
            assert_eq!(folded(name), "read_file");
        }
    }
}
