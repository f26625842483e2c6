//! Ids of calls: generated where a provider gives none, and written so that every provider accepts them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;

use haft_text::truncate::first_chars;

use crate::names::stable_hash;
use crate::{Block, Message, ResultPart};

/// Length that every provider accepts.
const LENGTH: usize = 64;
/// Chars of a text that count for the fingerprint of a conversation.
const FINGERPRINT_CHARS: usize = 1_024;

haft_contract::named_enum! {
    /// Format of call ids that a model accepts. Only Chat Completions has models that differ.
    #[derive(Default)]
    #[non_exhaustive]
    IdForm {
        /// Any id that the protocol accepts.
        #[default]
        Any = "any",
        /// Exactly nine ASCII alphanumerics: Mistral's models.
        Nine = "nine",
    }
}

/// A call id that every provider accepts. One that does not fit is replaced by its hash, so a call and its result still agree.
pub fn wire_id(id: &str) -> Cow<'_, str> {
    let fits = (1..=LENGTH).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if fits { Cow::Borrowed(id) } else { Cow::Owned(format!("call_{:032x}", stable_hash(id, 0))) }
}

/// A call id of nine ASCII alphanumerics.
pub(crate) fn nine_char_id(id: &str) -> Cow<'_, str> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let mut rest = stable_hash(id, 0);
    let mut digit = || {
        let index = usize::try_from(rest % 62).unwrap_or_default();
        rest /= 62;
        char::from(DIGITS[index])
    };
    Cow::Owned((0..9).map(|_| digit()).collect())
}

/// Ids of calls on the wire, where each must be unique. Providers repeat ids, and two ids may be written alike.
#[derive(Debug, Default)]
pub(crate) struct WireIds<'a> {
    taken: HashSet<String>,
    /// Wire ids of the last message's calls without a result, by id.
    open: HashMap<&'a str, VecDeque<String>>,
}

impl<'a> WireIds<'a> {
    /// Begins a message of the model: results belong to its calls from now on.
    pub(crate) fn begin_message(&mut self) {
        self.open.clear();
    }

    /// The wire id of a call: as `form` writes it, or with a number if another call has that.
    pub(crate) fn call(&mut self, id: &'a str, form: impl Fn(&str) -> String) -> String {
        self.call_as(id, id, form)
    }

    /// The same for a call whose wire id is made of another one than ours.
    pub(crate) fn call_as(&mut self, id: &'a str, given: &str, form: impl Fn(&str) -> String) -> String {
        let mut wire = form(given);
        for again in 2.. {
            if self.taken.insert(wire.clone()) {
                break;
            }
            wire = form(&format!("{given}_{again}"));
        }
        self.open.entry(id).or_default().push_back(wire.clone());
        wire
    }

    /// The wire id of the call that a result is of: the first with this id that has none.
    pub(crate) fn result(&mut self, id: &str) -> Option<String> {
        self.open.get_mut(id)?.pop_front()
    }
}

/// The ids of a conversation's calls; assigns unique ids to new calls.
#[derive(Debug)]
pub(crate) struct CallIds {
    taken: HashSet<String>,
    /// Fingerprint of the conversation. A counter alone would repeat ids after compaction, when the session has calls that are
    /// no longer sent.
    fingerprint: u128,
}

impl CallIds {
    pub(crate) fn from_messages(messages: &[Message]) -> Self {
        let blocks = messages.iter().flat_map(|message| &message.blocks);
        let taken = blocks.filter_map(|block| block.call_id().or_else(|| block.result_id())).map(str::to_owned).collect();
        Self { taken, fingerprint: fingerprint(messages) }
    }

    /// The id of the provider, or a generated one if it is empty or taken. The same answer to the same conversation always gets
    /// the same ids.
    pub(crate) fn take(&mut self, id: &str) -> String {
        let fits = !id.is_empty() && !self.taken.contains(id);
        let id = if fits { id.to_owned() } else { self.generate() };
        self.taken.insert(id.clone());
        id
    }

    fn generate(&self) -> String {
        let short = (self.fingerprint ^ (self.fingerprint >> 64)) & 0xffff_ffff;
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

/// Hash of the first message, the last message and the length; differs between two points of one session.
fn fingerprint(messages: &[Message]) -> u128 {
    let mut text = messages.len().to_string();
    for message in messages.first().into_iter().chain(messages.last()) {
        message.blocks.iter().for_each(|block| add_block(block, &mut text));
    }
    stable_hash(&text, 0)
}

fn add_block(block: &Block, text: &mut String) {
    let words = match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } => text,
        Block::Image { data, .. } => data,
        Block::Call { id, .. } => id,
        Block::Result { id, content, .. } => {
            for part in content {
                let (ResultPart::Text { text: words } | ResultPart::Image { data: words, .. }) = part;
                add_text(words, text);
            }
            id
        }
    };
    add_text(words, text);
}

