//! Filters that may run without a rule: they read their input, print, and can do nothing else.

use std::collections::BTreeSet;

use haft_programs::{FILTERS, ProgramFilter, WRAPPERS};

use crate::analysis::{Command, RedirectionKind};
use crate::options::{self, OptionEffect};
use crate::programs::trusted_name;
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

/// The filters that may run without a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeBins {
    names: BTreeSet<&'static str>,
}

impl Default for SafeBins {
    /// `cut`, `head`, `tail`, `tr`, `uniq` and `wc`; `grep` and `sort` can be added.
    fn default() -> Self {
        Self { names: BTreeSet::from(["cut", "head", "tail", "tr", "uniq", "wc"]) }
    }
}

impl SafeBins {
    /// Exactly these. A program whose options are not known here cannot be one, whatever it is.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Reason> {
        let find = |name: &str| FILTERS.iter().find(|filter| filter.name == name).map(|filter| filter.name);
        let names = names.into_iter().map(|name| find(name).ok_or_else(|| unknown_filter(name)));
        Ok(Self { names: names.collect::<Result<_, _>>()? })
    }
}

fn unknown_filter(name: &str) -> Reason {
    let known: Vec<&str> = FILTERS.iter().map(|filter| filter.name).collect();
    let message = format!(
        "'{}' cannot be a safe filter: its options are not known; known are {}. Write a rule for it instead",
        cut(name),
        known.join(", ")
    );
    Reason::new(Concern::Arguments, message)
}

/// Whether a command is one of these filters, reads nothing but its input, and writes nothing but its output.
pub fn satisfies_safe_bins(command: &Command, safe: &SafeBins) -> bool {
    let name = trusted_name(&command.program).filter(|name| safe.names.contains(name));
    let Some(filter) = name.and_then(|name| FILTERS.iter().find(|filter| filter.name == name)) else { return false };
    let is_plain = |name: &String| WRAPPERS.iter().any(|wrapper| wrapper.name == name && wrapper.keeps_filters);
    command.wrappers.iter().all(is_plain) && command.assignments.is_empty() && reads_input_only(command) && fits(filter, &command.arguments)
}

fn reads_input_only(command: &Command) -> bool {
    let is_null = |target: &Option<Word>| target.as_ref().and_then(Word::as_literal) == Some("/dev/null");
    command.redirections.iter().all(|redirection| redirection.kind == RedirectionKind::Duplicate || is_null(&redirection.target))
}

fn fits(filter: &ProgramFilter, arguments: &[Word]) -> bool {
    let scan = options::scan(filter.options, arguments);
    let patterned = scan.has(&["-e", "--regexp"]);
    let most = if patterned { 0 } else { filter.operands };
    let literal = arguments.iter().all(|word| word.as_literal().is_some());
    let harmless = |effect: OptionEffect| matches!(effect, OptionEffect::Flag | OptionEffect::Optional | OptionEffect::Value);
    let paths = scan.operands.iter().chain(scan.given.iter().filter_map(|given| given.value.as_ref())).any(|word| is_path(word.text()));
    literal && scan.given.iter().all(|given| harmless(given.effect)) && scan.faults.is_empty() && scan.operands.len() <= most && !paths
}

fn is_path(text: &str) -> bool {
    ["/", "./", "../", "~"].iter().any(|start| text.len() > 1 && text.starts_with(start)) || text.starts_with('@')
}
