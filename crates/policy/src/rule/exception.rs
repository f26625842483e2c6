//! What a rule does not speak of: `exec(npm *) except exec(npm test *)`.

use haft_contract::Exec;
use haft_pattern::NameGlob;

use super::command::ExecForm;
use super::matcher::EffectForm;
use super::problem::RuleProblem;
use super::scope::Kinds;
use super::{RuleEffects, RuleKind, matches_tool};
use crate::Candidate;

const WORD: &str = "except";

/// Tools as such, or effects, that a rule does not speak of. Read narrowly, as what permits is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exception {
    pub(super) tool: Option<NameGlob>,
    pub(super) effects: Option<RuleEffects>,
}

impl Exception {
    /// Whether it names the tool as such, with everything that it does.
    pub(super) fn names_tool(&self, tool: &Candidate<'_>) -> bool {
        self.tool.as_ref().is_some_and(|glob| matches_tool(glob, tool, RuleKind::Only))
    }

    /// Whether it names what a tool does.
    pub(super) fn covers(&self, tool: &Candidate<'_>, kinds: Kinds, form: &EffectForm<'_>) -> bool {
        let by = |effects: &RuleEffects| effects.by.as_ref().is_none_or(|by| matches_tool(by, tool, RuleKind::Only));
        let named = |effects: &RuleEffects| effects.kinds.meets(kinds) && by(effects) && effects.matcher.matches(form);
        self.names_tool(tool) || self.effects.as_ref().is_some_and(named)
    }

    /// Whether it names a program, whichever tool runs it.
    pub(super) fn covers_program(&self, exec: &Exec) -> bool {
        let form = ExecForm::new(exec);
        let named = |effects: &RuleEffects| effects.by.is_none() && effects.matcher.matches(&EffectForm::Runs(&form));
        self.effects.as_ref().is_some_and(named)
    }
}

/// A rule, and its exceptions as they are written.
pub(super) fn split(text: &str) -> Result<(&str, Vec<&str>), RuleProblem> {
    let Some((rule, rest)) = outside(text, |before, rest| {
        let is_word = before.ends_with(char::is_whitespace) && rest.starts_with(WORD);
        is_word && rest[WORD.len()..].chars().next().is_none_or(char::is_whitespace)
    }) else {
        return Ok((text, Vec::new()));
    };
    let (mut exceptions, mut rest) = (Vec::new(), &rest[WORD.len()..]);
    while let Some((exception, more)) = outside(rest, |_, rest| rest.starts_with(',')) {
        exceptions.push(exception.trim());
        rest = &more[1..];
    }
    exceptions.push(rest.trim());
    if exceptions.iter().any(|exception| exception.is_empty()) {
        let help = "write one rule or more behind it, with commas between them: 'exec(npm *) except exec(npm test *), exec(npm ls *)'";
        return Err(RuleProblem::new("nothing stands behind 'except', or between two commas", help));
    }
    Ok((rule.trim(), exceptions))
}

/// The text before and from the first place outside parentheses that is meant.
fn outside(text: &str, is_meant: impl Fn(&str, &str) -> bool) -> Option<(&str, &str)> {
    let (mut is_inside, mut is_escaped) = (false, false);
    for (at, ch) in text.char_indices() {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' => is_inside = true,
            ')' => is_inside = false,
            _ if !is_inside && is_meant(&text[..at], &text[at..]) => return Some(text.split_at(at)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_split_off_outside_parentheses() {
        let both = |text| split(text).unwrap();
        assert_eq!(both("exec(npm *)"), ("exec(npm *)", vec![]));
        assert_eq!(both("exec(echo except x)"), ("exec(echo except x)", vec![]));
        assert_eq!(both(r"read(a\) except b)"), (r"read(a\) except b)", vec![]));
        assert_eq!(both("write  except  write(docs/**)"), ("write", vec!["write(docs/**)"]));
        assert_eq!(both("exec(npm *) except exec(npm test, x), exec(npm ls)"), ("exec(npm *)", vec!["exec(npm test, x)", "exec(npm ls)"]));
        assert_eq!(both("exceptional"), ("exceptional", vec![]));
        for text in ["write except", "write except a,", "write except ,a"] {
            assert_eq!(split(text).unwrap_err().message, "nothing stands behind 'except', or between two commas", "{text}");
        }
    }
}
