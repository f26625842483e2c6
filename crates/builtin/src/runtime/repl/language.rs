//! The languages, and the interpreter of each.

use haft_contract::{CodeInput, InterpreterSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language, by any of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum LanguageName {
    Python,
    Python3,
    Py,
    Javascript,
    Js,
    Node,
    Bash,
    Sh,
    Shell,
}

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Language {
    Python,
    Javascript,
    Bash,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::Python | LanguageName::Python3 | LanguageName::Py => Self::Python,
            LanguageName::Javascript | LanguageName::Js | LanguageName::Node => Self::Javascript,
            LanguageName::Bash | LanguageName::Sh | LanguageName::Shell => Self::Bash,
        }
    }
}

impl Language {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Bash => "bash",
        }
    }

    /// Whether its interpreter can stop a call by itself and keep its state.
    pub(super) const fn interrupts_itself(self) -> bool {
        !matches!(self, Self::Bash)
    }

    /// The interpreter, with the driver script that reads one piece of code after the other.
    pub(super) fn program(self) -> InterpreterSpec {
        let (names, arguments, advice): (&'static [&'static str], &[&str], _) = match self {
            Self::Python => (
                &["python3", "python"],
                &["-u", "-X", "utf8", "-c", include_str!("drivers/python.py")],
                "Install Python 3 (package 'python3'), or use language 'bash'.",
            ),
            Self::Javascript => (
                &["node", "nodejs"],
                &["-e", include_str!("drivers/node.js")],
                "Install Node.js (package 'nodejs'), or use language 'python'.",
            ),
            Self::Bash => (
                &["bash"],
                &["--noprofile", "--norc", "-c", include_str!("drivers/bash.sh")],
                "Install it, or use exec, which works with any shell.",
            ),
        };
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        InterpreterSpec { names, arguments, code_input: CodeInput::Stdin, advice }
    }
}
