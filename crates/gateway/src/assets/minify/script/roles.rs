//! What each token is: a variable of the file, or a name that others see.
//!
//! Names are told apart by the brackets around them and the tokens beside them, without scopes: a name that is declared anywhere in a file
//! is one variable for the whole of it. Renaming all of its occurrences to a name that is nowhere else in the file changes nothing.

use super::is_sign;
use super::tokens::{Kind, Token};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A sign, a literal, a number, or the name of a property or a method.
    Other,
    Keyword,
    Variable,
    /// `#name` of a class.
    Private,
    /// In the braces of an import or export.
    Shared,
    /// Property and variable at once: `{ name }`.
    Shorthand,
    /// A semicolon that ends the last statement of a block, or brackets around the only parameter of a function.
    Needless,
    /// The brace at the end of a block with which a statement, or a member of a class, is over.
    BlockEnd,
}

/// Words that no variable is called.
const KEYWORDS: &str = " arguments as async await break case catch class const constructor continue debugger default delete do else enum \
    eval export extends false finally for from function get if import in instanceof let new null of return set static super switch this \
    throw true try typeof undefined var void while with yield ";

/// Before the braces of an object these words are written, before those of a block the others.
const BEFORE_OBJECT: &str = " return const let var of in import export default typeof await yield case throw ";
const BEFORE_BLOCK: &str = " else try catch finally do static ";

fn is_in(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word && !known.is_empty())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Round,
    Square,
    /// Of a function that is a value, or of one that cannot be told from it.
    Block,
    /// Of a statement, or a member of a class.
    Statement,
    Class,
    /// An object, or a pattern that takes one apart.
    Object,
    /// The names of an import or export.
    Names,
    Template,
}

/// The role of each token, or nothing if the file is not understood.
pub(super) fn find(tokens: &[Token<'_>]) -> Option<Vec<Role>> {
    let mut finder = RoleFinder { tokens, open: Vec::new(), is_class: false, is_case: false, case_colon: None };
    let mut roles = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        roles.push(match token.kind {
            Kind::Word => finder.word(at),
            Kind::Sign => finder.sign(at)?,
            Kind::Template => finder.template(token.text)?,
            Kind::Literal => Role::Other,
        });
    }
    finder.open.is_empty().then_some(roles)
}

struct RoleFinder<'a> {
    tokens: &'a [Token<'a>],
    open: Vec<Bracket>,
    /// A class was named, and its body has not begun.
    is_class: bool,
    /// After the word `case`, until its colon.
    is_case: bool,
    /// The colon of the last `case`.
    case_colon: Option<usize>,
}

