//! The time in which machines may ask to be paired, and those that ask.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use haft_contract::ports::PendingNode;
use tokio::sync::oneshot;

use crate::keys::PeerKey;

/// How long machines may ask unless the user says otherwise.
pub const DEFAULT_WINDOW: Duration = Duration::from_mins(10);
/// Machines that may ask at once.
const MAX_PENDING: usize = 8;
/// Wrong codes after which nobody may ask any more.
const MAX_WRONG: u32 = 5;
/// Handshakes of machines that are not paired, in [`STRANGER_WINDOW`].
const MAX_STRANGERS: u32 = 20;
const STRANGER_WINDOW: Duration = Duration::from_mins(1);

/// A machine that asks.
#[derive(Debug)]
struct PairingRequest {
    key: PeerKey,
    name: String,
    code: String,
    /// Tells its connection what the user decided.
    answer: oneshot::Sender<PairingAnswer>,
}

/// What the user decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairingAnswer {
    Approved,
    Rejected,
}

/// A machine that the user has approved, and how to tell it.
#[derive(Debug)]
pub(crate) struct Approved {
    pub(crate) key: PeerKey,
    pub(crate) name: String,
    pub(crate) answer: oneshot::Sender<PairingAnswer>,
}

/// Why a code pairs nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CodeFault {
    Closed,
    /// Nobody has this code; so many more may be tried.
    Wrong(u32),
}

/// Who may ask to be paired, and who does.
#[derive(Debug, Default)]
pub(crate) struct PairingWindow {
    until: Option<Instant>,
    wrong: u32,
    requests: HashMap<String, PairingRequest>,
    strangers: Option<(Instant, u32)>,
}

impl PairingWindow {
    /// Lets machines ask for this long.
    pub(crate) fn open(&mut self, now: Instant, length: Duration) {
        (self.until, self.wrong) = (now.checked_add(length), 0);
    }

