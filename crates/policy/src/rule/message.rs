//! Patterns on messages, agents and settings.

use haft_pattern::{NameGlob, PatternChar, fold_case};

use super::RuleKind;
use super::command::words;
use super::problem::RuleProblem;
use super::text::{behind, plain};

/// A pattern on one name, with `*` for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePattern {
    kind: RuleKind,
    glob: NameGlob,
    names_owner: bool,
}

impl NamePattern {
    /// Reads a pattern.
    pub(super) fn parse(kind: RuleKind, chars: &[PatternChar]) -> Self {
        let glob = NameGlob::with_stars(chars);
        let mut owner = chars.iter().take_while(|ch| ch.ch != ':');
        let names_owner = chars.iter().any(|ch| ch.ch == ':') && owner.all(|ch| !ch.is('*'));
        Self { kind, glob: if kind.restricts() { glob.fold_case() } else { glob }, names_owner }
    }
    /// Whether it says which machine it is about, in front of the colon.
    pub(super) fn names_owner(&self) -> bool {
        self.names_owner
    }
    /// Whether it is one name.
    pub(super) fn is_anchored(&self) -> bool {
        self.glob.as_literal().is_some()
    }
    /// Whether it is meant.
    pub(super) fn matches(&self, name: &str) -> bool {
        if self.kind.restricts() { self.glob.matches(&fold_case(name)) } else { self.glob.matches(name) }
    }
}

/// A pattern on messages: by which channel, to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessagePattern {
    channel: Option<NamePattern>,
    to: Option<NamePattern>,
}

impl MessagePattern {
    /// Reads a pattern.
    pub(super) fn parse(kind: RuleKind, chars: &[PatternChar]) -> Result<Self, RuleProblem> {
        let mut pattern = Self { channel: None, to: None };
        for word in words(chars)? {
            let before = if let Some(channel) = behind(&word.chars, "channel:") {
                pattern.channel.replace(NamePattern::parse(kind, require_name("channel", channel)?))
            } else if let Some(to) = behind(&word.chars, "to:") {
                pattern.to.replace(NamePattern::parse(kind, require_name("to", to)?))
            } else if let Some((channel, to)) = address(&word.chars) {
                // `slack:#ops` is both at once.
                let to = pattern.to.replace(NamePattern::parse(kind, to));
                to.or(pattern.channel.replace(NamePattern::parse(kind, channel)))
            } else {
                let message = format!("'{}' can never match a message, which has a channel and a recipient", plain(&word.chars));
                return Err(RuleProblem::new(
                    message,
                    "write 'slack:#ops', 'channel:desktop', 'to:anna', or the last two; quotes hold a name with blanks together",
                ));
            };
            if before.is_some() {
                return Err(RuleProblem::new("a message has one channel and one recipient", "write one rule for each"));
            }
        }
        Ok(pattern)
    }

    /// Whether it says by which channel, and to whom.
    pub(super) fn is_anchored(&self) -> bool {
        [&self.channel, &self.to].into_iter().all(|part| part.as_ref().is_some_and(NamePattern::is_anchored))
    }

    /// Whether the rule speaks of a message.
    pub(super) fn matches(&self, channel: &str, to: &str) -> bool {
        self.channel.as_ref().is_none_or(|pattern| pattern.matches(channel)) && self.to.as_ref().is_none_or(|pattern| pattern.matches(to))
    }
}

/// The two parts of `slack:#ops`: what is before the first colon, and what is behind it.
fn address(word: &[PatternChar]) -> Option<(&[PatternChar], &[PatternChar])> {
    let at = (1..word.len()).find(|at| behind(&word[*at..], ":").is_some())?;
    let (channel, to) = (&word[..at], &word[at + 1..]);
    (!to.is_empty()).then_some((channel, to))
}

fn require_name<'a>(key: &str, name: &'a [PatternChar]) -> Result<&'a [PatternChar], RuleProblem> {
    if name.is_empty() {
        return Err(RuleProblem::new(
            format!("'{key}:' names nobody"),
            format!("write a name behind it, '{key}:*' for any, or leave it out"),
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::super::text::read;
    use super::*;

    fn parse(kind: RuleKind, content: &str) -> Result<MessagePattern, RuleProblem> {
        MessagePattern::parse(kind, &read(&format!("x({content})")).unwrap().content.unwrap())
    }

    #[test]
    fn channel_and_recipient_are_compared() {
        for (content, channel, to, denied, allowed) in [
            ("channel:desktop", "desktop", "me", true, true),
            ("channel:desktop", "Desktop", "me", true, false),
            ("channel:desktop", "mail", "me", false, false),
            ("to:*@example.org", "mail", "anna@example.org", true, true),
            ("channel:mail to:\"Anna B\"", "mail", "Anna B", true, true),
            ("channel:mail to:\"Anna B\"", "mail", "Anna", false, false),
            ("slack:#ops", "slack", "#ops", true, true),
            ("slack:#ops", "slack", "#dev", false, false),
            ("slack:#ops", "Slack", "#OPS", true, false),
            ("slack:*", "slack", "#dev", true, true),
            ("*:#ops", "slack", "#ops", true, true),
            ("matrix:!room:example.org", "matrix", "!room:example.org", true, true),
            ("matrix:!room:example.org", "matrix", "!room", false, false),
            ("\"mail:Anna B\"", "mail", "Anna B", true, true),
        ] {
            let matches = |kind| parse(kind, content).unwrap().matches(channel, to);
            assert_eq!((matches(RuleKind::Ask), matches(RuleKind::Allow)), (denied, allowed), "{content} on {channel} {to}");
        }
    }

    #[test]
    fn what_could_never_match_is_refused() {
        let message = |content| parse(RuleKind::Deny, content).unwrap_err().message;
        assert_eq!(message("docs/**"), "'docs/**' can never match a message, which has a channel and a recipient");
        for content in ["to:a to:b", "slack:#ops to:b", "channel:slack slack:#ops", "slack:#ops slack:#dev"] {
            assert_eq!(message(content), "a message has one channel and one recipient");
        }
        for content in ["slack:", ":#ops", "slack"] {
            assert_eq!(message(content), format!("'{content}' can never match a message, which has a channel and a recipient"));
        }
        for (content, expected) in
            [("channel:", "'channel:' names nobody"), ("to:\"\"", "'to:' names nobody"), ("channel:mail to:", "'to:' names nobody")]
        {
            assert_eq!(message(content), expected);
        }
    }
}
