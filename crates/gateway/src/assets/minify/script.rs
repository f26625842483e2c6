//! Scripts: split into tokens, which are joined with the blanks that they need.

pub(super) fn minify(text: &str) -> String {
    let mut script = ScriptWriter { rest: text, out: String::with_capacity(text.len()), gap: Gap::None };
    script.code(Nesting::File);
    script.out
}

/// Bytes of the quoted text at the start, with its quotes.
pub(super) fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ch if ch == quote => return at + ch.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// After these words an expression begins, so a slash begins a regular expression.
const BEFORE_EXPRESSION: [&str; 10] = ["return", "typeof", "case", "in", "of", "delete", "void", "throw", "await", "yield"];

/// Where code ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    File,
    /// With the brace that closes a `${`.
    Template,
}

/// What was between two tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Blank,
    Line,
}

struct ScriptWriter<'a> {
    rest: &'a str,
    out: String,
    gap: Gap,
}

impl ScriptWriter<'_> {
    fn code(&mut self, nesting: Nesting) {
        let mut depth = 0_usize;
        while let Some(ch) = self.rest.chars().next() {
            match ch {
                '}' if depth == 0 && nesting == Nesting::Template => return,
                ch if ch.is_whitespace() => self.skip_blank(ch),
                '/' if self.rest.starts_with("//") || self.rest.starts_with("/*") => self.skip_comment(),
                '/' if self.begins_expression() => self.copy(regex_length(self.rest)),
                '\'' | '"' => self.copy(quoted_length(self.rest, ch)),
                '`' => self.template(),
                ch if is_word(ch) => self.copy(self.rest.find(|ch| !is_word(ch)).unwrap_or(self.rest.len())),
                ch => {
                    depth = match ch {
                        '{' => depth + 1,
                        '}' => depth.saturating_sub(1),
                        _ => depth,
                    };
                    self.copy(ch.len_utf8());
                }
            }
        }
    }

    /// Texts of a template stay, its expressions are code.
    fn template(&mut self) {
        self.copy(1);
        let mut at = 0;
        while let Some(ch) = self.rest[at..].chars().next() {
            at += ch.len_utf8();
            if ch == '\\' {
                at += self.rest[at..].chars().next().map_or(0, char::len_utf8);
            } else if ch == '`' {
                break;
            } else if ch == '$' && self.rest[at..].starts_with('{') {
                self.take(at + 1);
                self.gap = Gap::None;
                self.code(Nesting::Template);
                self.gap = Gap::None;
                at = 0;
            }
        }
        self.take(at);
    }

    fn skip_blank(&mut self, ch: char) {
        self.rest = &self.rest[ch.len_utf8()..];
        self.widen(if ch == '\n' { Gap::Line } else { Gap::Blank });
    }

    fn skip_comment(&mut self) {
        let (comment, after) = match self.rest.strip_prefix("/*") {
            Some(comment) => comment.split_once("*/").unwrap_or((comment, "")),
            None => self.rest.split_at(self.rest.find('\n').unwrap_or(self.rest.len())),
        };
        self.rest = after;
        self.widen(if comment.contains('\n') { Gap::Line } else { Gap::Blank });
    }

    fn widen(&mut self, gap: Gap) {
        if self.gap != Gap::Line {
            self.gap = gap;
        }
    }

    /// Takes a token, after the blank that it needs.
    fn copy(&mut self, length: usize) {
        let next = self.rest[..length].chars().next().unwrap_or_default();
        self.drop_comma(next);
        match (self.out.chars().next_back(), std::mem::replace(&mut self.gap, Gap::None)) {
            (None, _) | (_, Gap::None) => {}
            (Some(before), Gap::Line) if self.may_end(before) && may_begin(next) => self.out.push('\n'),
            (Some(before), _) if is_word(before) && is_word(next) => self.out.push(' '),
            (Some(before), _) if before == next && matches!(next, '+' | '-' | '/') => self.out.push(' '),
            _ => {}
        }
        self.take(length);
    }

    fn take(&mut self, length: usize) {
        let (token, rest) = self.rest.split_at(length);
        self.out.push_str(token);
        self.rest = rest;
    }

    /// The comma after the last of a list, which a formatter puts at the end of a line; not one that stands for an absent element.
    fn drop_comma(&mut self, next: char) {
        let is_last = self.gap == Gap::Line && matches!(next, ')' | ']' | '}') && self.out.ends_with(',');
        if is_last && !self.out[..self.out.len() - 1].ends_with([',', '[', '(', '{']) {
            self.out.pop();
        }
    }

    /// Whether a statement could end after what is written.
    fn may_end(&self, before: char) -> bool {
        is_word(before)
            || matches!(before, ')' | ']' | '}' | '\'' | '"' | '`' | '/')
            || self.out.ends_with("++")
            || self.out.ends_with("--")
    }

    /// Whether an expression begins here, and no operator.
    fn begins_expression(&self) -> bool {
        let written = self.out.as_str();
        let word = &written[written.rfind(|ch| !is_word(ch)).map_or(0, |at| at + written[at..].chars().next().map_or(1, char::len_utf8))..];
        match written.chars().next_back() {
            Some(before) if is_word(before) => BEFORE_EXPRESSION.contains(&word),
            Some(')' | ']' | '}' | '\'' | '"' | '`') => false,
            _ => true,
        }
    }
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || matches!(ch, '_' | '$' | '#') || !ch.is_ascii()
}

