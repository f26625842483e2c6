//! A unified diff in colours, with changes within a line highlighted.

use crate::output::{CYAN, DIM, GOOD, PLAIN, RED, STRONG};

/// Lines added and removed.
pub fn counts(diff: &str) -> (u64, u64) {
    let of = |mark: char, head: &str| diff.lines().filter(|line| line.starts_with(mark) && !line.starts_with(head)).count() as u64;
    (of('+', "+++ "), of('-', "--- "))
}

/// Styles the lines, which must be escaped.
pub fn style_lines(lines: &[String]) -> Vec<String> {
    let mut styled = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let removed = count_run(rest, '-', "--- ");
        let added = count_run(&rest[removed..], '+', "+++ ");
        if removed > 0 && removed == added {
            let pairs = || rest[..removed].iter().zip(&rest[removed..removed + added]);
            styled.extend(pairs().map(|(before, after)| highlight(before, after)));
            styled.extend(pairs().map(|(before, after)| highlight(after, before)));
        } else if removed + added > 0 {
            styled.extend(rest[..removed + added].iter().map(|line| style_line(line)));
        } else {
            styled.push(style_line(first));
        }
        rest = &rest[(removed + added).max(1)..];
    }
    styled
}

/// Number of leading lines with this prefix.
fn count_run(lines: &[String], mark: char, head: &str) -> usize {
    lines.iter().take_while(|line| line.starts_with(mark) && !line.starts_with(head)).count()
}

fn style_line(line: &str) -> String {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => STRONG,
        [b'+', ..] => GOOD,
        [b'-', ..] => RED,
        [b'@', b'@', ..] => CYAN,
        [b'\\', ..] => DIM,
        _ => PLAIN,
    };
    format!("{style}{line}{style:#}")
}

/// Highlights the part of a line that the other line does not have.
fn highlight(line: &str, other: &str) -> String {
    let style = if line.starts_with('-') { RED } else { GOOD };
    let (text, other) = (&line[1..], &other[1..]);
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let head: usize = text.chars().zip(other.chars()).take_while(same).map(|(ch, _)| ch.len_utf8()).sum();
    let ends = text[head..].chars().rev().zip(other[head..].chars().rev());
    let tail: usize = ends.take_while(same).map(|(ch, _)| ch.len_utf8()).sum();
    // Lines with nothing in common are not versions of one line.
    if head + tail == 0 || head + tail == text.len() {
        return style_line(line);
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
    fn diff_counts_leave_the_header_out() {
        assert_eq!(counts(DIFF), (1, 2));
        assert_eq!(counts(""), (0, 0));
        assert_eq!(counts("--- a\n+++ b\n@@ -0,0 +1 @@\n++++\n"), (1, 0));
    }

    #[test]
    fn diff_highlights_changes_within_lines() {
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
        assert_eq!(style_lines(&lines), expected);
        let unlike = ["-abc".to_owned(), "+xyz".to_owned()];
        assert_eq!(style_lines(&unlike), ["\u{1b}[31m-abc\u{1b}[0m", "\u{1b}[32m+xyz\u{1b}[0m"]);
        let wide = ["-a漢c".to_owned(), "+a字c".to_owned()];
        let set_off = "\u{1b}[31m-a\u{1b}[0m\u{1b}[1m\u{1b}[4m\u{1b}[31m漢\u{1b}[0m\u{1b}[31mc\u{1b}[0m";
        assert_eq!(style_lines(&wide)[0], set_off);
    }
}
