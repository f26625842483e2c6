//! Reading patterns on commands.

use std::path::Path;

use haft_contract::ExecHost;
use haft_pattern::{NameGlob, PatternChar};
use haft_programs::only_shows;

use super::super::RuleKind;
use super::super::problem::RuleProblem;
use super::super::text::{behind, plain};
use super::words::{OptionPattern, WordPattern};
use super::{CommandPattern, MOST_WORDS, Program, programs};

/// A word as it is written, and whether any of it stood in quotes.
#[derive(Debug)]
pub(in super::super) struct PatternWord {
    pub(in super::super) chars: Vec<PatternChar>,
    quoted: bool,
}

impl CommandPattern {
    /// Reads a pattern.
    pub(in super::super) fn parse(kind: RuleKind, chars: &[PatternChar], home: Option<&Path>) -> Result<Self, RuleProblem> {
        let mut pieces = words(chars)?;
        let host = host(&mut pieces)?;
        check(&pieces)?;
        let free = pieces.first().is_none_or(|piece| piece.is("*"));
        let program = if free { Program::Any } else { program(kind, &pieces.remove(0).chars, home)? };
        let any_option = is_sandboxed(host) || program.takes_any_option() || pieces.iter().any(|piece| piece.is("-*"));
        let mut pattern = Self { kind, host, program, words: Vec::new(), options: Vec::new(), any_option };
        for piece in &pieces {
            pattern.take(piece);
        }
        if pattern.words.is_empty() && pattern.program == Program::Any {
            pattern.words.push(WordPattern::Run);
        }
        if kind == RuleKind::Allow { pattern.checked(chars) } else { Ok(pattern) }
    }

    fn take(&mut self, piece: &PatternWord) {
        if piece.is("*") || piece.is("-*") {
            return self.words.push(WordPattern::Run);
        }
        match OptionPattern::read(&piece.chars, self.words.len()).filter(|_| self.kind.restricts()) {
            Some(option) => self.options.push(option),
            None => self.words.push(WordPattern::One(NameGlob::with_stars(&piece.chars))),
        }
    }

    /// Refuses what would let everything through, except in a sandbox.
    fn checked(self, chars: &[PatternChar]) -> Result<Self, RuleProblem> {
        if is_sandboxed(self.host) {
            return Ok(self);
        }
        let (Program::Name(NameGlob::Literal(name)) | Program::Path(NameGlob::Literal(name))) = &self.program else {
            return Err(self.unnamed(&plain(chars)));
        };
        let literal = |word: &WordPattern| if let WordPattern::One(NameGlob::Literal(word)) = word { Some(word.clone()) } else { None };
        let written: Vec<Option<String>> = self.words.iter().map(literal).collect();
        if written.iter().all(Option::is_some) {
            return Ok(self);
        }
        match programs::opened_by(name, written.first().and_then(Option::as_deref)) {
            None => Ok(self),
            Some(opened) => Err(opened.fault(name)),
        }
    }

    /// Why a pattern does not say which program it lets through.
    fn unnamed(&self, text: &str) -> RuleProblem {
        if matches!(self.program, Program::Tail(_)) {
            let message = format!("'allow' compares the whole path of a program, so '{text}' could never match");
            return RuleProblem::new(message, "write the whole path, or the bare name of an installed program");
        }
        let message = format!("'allow' of '{text}' would let any program through");
        RuleProblem::new(message, "name the program, such as 'exec(cargo test *)', or the sandbox: 'exec(host:container)'")
    }
}

/// Whether commands run in a sandbox there.
fn is_sandboxed(host: Option<ExecHost>) -> bool {
    matches!(host, Some(ExecHost::Sandbox | ExecHost::Container))
}

/// Splits at blanks; quotes hold a word together.
pub(in super::super) fn words(chars: &[PatternChar]) -> Result<Vec<PatternWord>, RuleProblem> {
    let (mut words, mut current, mut quote): (Vec<PatternWord>, Option<PatternWord>, Option<char>) = (Vec::new(), None, None);
    for ch in chars {
        match (ch, quote) {
            (ch, Some(open)) if ch.is(open) => quote = None,
            (ch, None) if ch.is('"') || ch.is('\'') => {
                quote = Some(ch.ch);
                current.get_or_insert_with(PatternWord::empty).quoted = true;
            }
            (ch, None) if ch.is(' ') => words.extend(current.take()),
            (ch, _) => current.get_or_insert_with(PatternWord::empty).chars.push(*ch),
        }
    }
    if let Some(open) = quote {
        return Err(RuleProblem::new(
            format!("a {open} is not closed"),
            format!("close it, or write '\\{open}' for one that means itself"),
        ));
    }
    words.extend(current);
    Ok(words)
}