impl RoleFinder<'_> {
    fn before(&self, at: usize, by: usize) -> Option<&Token<'_>> {
        self.tokens.get(at.checked_sub(by)?)
    }

    fn is_before(&self, at: usize, sign: &str) -> bool {
        is_sign(self.before(at, 1), sign)
    }

    fn is_after(&self, at: usize, signs: &[&str]) -> bool {
        signs.iter().any(|sign| is_sign(self.tokens.get(at + 1), sign))
    }

    fn word(&mut self, at: usize) -> Role {
        let text = self.tokens[at].text;
        let is_spread = is_sign(self.before(at, 2), ".") && is_sign(self.before(at, 3), ".");
        if text.starts_with('#') {
            return Role::Private;
        }
        if text.starts_with(|ch: char| ch.is_ascii_digit()) || (self.is_before(at, ".") && !is_spread) {
            return Role::Other;
        }
        if let Some(role) = self.member(at) {
            return role;
        }
        match text {
            "class" => self.is_class = true,
            "case" => self.is_case = true,
            _ => {}
        }
        if is_in(KEYWORDS, text) { Role::Keyword } else { Role::Variable }
    }

    /// The role of a name at the start of an entry of an object or a class.
    fn member(&self, at: usize) -> Option<Role> {
        let is_class = match self.open.last()? {
            Bracket::Names => return Some(Role::Shared),
            Bracket::Object => false,
            Bracket::Class => true,
            _ => return None,
        };
        let mut first = at;
        while self.before(first, 1).is_some_and(|token| matches!(token.text, "async" | "get" | "set" | "static" | "*")) {
            first -= 1;
        }
        let is_start = match self.before(first, 1)?.text {
            "{" => true,
            "," => !is_class,
            "}" | ";" => is_class,
            _ => false,
        };
        if !is_start {
            return None;
        }
        let is_modifier = is_in(" async get set static ", self.tokens[at].text) && !self.is_after(at, &["(", "=", ":", ",", "}", ";"]);
        let is_named = is_class || first != at || self.is_after(at, &[":", "("]);
        Some(if is_modifier {
            Role::Keyword
        } else if is_named {
            Role::Other
        } else {
            Role::Shorthand
        })
    }

    fn sign(&mut self, at: usize) -> Option<Role> {
        match self.tokens[at].text {
            "(" => {
                self.open.push(Bracket::Round);
                if self.is_only_parameter(at) {
                    return Some(Role::Needless);
                }
            }
            "[" => self.open.push(Bracket::Square),
            "{" => {
                let bracket = self.brace(at)?;
                self.open.push(bracket);
            }
            ")" if !matches!(self.open.pop()?, Bracket::Round) => return None,
            ")" if at >= 2 && self.is_only_parameter(at - 2) => return Some(Role::Needless),
            "]" => return (self.open.pop()? == Bracket::Square).then_some(Role::Other),
            "}" => {
                return match self.open.pop()? {
                    Bracket::Round | Bracket::Square | Bracket::Template => None,
                    Bracket::Statement => Some(Role::BlockEnd),
                    _ => Some(Role::Other),
                };
            }
            ":" if std::mem::take(&mut self.is_case) => self.case_colon = Some(at),
            ";" if self.is_after(at, &["}"]) && self.ends_statement(at) => return Some(Role::Needless),
            _ => {}
        }
        Some(Role::Other)
    }

    /// Whether the bracket begins `(name) =>`.
    fn is_only_parameter(&self, at: usize) -> bool {
        let name = self.tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Word);
        let signs = [(0, "("), (2, ")"), (3, "="), (4, ">")];
        name && signs.into_iter().all(|(by, sign)| is_sign(self.tokens.get(at + by), sign))
    }

    /// Whether the semicolon ends a statement, and is none.
    fn ends_statement(&self, at: usize) -> bool {
        let Some(before) = self.before(at, 1) else { return false };
        match before.text {
            ")" => !self.closes_condition(at - 1),
            "{" | ";" | "else" | "do" => false,
            _ => true,
        }
    }

    /// Whether the bracket closes the condition of a statement.
    fn closes_condition(&self, at: usize) -> bool {
        let before = self.opening(at).and_then(|first| self.before(first, 1));
        before.is_none_or(|token| is_in(" if for while with ", token.text))
    }

    /// Whether the bracket closes the parameters of a function that is a value: `a = function () {}`.
    fn is_function_value(&self, at: usize) -> bool {
        let Some(first) = self.opening(at) else { return true };
        let Some(by) = (1..=3).find(|by| self.before(first, *by).is_some_and(|token| token.text == "function")) else { return false };
        let mut before = self.before(first, by + 1);
        if before.is_some_and(|token| token.text == "async") {
            before = self.before(first, by + 2);
        }
        before.is_some_and(|token| !matches!(token.text, ";" | "{" | "}" | "export" | "default"))
    }

    /// Where the round bracket was opened that is closed here.
    fn opening(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for first in (0..=at).rev().filter(|first| self.tokens[*first].kind == Kind::Sign) {
            match self.tokens[first].text {
                ")" => depth += 1,
                "(" if depth == 1 => return Some(first),
                "(" => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn brace(&mut self, at: usize) -> Option<Bracket> {
        if std::mem::take(&mut self.is_class) {
            return Some(Bracket::Class);
        }
        let Some(before) = self.before(at, 1) else { return Some(Bracket::Block) };
        let is_arrow = before.text == ">" && is_sign(self.before(at, 2), "=");
        match (before.kind, before.text) {
            (Kind::Word, "import" | "export") => Some(Bracket::Names),
            (Kind::Word, word) if is_in(BEFORE_OBJECT, word) => Some(Bracket::Object),
            (Kind::Word, word) if is_in(BEFORE_BLOCK, word) => Some(Bracket::Statement),
            (Kind::Word | Kind::Literal, _) => None,
            (Kind::Sign, ")") if !self.is_function_value(at - 1) => Some(Bracket::Statement),
            (Kind::Sign, ")" | ";" | "{" | "}") => Some(Bracket::Block),
            (Kind::Sign, _) if is_arrow || self.case_colon == Some(at - 1) => Some(Bracket::Block),
            (Kind::Sign | Kind::Template, _) => Some(Bracket::Object),
        }
    }

    fn template(&mut self, text: &str) -> Option<Role> {
        if text.starts_with('}') && self.open.pop()? != Bracket::Template {
            return None;
        }
        if text.ends_with("${") {
            self.open.push(Bracket::Template);
        }
        Some(Role::Other)
    }
}
