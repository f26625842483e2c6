//! What the tests of incoming messages share: a session that echoes, and a channel at a server.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use haft_channels::{ApprovalAnswers, ChannelApproval, ChannelSettings, ConversationHost, Inbox, IncomingMessage, IncomingSender};
use haft_contract::BoxFuture;
use haft_contract::ports::ChannelKind;
use haft_store::ChannelStore;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::common::{Reply, Server, service, settings};

/// Answers every message with its text, and records what happened.
#[derive(Default)]
pub(crate) struct EchoHost {
    pub(crate) begun: Mutex<Vec<String>>,
    pub(crate) turns: Mutex<Vec<(String, String)>>,
    pub(crate) resumed: Mutex<Vec<(String, String)>>,
    /// Whether turns do not end before they are released.
    pub(crate) hangs: Mutex<bool>,
    released: tokio::sync::Notify,
    pub(crate) changed: Mutex<Vec<String>>,
}

impl EchoHost {
    /// Ends the turns that hang; those that begin later do not.
    pub(crate) fn release(&self) {
        *self.hangs.lock().unwrap() = false;
        self.released.notify_waiters();
    }
}

impl ConversationHost for EchoHost {
    fn begin<'a>(&'a self, _: Option<&'a str>, title: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let mut begun = self.begun.lock().unwrap();
        begun.push(title.to_owned());
        let id = format!("session-{}", begun.len());
        Box::pin(async move { Ok(id) })
    }
    fn change_sender<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()> {
        self.changed.lock().unwrap().push(session.to_owned());
        Box::pin(async {})
    }
    fn turn<'a>(&'a self, session: &'a str, text: String) -> BoxFuture<'a, Result<String, String>> {
        self.turns.lock().unwrap().push((session.to_owned(), text.clone()));
        let hangs = *self.hangs.lock().unwrap();
        Box::pin(async move {
            if hangs {
                self.released.notified().await;
            }
            if text == "fail" { Err("secret reason".into()) } else { Ok(format!("echo {text}")) }
        })
    }
    fn resume<'a>(&'a self, session: &'a str, text: String, since: SystemTime) -> BoxFuture<'a, Result<String, String>> {
        assert!(since <= SystemTime::now());
        self.resumed.lock().unwrap().push((session.to_owned(), text.clone()));
        Box::pin(async move { Ok(format!("continued {text}")) })
    }
}

/// Takes the first answer to each question.
#[derive(Default)]
pub(crate) struct FirstAnswers(pub(crate) Mutex<Vec<(String, bool, String)>>);

impl ApprovalAnswers for FirstAnswers {
    fn answer<'a>(&'a self, notice: &'a ChannelApproval, is_allowed: bool, by: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let mut answers = self.0.lock().unwrap();
        let is_first = !answers.iter().any(|(id, ..)| *id == notice.id);
        answers.push((notice.id.clone(), is_allowed, by.to_owned()));
        Box::pin(async move { if is_first { Ok(()) } else { Err("answered".into()) } })
    }
}

pub(crate) struct Setup {
    _folder: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) store: Arc<dyn ChannelStore>,
    pub(crate) host: Arc<EchoHost>,
    pub(crate) answers: Arc<FirstAnswers>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) service: Arc<haft_channels::ChannelService>,
}

pub(crate) async fn setup(change: impl FnOnce(&mut ChannelSettings)) -> Setup {
    let reply = Reply::ok(json!({"ok": true, "ts": "1.5", "result": {"message_id": 7}}).to_string());
    setup_with(ChannelKind::Telegram, vec![reply], change).await
}

pub(crate) async fn setup_with(kind: ChannelKind, replies: Vec<Reply>, change: impl FnOnce(&mut ChannelSettings)) -> Setup {
    let server = Server::start(replies).await;
    let mut channel = settings(kind, &server.url);
    (channel.name, channel.receives, channel.allow_from) = ("phone".into(), true, vec!["5".into()]);
    change(&mut channel);
    let (folder, service, store) = service(vec![channel]);
    let (host, answers) = (Arc::new(EchoHost::default()), Arc::new(FirstAnswers::default()));
    let inbox = Inbox::new(Arc::clone(&service), Arc::clone(&host) as _, Arc::clone(&answers) as _, CancellationToken::new());
    Setup { _folder: folder, server, store, host, answers, inbox, service }
}

pub(crate) fn message(sender: &str, id: &str, text: &str) -> IncomingMessage {
    IncomingMessage {
        conversation: sender.to_owned(),
        thread: None,
        is_group: false,
        sender: IncomingSender { id: sender.to_owned(), username: None, name: Some("boss".into()) },
        id: id.to_owned(),
        text: text.to_owned(),
        press: None,
        voice: None,
        doubt: None,
        subject: None,
    }
}

pub(crate) async fn until(done: impl Fn() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), waiting).await.is_ok(), "it does not happen");
}
