//! Style sheets.

/// Around these a blank means nothing.
const TIGHT: [char; 4] = ['{', '}', ';', ','];

pub(super) fn minify(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(ch) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
            blank(&mut out);
        } else if ch == '"' || ch == '\'' {
            let end = super::script::quoted_length(rest, ch);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            rest = &rest[ch.len_utf8()..];
            match ch {
                ch if ch.is_whitespace() => blank(&mut out),
                ch if TIGHT.contains(&ch) || ch == '>' => tight(&mut out, ch),
                ch => out.push(ch),
            }
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// One blank, unless what is before it needs none. After a colon there is a value: in a selector none follows it.
fn blank(out: &mut String) {
    if !out.is_empty() && !out.ends_with([' ', ':', '>']) && !out.ends_with(TIGHT) {
        out.push(' ');
    }
}

/// A character without the blank before it, and without a semicolon before the end of a block.
fn tight(out: &mut String, ch: char) {
    if out.ends_with(' ') {
        out.pop();
    }
    if ch == '}' && out.ends_with(';') {
        out.pop();
    }
    out.push(ch);
}

#[cfg(test)]
mod tests {
    use super::minify;

    #[test]
    fn blanks_and_comments_go_and_what_they_separate_stays() {
        for (text, expected) in [
            ("/* a */\na > b ,\nc :hover {\n  color : red ;\n  margin: 0 1px;\n}\n", "a>b,c :hover{color :red;margin:0 1px}"),
            (".x { width: calc( 50% - 410px ); content: \"a  ; /* b */ }\"; }", ".x{width:calc( 50% - 410px );content:\"a  ; /* b */ }\"}"),
            ("@media (pointer: coarse), (max-width: 640px) { a { b: c } }", "@media (pointer:coarse),(max-width:640px){a{b:c}}"),
            ("a/**/b { c: '\\'  }' }", "a b{c:'\\'  }'}"),
            ("/* never closed", ""),
        ] {
            assert_eq!(minify(text), expected, "{text}");
        }
    }
}