/// Whether a statement could begin with it: then the line break before it may be its end of the one before.
fn may_begin(next: char) -> bool {
    is_word(next) || matches!(next, '(' | '[' | '{' | '\'' | '"' | '`' | '/' | '+' | '-' | '!' | '~' | '*')
}

/// Bytes of the regular expression at the start, without its flags.
fn regex_length(text: &str) -> usize {
    let (mut is_escaped, mut is_class) = (false, false);
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::minify;

    #[test]
    fn tokens_keep_the_blanks_that_they_need() {
        for (text, expected) in [
            ("const a = 1; // one\n/** two */\nlet b = a / 2;\n", "const a=1;let b=a/2;"),
            ("return /[/ ]\\/ *x/gu.test( y ) / 2", "return/[/ ]\\/ *x/gu.test(y)/2"),
            ("a = b + +c - -d / /x y/.e", "a=b+ +c- -d/ /x y/.e"),
            (
                "f('a  // b', \"c \\\" /* \", `d  ${ e ? `f  ${ g }` : { h: 1 } }  i \\` `)",
                "f('a  // b',\"c \\\" /* \",`d  ${e?`f  ${g}`:{h:1}}  i \\` `)",
            ),
            ("a\nb\n(c)\n[d]\n`e`\nf++\ng", "a\nb\n(c)\n[d]\n`e`\nf++\ng"),
            ("if (a) {\n  b();\n}\nc();\n", "if(a){b();}\nc();"),
            ("x.\n  then(\n    y,\n    z,\n  )\n  .done", "x.then(y,z).done"),
            ("[a, , ];\n[,\n];\n[b,\n];\n({ c,\n});", "[a,,];[,];[b];({c});"),
            ("class A {\n  #b = 1;\n  get #c() {\n    return this.#b in x;\n  }\n}", "class A{#b=1;get #c(){return this.#b in x;}}"),
            ("for (const [a, b] of Object.entries(c)) d ??= a ?. e", "for(const[a,b]of Object.entries(c))d??=a?.e"),
            ("a /* one\ntwo */ b\n// last", "a\nb"),
            ("'never closed \\", "'never closed \\"),
            ("`${", "`${"),
            ("/never closed", "/never closed"),
            ("const é = '…' + ü", "const é='…'+ü"),
            ("", ""),
        ] {
            assert_eq!(minify(text), expected, "{text}");
        }
    }
}
