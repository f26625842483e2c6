//! Reading patterns on commands.

use std::path::Path;

use haft_contract::ExecHost;

use super::super::RuleKind;
use super::super::fault::Fault;
use super::super::glob::Glob;
use super::super::text::{Letter, behind, plain};
use super::words::{Wanted, Word};
use super::{CommandPattern, MOST_WORDS, Program, programs};

/// A word as it is written, and whether any of it stood in quotes.
#[derive(Debug)]
pub(in super::super) struct Piece {
    pub(in super::super) letters: Vec<Letter>,
    quoted: bool,
}

impl CommandPattern {
    /// Reads a pattern.
    pub(in super::super) fn parse(kind: RuleKind, letters: &[Letter], home: Option<&Path>) -> Result<Self, Fault> {
        let mut pieces = words(letters)?;
        let host = host(&mut pieces)?;
        check(&pieces)?;
        let free = pieces.first().is_none_or(|piece| piece.is("*"));
        let program = if free { Program::Any } else { program(kind, &pieces.remove(0).letters, home)? };
        let any_option = is_walled(host) || program.takes_any_option() || pieces.iter().any(|piece| piece.is("-*"));
        let mut pattern = Self { kind, host, program, words: Vec::new(), options: Vec::new(), any_option };
        for piece in &pieces {
            pattern.take(piece);
        }
        if pattern.words.is_empty() && pattern.program == Program::Any {
            pattern.words.push(Word::Run);
        }
        if kind == RuleKind::Allow { pattern.checked(letters) } else { Ok(pattern) }
    }

    fn take(&mut self, piece: &Piece) {
        if piece.is("*") || piece.is("-*") {
            return self.words.push(Word::Run);
        }
        match Wanted::read(&piece.letters, self.words.len()).filter(|_| self.kind.restricts()) {
            Some(option) => self.options.push(option),
            None => self.words.push(Word::One(Glob::with_runs(&piece.letters))),
        }
    }

