//! What goes wrong on the way.

use super::answer::{Answer, Ending};
use super::event::Event;
use super::{chat, gemini, messages, responses};

/// Something wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection breaks when so many bytes of the stream are out.
    CutAfter(usize),
    /// The connection breaks right behind these words.
    CutBehind(String),
    /// The stream ends as it should, but nothing in it says that the model is done.
    NoEnd,
    /// Everything is said, but the connection breaks in place of the stream's end.
    CutAtEnd,
    /// Every event comes twice.
    Twice,
    /// Unknown events between the others.
    Unknown,
    /// In place of the end there is an event that is no JSON.
    Malformed,
    /// In place of the end there is the provider's error event, with these words.
    Error(String),
    /// The stream is called something else.
    Type(String),
    /// Every byte comes alone.
    Drip,
}

/// Which protocol is spoken.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire {
    Chat,
    Responses,
    Messages,
    Gemini,
}

impl Wire {
    /// By the path that was asked.
    pub(super) fn of(path: &str) -> Self {
        match path {
            path if path.contains("/chat/completions") => Self::Chat,
            path if path.contains("/responses") => Self::Responses,
            path if path.contains("/messages") => Self::Messages,
            _ => Self::Gemini,
        }
    }

    fn unknown(self) -> Event {
        match self {
            Self::Chat => chat::unknown(),
            Self::Responses => responses::unknown(),
            Self::Messages => messages::unknown(),
            Self::Gemini => gemini::unknown(),
        }
    }

    fn error(self, words: &str) -> Event {
        match self {
            Self::Chat => chat::error(words),
            Self::Responses => responses::error(words),
            Self::Messages => messages::error(words),
            Self::Gemini => gemini::error(words),
        }
    }
}

impl Fault {
    /// The answer with this wrong in it.
    pub(super) fn befall(&self, answer: &mut Answer, wire: Wire) {
        match self {
            Self::CutAfter(bytes) => cut(answer, *bytes),
            Self::CutBehind(words) => {
                let place = answer.stream().find(words.as_str()).map(|at| at + words.len());
                cut(answer, place.unwrap_or(0));
            }
            Self::NoEnd => answer.events.retain(|event| !event.ends),
            Self::CutAtEnd => answer.ending = Ending::Break,
            Self::Twice => answer.events = answer.events.iter().flat_map(|event| [event.clone(), event.clone()]).collect(),
            Self::Unknown => {
                answer.events = answer.events.iter().flat_map(|event| [comment(), wire.unknown(), event.clone()]).collect();
            }
            Self::Malformed => in_place_of_the_end(answer, Event::plain("{\"half\": ")),
            Self::Error(words) => in_place_of_the_end(answer, wire.error(words)),
            Self::Type(kind) => answer.set_header("content-type", kind),
            Self::Drip => answer.drip = true,
        }
    }
}

fn comment() -> Event {
    Event { text: ": keep-alive\n\n".into(), ends: false }
}

fn in_place_of_the_end(answer: &mut Answer, event: Event) {
    answer.events.retain(|event| !event.ends);
    answer.events.push(event.ending());
}

fn cut(answer: &mut Answer, bytes: usize) {
    let mut left = bytes;
    for event in &mut answer.events {
        event.text.truncate(event.text.floor_char_boundary(left));
        left -= event.text.len().min(left);
    }
    answer.events.retain(|event| !event.text.is_empty());
    answer.ending = Ending::Break;
}
