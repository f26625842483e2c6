//! Rules on effects: `deny` > `ask` > `allow`.
//!
//! A rule is `NAME` or `NAME(CONTENT)`. NAME is an effect (`read`, `write`, `delete`, `exec`, `connect`, `send`, `spawn`,
//! `configure`), a tool in any spelling, or a pattern on tool names (`mcp__server__*`). Without content, or with `*`, it is
//! about the effect or the tool as such. In content, `\` takes the meaning from the mark behind it.
//!
//! | what the rule speaks of | content | for instance |
//! |---|---|---|
//! | files | a path pattern: `*`, `?`, `**`; from the workspace, `~/`, `/`, or `**/` for anywhere | `write_file(docs/**)` |
//! | programs | words; `*` alone stands for any words, inside a word for any characters | `exec(git push *)`, `exec(host:container)` |
//! | connections | `domain:HOST`, `domain:*.HOST`, `domain:HOST:PORT`, `method:M` | `web_fetch(domain:*.example.org)` |
//! | messages | `channel:C`, `to:T` | `send(channel:desktop to:anna)` |
//! | agents, settings | a name, a key | `agent(reviewer)`, `configure(theme)` |
//!
//! **What forbids is read widely, what permits narrowly.** `deny` and `ask` follow the effect, whichever tool has it, in any
//! case and through any link; the words of a program need only begin so, and its options may stand anywhere.
//! `allow` holds for the tool it names, exactly as written, and only where it says so for deletions, methods that change
//! something, unusual ports, options of programs (`*` stands for none, unless `-*` is there), and a changed environment.
//!
//! # Lines that run several programs
//!
//! The planner of a command lowers it to one [`Effect::Exec`](haft_contract::Effect) for every program that it would
//! run: each part of a pipe or list, and what a wrapper such as `env` or `timeout` starts. `Exec::program` is the file that
//! runs, `Exec::named` how it was called, `Exec::arguments` are its words, `Exec::environment` names the variables that the
//! line itself sets. Words that are known only when the line runs stand there as they are written, and `Exec::nature` is
//! `Expanded`: what forbids takes them for anything that they can become, what permits must permit everything. Redirections
//! are `Read` and `Write` effects. What cannot be lowered is `Unknown`.
//! [`RuleSet::on_effect`] is asked for each effect: one that is denied denies the call, one that is asked about asks, and
//! `allow` must cover every one. So no rule on `git status` ever speaks for `git status; rm -rf x`.

mod canonical;
mod command;
mod compile;
mod connection;
mod grants;
mod guards;
mod matcher;
mod message;
mod path;
mod problem;
mod scope;
mod set;
mod subject;
#[cfg(test)]
mod testing;
mod text;

use std::fmt;

use haft_pattern::NameGlob;

pub use self::canonical::canonical;
pub use self::grants::SessionGrants;
pub use self::guards::ChangeRules;
use self::matcher::Matcher;
pub use self::problem::RuleFault;
use self::scope::Kinds;
pub use self::set::RuleSet;
use crate::{Candidate, SourceSpan};

/// What a rule decides. The strictest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleKind {
    /// It never happens.
    Deny,
    /// It needs approval.
    Ask,
    /// It needs nobody's word.
    Allow,
}

impl RuleKind {
    /// The word for it, which is also the name of its list.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
    /// Whether it holds something back, and so is read widely.
    const fn restricts(self) -> bool {
        !matches!(self, Self::Allow)
    }
}

impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One rule, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    kind: RuleKind,
    text: String,
    span: SourceSpan,
    of_project: bool,
    /// The tools it names as such.
    tool: Option<NameGlob>,
    effects: Option<RuleEffects>,
}

impl Rule {
    /// What it decides.
    pub fn kind(&self) -> RuleKind {
        self.kind
    }
    /// The rule as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Where it stands.
    pub fn span(&self) -> &SourceSpan {
        &self.span
    }
    /// Whether a project wrote it.
    pub fn of_project(&self) -> bool {
        self.of_project
    }
    /// Whether it says exactly where it holds: a path from the top of the machine, a host, a program, a name. Only such a
    /// rule answers for what goes beyond the access level; one on a whole tool, or on a path anywhere, was meant within it.
    pub fn is_anchored(&self) -> bool {
        self.effects.as_ref().is_some_and(|effects| effects.matcher.is_anchored())
    }
    /// Whether the user wrote it for one host by name: a wildcard also covers hosts that they did not think of.
    pub(crate) fn names_destination(&self) -> bool {
        !self.of_project && self.effects.as_ref().is_some_and(|effects| effects.matcher.names_one_host())
    }
}

/// The effects that a rule speaks of, by tools in the folded spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RuleEffects {
    /// Only of these tools; otherwise of all.
    by: Option<NameGlob>,
    kinds: Kinds,
    matcher: Matcher,
}

/// Whether a glob on folded names matches a tool. An alias must not lend a tool what was allowed to another.
fn matches_tool(glob: &NameGlob, tool: &Candidate<'_>, kind: RuleKind) -> bool {
    let count = if kind.restricts() { tool.names.len() } else { 1 };
    tool.names.iter().take(count).any(|name| glob.matches(name))
}
