//! Programs that start another one with the words behind their own, and programs that only filter their input.

use crate::options::{CUT, HEAD, TR, UNIQ, WC};

/// A program that starts another one with the words behind its own.
#[derive(Debug, Clone, Copy)]
pub struct Wrapper {
    /// Its name.
    pub name: &'static str,
    /// Its options, in the notation of [`ProgramOptions`](crate::ProgramOptions).
    pub options: &'static str,
    /// How many operands stand before the command.
    pub operands: usize,
    /// Whether it changes nothing about what a filter can do.
    pub keeps_filters: bool,
}

const fn wrapper(name: &'static str, options: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, options, operands, keeps_filters: false }
}

const fn plain_wrapper(name: &'static str, options: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, options, operands, keeps_filters: true }
}

/// The wrappers that are followed.
pub const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", "", 0),
    wrapper("busybox", "", 0),
    plain_wrapper("command", "-p", 0),
    wrapper("env", "-i0 -u= --ignore-environment --null --unset=", 0),
    wrapper("exec", "", 0),
    plain_wrapper("nice", "-n= --adjustment=", 0),
    plain_wrapper("nohup", "", 0),
    plain_wrapper("stdbuf", "-i= -o= -e= --input= --output= --error=", 0),
    plain_wrapper("time", "-p", 0),
    plain_wrapper("timeout", "-v -k= -s= --kill-after= --signal= --foreground --preserve-status --verbose", 1),
    wrapper("toybox", "", 0),
    wrapper(
        "xargs",
        "-0rtx -n= -P= -L= -I= -d= -s= -E= --null --no-run-if-empty --max-args= --max-procs= --max-lines= --delimiter= --verbose --exit",
        0,
    ),
];

/// A program that reads its input, prints, and can do nothing else with these options.
#[derive(Debug, Clone, Copy)]
pub struct ProgramFilter {
    /// Its name.
    pub name: &'static str,
    /// How many operands it has that are no files.
    pub operands: usize,
    /// Its options, in the notation of [`ProgramOptions`](crate::ProgramOptions).
    pub options: &'static str,
}

const fn filter(name: &'static str, operands: usize, options: &'static str) -> ProgramFilter {
    ProgramFilter { name, operands, options }
}

/// The filters. No option here reads or writes a file: what is missing does not pass. Nor does what its program text makes read files,
/// write them or run others: `jq` imports modules and reads its own from the home folder, `awk` and `sed` open what they are told.
pub const FILTERS: &[ProgramFilter] = &[
    filter("cut", 0, CUT),
    filter(
        "grep",
        1,
        "-EFGivwxcqsnobazh -e= -m= -A= -B= -C= --regexp= --ignore-case --invert-match --word-regexp --line-regexp --count --color? \
         --max-count= \
         --only-matching --quiet --silent --line-number --byte-offset --after-context= --before-context= --context= --text \
         --extended-regexp \
         --fixed-strings --basic-regexp --no-filename --line-buffered",
    ),
    filter("head", 0, HEAD),
    filter(
        "sort",
        0,
        "-bdfghiMnRrVcCmsuz -k= -t= -S= --key= --field-separator= --buffer-size= --parallel= --check? --ignore-leading-blanks \
         --dictionary-order --ignore-case \
         --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= \
         --version-sort --merge \
         --stable --unique --zero-terminated",
    ),
    filter("tail", 0, "-qvz -n= -c= -# --lines= --bytes= --quiet --silent --verbose --zero-terminated"),
    filter("tr", 2, TR),
    filter("uniq", 0, UNIQ),
    filter("wc", 0, WC),
];
