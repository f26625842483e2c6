//! Filters that may run without a rule: they read their input, print, and can do nothing else.

use std::collections::BTreeSet;

use crate::analysis::{Command, RedirectionKind};
use crate::options;
use crate::programs::trusted_name;
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

/// A filter: its options, in the notation of [`options`], and how many operands that are no files.
struct Profile {
    name: &'static str,
    options: &'static str,
    operands: usize,
}

const fn profile(name: &'static str, operands: usize, options: &'static str) -> Profile {
    Profile { name, options, operands }
}

/// No option here reads or writes a file: what is missing does not pass.
const PROFILES: &[Profile] = &[
    profile(
        "cut",
        0,
        "-nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= \
         --zero-terminated",
    ),
    profile(
        "grep",
        1,
        "-EFGivwxcqsnobazh -e= -m= -A= -B= -C= --regexp= --ignore-case --invert-match --word-regexp --line-regexp --count --color? \
         --max-count= \
         --only-matching --quiet --silent --line-number --byte-offset --after-context= --before-context= --context= --text \
         --extended-regexp \
         --fixed-strings --basic-regexp --no-filename --line-buffered",
    ),
    profile("head", 0, "-qvz -n= -c= -# --lines= --bytes= --quiet --silent --verbose --zero-terminated"),
    profile(
        "jq",
        1,
        "-acCejMnrRsS --ascii-output --compact-output --color-output --exit-status --join-output --monochrome-output --null-input \
         --raw-output --raw-input --slurp --sort-keys --tab --indent=",
    ),
    profile(
        "sort",
        0,
        "-bdfghiMnRrVcCmsuz -k= -t= -S= --key= --field-separator= --buffer-size= --parallel= --check? --ignore-leading-blanks \
         --dictionary-order --ignore-case \
         --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= \
         --version-sort --merge \
         --stable --unique --zero-terminated",
    ),
    profile("tail", 0, "-qvz -n= -c= -# --lines= --bytes= --quiet --silent --verbose --zero-terminated"),
    profile("tr", 2, "-cCdst --complement --delete --squeeze-repeats --truncate-set1"),
    profile(
        "uniq",
        0,
        "-cdDiuz -f= -s= -w= --count --repeated --all-repeated? --group? --ignore-case --skip-fields= --skip-chars= --check-chars= \
         --unique --zero-terminated",
    ),
    profile("wc", 0, "-clmwL --bytes --chars --lines --words --max-line-length --total="),
];

/// Wrappers that change nothing about what a filter can do.
const WRAPPERS: &[&str] = &["command", "nice", "nohup", "stdbuf", "time", "timeout"];

/// The filters that may run without a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeBins {
    names: BTreeSet<&'static str>,
}

impl Default for SafeBins {
    /// `cut`, `head`, `jq`, `tail`, `tr`, `uniq` and `wc`; `grep` and `sort` can be added.
    fn default() -> Self {
        Self { names: BTreeSet::from(["cut", "head", "jq", "tail", "tr", "uniq", "wc"]) }
    }
}

impl SafeBins {
    /// Exactly these. A program whose options are not known here cannot be one, whatever it is.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Reason> {
        let find = |name: &str| PROFILES.iter().find(|profile| profile.name == name).map(|profile| profile.name);
        let names = names.into_iter().map(|name| find(name).ok_or_else(|| unprofiled(name)));
        Ok(Self { names: names.collect::<Result<_, _>>()? })
    }
}

fn unprofiled(name: &str) -> Reason {
    let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
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
    let Some(profile) = name.and_then(|name| PROFILES.iter().find(|profile| profile.name == name)) else { return false };
    let wrapped = command.wrappers.iter().all(|wrapper| WRAPPERS.contains(&wrapper.as_str()));
    wrapped && command.assignments.is_empty() && reads_input_only(command) && fits(profile, &command.arguments)
}

fn reads_input_only(command: &Command) -> bool {
    let is_null = |target: &Option<Word>| target.as_ref().and_then(Word::as_literal) == Some("/dev/null");
    command.redirections.iter().all(|redirection| redirection.kind == RedirectionKind::Duplicate || is_null(&redirection.target))
}

fn fits(profile: &Profile, arguments: &[Word]) -> bool {
    let scan = options::scan(profile.options, arguments);
    let patterned = scan.has(&["-e", "--regexp"]);
    let most = if patterned { 0 } else { profile.operands };
    let literal = arguments.iter().all(|word| word.as_literal().is_some());
    let paths = scan.operands.iter().chain(scan.given.iter().filter_map(|given| given.value.as_ref())).any(|word| is_path(word.text()));
    literal && scan.faults.is_empty() && scan.operands.len() <= most && !paths
}

fn is_path(text: &str) -> bool {
    ["/", "./", "../", "~"].iter().any(|start| text.len() > 1 && text.starts_with(start)) || text.starts_with('@')
}
