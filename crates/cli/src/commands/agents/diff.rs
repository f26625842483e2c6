//! What changes in a file, line by line, as everyone knows it.

use crate::output::{DIM, GOOD, PLAIN, WORSE};

/// How many lines are shown around a change.
const AROUND: usize = 2;
/// More lines than this between the first change and the last are not compared one by one.
const MOST_COMPARED: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Kept(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The changes, with styles; empty if there are none.
pub(super) fn styled(before: &str, after: &str) -> String {
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => WORSE,
        Some(b'@') => DIM,
        _ => PLAIN,
    };
    let coloured = |line: &str| format!("{style}{line}{style:#}\n", style = style(line));
    plain(before, after).lines().map(coloured).collect::<Vec<_>>().concat()
}

/// The same as plain text.
pub(super) fn plain(before: &str, after: &str) -> String {
    let lines = compared(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let changed: Vec<usize> = (0..lines.len()).filter(|at| !matches!(lines[*at], Line::Kept(_))).collect();
    let mut text = String::new();
    let mut rest = changed.as_slice();
    while let Some((first, _)) = rest.split_first() {
        let near = rest.windows(2).take_while(|pair| pair[1] - pair[0] <= 2 * AROUND + 1).count();
        let (hunk, behind) = rest.split_at(near + 1);
        let (from, to) = (first.saturating_sub(AROUND), (hunk[near] + AROUND + 1).min(lines.len()));
        text += &part(&lines, from, to);
        rest = behind;
    }
    text
}

fn part(lines: &[Line<'_>], from: usize, to: usize) -> String {
    let place = |is_there: fn(&&Line<'_>) -> bool| {
        let (before, inside) = (lines[..from].iter().filter(is_there).count(), lines[from..to].iter().filter(is_there).count());
        // As everywhere: an empty part is named by the line above it.
        format!("{},{inside}", if inside == 0 { before } else { before + 1 })
    };
    let (old, new) = (place(|line| !matches!(line, Line::New(_))), place(|line| !matches!(line, Line::Gone(_))));
    let mut text = format!("@@ -{old} +{new} @@\n");
    for line in &lines[from..to] {
        let (sign, line) = match line {
            Line::Kept(line) => (' ', line),
            Line::Gone(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        text.push(sign);
        text += &haft_contract::visible::line(line);
        text.push('\n');
    }
    text
}

fn compared<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let tail = before[head..].iter().rev().zip(after[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let kept = |lines: &[&'a str]| lines.iter().map(|line| Line::Kept(line)).collect::<Vec<_>>();
    [kept(&before[..head]), between(old, new), kept(&before[before.len() - tail..])].concat()
}

/// The fewest changes that lead from one to the other.
fn between<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let all = |old: &[&'a str], new: &[&'a str]| -> Vec<Line<'a>> {
        old.iter().map(|line| Line::Gone(line)).chain(new.iter().map(|line| Line::New(line))).collect()
    };
    if old.len() > MOST_COMPARED || new.len() > MOST_COMPARED {
        return all(old, new);
    }
    let shared = shared_lines(old, new);
    let (mut lines, mut at_old, mut at_new) = (Vec::new(), 0, 0);
    while at_old < old.len() && at_new < new.len() {
        if old[at_old] == new[at_new] {
            lines.push(Line::Kept(old[at_old]));
            (at_old, at_new) = (at_old + 1, at_new + 1);
        } else if shared[at_old + 1][at_new] >= shared[at_old][at_new + 1] {
            lines.push(Line::Gone(old[at_old]));
            at_old += 1;
        } else {
            lines.push(Line::New(new[at_new]));
            at_new += 1;
        }
    }
    lines.extend(all(&old[at_old..], &new[at_new..]));
    lines
}

/// How many lines two texts have in common, in order, from each pair of places on.
fn shared_lines(old: &[&str], new: &[&str]) -> Vec<Vec<u16>> {
    let mut shared = vec![vec![0_u16; new.len() + 1]; old.len() + 1];
    for at_old in (0..old.len()).rev() {
        for at_new in (0..new.len()).rev() {
            shared[at_old][at_new] = if old[at_old] == new[at_new] {
                shared[at_old + 1][at_new + 1] + 1
            } else {
                shared[at_old + 1][at_new].max(shared[at_old][at_new + 1])
            };
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        for (before, after, expected) in [
            ("a\n", "a\n", ""),
            ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"),
            ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\nx\n5\n6\n", "@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+x\n 5\n 6\n"),
            ("a\nb\nc\n", "a\nc\nd\n", "@@ -1,3 +1,3 @@\n a\n-b\n c\n+d\n"),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
                "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
                "@@ -1,3 +1,3 @@\n-1\n+x\n 2\n 3\n@@ -7,3 +7,3 @@\n 7\n 8\n-9\n+y\n",
            ),
            ("a\u{1b}[2J\n", "b\n", "@@ -1,1 +1,1 @@\n-a\\u{1b}[2J\n+b\n"),
        ] {
            assert_eq!(plain(before, after), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_is_too_long_to_compare_is_still_shown() {
        let many = |mark: &str| (0..=MOST_COMPARED).map(|number| format!("{mark}{number}")).collect::<Vec<_>>().join("\n");
        let text = plain(&many("a"), &many("b"));
        assert_eq!(text.lines().count(), 2 * (MOST_COMPARED + 1) + 1);
    }
}
