//! Style sheets, with short names of custom properties.

use std::collections::BTreeMap;

/// Custom properties by their names, with the short ones that they get in all style sheets.
#[derive(Default)]
pub(crate) struct PropertyNames(BTreeMap<String, String>);

impl PropertyNames {
    /// Of these style sheets. A name that another file says, such as a script that sets it, stays as it is.
    pub(crate) fn from_files<'a>(sheets: impl Iterator<Item = &'a str>, others: &[&str]) -> Self {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        let sheets: Vec<&str> = sheets.collect();
        for name in sheets.iter().flat_map(|sheet| properties(sheet)).map(|(_, name)| name) {
            *uses.entry(name).or_default() += 1;
        }
        uses.retain(|name, _| others.iter().all(|text| !text.contains(name)));
        // What is used most gets the shortest.
        let mut names: Vec<(&str, usize)> = uses.into_iter().collect();
        names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self(names.iter().enumerate().map(|(number, (name, _))| ((*name).to_owned(), short_name(number))).collect())
    }

    /// The style sheet with the short names.
    fn apply(&self, text: &str) -> String {
        let (mut out, mut end) = (String::with_capacity(text.len()), 0);
        for (at, name) in properties(text) {
            if let Some(short) = self.0.get(name) {
                out.push_str(&text[end..at]);
                out.push_str(short);
                end = at + name.len();
            }
        }
        out.push_str(&text[end..]);
        out
    }
}

/// `--a` to `--z`, then `--aa`.
fn short_name(number: usize) -> String {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
    let first = if number < 26 { String::new() } else { letter(number / 26 - 1).to_string() };
    format!("--{first}{}", letter(number))
}

/// Where a custom property is set or read: after the begin of a block, a declaration or a value. Strings hold none.
fn properties(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(ch) = text[at..].chars().next() {
        if ch == '"' || ch == '\'' {
            at += super::script::quoted_length(&text[at..], ch).max(1);
            continue;
        }
        let is_begin = text[..at].trim_end().ends_with(['{', ';', '(', '/']);
        if is_begin && text[at..].starts_with("--") {
            let length = text[at..].find(|ch: char| !ch.is_ascii_alphanumeric() && ch != '-').unwrap_or(text.len() - at);
            found.push((at, &text[at..at + length]));
            at += length;
        } else {
            at += ch.len_utf8();
        }
    }
    found
}

/// Around these a blank means nothing.
const TIGHT: [char; 4] = ['{', '}', ';', ','];

pub(super) fn minify(text: &str, names: &PropertyNames) -> String {
    names.apply(&without_blanks(text))
}

fn without_blanks(text: &str) -> String {
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
    use super::*;

    fn minify(text: &str) -> String {
        super::minify(text, &PropertyNames::default())
    }

    #[test]
    fn custom_properties_have_one_short_name_in_all_sheets() {
        let sheets = [":root { --accent-soft: #fff; --line: 1px; }", "a { color: var(--accent-soft); b: calc( var(--line) + 1px ) }"];
        let names = PropertyNames::from_files(sheets.into_iter(), &[]);
        let short = sheets.map(|sheet| super::minify(sheet, &names));
        assert_eq!(short, [":root{--a:#fff;--b:1px}", "a{color:var(--a);b:calc( var(--b) + 1px )}"]);
        // What a script names, what is no property, and what is in a string stays.
        let kept = PropertyNames::from_files(sheets.into_iter(), &["style.setProperty('--line', 1)"]);
        assert_eq!(super::minify(".x--line { --line: var(--accent-soft, '--line') }", &kept), ".x--line{--line:var(--a,'--line')}");
        assert_eq!(short_name(27), "--ab");
    }

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