    /// Refuses what would let everything through, except where walls stand around it.
    fn checked(self, letters: &[Letter]) -> Result<Self, Fault> {
        if is_walled(self.host) {
            return Ok(self);
        }
        let (Program::Name(Glob::Literal(name)) | Program::Path(Glob::Literal(name))) = &self.program else {
            return Err(self.unnamed(&plain(letters)));
        };
        let literal = |word: &Word| if let Word::One(Glob::Literal(word)) = word { Some(word.clone()) } else { None };
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
    fn unnamed(&self, text: &str) -> Fault {
        if matches!(self.program, Program::Tail(_)) {
            let message = format!("'allow' compares the whole path of a program, so '{text}' could never match");
            return Fault::new(message, "write the whole path, or the bare name of an installed program");
        }
        let message = format!("'allow' of '{text}' would let any program through");
        Fault::new(message, "name the program, such as 'exec(cargo test *)', or the walls: 'exec(host:container)'")
    }
}

/// Whether walls stand around what runs there.
fn is_walled(host: Option<ExecHost>) -> bool {
    matches!(host, Some(ExecHost::Sandbox | ExecHost::Container))
}

/// Splits at blanks; quotes hold a word together.
pub(in super::super) fn words(letters: &[Letter]) -> Result<Vec<Piece>, Fault> {
    let (mut words, mut current, mut quote): (Vec<Piece>, Option<Piece>, Option<char>) = (Vec::new(), None, None);
    for letter in letters {
        match (letter, quote) {
            (letter, Some(open)) if letter.is(open) => quote = None,
            (letter, None) if letter.is('"') || letter.is('\'') => {
                quote = Some(letter.c);
                current.get_or_insert_with(Piece::empty).quoted = true;
            }
            (letter, None) if letter.is(' ') => words.extend(current.take()),
            (letter, _) => current.get_or_insert_with(Piece::empty).letters.push(*letter),
        }
    }
    if let Some(open) = quote {
        return Err(Fault::new(format!("a {open} is not closed"), format!("close it, or write '\\{open}' for one that means itself")));
    }
    words.extend(current);
    Ok(words)
}

impl Program {
    /// Whether the program has no option that runs another one, or writes a file.
    fn takes_any_option(&self) -> bool {
        matches!(self, Self::Name(Glob::Literal(name)) if programs::only_shows(name))
    }
}

impl Piece {
    /// Whether it is this, with its meaning.
    fn is(&self, marks: &str) -> bool {
        !self.quoted && behind(&self.letters, marks).is_some_and(<[Letter]>::is_empty)
    }
    fn empty() -> Self {
        Self { letters: Vec::new(), quoted: false }
    }
}

/// Takes `host:…` from the front.
fn host(pieces: &mut Vec<Piece>) -> Result<Option<ExecHost>, Fault> {
    let Some(name) = pieces.first().and_then(|piece| behind(&piece.letters, "host:")).map(plain) else { return Ok(None) };
    let wanted = name.to_lowercase();
    let known = ExecHost::ALL.into_iter().find(|host| host.as_str() == wanted || (*host == ExecHost::Container && wanted == "gateway"));
    let Some(known) = known else {
        return Err(Fault::new(format!("nothing runs on the host '{name}'"), "write host:sandbox, host:container, host:host or host:node"));
    };
    pieces.remove(0);
    Ok(Some(known))
}

/// Refuses what no argument list ever holds.
fn check(pieces: &[Piece]) -> Result<(), Fault> {
    if pieces.len() > MOST_WORDS {
        return Err(Fault::new(format!("the rule has more than {MOST_WORDS} words"), "write '*' in place of some"));
    }
    let joins = |piece: &&Piece| {
        let text = plain(&piece.letters);
        let bare = !piece.quoted && piece.letters.iter().all(|letter| !letter.literal);
        bare && (matches!(text.as_str(), "&&" | "||" | "|" | "|&" | "&" | ";" | ">" | ">>" | "<") || text.ends_with(';'))
    };
    if let Some(piece) = pieces.iter().find(joins) {
        let message = format!("'{}' joins commands, and a rule speaks of one program", plain(&piece.letters));
        return Err(Fault::new(message, "write one rule for each program: every part of a line must be allowed by itself"));
    }
    let Some(first) = pieces.first() else { return Ok(()) };
    if !first.quoted && first.letters.iter().any(|letter| letter.is('=')) {
        return Err(Fault::new("a rule names a program, not the variables before it", "begin the rule with the program"));
    }
    check_suffix(pieces)
}

/// Another system's way to write `git push *`.
fn check_suffix(pieces: &[Piece]) -> Result<(), Fault> {
    let Some(Piece { letters, quoted: false }) = pieces.last() else { return Ok(()) };
    let [.., colon, star] = letters.as_slice() else { return Ok(()) };
    if !colon.is(':') || !star.is('*') {
        return Ok(());
    }
    let all: Vec<String> = pieces.iter().map(|piece| plain(&piece.letters)).collect();
    let words = all.join(" ");
    let better = words.trim_end_matches(":*");
    Err(Fault::new(format!("'{words}' ends with ':*', which stands for nothing here"), format!("write '{better} *'")))
}

fn program(kind: RuleKind, letters: &[Letter], home: Option<&Path>) -> Result<Program, Fault> {
    let fold = |glob: Glob| if kind.restricts() { glob.lower() } else { glob };
    if let Some(rest) = behind(letters, "~/") {
        let Some(home) = home else {
            return Err(Fault::new("it is not known what '~' stands for", "set HOME, or write the whole path"));
        };
        let start = format!("{}/", home.to_string_lossy().trim_end_matches('/'));
        let whole: Vec<Letter> = start.chars().map(|c| Letter { c, literal: true }).chain(rest.iter().copied()).collect();
        return Ok(Program::Path(fold(Glob::with_runs(&whole))));
    }
    let glob = fold(Glob::with_runs(letters));
    match letters.iter().position(|letter| letter.c == '/') {
        None if letters.is_empty() => Err(Fault::new("the program's name is empty", "write its name, such as 'exec(git status)'")),
        None => Ok(Program::Name(glob)),
        Some(0) => Ok(Program::Path(glob)),
        Some(_) => tail(glob),
    }
}

fn tail(glob: Glob) -> Result<Program, Fault> {
    match glob {
        Glob::Literal(path) => Ok(Program::Tail(path.trim_start_matches("./").to_owned())),
        Glob::Wild(_) => {
            Err(Fault::new("'*' needs a whole path of the program, or a bare name", "write a path that begins with '/' or '~/'"))
        }
    }
}
