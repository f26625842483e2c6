//! Options of programs, read as the programs read them. Whatever is not in the text of
//! [`ProgramOptions`](haft_programs::ProgramOptions) is not known, abbreviations of long names as well.

use crate::reason::{Concern, Reason, cut};
use crate::word::{Expanded, Word};

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionEffect {
    Flag,
    Optional,
    Value,
    Reads,
    Writes,
    ReadsAt,
    /// Runs a program, or has an unknown effect.
    Runs,
    RunsValue,
    /// The operands are written.
    InPlace,
}

impl OptionEffect {
    fn parse(mark: &str) -> Self {
        match mark {
            "?" => Self::Optional,
            "=" => Self::Value,
            "=<" => Self::Reads,
            "=>" => Self::Writes,
            "=@" => Self::ReadsAt,
            "=!" => Self::RunsValue,
            "!" => Self::Runs,
            ">" => Self::InPlace,
            _ => Self::Flag,
        }
    }
    fn takes_value(self) -> bool {
        matches!(self, Self::Value | Self::Reads | Self::Writes | Self::ReadsAt | Self::RunsValue)
    }
    pub(crate) fn runs(self) -> bool {
        matches!(self, Self::Runs | Self::RunsValue)
    }
}

/// An option that is given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) effect: OptionEffect,
    pub(crate) value: Option<Word>,
}

/// The words of a command, sorted.
#[derive(Debug, Default)]
pub(crate) struct OptionScan {
    pub(crate) given: Vec<Given>,
    pub(crate) operands: Vec<Word>,
    pub(crate) faults: Vec<Reason>,
    /// How many words were used.
    pub(crate) used: usize,
}

impl OptionScan {
    fn fault(&mut self, word: &str) {
        let message = format!("the option '{}' is not known here; write options in full, one by one", cut(word));
        self.faults.push(Reason::new(Concern::Arguments, message));
    }

    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }
}

/// Sorts all words: options may stand behind operands.
pub(crate) fn scan(known: &str, words: &[Word]) -> OptionScan {
    walk(known, words, false)
}

/// Sorts the words before the first operand.
pub(crate) fn scan_leading(known: &str, words: &[Word]) -> OptionScan {
    walk(known, words, true)
}

fn walk(known: &str, words: &[Word], leading: bool) -> OptionScan {
    let mut scan = OptionScan::default();
    let harmful = known.contains(['>', '!']);
    while let Some(word) = words.get(scan.used) {
        scan.used += 1;
        match word {
            Word::Literal(text) if text == "--" => {
                if !leading {
                    scan.operands.extend(words[scan.used..].iter().cloned());
                    scan.used = words.len();
                }
                return scan;
            }
            Word::Literal(text) if text.starts_with("--") => long(known, text, words, &mut scan),
            Word::Literal(text) if word.may_be_option() => short(known, text, words, &mut scan),
            Word::Expanded(expanded) if word.may_be_option() && (harmful || leading) => {
                scan.faults.push(perhaps(expanded));
                scan.operands.push(word.clone());
            }
            _ if leading => {
                scan.used -= 1;
                return scan;
            }
            _ => scan.operands.push(word.clone()),
        }
    }
    scan
}

fn perhaps(expanded: &Expanded) -> Reason {
    let message = format!("'{}' may become an option; put '--' before it, or write './' in front", cut(&expanded.text));
    Reason::new(Concern::Arguments, message)
}

fn long(known: &str, text: &str, words: &[Word], scan: &mut OptionScan) {
    let (name, attached) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(Word::literal(value))));
    let Some(effect) = find_long(known, name) else {
        return abbreviated(known, name, scan);
    };
    match attached {
        Some(_) if !effect.takes_value() && effect != OptionEffect::Optional => scan.fault(text),
        None if effect.takes_value() => take(name, effect, words, scan),
        value => scan.given.push(Given { name: name.to_owned(), effect, value }),
    }
}

/// A shortened name: unknown, and what it might run counts as if it were written out.
fn abbreviated(known: &str, name: &str, scan: &mut OptionScan) {
    scan.fault(name);
    let tokens = known.split_ascii_whitespace().filter(|token| token.starts_with("--") && token.starts_with(name));
    if let Some(effect) = tokens.map(|token| OptionEffect::parse(&token[end_of_name(token)..])).find(|effect| effect.runs()) {
        scan.given.push(Given { name: name.to_owned(), effect, value: None });
    }
}

