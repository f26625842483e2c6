//! The names that a misspelled one may mean.

/// A longer name is not compared: nobody means one, and comparing takes time.
const LONGEST: usize = 100;
/// How many names are suggested.
const MOST: usize = 3;
const NEAR: f64 = 0.78;

/// The known names most like this one, best first.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let mut scored: Vec<(f64, &str)> = scored.filter(|(score, _)| *score > NEAR).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// The known name that is the fewest typing errors away, if they are few. For names with common beginnings, which
/// [`nearest`] takes for alike.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE: f64 = 0.6;
    if name.len() > LONGEST {
        return None;
    }
    let scored = known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    scored.filter(|(score, _)| *score >= CLOSE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_once() {
        let known = ["write_file", "read_file", "read_files", "exec", "read_file"];
        assert_eq!(nearest("raed_file", known), ["read_file", "read_files"]);
        assert_eq!(nearest("zzz", known), Vec::<&str>::new());
        assert_eq!(nearest(&"read_file".repeat(20), known), Vec::<&str>::new());
        assert_eq!((closest("raed_file", known), closest("zzz", known)), (Some("read_file"), None));
    }
}