impl Program {
    /// Whether the program has no option that runs another one, or writes a file.
    fn takes_any_option(&self) -> bool {
        matches!(self, Self::Name(NameGlob::Literal(name)) if only_shows(name))
    }
}

impl PatternWord {
    /// Whether it is this, with its meaning.
    fn is(&self, marks: &str) -> bool {
        !self.quoted && behind(&self.chars, marks).is_some_and(<[PatternChar]>::is_empty)
    }
    fn empty() -> Self {
        Self { chars: Vec::new(), quoted: false }
    }
}

/// Takes `host:…` from the front.
fn host(pieces: &mut Vec<PatternWord>) -> Result<Option<ExecHost>, RuleProblem> {
    let Some(name) = pieces.first().and_then(|piece| behind(&piece.chars, "host:")).map(plain) else { return Ok(None) };
    let Ok(known) = name.to_lowercase().parse() else {
        return Err(RuleProblem::new(
            format!("nothing runs on the host '{name}'"),
            "write host:sandbox, host:container, host:host or host:node",
        ));
    };
    pieces.remove(0);
    Ok(Some(known))
}

/// Refuses what no argument list ever holds.
fn check(pieces: &[PatternWord]) -> Result<(), RuleProblem> {
    if pieces.len() > MOST_WORDS {
        return Err(RuleProblem::new(format!("the rule has more than {MOST_WORDS} words"), "write '*' in place of some"));
    }
    let joins = |piece: &&PatternWord| {
        let text = plain(&piece.chars);
        let bare = !piece.quoted && piece.chars.iter().all(|ch| !ch.literal);
        bare && (matches!(text.as_str(), "&&" | "||" | "|" | "|&" | "&" | ";" | ">" | ">>" | "<") || text.ends_with(';'))
    };
    if let Some(piece) = pieces.iter().find(joins) {
        let message = format!("'{}' joins commands, and a rule speaks of one program", plain(&piece.chars));
        return Err(RuleProblem::new(message, "write one rule for each program: every part of a line must be allowed by itself"));
    }
    let Some(first) = pieces.first() else { return Ok(()) };
    if !first.quoted && first.chars.iter().any(|ch| ch.is('=')) {
        return Err(RuleProblem::new("a rule names a program, not the variables before it", "begin the rule with the program"));
    }
    check_suffix(pieces)
}

/// Another system's way to write `git push *`.
fn check_suffix(pieces: &[PatternWord]) -> Result<(), RuleProblem> {
    let Some(PatternWord { chars, quoted: false }) = pieces.last() else { return Ok(()) };
    let [.., colon, star] = chars.as_slice() else { return Ok(()) };
    if !colon.is(':') || !star.is('*') {
        return Ok(());
    }
    let all: Vec<String> = pieces.iter().map(|piece| plain(&piece.chars)).collect();
    let words = all.join(" ");
    let better = words.trim_end_matches(":*");
    Err(RuleProblem::new(format!("'{words}' ends with ':*', which stands for nothing here"), format!("write '{better} *'")))
}

fn program(kind: RuleKind, chars: &[PatternChar], home: Option<&Path>) -> Result<Program, RuleProblem> {
    let fold = |glob: NameGlob| if kind.restricts() { glob.fold_case() } else { glob };
    if let Some(rest) = behind(chars, "~/") {
        let Some(home) = home else {
            return Err(RuleProblem::new("it is not known what '~' stands for", "set HOME, or write the whole path"));
        };
        let start = format!("{}/", home.to_string_lossy().trim_end_matches('/'));
        let whole: Vec<PatternChar> = start.chars().map(|ch| PatternChar { ch, literal: true }).chain(rest.iter().copied()).collect();
        return Ok(Program::Path(fold(NameGlob::with_stars(&whole))));
    }
    let glob = fold(NameGlob::with_stars(chars));
    match chars.iter().position(|ch| ch.ch == '/') {
        None if chars.is_empty() => Err(RuleProblem::new("the program's name is empty", "write its name, such as 'exec(git status)'")),
        None => Ok(Program::Name(glob)),
        Some(0) => Ok(Program::Path(glob)),
        Some(_) => tail(glob),
    }
}

fn tail(glob: NameGlob) -> Result<Program, RuleProblem> {
    match glob {
        NameGlob::Literal(path) => Ok(Program::Tail(path.trim_start_matches("./").to_owned())),
        NameGlob::Wild(_) => {
            Err(RuleProblem::new("'*' needs a whole path of the program, or a bare name", "write a path that begins with '/' or '~/'"))
        }
    }
}
