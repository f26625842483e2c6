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
//! | messages | `C:T`, or `channel:C`, `to:T` | `send(slack:#ops)`, `send(channel:desktop to:anna)` |
//! | agents, settings | a name, a key | `agent(reviewer)`, `configure(theme)` |
//!
//! **What forbids is read widely, what permits narrowly.** `deny` and `ask` follow the effect, whichever tool has it, in any
//! case and through any link; the words of a program need only begin so, and its options may stand anywhere.
//! `allow` holds for the tool it names, exactly as written, and only where it says so for deletions, methods that change
//! something, unusual ports, options by which a program runs another one or reads more of them (`@file`, unless `-*` is there), and
//! a changed environment.
//!
//! `RULE except RULE, RULE` holds for everything of the first one but what the others name, which are read narrowly. `only` lists
//! become a denial of all effects of their kind, except what they name.
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
mod exception;
mod grants;
mod guards;
mod index;
mod matcher;
mod message;
mod only;
mod path;
mod problem;
mod scope;
mod set;
mod subject;
#[cfg(test)]
mod testing;
mod text;
mod widths;

use std::fmt;
use std::sync::Arc;

use haft_pattern::NameGlob;

pub(crate) use self::canonical::MOST_RULES;
pub use self::canonical::canonical;
use self::exception::Exception;
pub use self::grants::SessionGrants;
pub use self::guards::{ChangeRules, GuardedChanges};
use self::matcher::Matcher;
pub(crate) use self::only::of_tool as rest_of_tool;
pub use self::problem::RuleFault;
use self::scope::Kinds;
pub use self::set::RuleSet;
pub(crate) use self::widths::widths;
use crate::{Candidate, SourceSpan};

/// What a rule decides. The strictest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleKind {
    /// It never happens.
    Deny,
    /// Everything else of its kind never happens. No rule of a set has this kind: a list of them becomes a denial with exceptions.
    Only,
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
            Self::Only => "only",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
    /// Whether it holds something back, and so is read widely.
    const fn restricts(self) -> bool {
        matches!(self, Self::Deny | Self::Ask)
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
    /// The list that has it: `rules.deny`, `agents.docs.rules.only`.
    key: Arc<str>,
    /// The tools it names as such.
    tool: Option<NameGlob>,
    effects: Option<RuleEffects>,
    /// What it does not speak of.
    except: Vec<Exception>,
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
    /// The rule with the name of its list: `deny write(docs/**)`, `only connect(domain:example.org)`.
    pub fn label(&self) -> String {
        format!("{} {}", self.list(), self.text)
    }
    /// The list that has it: `rules.deny`, `agents.docs.rules.only`.
    pub fn key(&self) -> &str {
        &self.key
    }
    /// Whether it stands for an `only` list: then its text is the whole list, and an entry more would lift it.
    pub fn is_only_list(&self) -> bool {
        self.list() == RuleKind::Only.as_str()
    }
    fn list(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
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
    /// Whether it asks about what goes beyond the access level, instead of a refusal: the user wrote it for a certain place, or for
    /// connections.
    pub(crate) fn asks_beyond_access(&self) -> bool {
        let is_meant = |effects: &RuleEffects| effects.matcher.is_anchored() || matches!(effects.matcher, Matcher::Connection(_));
        self.kind == RuleKind::Ask && !self.of_project && self.effects.as_ref().is_some_and(is_meant)
    }
    /// Whether the user wrote it for this destination: a host or a registered domain, a recipient, a program. What was written for
    /// every host also covers those that they did not think of.
    pub(crate) fn names_destination(&self) -> bool {
        !self.of_project && self.effects.as_ref().is_some_and(|effects| effects.matcher.names_destination())
    }
    /// Whether the user wrote it for one tool, by its name.
    fn names_one_tool(&self) -> bool {
        !self.of_project && matches!(self.tool, Some(NameGlob::Literal(_)))
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
