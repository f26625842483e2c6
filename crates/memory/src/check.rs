//! What a user may want to clean up in memory: repeats, statements that may contradict each other, links that lead nowhere, size.

use std::collections::{BTreeMap, HashMap, HashSet};

use haft_store::ChunkRow;
use haft_text::display::shorten;
use haft_text::numbers;

use crate::rank::similarity;
use crate::words::{is_common, stem, words};

/// Statements that are compared, at most.
const MOST_STATEMENTS: usize = 20_000;
/// Shorter statements say too little to be compared.
const FEWEST_WORDS: usize = 3;
/// Statements with which one is compared, at most.
const MOST_COMPARED: usize = 200;
/// From here on two statements say the same.
const SAME: f64 = 0.9;
/// From here on two statements are about the same.
const ALIKE: f64 = 0.6;
/// A larger file is better split.
const LARGE: usize = 64 * 1024;
const SHOWN: usize = 80;
/// Words that turn a statement into its opposite.
const NEGATIONS: &[&str] =
    &["not", "no", "never", "dont", "don", "without", "instead", "longer", "nicht", "kein", "keine", "nie", "false", "off", "disabled"];

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryProblem {
    /// `duplicate`, `contradiction`, `dead link` or `size`.
    pub kind: &'static str,
    /// Where, as a citation.
    pub at: String,
    /// What is wrong, and what to do.
    pub message: String,
}

struct Statement {
    at: String,
    text: String,
    stems: HashSet<String>,
    /// Numbers, dates and names of versions in it.
    values: HashSet<String>,
    negations: HashSet<String>,
}

/// Checks notes; `exists` tells whether the target of a link in a file, named as the file is, is there.
pub fn check_notes(chunks: &[ChunkRow], exists: &dyn Fn(&str, &str) -> bool) -> Vec<MemoryProblem> {
    let statements = statements(chunks);
    let mut problems = pairs(&statements);
    problems.extend(dead_links(chunks, exists));
    problems.extend(sizes(chunks));
    problems
}

fn statements(chunks: &[ChunkRow]) -> Vec<Statement> {
    let mut found = Vec::new();
    for chunk in chunks {
        // Blank lines in a chunk are lines of the file too, but for those at its ends.
        for (offset, line) in chunk.text.lines().enumerate() {
            let text = line.trim().trim_start_matches(['-', '*', '+', '>', ' ']);
            if text.starts_with('#') || found.len() >= MOST_STATEMENTS {
                continue;
            }
            let all = words(text);
            let telling: Vec<&String> = all.iter().filter(|word| !is_common(word)).collect();
            if telling.len() < FEWEST_WORDS {
                continue;
            }
            let has_digit = |word: &&&String| word.bytes().any(|byte| byte.is_ascii_digit());
            let negations = all.iter().filter(|word| NEGATIONS.contains(&word.as_str())).cloned().collect();
            let values = telling.iter().filter(has_digit).map(ToString::to_string).collect();
            let stems =
                telling.iter().filter(|word| !has_digit(word) && !NEGATIONS.contains(&word.as_str())).map(|word| stem(word).to_owned());
            let at = format!("{}#L{}", chunk.path, chunk.first + offset);
            found.push(Statement { at, text: text.to_owned(), stems: stems.collect(), values, negations });
        }
    }
    found
}

/// Pairs of statements that say the same, or about the same with other values.
fn pairs(statements: &[Statement]) -> Vec<MemoryProblem> {
    let mut by_stem: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, statement) in statements.iter().enumerate() {
        for stem in &statement.stems {
            by_stem.entry(stem).or_default().push(at);
        }
    }
    let mut problems = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        let mut rare: Vec<&Vec<usize>> = statement.stems.iter().filter_map(|stem| by_stem.get(stem.as_str())).collect();
        rare.sort_by_key(|list| list.len());
        let near: HashSet<usize> = rare.into_iter().take(3).flatten().copied().filter(|other| *other < at).take(MOST_COMPARED).collect();
        let mut near: Vec<usize> = near.into_iter().collect();
        near.sort_unstable();
        problems.extend(near.into_iter().filter_map(|other| compare(&statements[other], statement)));
    }
    problems
}

