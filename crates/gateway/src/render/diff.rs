//! Unified diffs, one element for each line.

use super::{bounded, cut_note, escape};

/// Renders a unified diff.
pub(crate) fn diff(text: &str) -> String {
    let (text, is_cut) = bounded(text);
    let lines: String = text.lines().map(line).collect();
    format!("<pre class=\"diff\">{lines}</pre>{}", cut_note(is_cut))
}

fn line(text: &str) -> String {
    let class = match text.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] | [b'*', b'*', b'*', b' ', ..] => "file",
        [b'@', b'@', ..] => "hunk",
        [b'+', ..] => "ins",
        [b'-', ..] => "del",
        _ => "same",
    };
    format!("<span class=\"{class}\">{}\n</span>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_diff_has_its_class() {
        let html = diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+<y>\n z");
        let expected = "<pre class=\"diff\"><span class=\"file\">--- a\n</span><span class=\"file\">+++ b\n</span>\
                        <span class=\"hunk\">@@ -1 +1 @@\n</span><span class=\"del\">-x\n</span><span class=\"ins\">+&lt;y&gt;\n</span>\
                        <span class=\"same\"> z\n</span></pre>";
        assert_eq!(html, expected);
    }
}
