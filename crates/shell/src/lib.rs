//! Shell commands, analysed before they run: their programs, what they write and reach, and what cannot be analysed. Pure: no I/O.
//!
//! [`analyse`] parses a command line with a real parser, finds every command in it, takes wrappers such as `env` and `sh -c` off, and
//! says what is known of each. It fails closed: whatever it cannot follow is a [`Reason`], and then the verdict is
//! [`Verdict::Unknown`]. The meaning is bash's; where another shell would do something else, [`Analysis::needs_bash`] says so.
//!
//! ```
//! use haft_shell::{Nature, Verdict, analyse};
//!
//! let line = analyse("cd src && timeout 60 git log --oneline | head -5 > ../log.txt");
//! assert_eq!(line.verdict(), Verdict::Followed);
//! let programs: Vec<&str> = line.commands.iter().filter_map(|command| command.name()).collect();
//! assert_eq!(programs, ["cd", "git", "head"]);
//! assert_eq!(line.commands[1].wrappers, ["timeout"]);
//! assert_eq!(line.commands[1].nature, Nature::ReadsOnly);
//! assert_eq!(line.writes[0].path, "../log.txt");
//!
//! let hidden = analyse("git status; $(curl -s https://example.org/x) --now");
//! assert_eq!(hidden.verdict(), Verdict::Unknown);
//! assert!(hidden.unknown[0].message.contains("known only when it runs"));
//! ```
//!
//! All of this holds for `bash -c LINE`, not interactive, with a clean environment: no `BASH_ENV`, no functions or options from outside.
//!
//! What it does not do: it does not look at files, so a program may be another one than its name says, and a path may lead elsewhere.
//! It evaluates what the shell starts; what a program does with its own configuration is beyond it. A sandbox around the command is still
//! needed.
#![warn(missing_docs)]

mod analysis;
mod builder;
mod characters;
mod obfuscation;
mod options;
mod parser;
mod programs;
mod quote;
mod reach;
mod read;
mod reason;
mod safe;
mod syntax;
mod unwrap;
mod word;

pub use analysis::{Analysis, Assignment, Command, Directory, Nature, Reach, Redirection, RedirectionKind, Target, Verdict};
pub use builder::{MOST_BYTES, MOST_COMMANDS, MOST_NESTING, MOST_WRAPPERS};
pub use quote::quote;
pub use reason::{Concern, Reason};
pub use safe::{SafeBins, satisfies_safe_bins};
pub use syntax::SyntaxFault;
pub use word::{Expanded, Expansion, Word};

/// Parses and analyses a command line. It never fails, and it takes time and memory in proportion to the line.
pub fn analyse(line: &str) -> Analysis {
    let mut analysis = taken_apart(line);
    reach::add(&mut analysis, reach::DEPTH);
    analysis
}

/// What is written in the line, without what its commands may start.
fn taken_apart(line: &str) -> Analysis {
    let mut found = builder::AnalysisBuilder::default();
    read::read(line, &mut found, &builder::CommandPosition::default());
    found.settle();
    obfuscation::note(&mut found);
    found.analysis
}