fn compare(one: &Statement, other: &Statement) -> Option<MemoryProblem> {
    let alike = similarity(&one.stems, &other.stems);
    let quoted = shorten(&one.text, SHOWN);
    if alike >= SAME && one.values == other.values && one.negations == other.negations {
        let message = format!("it says the same as {} ('{quoted}'): `haft memory forget` removes one of them", one.at);
        return Some(MemoryProblem { kind: "duplicate", at: other.at.clone(), message });
    }
    let differs = one.values != other.values && !one.values.is_empty() && !other.values.is_empty();
    if alike >= ALIKE && (differs || one.negations != other.negations) {
        let message = format!("it may contradict {} ('{quoted}'): keep the one that is true", one.at);
        return Some(MemoryProblem { kind: "contradiction", at: other.at.clone(), message });
    }
    None
}

fn dead_links(chunks: &[ChunkRow], exists: &dyn Fn(&str, &str) -> bool) -> Vec<MemoryProblem> {
    let mut problems = Vec::new();
    for chunk in chunks {
        for (offset, line) in chunk.text.lines().enumerate() {
            for target in links(line).into_iter().filter(|target| !exists(&chunk.path, target)) {
                let at = format!("{}#L{}", chunk.path, chunk.first + offset);
                let message = format!("the link to '{}' leads nowhere: change or remove it", shorten(target, SHOWN));
                problems.push(MemoryProblem { kind: "dead link", at, message });
            }
        }
    }
    problems
}

/// Targets of links to files, without those to the web and within the file.
fn links(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find(')') else { break };
        let target = rest[..end].split_whitespace().next().unwrap_or_default();
        let target = target.trim_matches(['<', '>']).split('#').next().unwrap_or_default();
        if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
            found.push(target);
        }
        rest = &rest[end..];
    }
    found
}

fn sizes(chunks: &[ChunkRow]) -> Vec<MemoryProblem> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for chunk in chunks {
        *sizes.entry(&chunk.path).or_default() += chunk.text.len();
    }
    let large = sizes.into_iter().filter(|(_, size)| *size > LARGE);
    let problem = |(path, size): (&str, usize)| MemoryProblem {
        kind: "size",
        at: path.to_owned(),
        message: format!("it has {}: split it by subject, so that what is found is small", numbers::size(size as u64)),
    };
    large.map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(path: &str, text: &str) -> ChunkRow {
        let last = text.lines().count();
        ChunkRow { id: 0, path: path.into(), modified: None, first: 1, last, heading: String::new(), text: text.into(), writer: None }
    }

    fn found(chunks: &[ChunkRow]) -> Vec<(&'static str, String)> {
        let exists = |_: &str, target: &str| target == "there.md";
        check_notes(chunks, &exists).into_iter().map(|problem| (problem.kind, problem.at)).collect()
    }

    #[test]
    fn repeats_contradictions_and_dead_links_are_found_and_their_neighbours_are_not() {
        let a = "# Notes\n- The staging database runs on port 5432.\n- Deploy on Fridays with the release script.\n- See [this](there.md), [that](gone.md#x) and [web](https://example.org/a).\n";
        let b = "- the staging databases run on port 5433\n- Never deploy on Fridays with the release script\n- The staging database runs on port 5432\n- The weather was nice and we had lunch together\n";
        assert_eq!(
            found(&[chunk("MEMORY.md", a), chunk("memory/b.md", b)]),
            [
                ("contradiction", "memory/b.md#L1".into()),
                ("contradiction", "memory/b.md#L2".into()),
                ("duplicate", "memory/b.md#L3".into()),
                ("contradiction", "memory/b.md#L3".into()),
                ("dead link", "MEMORY.md#L4".into()),
            ]
        );
        assert_eq!(found(&[chunk("MEMORY.md", "- one two three four\n- five six seven eight\n")]), []);
        assert_eq!(found(&[chunk("big.md", &"lorem ipsum\n".repeat(8_000))])[0].0, "size");
    }
}
