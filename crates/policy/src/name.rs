//! Names of tools, and patterns on them.

/// One spelling for every way a model or a user may write a name: trimmed, lower case, `_` for `-` and blanks.
pub fn folded(name: &str) -> String {
    name.trim().chars().map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
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
