//! An answer on its way to the client.

use std::io::{Result, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::event::Event;
use super::fault::Wire;
use super::hold::{Hold, Moment};
use super::request::Asked;
use super::{Round, chat, gemini, messages, responses};

/// An answer as it is sent.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    form: Form,
    /// A stream has these.
    pub(super) events: Vec<Event>,
    pub(super) drip: bool,
    hold: Option<(Moment, Hold)>,
    pub(super) ending: Ending,
}

/// What follows the request.
#[derive(Debug)]
enum Form {
    /// Events, each in a chunk of its own.
    Stream,
    /// A body that says how long it is.
    Whole(Vec<u8>),
    /// Bytes without a head.
    Raw(Vec<u8>),
}

/// How the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// As HTTP has it.
    Close,
    /// Before the answer is complete.
    Break,
    /// With a reset.
    Reset,
}

impl Ending {
    /// Closes the connection; no other copy of it may exist.
    pub(super) fn end(self, connection: TcpStream) {
        if self == Self::Reset {
            // Closed so, unsent and unread bytes are forgotten and the other side is told.
            tokio::net::TcpSocket::from_std_stream(connection).set_zero_linger().ok();
        }
    }
}

/// What a round is on the wire that was asked on.
pub(super) fn of(asked: &Asked, round: Round) -> Answer {
    let wire = Wire::of(&asked.path);
    match round {
        Round::Made(make) => of(asked, make(&asked.body)),
        Round::Status(status, body) => whole(status, Vec::new(), body.into_bytes()),
        Round::StatusWith { status, headers, body } => whole(status, headers, body.into_bytes()),
        Round::Raw(bytes) => Answer { form: Form::Raw(bytes), ..stream(Vec::new()) },
        Round::Reset => Answer { form: Form::Raw(Vec::new()), ending: Ending::Reset, ..stream(Vec::new()) },
        Round::Faulty(round, fault) => {
            let mut answer = of(asked, *round);
            fault.befall(&mut answer, wire);
            answer
        }
        Round::Held(round, at, hold) => Answer { hold: Some((at, hold)), ..of(asked, *round) },
        said => stream(events(wire, &said)),
    }
}

fn events(wire: Wire, round: &Round) -> Vec<Event> {
    match wire {
        Wire::Chat => chat::events(round),
        Wire::Responses => responses::events(round),
        Wire::Messages => messages::events(round),
        Wire::Gemini => gemini::events(round),
    }
}

/// A list, a result: one JSON document.
pub(super) fn document(value: &Value) -> Answer {
    whole(200, Vec::new(), value.to_string().into_bytes())
}

fn whole(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Answer {
    let mut answer = Answer { status, form: Form::Whole(body), ..stream(Vec::new()) };
    answer.set_header("content-type", "application/json");
    for (name, value) in headers {
        answer.set_header(&name, &value);
    }
    answer
}

fn stream(events: Vec<Event>) -> Answer {
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Answer { status: 200, headers, form: Form::Stream, events, drip: false, hold: None, ending: Ending::Close }
}

impl Answer {
    /// The stream as one text.
    pub(super) fn stream(&self) -> String {
        self.events.iter().map(|event| event.text.as_str()).collect()
    }

    pub(super) fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Sends all of it, and says how the connection is to end.
    pub(super) fn send(&self, connection: &TcpStream) -> Result<Ending> {
        connection.set_nodelay(true)?;
        self.hold_at(Moment::Start);
        match &self.form {
            Form::Raw(bytes) => self.write(connection, bytes)?,
            Form::Whole(body) => {
                self.write(connection, self.head(&format!("content-length: {}", body.len())).as_bytes())?;
                self.write(connection, body)?;
            }
            Form::Stream => self.send_events(connection)?,
        }
        Ok(self.ending)
    }

    fn send_events(&self, connection: &TcpStream) -> Result<()> {
        self.write(connection, self.head("transfer-encoding: chunked").as_bytes())?;
        let end = self.events.iter().position(|event| event.ends).unwrap_or(self.events.len());
        for (place, event) in self.events.iter().enumerate() {
            if place == end {
                self.hold_at(Moment::End);
            }
            self.write(connection, format!("{:x}\r\n{}\r\n", event.text.len(), event.text).as_bytes())?;
        }
        if end == self.events.len() {
            self.hold_at(Moment::End);
        }
        if self.ending == Ending::Close { self.write(connection, b"0\r\n\r\n") } else { Ok(()) }
    }

    fn head(&self, length: &str) -> String {
        let headers = self.headers.iter().fold(String::new(), |text, (name, value)| text + &format!("{name}: {value}\r\n"));
        format!("HTTP/1.1 {} Said\r\n{headers}{length}\r\nconnection: close\r\n\r\n", self.status)
    }

    fn write(&self, mut connection: &TcpStream, bytes: &[u8]) -> Result<()> {
        let size = if self.drip { 1 } else { bytes.len().max(1) };
        bytes.chunks(size).try_for_each(|piece| connection.write_all(piece))
    }

    fn hold_at(&self, moment: Moment) {
        if let Some((_, hold)) = self.hold.as_ref().filter(|(at, _)| *at == moment) {
            hold.stop_here();
        }
    }
}