fn short(known: &str, text: &str, words: &[Word], scan: &mut OptionScan) {
    let flags = &text[1..];
    if flags.bytes().all(|byte| byte.is_ascii_digit()) && known.split_ascii_whitespace().any(|token| token == "-#") {
        return scan.given.push(Given { name: "-#".to_owned(), effect: OptionEffect::Flag, value: None });
    }
    for (at, ch) in flags.char_indices() {
        let Some(effect) = find_short(known, ch) else { return scan.fault(text) };
        let (name, rest) = (format!("-{ch}"), &flags[at + ch.len_utf8()..]);
        if effect.takes_value() && rest.is_empty() {
            return take(&name, effect, words, scan);
        }
        let ends = effect.takes_value() || effect == OptionEffect::Optional || (effect == OptionEffect::InPlace && !rest.is_empty());
        scan.given.push(Given { name, effect, value: ends.then(|| Word::literal(rest)) });
        if ends {
            return;
        }
    }
}

/// The next word is the value, whatever it looks like.
fn take(name: &str, effect: OptionEffect, words: &[Word], scan: &mut OptionScan) {
    let Some(value) = words.get(scan.used) else { return scan.fault(name) };
    scan.used += 1;
    // It may become several words, and the others would be operands or options.
    if let Word::Expanded(expanded) = value
        && expanded.splits
    {
        scan.faults.push(perhaps(expanded));
    }
    scan.given.push(Given { name: name.to_owned(), effect, value: Some(value.clone()) });
}

fn end_of_name(token: &str) -> usize {
    token.find(['=', '?', '!', '>']).unwrap_or(token.len())
}

fn find_long(known: &str, name: &str) -> Option<OptionEffect> {
    let token = known.split_ascii_whitespace().find(|token| &token[..end_of_name(token)] == name)?;
    Some(OptionEffect::parse(&token[end_of_name(token)..]))
}

fn find_short(known: &str, ch: char) -> Option<OptionEffect> {
    for token in known.split_ascii_whitespace().filter(|token| !token.starts_with("--")) {
        let end = end_of_name(token);
        if token[1..end].contains(ch) {
            return Some(OptionEffect::parse(&token[end..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{OptionEffect, scan};
    use crate::word::Word;

    /// Names and values, operands, and how many faults.
    fn seen(known: &str, line: &str) -> (Vec<String>, Vec<String>, usize) {
        let words: Vec<Word> = line.split_ascii_whitespace().map(Word::literal).collect();
        let scan = scan(known, &words);
        let value = |word: &Option<Word>| word.as_ref().map_or(String::new(), |word| format!("={}", word.text()));
        let given = scan.given.iter().map(|given| format!("{}{}", given.name, value(&given.value))).collect();
        (given, scan.operands.iter().map(|word| word.text().to_owned()).collect(), scan.faults.len())
    }

    #[test]
    fn words_are_read_as_getopt_reads_them() {
        let known = "-abn -c= -o=> -# --all --count= --color? --exec=!";
        let table: &[(&str, &[&str], &[&str], usize)] = &[
            ("-ab x", &["-a", "-b"], &["x"], 0),
            ("-bc3 x", &["-b", "-c=3"], &["x"], 0),
            ("-c 3 x", &["-c=3"], &["x"], 0),
            ("x -a", &["-a"], &["x"], 0),
            ("-a -- -b", &["-a"], &["-b"], 0),
            ("-5 x -", &["-#"], &["x", "-"], 0),
            ("--all --count=3 --count 4", &["--all", "--count=3", "--count=4"], &[], 0),
            ("--color --color=always", &["--color", "--color=always"], &[], 0),
            ("-c -a", &["-c=-a"], &[], 0),
            ("-az", &["-a"], &[], 1),
            ("--al", &[], &[], 1),
            ("--all=3", &[], &[], 1),
            ("--ex=rm", &["--ex"], &[], 1),
            ("-c", &[], &[], 1),
        ];
        for (line, given, operands, faults) in table {
            let wanted = (given.iter().map(ToString::to_string).collect(), operands.iter().map(ToString::to_string).collect(), *faults);
            assert_eq!(seen(known, line), wanted, "{line}");
        }
    }

    #[test]
    fn a_shortened_name_of_what_runs_counts_as_running() {
        let given = scan("--exec=! --extra", &[Word::literal("--exe=rm")]).given;
        assert_eq!(given.iter().map(|given| given.effect).collect::<Vec<_>>(), [OptionEffect::RunsValue]);
    }
}