fn add_text(words: &str, text: &mut String) {
    let beginning = first_chars(words, FINGERPRINT_CHARS);
    // Writing to a string does not fail.
    write!(text, " {} {beginning}", words.len()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_ids_fit_every_provider() {
        assert_eq!(wire_id("call_1-A"), "call_1-A");
        assert_eq!(wire_id(&"x".repeat(64)), "x".repeat(64));
        for odd in ["", "call|1", "ä", &"x".repeat(65)] {
            let id = wire_id(odd);
            assert!(id.len() == 37 && id.starts_with("call_"), "{odd}: {id}");
            assert_eq!(wire_id(&id), id, "a wire id stays what it is");
        }
    }

    #[test]
    fn nine_char_ids_stay_and_others_are_hashed() {
        assert_eq!(nine_char_id("aB3xK9mP2"), "aB3xK9mP2");
        let odd = ["", "call_1", "call_2", "12345678", "1234567890", "ääää1", "a b c d e", "toolu_01A09q90qw90lq917835lq9"];
        let ids: HashSet<String> = odd.iter().map(|id| nine_char_id(id).into_owned()).collect();
        assert_eq!(ids.len(), odd.len(), "{ids:?}");
        for id in &ids {
            assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
            assert_eq!(nine_char_id(id), id.as_str(), "a short id stays what it is");
        }
    }

    #[test]
    fn id_forms_parse_from_their_names() {
        for form in IdForm::ALL {
            assert_eq!(form.to_string().parse(), Ok(form));
        }
        assert_eq!("ten".parse::<IdForm>().unwrap_err(), "'ten' is none of: any, nine");
    }

    #[test]
    fn calls_with_one_id_have_two_on_the_wire_and_results_follow() {
        let mut ids = WireIds::default();
        let form = |id: &str| wire_id(id).into_owned();
        assert_eq!([ids.call("same", form), ids.call("same", form)], ["same", "same_2"]);
        assert_eq!([ids.result("same"), ids.result("same"), ids.result("same")], [Some("same".into()), Some("same_2".into()), None]);
        ids.call("same", form);
        ids.begin_message();
        assert_eq!([ids.call("same", form), ids.call("other", form)], ["same_4", "other"]);
        assert_eq!([ids.result("other"), ids.result("same"), ids.result("none")], [Some("other".into()), Some("same_4".into()), None]);
    }

    fn asked(id: &str) -> Message {
        Message::assistant(vec![Block::Call { id: id.into(), name: "x".into(), arguments: String::new(), opaque: None }])
    }

    fn answered(id: &str, text: &str) -> Message {
        let content = vec![ResultPart::Text { text: text.into() }];
        Message::results(vec![Block::Result { id: id.into(), name: "x".into(), content, is_error: false }])
    }

    /// Ids that a session of calls without ids gets, each call made, answered and sent back.
    fn made(messages: &mut Vec<Message>, rounds: usize) -> Vec<String> {
        let mut round = || {
            let id = CallIds::from_messages(messages).take("");
            messages.extend([asked(&id), answered(&id, "done")]);
            id
        };
        (0..rounds).map(|_| round()).collect()
    }

    #[test]
    fn generated_ids_stay_unique_after_compaction() {
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
    fn generated_ids_differ_from_those_of_dropped_calls() {
        let mut messages = vec![Message::user("go")];
        let first = CallIds::from_messages(&messages).take("");
        assert_eq!(CallIds::from_messages(&messages).take(""), first, "nothing has happened in between");
        messages.extend([asked(&first), answered(&first, "done")]);
        assert_ne!(CallIds::from_messages(&messages).take(""), first);
        // Its call was cut, and only the result is left.
        messages.remove(1);
        assert_ne!(CallIds::from_messages(&messages).take(&first), first);
    }

    #[test]
    fn provider_ids_are_kept_unless_taken() {
        let mut ids = CallIds::from_messages(&[asked("same")]);
        let given = ["new", "same", "new", ""].map(|id| ids.take(id));
        assert_eq!(given[0], "new");
        let different: HashSet<&String> = given.iter().collect();
        assert!(different.len() == 4 && !different.contains(&"same".to_owned()), "{given:?}");
    }
}
