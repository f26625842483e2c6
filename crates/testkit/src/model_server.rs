//! A model server on loopback that says what it was told to, in whichever of the four protocols it is asked.

mod answer;
mod chat;
mod event;
mod fault;
mod gemini;
mod hold;
mod messages;
mod models;
mod request;
mod responses;

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

pub use self::fault::Fault;
pub use self::hold::{Hold, Moment};
pub use self::request::Asked;
use crate::sync::lock;

/// A call: id, name, arguments.
type Call = (String, String, Value);

/// What the model does when it is asked.
#[derive(Debug, Clone)]
pub enum Round {
    /// Says something, and is done.
    Text(String),
    /// Asks for tools: id, name, arguments.
    Calls(Vec<(String, String, Value)>),
    /// The same, with arguments that are values where the protocol has text, and whole where it has pieces.
    ValueCalls(Vec<(String, String, Value)>),
    /// Asks for tools, but its limit is met in the middle of the last one's arguments.
    Truncated(Vec<(String, String, Value)>),
    /// Whatever this makes of the body of the request.
    Made(fn(&Value) -> Round),
    /// Answers with this status and body instead.
    Status(u16, String),
    /// Answers with this status, these headers and this body. Its type is JSON unless a header says otherwise.
    StatusWith {
        /// The status.
        status: u16,
        /// Headers besides those that the connection needs.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// Sends these bytes as the whole answer, head included.
    Raw(Vec<u8>),
    /// Resets the connection before a byte of an answer.
    Reset,
    /// Another round, with something wrong on its way.
    Faulty(Box<Round>, Fault),
    /// Another round that goes no further than this until the test says so.
    Held(Box<Round>, Moment, Hold),
}

impl Round {
    /// One call.
    pub fn call(id: &str, tool: &str, arguments: Value) -> Self {
        Self::Calls(vec![(id.to_owned(), tool.to_owned(), arguments)])
    }
    /// This round, with something wrong on its way.
    pub fn with(self, fault: Fault) -> Self {
        Self::Faulty(Box::new(self), fault)
    }
    /// This round, held.
    pub fn held(self, at: Moment, hold: &Hold) -> Self {
        Self::Held(Box::new(self), at, hold.clone())
    }

    fn hold(&self) -> Option<&Hold> {
        match self {
            Self::Held(_, _, hold) => Some(hold),
            Self::Faulty(round, _) => round.hold(),
            _ => None,
        }
    }
}

/// The server. Dropped, it closes every connection and waits for its threads.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    holds: Vec<Hold>,
    listening: Option<JoinHandle<()>>,
}

/// What the threads of a server have in common.
#[derive(Debug)]
struct Shared {
    models: Vec<String>,
    /// Each with the text by which requests of its conversation are known.
    rounds: Mutex<Vec<(String, std::vec::IntoIter<Round>)>>,
    asked: Mutex<Vec<Asked>>,
    listed: Mutex<Vec<Asked>>,
    open: Mutex<HashMap<usize, TcpStream>>,
    closing: AtomicBool,
}

impl ModelServer {
    /// A server that goes through these rounds, one for each request, and says "nothing left" after the last.
    pub fn start(rounds: Vec<Round>) -> std::io::Result<Self> {
        Self::with_models(&["m1"], rounds)
    }

    /// A server that names these models when it is asked which it has.
    pub fn with_models(models: &[&str], rounds: Vec<Round>) -> std::io::Result<Self> {
        Self::serve(models, vec![(String::new(), rounds)])
    }

    /// A server for several conversations at a time: a request gets the next round of the first one whose text is in its body.
    pub fn for_conversations(conversations: Vec<(&str, Vec<Round>)>) -> std::io::Result<Self> {
        Self::serve(&["m1"], conversations.into_iter().map(|(text, rounds)| (text.to_owned(), rounds)).collect())
    }

    fn serve(models: &[&str], conversations: Vec<(String, Vec<Round>)>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let holds = conversations.iter().flat_map(|(_, rounds)| rounds).filter_map(Round::hold).cloned().collect();
        let rounds = conversations.into_iter().map(|(text, rounds)| (text, rounds.into_iter())).collect();
        let shared = Arc::new(Shared {
            models: models.iter().map(ToString::to_string).collect(),
            rounds: Mutex::new(rounds),
            asked: Mutex::default(),
            listed: Mutex::default(),
            open: Mutex::default(),
            closing: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        let listening = Some(thread::spawn(move || listen(&listener, &serving)));
        Ok(Self { address, shared, holds, listening })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every question so far, in the order in which they came.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Every request for the list of models.
    pub fn listed(&self) -> Vec<Asked> {
        lock(&self.shared.listed).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        for connection in lock(&self.shared.open).values() {
            // One that the client closed already is what this wants.
            connection.shutdown(Shutdown::Both).ok();
        }
        // After that, so that an answer that was held is not sent any more.
        self.holds.iter().for_each(Hold::release);
        // A connection wakes the listener; without one it would be waited for in vain.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listening) = self.listening.take()
        {
            // Its panic has been printed, and the test that saw it has failed for what it missed.
            listening.join().ok();
        }
    }
}

/// Serves every connection on a thread of its own, and ends when they have.
fn listen(listener: &TcpListener, shared: &Shared) {
    thread::scope(|scope| {
        for (number, connection) in listener.incoming().map_while(Result::ok).enumerate() {
            if let Ok(copy) = connection.try_clone() {
                lock(&shared.open).insert(number, copy);
            }
            if shared.closing.load(Ordering::SeqCst) {
                return;
            }
            scope.spawn(move || shared.serve(number, connection));
        }
    });
}

impl Shared {
    fn serve(&self, number: usize, connection: TcpStream) {
        // A client that went away is its own business.
        let ending = self.exchange(&connection).unwrap_or(answer::Ending::Close);
        // The copy would keep the connection open.
        lock(&self.open).remove(&number);
        ending.end(connection);
    }

    fn next(&self, body: &Value) -> Option<Round> {
        let body = body.to_string();
        lock(&self.rounds).iter_mut().find(|(text, _)| body.contains(text.as_str())).and_then(|(_, rounds)| rounds.next())
    }

    fn exchange(&self, connection: &TcpStream) -> std::io::Result<answer::Ending> {
        let (method, asked) = request::read(connection)?;
        if method == "GET" {
            let list = models::list(&asked, &self.models);
            lock(&self.listed).push(asked);
            return answer::document(&list).send(connection);
        }
        let round = self.next(&asked.body).unwrap_or_else(|| Round::Text("nothing left".into()));
        let answer = answer::of(&asked, round);
        lock(&self.asked).push(asked);
        answer.send(connection)
    }
}
