//! Rules on files, programs and hosts, found by a name that must be there: with ten thousand rules as fast as with ten.
//!
//! Nearly every rule names something literally: the first folders of a path, a program, a domain. What is touched has few names, and
//! each is looked up. What is found this way is still matched as a whole, so the index decides nothing: it only leaves out rules that
//! cannot match. Rules without such a name are in a list of their own, and so are all of them for a search through a whole tree, which
//! meets rules on what is beneath it. Of a program with many rules, such as `git`, those are left out that need a word which the command
//! has not got.

use super::RuleEffects;
use super::command::ExecForm;
use super::connection::Connection;
use super::matcher::{EffectForm, Matcher};
use super::path::{Anchor, Spellings};
use super::scope::Kinds;
use crate::name_map::NameMap;

/// Positions of rules by a name that they need.
type RulesByName = NameMap<Vec<usize>>;

/// Rules by a name that they need; the lists are in order, the strictest rule first.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleIndex {
    /// By the kind of effect: rules without a name that they need.
    others: [Vec<usize>; Kinds::COUNT],
    /// By the file name of the program.
    programs: NameMap<ProgramRules>,
    /// By the domain, or the one above all its hosts.
    domains: RulesByName,
    /// By where a path counts from, the place of a name from there, and the name.
    paths: Vec<(Anchor, usize, RulesByName)>,
    /// All that are in `paths`.
    all_paths: Vec<usize>,
}

/// Rules on one program.
#[derive(Debug, Clone, Default)]
struct ProgramRules {
    all: Vec<usize>,
    /// By a word that must be among the arguments.
    by_word: RulesByName,
    /// Those that need no certain word.
    others: Vec<usize>,
}

impl ProgramRules {
    fn add(&mut self, word: Option<&str>, rule: usize) {
        self.all.push(rule);
        match word {
            Some(word) => self.by_word.entry(word.to_owned()).or_default().push(rule),
            None => self.others.push(rule),
        }
    }

    /// Calls `look` with lists that together have every rule which could speak of a command.
    fn each(&self, command: &ExecForm<'_>, look: &mut impl FnMut(&[usize])) {
        let words = command.literal_words().filter(|words| words.len() < self.all.len());
        let Some(words) = words else { return look(&self.all) };
        look(&self.others);
        words.iter().filter_map(|word| self.by_word.get(word)).for_each(|rules| look(rules));
    }
}

impl RuleIndex {
    /// Adds a rule behind all others.
    pub(super) fn add(&mut self, effects: &RuleEffects, rule: usize) {
        let list = match &effects.matcher {
            Matcher::Command(pattern) => match pattern.key() {
                Some(program) => return self.programs.entry(program).or_default().add(pattern.needed_word(), rule),
                None => None,
            },
            Matcher::Connection(pattern) => pattern.domain().map(|domain| self.domains.entry(domain.to_owned()).or_default()),
            Matcher::Path(pattern) => pattern.needed_name().map(|(anchor, place, name)| {
                self.all_paths.push(rule);
                place_of(&mut self.paths, anchor, place).entry(name.to_owned()).or_default()
            }),
            _ => None,
        };
        match list {
            Some(list) => list.push(rule),
            None => effects.kinds.indices().for_each(|kind| self.others[kind].push(rule)),
        }
    }

    /// Calls `look` with lists that together have every rule which could speak of an effect.
    pub(super) fn each(&self, kinds: Kinds, form: &EffectForm<'_>, mut look: impl FnMut(&[usize])) {
        kinds.indices().for_each(|kind| look(&self.others[kind]));
        match form {
            EffectForm::Runs(command) => self.each_program(command, look),
            EffectForm::Connects(connection) => self.each_domain(connection, look),
            EffectForm::Touches(spellings) if spellings.is_tree() => look(&self.all_paths),
            EffectForm::Touches(spellings) => self.each_path(spellings, look),
            EffectForm::Sends { .. } | EffectForm::Names(_) => {}
        }
    }

    /// Whether nothing in it is about these kinds.
    pub(super) fn is_silent(&self, kinds: Kinds) -> bool {
        let has_others = kinds.indices().any(|kind| !self.others[kind].is_empty());
        let has_named = match kinds {
            Kinds::EXEC => !self.programs.is_empty(),
            Kinds::CONNECT => !self.domains.is_empty(),
            kinds if kinds.meets(Kinds::PATH) => !self.all_paths.is_empty(),
            _ => false,
        };
        !has_others && !has_named
    }

    fn each_program(&self, command: &ExecForm<'_>, mut look: impl FnMut(&[usize])) {
        let (file, called) = command.keys();
        [Some(file), called]
            .into_iter()
            .flatten()
            .filter_map(|name| self.programs.get(name))
            .for_each(|rules| rules.each(command, &mut look));
    }

    fn each_domain(&self, connection: &Connection<'_>, mut look: impl FnMut(&[usize])) {
        if self.domains.is_empty() {
            return;
        }
        let mut domain = connection.name();
        while let Some(name) = domain {
            if let Some(rules) = self.domains.get(name) {
                look(rules);
            }
            domain = name.split_once('.').map(|(_, above)| above);
        }
    }

    fn each_path(&self, spellings: &Spellings<'_>, mut look: impl FnMut(&[usize])) {
        for (anchor, place, names) in &self.paths {
            spellings.names_at(*anchor, *place).filter_map(|name| names.get(name)).for_each(|rules| look(rules));
        }
    }
}

fn place_of(paths: &mut Vec<(Anchor, usize, RulesByName)>, anchor: Anchor, place: usize) -> &mut RulesByName {
    let known = paths.iter().position(|(of, at, _)| (*of, *at) == (anchor, place));
    let index = known.unwrap_or_else(|| {
        paths.push((anchor, place, RulesByName::default()));
        paths.len() - 1
    });
    &mut paths[index].2
}
