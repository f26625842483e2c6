//! A unified diff: how much it changes, and its lines in colours, with what differs within a line set off.

use crate::output::{DIM, GOOD, PLACE, PLAIN, STRONG, WORSE};

/// How many lines it adds and removes.
pub(super) fn counts(diff: &str) -> (u64, u64) {
    let of = |mark: char, head: &str| diff.lines().filter(|line| line.starts_with(mark) && !line.starts_with(head)).count() as u64;
    (of('+', "+++ "), of('-', "--- "))
}

/// Its lines with their styles; they must have been escaped.
pub(super) fn coloured(lines: &[String]) -> Vec<String> {
    let mut shown = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let removed = run(rest, '-', "--- ");
        let added = run(&rest[removed..], '+', "+++ ");
        if removed > 0 && removed == added {
            let pairs = || rest[..removed].iter().zip(&rest[removed..removed + added]);
            shown.extend(pairs().map(|(before, after)| marked(before, after)));
            shown.extend(pairs().map(|(before, after)| marked(after, before)));
        } else if removed + added > 0 {
            shown.extend(rest[..removed + added].iter().map(|line| whole(line)));
        } else {
            shown.push(whole(first));
        }
        rest = &rest[(removed + added).max(1)..];
    }
    shown
}

/// How many lines at the beginning are of this kind.
fn run(lines: &[String], mark: char, head: &str) -> usize {
    lines.iter().take_while(|line| line.starts_with(mark) && !line.starts_with(head)).count()
}

fn whole(line: &str) -> String {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => STRONG,
        [b'+', ..] => GOOD,
        [b'-', ..] => WORSE,
        [b'@', b'@', ..] => PLACE,
        [b'\\', ..] => DIM,
        _ => PLAIN,
    };
    format!("{style}{line}{style:#}")
}

/// A line of which a part is set off: what the other does not have.
fn marked(line: &str, other: &str) -> String {
    let style = if line.starts_with('-') { WORSE } else { GOOD };
    let (text, other) = (&line[1..], &other[1..]);
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let head: usize = text.chars().zip(other.chars()).take_while(same).map(|(letter, _)| letter.len_utf8()).sum();
    let ends = text[head..].chars().rev().zip(other[head..].chars().rev());
    let tail: usize = ends.take_while(same).map(|(letter, _)| letter.len_utf8()).sum();
    // Lines that share nothing are not two versions of one.
    if head + tail == 0 || head + tail == text.len() {
        return whole(line);
    }
    let (before, after) = (&text[..head], &text[text.len() - tail..]);
    let (middle, strong) = (&text[head..text.len() - tail], style.bold().underline());
    format!("{style}{}{before}{style:#}{strong}{middle}{strong:#}{style}{after}{style:#}", &line[..1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-if n > 1 {\n+if n >= 1 {\n-gone\n same\n\\ No newline at end of file";

    #[test]
    fn what_changes_is_counted_without_the_head() {
        assert_eq!(counts(DIFF), (1, 2));
        assert_eq!(counts(""), (0, 0));
        assert_eq!(counts("--- a\n+++ b\n@@ -0,0 +1 @@\n++++\n"), (1, 0));
    }

    #[test]
    fn lines_have_colours_and_what_differs_within_them_is_set_off() {
        let lines: Vec<String> = DIFF.lines().map(str::to_owned).collect();
        let expected = [
            "\u{1b}[1m--- a/x\u{1b}[0m",
            "\u{1b}[1m+++ b/x\u{1b}[0m",
            "\u{1b}[36m@@ -1,3 +1,3 @@\u{1b}[0m",
            " same",
            "\u{1b}[31m-if n > 1 {\u{1b}[0m",
            "\u{1b}[32m+if n >\u{1b}[0m\u{1b}[1m\u{1b}[4m\u{1b}[32m=\u{1b}[0m\u{1b}[32m 1 {\u{1b}[0m",
            "\u{1b}[31m-gone\u{1b}[0m",
            " same",
            "\u{1b}[2m\\ No newline at end of file\u{1b}[0m",
        ];
        assert_eq!(coloured(&lines), expected);
        let unlike = ["-abc".to_owned(), "+xyz".to_owned()];
        assert_eq!(coloured(&unlike), ["\u{1b}[31m-abc\u{1b}[0m", "\u{1b}[32m+xyz\u{1b}[0m"]);
        let wide = ["-a漢c".to_owned(), "+a字c".to_owned()];
        let set_off = "\u{1b}[31m-a\u{1b}[0m\u{1b}[1m\u{1b}[4m\u{1b}[31m漢\u{1b}[0m\u{1b}[31mc\u{1b}[0m";
        assert_eq!(coloured(&wide)[0], set_off);
    }
}
