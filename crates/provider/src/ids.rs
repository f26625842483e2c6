//! Ids of calls: made where a provider gives none, and written so that each provider takes them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use crate::names::stable_hash;
use crate::{Block, Message, Piece};

/// How long an id may be, with every provider.
const LENGTH: usize = 64;
/// How much of a text is looked at to tell one conversation from another.
const LOOKED_AT: usize = 1_024;

/// What a model takes as the id of a call that is sent back to it. Only Chat Completions has models that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum IdForm {
    /// What the protocol takes.
    #[default]
    Any,
    /// Nine letters and digits, and nothing else: Mistral's models.
    Nine,
}

impl IdForm {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Any, Self::Nine];
    /// The name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Nine => "nine",
        }
    }
}

impl fmt::Display for IdForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for IdForm {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|form| form.as_str() == text);
        known.ok_or_else(|| format!("unknown form of call ids '{text}': use any or nine"))
    }
}

/// A call id as every provider takes it. One that does not fit is replaced by a hash of it, so a call and its result still agree.
pub fn wire_id(id: &str) -> Cow<'_, str> {
    let fits = (1..=LENGTH).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if fits { Cow::Borrowed(id) } else { Cow::Owned(format!("call_{:032x}", stable_hash(id, 0))) }
}

/// The same in nine letters and digits.
pub(crate) fn nine(id: &str) -> Cow<'_, str> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let mut rest = stable_hash(id, 0);
    let mut digit = || {
        let place = usize::try_from(rest % 62).unwrap_or_default();
        rest /= 62;
        char::from(DIGITS[place])
    };
    Cow::Owned((0..9).map(|_| digit()).collect())
}

/// The ids of a conversation's calls; gives new calls ids that no other has.
#[derive(Debug)]
pub(crate) struct CallIds {
    taken: HashSet<String>,
    /// What the conversation is at this point. A number alone would come again when old messages have given way to a summary,
    /// and the session has calls that are no longer sent.
    mark: u128,
}

impl CallIds {
    pub(crate) fn of(messages: &[Message]) -> Self {
        let blocks = messages.iter().flat_map(|message| &message.blocks);
        let taken = blocks.filter_map(|block| block.call_id().or_else(|| block.result_id())).map(str::to_owned).collect();
        Self { taken, mark: mark(messages) }
    }

    /// The provider's id, or one that is made if it gave none or one that is taken. The same answer to the same
    /// conversation always gets the same ids.
    pub(crate) fn take(&mut self, given: &str) -> String {
        let fits = !given.is_empty() && !self.taken.contains(given);
        let id = if fits { given.to_owned() } else { self.make() };
        self.taken.insert(id.clone());
        id
    }

    fn make(&self) -> String {
        let short = (self.mark ^ (self.mark >> 64)) & 0xffff_ffff;
        let mut number = self.taken.len() + 1;
        loop {
            let id = format!("call_{number}_{short:08x}");
            if !self.taken.contains(&id) {
                return id;
            }
            number += 1;
        }
    }
}

/// Differs between two points of one session: in how it begins, how long it is, and what was said last.
fn mark(messages: &[Message]) -> u128 {
    let mut text = messages.len().to_string();
    for message in messages.first().into_iter().chain(messages.last()) {
        message.blocks.iter().for_each(|block| look_at(block, &mut text));
    }
    stable_hash(&text, 0)
}

fn look_at(block: &Block, text: &mut String) {
    let words = match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } => text,
        Block::Image { data, .. } => data,
        Block::Call { id, .. } => id,
        Block::Result { id, content, .. } => {
            for piece in content {
                let (Piece::Text { text: said } | Piece::Image { data: said, .. }) = piece;
                add(said, text);
            }
            id
        }
    };
    add(words, text);
}

fn add(words: &str, text: &mut String) {
    let beginning: String = words.chars().take(LOOKED_AT).collect();
    // Writing to a string does not fail.
    write!(text, " {} {beginning}", words.len()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_every_provider() {
        assert_eq!(wire_id("call_1-A"), "call_1-A");
        assert_eq!(wire_id(&"x".repeat(64)), "x".repeat(64));
        for odd in ["", "call|1", "ä", &"x".repeat(65)] {
            let id = wire_id(odd);
            assert!(id.len() == 37 && id.starts_with("call_"), "{odd}: {id}");
            assert_eq!(wire_id(&id), id, "a wire id stays what it is");
        }
    }

    #[test]
    fn nine_letters_and_digits_stay_and_all_else_becomes_nine() {
        assert_eq!(nine("aB3xK9mP2"), "aB3xK9mP2");
        let odd = ["", "call_1", "call_2", "12345678", "1234567890", "ääää1", "a b c d e", "toolu_01A09q90qw90lq917835lq9"];
        let ids: HashSet<String> = odd.iter().map(|id| nine(id).into_owned()).collect();
        assert_eq!(ids.len(), odd.len(), "{ids:?}");
        for id in &ids {
            assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
            assert_eq!(nine(id), id.as_str(), "a short id stays what it is");
        }
    }

    #[test]
    fn forms_have_names() {
        for form in IdForm::ALL {
            assert_eq!(form.to_string().parse(), Ok(form));
        }
        assert_eq!("ten".parse::<IdForm>().unwrap_err(), "unknown form of call ids 'ten': use any or nine");
    }

    fn asked(id: &str) -> Message {
        Message::assistant(vec![Block::Call { id: id.into(), name: "x".into(), arguments: String::new(), opaque: None }])
    }

    fn answered(id: &str, text: &str) -> Message {
        let content = vec![Piece::Text { text: text.into() }];
        Message::results(vec![Block::Result { id: id.into(), name: "x".into(), content, is_error: false }])
    }

    /// Ids that a session of calls without ids gets, each call made, answered and sent back.
    fn made(messages: &mut Vec<Message>, rounds: usize) -> Vec<String> {
        let mut round = || {
            let id = CallIds::of(messages).take("");
            messages.extend([asked(&id), answered(&id, "done")]);
            id
        };
        (0..rounds).map(|_| round()).collect()
    }

    #[test]
    fn an_id_is_made_once_in_a_session_whatever_gives_way() {
        let mut messages = vec![Message::user("go")];
        let mut ids = made(&mut messages, 8);
        for summary in ["what was done so far", "and what more"] {
            messages = vec![Message::user(summary)];
            ids.extend(made(&mut messages, 8));
        }
        let different: HashSet<&String> = ids.iter().collect();
        assert_eq!(different.len(), 24, "{ids:?}");
    }

    #[test]
    fn an_answer_that_is_asked_for_again_gets_ids_of_its_own() {
        let mut messages = vec![Message::user("go")];
        let first = CallIds::of(&messages).take("");
        assert_eq!(CallIds::of(&messages).take(""), first, "nothing has happened in between");
        messages.extend([asked(&first), answered(&first, "done")]);
        assert_ne!(CallIds::of(&messages).take(""), first);
        // Its call was cut, and only the result is left.
        messages.remove(1);
        assert_ne!(CallIds::of(&messages).take(&first), first);
    }

    #[test]
    fn what_a_provider_gives_is_kept_unless_it_is_taken() {
        let mut ids = CallIds::of(&[asked("same")]);
        let given = ["new", "same", "new", ""].map(|id| ids.take(id));
        assert_eq!(given[0], "new");
        let different: HashSet<&String> = given.iter().collect();
        assert!(different.len() == 4 && !different.contains(&"same".to_owned()), "{given:?}");
    }
}