    /// For how long machines may ask still.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    fn close(&mut self) {
        self.until = None;
        self.requests.clear();
    }

    /// Why a machine that is not paired may not ask; each that comes counts.
    pub(crate) fn refusal(&mut self, now: Instant) -> Option<String> {
        let (since, count) = self.strangers.filter(|(since, _)| now.duration_since(*since) < STRANGER_WINDOW).unwrap_or((now, 0));
        self.strangers = Some((since, count + 1));
        if self.time_left(now).is_none() {
            return Some("this machine is not paired with the gateway, and nobody may ask now. Run `haft node pair` at the gateway".into());
        }
        if count >= MAX_STRANGERS || self.requests.len() >= MAX_PENDING {
            return Some("too many machines ask to be paired; try again in a minute".into());
        }
        None
    }

    /// A machine asks. One that asks again replaces its former request.
    pub(crate) fn ask(&mut self, key: &PeerKey, name: &str, code: &str) -> oneshot::Receiver<PairingAnswer> {
        let (answer, decided) = oneshot::channel();
        self.requests.insert(key.id(), PairingRequest { key: key.clone(), name: name.to_owned(), code: code.to_owned(), answer });
        decided
    }

    /// A machine does not ask any more, if this was its request.
    pub(crate) fn withdraw(&mut self, id: &str, code: &str) {
        if self.requests.get(id).is_some_and(|request| request.code == code) {
            self.requests.remove(id);
        }
    }

    /// The machines that ask, without their codes: the user reads those on their screens.
    pub(crate) fn pending(&self, now: Instant) -> Vec<PendingNode> {
        let left = self.time_left(now).unwrap_or_default().as_secs();
        let pending = |(id, request): (&String, &PairingRequest)| PendingNode {
            id: id.clone(),
            name: request.name.clone(),
            expires_in_seconds: left,
        };
        let mut all: Vec<PendingNode> = self.requests.iter().map(pending).collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    /// The machine whose screen shows this code may be paired.
    pub(crate) fn approve(&mut self, now: Instant, code: &str) -> Result<Approved, CodeFault> {
        if self.time_left(now).is_none() {
            self.close();
            return Err(CodeFault::Closed);
        }
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let wanted = digits(code);
        let found = self.requests.iter().find(|(_, request)| digits(&request.code) == wanted).map(|(id, _)| id.clone());
        let Some(PairingRequest { key, name, answer, .. }) = found.and_then(|id| self.requests.remove(&id)) else {
            self.wrong += 1;
            if self.wrong >= MAX_WRONG {
                self.close();
                return Err(CodeFault::Closed);
            }
            return Err(CodeFault::Wrong(MAX_WRONG - self.wrong));
        };
        // The user paired the machine that was meant: no other one may ask unseen.
        self.close();
        Ok(Approved { key, name, answer })
    }

    /// Refuses a machine that asks; whether there was one.
    pub(crate) fn reject(&mut self, id: &str) -> bool {
        let request = self.requests.remove(id);
        request.is_some_and(|request| request.answer.send(PairingAnswer::Rejected).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> PeerKey {
        PeerKey::new(vec![byte; 32]).unwrap()
    }

    #[test]
    fn nobody_may_ask_before_the_user_says_so_and_after_the_time() {
        let (mut window, start) = (PairingWindow::default(), Instant::now());
        assert!(window.refusal(start).is_some_and(|why| why.contains("haft node pair")));
        window.open(start, DEFAULT_WINDOW);
        assert_eq!(window.refusal(start), None);
        let decided = window.ask(&key(1), "laptop", "1234-5678");
        let late = start + DEFAULT_WINDOW;
        assert!(window.refusal(late).is_some());
        assert_eq!(window.approve(late, "1234-5678").map(|_| ()), Err(CodeFault::Closed), "the right code comes too late");
        assert!(decided.blocking_recv().is_err(), "the machine that waited is told");
    }

    #[test]
    fn guessing_ends_after_five_wrong_codes_and_takes_the_right_one_with_it() {
        let (mut window, start) = (PairingWindow::default(), Instant::now());
        window.open(start, DEFAULT_WINDOW);
        let _decided = window.ask(&key(1), "laptop", "1234-5678");
        for left in (1..MAX_WRONG).rev() {
            assert_eq!(window.approve(start, "0000-0000").map(|_| ()), Err(CodeFault::Wrong(left)));
        }
        assert_eq!(window.approve(start, "").map(|_| ()), Err(CodeFault::Closed));
        assert_eq!(window.approve(start, "1234-5678").map(|_| ()), Err(CodeFault::Closed));
        assert_eq!(window.pending(start), []);
    }

    #[test]
    fn right_code_pairs_its_machine_once_however_it_is_written() {
        let (mut window, start) = (PairingWindow::default(), Instant::now());
        window.open(start, DEFAULT_WINDOW);
        let decided = window.ask(&key(1), "laptop", "1234-5678");
        let _other = window.ask(&key(2), "phone", "1111-2222");
        let Approved { key: approved, name, answer } = window.approve(start, " 12345678 ").unwrap();
        answer.send(PairingAnswer::Approved).unwrap();
        assert_eq!((approved, name.as_str(), decided.blocking_recv()), (key(1), "laptop", Ok(PairingAnswer::Approved)));
        assert_eq!(window.approve(start, "1111-2222").map(|_| ()), Err(CodeFault::Closed), "one pairing for each time the user says so");
        assert_eq!(window.pending(start), []);
        window.open(start, DEFAULT_WINDOW);
        let rejected = window.ask(&key(3), "tablet", "3333-4444");
        assert!(window.reject(&key(3).id()) && !window.reject(&key(3).id()));
        assert_eq!(rejected.blocking_recv(), Ok(PairingAnswer::Rejected));
    }

    #[test]
    fn strangers_are_counted_and_the_list_is_bounded() {
        let (mut window, start) = (PairingWindow::default(), Instant::now());
        window.open(start, DEFAULT_WINDOW);
        let keys: Vec<PeerKey> = (0..8).map(key).collect();
        let asked: Vec<_> = keys.iter().map(|key| window.ask(key, "x", &key.id())).collect();
        assert!(window.refusal(start).is_some_and(|why| why.starts_with("too many machines")));
        for key in &keys {
            window.withdraw(&key.id(), &key.id());
        }
        for _ in 1..MAX_STRANGERS {
            assert_eq!(window.refusal(start), None);
        }
        assert!(window.refusal(start).is_some_and(|why| why.starts_with("too many machines")));
        assert_eq!(window.refusal(start + STRANGER_WINDOW), None);
        drop(asked);
    }
}
