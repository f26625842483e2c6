//! The entries of `[network] allow` and `deny`.

use std::fmt;

use haft_pattern::{HOST_FORMS, HostPattern};

/// What the user allows beyond the public internet, and what they deny. Deny wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// Hosts and addresses that may be reached although they are not public.
    pub allow: Vec<HostPattern>,
    /// Hosts and addresses that may not be reached.
    pub deny: Vec<HostPattern>,
}

impl NetworkRules {
    /// Parses both lists; the error names the entry that is wrong.
    pub fn parse<S: AsRef<str>>(allow: &[S], deny: &[S]) -> Result<Self, NetworkRuleError> {
        let parse = |list: &[S]| list.iter().map(|entry| Self::parse_entry(entry.as_ref())).collect::<Result<Vec<_>, _>>();
        Ok(Self { allow: parse(allow)?, deny: parse(deny)? })
    }

    /// Parses one entry: a [`HostPattern`] other than `*`.
    pub fn parse_entry(entry: &str) -> Result<HostPattern, NetworkRuleError> {
        let problem = match entry.parse::<HostPattern>() {
            Ok(pattern) if !pattern.is_any() => return Ok(pattern),
            Ok(_) => "a bare '*' would open every address; name the hosts".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(NetworkRuleError { entry: entry.into(), problem })
    }
}

/// An entry that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkRuleError {
    /// The entry as written.
    pub entry: String,
    /// What is wrong with it, and what to write instead.
    pub problem: String,
}

impl fmt::Display for NetworkRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" in [network]: {}. Accepted: {HOST_FORMS}", self.entry.escape_debug(), self.problem)
    }
}

impl std::error::Error for NetworkRuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_entries_are_named_with_what_is_accepted() {
        for entry in ["*", "*:80"] {
            let error = NetworkRules::parse_entry(entry).unwrap_err();
            assert_eq!(error.problem, "a bare '*' would open every address; name the hosts");
        }
        assert_eq!(
            NetworkRules::parse(&["localhost"], &["*"]).unwrap_err().to_string(),
            "\"*\" in [network]: a bare '*' would open every address; name the hosts. Accepted: a host (example.org), everything beneath \
             one (*.example.org), an address (10.1.2.3, ::1), a range (10.1.0.0/16), each with or without a port (localhost:3000, [::1]:80)"
        );
    }
}
