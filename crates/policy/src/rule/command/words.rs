//! The words of a command, compared with those of a pattern: with every reading at once, one bit for each place in the
//! pattern, so that no pattern takes long.

use haft_pattern::{NameGlob, PatternChar};

use super::expansion::CommandWord;

/// A word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordPattern {
    /// Any number of words, also none.
    Run,
    One(NameGlob),
}

impl WordPattern {
    /// Whether an argument is written out here, up to what a `*` within it stands for.
    pub(super) fn writes_out(&self, argument: &str) -> bool {
        matches!(self, Self::One(glob) if glob.matches(argument) && glob.starts_like(argument))
    }

    /// Whether it stands for this word. `*` alone stands for any words, options too; within a word only what is written begins an
    /// option. A file of more options (`@file`) is free only where options are.
    fn covers(&self, given: &str, any_option: bool) -> bool {
        match self {
            Self::Run => any_option || !given.starts_with('@'),
            Self::One(glob) => glob.matches(given) && (any_option || !is_option(given) || glob.starts_like(given)),
        }
    }
}

/// Whether a word changes how a program does its work. Some read more options from the file behind `@`.
pub(in super::super) fn is_option(word: &str) -> bool {
    word.starts_with(['-', '@'])
}

/// Whether the words of a pattern stand for exactly the given ones. Options by which a program runs another one are checked
/// elsewhere.
pub(super) fn cover<'a>(words: &[WordPattern], given: impl Iterator<Item = &'a str>, any_option: bool) -> bool {
    let mut positions = closed(words, 1);
    for word in given {
        let next = reached(words, positions).filter(|(_, own)| own.covers(word, any_option));
        let next = next.fold(0, |next, (position, own)| next | 1 << if *own == WordPattern::Run { position } else { position + 1 });
        positions = closed(words, next);
    }
    positions & (1 << words.len()) != 0
}

/// Whether the given words begin with those of a pattern. Options may come in between, each with a value of its own.
pub(super) fn begin<'a>(words: &[WordPattern], given: impl Iterator<Item = CommandWord<'a>>) -> bool {
    earliest(words, given).is_some()
}

/// Behind how many of the given words all of the pattern have been, at the earliest.
fn earliest<'a>(words: &[WordPattern], given: impl Iterator<Item = CommandWord<'a>>) -> Option<usize> {
    let mut positions = Positions { plain: closed(words, 1), behind_option: 0 };
    let is_through = |positions: Positions| positions.all() & (1 << words.len()) != 0;
    if is_through(positions) {
        return Some(0);
    }
    for (count, word) in given.enumerate() {
        positions = positions.step(words, word);
        if is_through(positions) {
            return Some(count + 1);
        }
        if positions.all() == 0 {
            return None;
        }
    }
    None
}

/// Where in the pattern a reading can be.
#[derive(Clone, Copy)]
struct Positions {
    plain: u64,
    behind_option: u64,
}

impl Positions {
    fn all(self) -> u64 {
        self.plain | self.behind_option
    }

    fn step(self, words: &[WordPattern], given: CommandWord<'_>) -> Self {
        if given.is_open {
            return self.anywhere(words);
        }
        let given = given.text;
        // Whatever stands behind an option may be its value.
        let mut next = Self { plain: self.behind_option, behind_option: 0 };
        for (position, word) in reached(words, self.all()) {
            match word {
                WordPattern::Run => next.plain |= 1 << position,
                WordPattern::One(glob) => {
                    next.plain |= u64::from(glob.matches(given)) << (position + 1);
                    next.behind_option |= u64::from(given.starts_with('-')) << position;
                }
            }
        }
        Self { plain: closed(words, next.plain), behind_option: next.behind_option }
    }

    /// A word that is known only when it runs can be several, or none: it may lead to every place from here on.
    fn anywhere(self, words: &[WordPattern]) -> Self {
        let all = (1_u64 << (words.len() + 1)) - 1;
        let before = if self.all() == 0 { all } else { (1 << self.all().trailing_zeros()) - 1 };
        Self { plain: all & !before, behind_option: self.behind_option }
    }
}

fn reached(words: &[WordPattern], positions: u64) -> impl Iterator<Item = (usize, &WordPattern)> {
    words.iter().enumerate().filter(move |(position, _)| positions & (1 << position) != 0)
}

/// A run can be of no words.
fn closed(words: &[WordPattern], mut positions: u64) -> u64 {
    for (position, word) in words.iter().enumerate() {
        if *word == WordPattern::Run && positions & (1 << position) != 0 {
            positions |= 1 << (position + 1);
        }
    }
    positions
}

/// An option that a rule is about: wherever it stands behind the words before it, in every form that means the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OptionPattern {
    /// How many of the pattern's words stand before it.
    after: usize,
    name: NameGlob,
    value: Option<NameGlob>,
    /// The characters of short options, which can be written together or apart: `-rf` is `-f -r`.
    chars: Option<String>,
}

impl OptionPattern {
    /// Reads an option; nothing if the word is none.
    pub(super) fn read(chars: &[PatternChar], after: usize) -> Option<Self> {
        let [first, second, ..] = chars else { return None };
        if first.ch != '-' || (second.ch == '-' && chars.len() == 2) {
            return None;
        }
        let mut parts = chars.splitn(2, |ch| ch.is('='));
        let (name, value) = (NameGlob::with_stars(parts.next().unwrap_or_default()), parts.next().map(NameGlob::with_stars));
        let short = name.as_literal().and_then(|name| name.strip_prefix('-')).filter(|_| value.is_none());
        let chars = short.filter(|short| short.bytes().all(|byte| byte.is_ascii_alphabetic())).map(str::to_owned);
        Some(Self { after, name, value, chars })
    }

    /// Whether it is among the given words, behind those of the pattern that stand before it.
    pub(super) fn is_among<'a>(&self, words: &[WordPattern], given: impl Iterator<Item = CommandWord<'a>> + Clone) -> bool {
        let Some(start) = earliest(&words[..self.after], given.clone()) else { return false };
        // The word that led there may have been several, and the option among them.
        if given.clone().skip(start.saturating_sub(1)).any(CommandWord::may_be_option) {
            return true;
        }
        let behind = given.skip(start).map(|given| given.text);
        let next = behind.clone().skip(1).map(Some).chain([None]);
        behind.clone().zip(next).any(|(word, next)| self.is(word, next)) || self.is_spread_over(&behind)
    }

    fn is(&self, word: &str, next: Option<&str>) -> bool {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_name = self.name.matches(name) || self.name.as_literal().is_some_and(|wanted| is_short_for(name, wanted));
        is_name && self.value.as_ref().is_none_or(|wanted| value.or(next).is_some_and(|value| wanted.matches(value)))
    }

    fn is_spread_over<'a>(&self, given: &(impl Iterator<Item = &'a str> + Clone)) -> bool {
        let has = |ch: char| given.clone().any(|word| short_options(word).is_some_and(|chars| chars.contains(ch)));
        self.chars.as_ref().is_some_and(|chars| chars.chars().all(has))
    }
}

/// The characters of short options, among which may be those of a value.
pub(super) fn short_options(word: &str) -> Option<&str> {
    let chars = word.strip_prefix('-')?.split('=').next()?;
    (!chars.is_empty() && !chars.starts_with('-')).then_some(chars)
}

/// Whether a word can be a long option, whole, cut short, or with its value: `--up=x` for `--upload-pack`.
pub(super) fn is_short_for(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    option.starts_with("--") && name.len() > 2 && option.starts_with(name)
}
