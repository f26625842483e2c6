//! Declarations that follow each other are written as one: `let a=1,b=2`.

use super::roles::Role;
use super::tokens::{Kind, Token};

/// What the statement is in which the tokens are.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Statement {
    #[default]
    Other,
    Declaration,
    /// A declaration has ended, and the next statement has not begun.
    AfterDeclaration,
}

/// Follows the tokens of a script.
#[derive(Default)]
pub(super) struct Declarations {
    now: Statement,
    /// Those around the brackets that are open.
    around: Vec<Statement>,
    is_exported: bool,
}

impl Declarations {
    /// Whether the token begins a declaration right after another one; to be called with each token.
    pub(super) fn continues(&mut self, token: &Token<'_>, role: Role) -> bool {
        if role == Role::Keyword && matches!(token.text, "const" | "let") {
            let continues = self.now == Statement::AfterDeclaration;
            self.now = if self.is_exported { Statement::Other } else { Statement::Declaration };
            self.is_exported = false;
            return continues;
        }
        self.is_exported = role == Role::Keyword && token.text == "export";
        if self.now == Statement::AfterDeclaration {
            self.now = Statement::Other;
        }
        if token.closes() {
            self.now = self.around.pop().unwrap_or_default();
        }
        if token.opens() {
            self.around.push(std::mem::take(&mut self.now));
        }
        if token.kind == Kind::Sign && token.text == ";" && self.now == Statement::Declaration {
            self.now = Statement::AfterDeclaration;
        }
        false
    }
}
