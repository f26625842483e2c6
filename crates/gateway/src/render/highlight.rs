//! Code with keywords, strings, comments and numbers set off: by one small scanner for all languages, which needs no grammar.

use super::{bounded, cut_note, escape};

/// Words that most languages reserve.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "begin",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "defer",
    "delete",
    "do",
    "double",
    "elif",
    "else",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "false",
    "fi",
    "final",
    "finally",
    "float",
    "fn",
    "for",
    "foreach",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "int",
    "interface",
    "is",
    "lambda",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "none",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "ref",
    "return",
    "select",
    "self",
    "static",
    "string",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "use",
    "using",
    "val",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// Languages in which `#` begins a comment.
const HASH_COMMENTS: &[&str] =
    &["python", "py", "sh", "bash", "zsh", "shell", "ruby", "rb", "toml", "yaml", "yml", "make", "perl", "r", "dockerfile"];

/// Renders code of a language, whose name need not be known.
pub(crate) fn code(text: &str, language: &str) -> String {
    let (text, is_cut) = bounded(text);
    let name: String = language.chars().filter(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '+')).take(30).collect();
    let class = if name.is_empty() { String::new() } else { format!(" class=\"language-{name}\"") };
    let html = if name.is_empty() || name == "text" { escape(text) } else { code_spans(text, &name.to_ascii_lowercase()) };
    format!("<pre><code{class}>{html}</code></pre>{}", cut_note(is_cut))
}

/// Code as text and elements that set off its parts.
pub(super) fn code_spans(text: &str, language: &str) -> String {
    let mut html = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while !rest.is_empty() {
        let (class, length) = token(rest, language);
        let (now, later) = rest.split_at(length.max(1).min(rest.len()));
        match class {
            Some(class) => html.extend(["<span class=\"hl-", class, "\">", &escape(now), "</span>"]),
            None => html.push_str(&escape(now)),
        }
        rest = later;
    }
    html
}

/// The class and the length in bytes of what the text begins with.
fn token(text: &str, language: &str) -> (Option<&'static str>, usize) {
    let line = || text.find('\n').unwrap_or(text.len());
    let first = text.chars().next().unwrap_or_default();
    match first {
        '/' if text.starts_with("//") => (Some("comment"), line()),
        '/' if text.starts_with("/*") => (Some("comment"), text.find("*/").map_or(text.len(), |end| end + 2)),
        '-' if text.starts_with("--") && matches!(language, "sql" | "lua" | "haskell" | "hs") => (Some("comment"), line()),
        '#' if HASH_COMMENTS.contains(&language) => (Some("comment"), line()),
        '"' | '`' => (Some("string"), quoted(text, first)),
        // An apostrophe may also begin a lifetime, or be one.
        '\'' if quoted(text, first) <= 80 => (Some("string"), quoted(text, first)),
        ch if ch.is_ascii_digit() => (Some("number"), run(text, |ch| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '_'))),
        ch if ch.is_alphabetic() || ch == '_' => {
            let length = run(text, |ch| ch.is_alphanumeric() || ch == '_');
            let word = &text[..length];
            let is_keyword = KEYWORDS.binary_search(&word).is_ok() || (language == "sql" && KEYWORDS.contains(&&*word.to_lowercase()));
            let is_name = text[length..].starts_with('(');
            (
                if is_keyword {
                    Some("keyword")
                } else if is_name {
                    Some("name")
                } else {
                    None
                },
                length,
            )
        }
        _ => (None, run(text, |ch| !ch.is_alphanumeric() && !matches!(ch, '_' | '"' | '`' | '\'' | '/' | '-' | '#')).max(first.len_utf8())),
    }
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|ch| !belongs(ch)).unwrap_or(text.len())
}

/// The length of a quoted text, at most to the end of its line.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ch if ch == quote => return at + 1,
            '\n' if quote != '`' => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn code_is_set_off_and_stays_text() {
        let html = code("let a = \"<x>\"; // 'b'\nfoo(12)", "rust");
        let expected = "<pre><code class=\"language-rust\"><span class=\"hl-keyword\">let</span> a = <span class=\"hl-string\">\
                        &quot;&lt;x&gt;&quot;</span>; <span class=\"hl-comment\">// &#39;b&#39;</span>\n<span class=\"hl-name\">foo</span>(\
                        <span class=\"hl-number\">12</span>)</code></pre>";
        assert_eq!(html, expected);
        assert_eq!(code("<b>", "\"><script>"), "<pre><code class=\"language-script\">&lt;b&gt;</code></pre>");
    }

    #[test]
    fn scanner_ends_on_any_text() {
        for text in ["", "\"", "'", "`\n", "/*", "é\u{301}", "--", "#\n#", "\\\"", "漢字'字", "0x", "_"] {
            for language in ["rust", "sh", "sql"] {
                code(text, language);
            }
        }
    }
}
