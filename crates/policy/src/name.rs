//! Names of tools, and patterns on them.

/// One spelling for every way a model or a person may write a name: trimmed, lower case, `_` for `-` and blanks.
pub fn folded(name: &str) -> String {
    name.trim().chars().map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// Matches `*` against any run of characters. Iterative, so that no pattern can take long.
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && pattern[p] == name[n] {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The names most like this one, best first.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // Nobody means a name this long, and comparing it would take its time.
    if wanted.len() > 100 {
        return Vec::new();
    }
    let mut scored: Vec<(f64, &str)> =
        known.map(|name| (strsim::jaro_winkler(wanted, name), name)).filter(|(score, _)| *score > 0.78).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, matches) in [
            ("read_file", "read_file", true),
            ("read", "read_file", false),
            ("web_*", "web_fetch", true),
            ("*", "anything", true),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("r*d*e", "read_file", true),
            ("", "x", false),
        ] {
            assert_eq!(glob(pattern, name), matches, "{pattern} on {name}");
        }
    }

    #[test]
    fn every_spelling_of_a_name_is_one() {
        for name in ["Read-File", " read_file ", "READ FILE"] {
            assert_eq!(folded(name), "read_file");
        }
    }
}
