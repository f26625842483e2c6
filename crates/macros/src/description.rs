//! Doc comments, as the text that a model reads.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of the doc comments among `attributes`; empty if there are none.
///
/// Lines of a paragraph become one line, as in rendered documentation. Lists and code keep their lines.
pub(crate) fn from_attributes(attributes: &[Attribute]) -> String {
    let comments: Vec<String> = attributes.iter().filter_map(comment).collect();
    let lines: Vec<&str> = comments.iter().flat_map(|comment| comment.lines()).map(without_margin).collect();
    flowed(&lines)
}

fn comment(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(if text.value().is_empty() { "\n".into() } else { text.value() }),
            _ => None,
        },
        _ => None,
    }
}

/// `/// text` arrives as ` text`.
fn without_margin(line: &str) -> &str {
    line.strip_prefix(' ').unwrap_or(line).trim_end()
}

fn flowed(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut in_code = false;
    for line in lines {
        let fence = line.trim_start().starts_with("```");
        let flows = !in_code && !fence && !line.is_empty() && !starts_own_line(line) && !text.is_empty() && !text.ends_with('\n');
        if flows {
            text.push(' ');
            text.push_str(line.trim_start());
        } else {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
            if line.is_empty() || in_code || fence {
                text.push('\n');
            }
        }
        in_code ^= fence;
    }
    text.trim().to_owned()
}

fn starts_own_line(line: &str) -> bool {
    let line = line.trim_start();
    let numbered = line.trim_start_matches(|ch: char| ch.is_ascii_digit());
    ["- ", "* ", "+ ", "#", "|", ">"].iter().any(|mark| line.starts_with(mark))
        || (numbered.len() < line.len() && (numbered.starts_with(". ") || numbered.starts_with(") ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(source: &str) -> String {
        let item: syn::ItemStruct = syn::parse_str(&format!("{source}\nstruct X;")).unwrap();
        from_attributes(&item.attrs)
    }

    #[test]
    fn a_doc_comment_becomes_flowing_text() {
        for (source, text) in [
            ("", ""),
            ("///", ""),
            ("/// One line.  ", "One line."),
            ("/// Two lines\n/// of one paragraph.", "Two lines of one paragraph."),
            ("/// First.\n///\n/// Second\n/// continues.", "First.\n\nSecond continues."),
            ("/// Modes:\n/// - read\n///   only\n/// - write\n/// 1. one", "Modes:\n- read only\n- write\n1. one"),
            ("/// So:\n/// ```\n/// a\n///   b\n///\n/// c\n/// ```\n/// Then\n/// on.", "So:\n```\na\n  b\n\nc\n```\nThen on."),
            ("/** A block\n comment. */", "A block comment."),
            ("#[doc = \"As an attribute.\"]", "As an attribute."),
        ] {
            assert_eq!(described(source), text, "{source}");
        }
    }
}
