//! Declarations that follow each other are written as one: `let a=1,b=2`.

use super::roles::Role;
use super::tokens::{Kind, Token};

/// What the statement is in which the tokens are.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Statement {
    #[default]
    Other,
    Declaration,
    Exported,
    /// A declaration has ended, and the next statement has not begun.
    AfterDeclaration,
    AfterExported,
}

/// How a token continues the declaration before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    No,
    /// It is written as a comma.
    Comma,
    /// The token before it is the comma already.
    Nothing,
}

/// Follows the tokens of a script.
#[derive(Default)]
pub(super) struct Declarations {
    now: Statement,
    /// Those around the brackets that are open.
    around: Vec<Statement>,
    is_exported: bool,
    /// An `export` was written as a comma.
    is_joined: bool,
}

impl Declarations {
    /// Whether the token begins a declaration right after another one; to be called with each token and the one after it.
    pub(super) fn join(&mut self, token: &Token<'_>, role: Role, next: Option<&Token<'_>>) -> Join {
        if role == Role::Keyword && is_declaration(token) {
            let join = match (std::mem::take(&mut self.is_joined), self.now) {
                (true, _) => Join::Nothing,
                (false, Statement::AfterDeclaration) => Join::Comma,
                _ => Join::No,
            };
            self.now = if std::mem::take(&mut self.is_exported) { Statement::Exported } else { Statement::Declaration };
            return join;
        }
        self.is_exported = role == Role::Keyword && token.text == "export";
        self.is_joined = self.is_exported && self.now == Statement::AfterExported && next.is_some_and(is_declaration);
        if matches!(self.now, Statement::AfterDeclaration | Statement::AfterExported) {
            self.now = Statement::Other;
        }
        if token.closes() {
            self.now = self.around.pop().unwrap_or_default();
        }
        if token.opens() {
            self.around.push(std::mem::take(&mut self.now));
        }
        if token.kind == Kind::Sign && token.text == ";" {
            self.now = match self.now {
                Statement::Declaration => Statement::AfterDeclaration,
                Statement::Exported => Statement::AfterExported,
                other => other,
            };
        }
        if self.is_joined { Join::Comma } else { Join::No }
    }
}

fn is_declaration(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && matches!(token.text, "const" | "let")
}
