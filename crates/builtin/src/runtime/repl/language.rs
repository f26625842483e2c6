//! The languages, and how an interpreter of each is made to keep its state.

use haft_contract::{Program, Takes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language, under every name that people give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Name {
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

impl From<Name> for Language {
    fn from(name: Name) -> Self {
        match name {
            Name::Python | Name::Python3 | Name::Py => Self::Python,
            Name::Javascript | Name::Js | Name::Node => Self::Javascript,
            Name::Bash | Name::Sh | Name::Shell => Self::Bash,
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

    /// Whether its interpreter can stop a call by itself, and keep what it knows.
    pub(super) const fn interrupts_itself(self) -> bool {
        !matches!(self, Self::Bash)
    }

    /// The interpreter, with the script that makes it read one piece of code after the other.
    pub(super) fn program(self) -> Program {
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
                "Install it, or use exec, which makes do with any shell.",
            ),
        };
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Program { names, arguments, takes: Takes::Input, advice }
    }
}
